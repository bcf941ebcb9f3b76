//! A service as there are many: tokio, hyper and serde, and its own clients.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use tokio::net::{TcpListener, TcpStream};

use super::Failure;

/// How many clients there are, each with a connection and one request at a time.
const CLIENTS: usize = 4;

#[derive(Clone, Serialize, Deserialize)]
struct Item {
    name: String,
    price: f64,
    tags: Vec<String>,
}

/// A service and its clients, at work.
pub(crate) struct Service {
    answered: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    clients: Vec<tokio::task::JoinHandle<Result<(), Failure>>>,
    server: tokio::task::JoinHandle<()>,
}

impl Service {
    /// Starts it on the present runtime.
    pub(crate) async fn start() -> Result<Self, Failure> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let answered = Arc::new(AtomicU64::new(0));
        let stop = Arc::new(AtomicBool::new(false));
        let server = tokio::spawn(serve(listener));
        let clients = (0..CLIENTS)
            .map(|number| {
                tokio::spawn(ask(
                    address,
                    number,
                    Arc::clone(&stop),
                    Arc::clone(&answered),
                ))
            })
            .collect();
        Ok(Self {
            answered,
            stop,
            clients,
            server,
        })
    }

    /// Lets the clients come to an end, and says how many answers they got.
    pub(crate) async fn stop(self) -> Result<u64, Failure> {
        self.stop.store(true, Ordering::Relaxed);
        for client in self.clients {
            client.await??;
        }
        self.server.abort();
        Ok(self.answered.load(Ordering::Relaxed))
    }
}

async fn serve(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(async move {
            // A client that goes away is no concern of the service.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service_fn(answer))
                .await;
        });
    }
}

/// Sorts what it was sent by price, and sends it back without the dearest.
async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::default());
    let Ok(body) = request.into_body().collect().await else {
        *response.status_mut() = hyper::StatusCode::BAD_REQUEST;
        return Ok(response);
    };
    match serde_json::from_slice::<Vec<Item>>(&body.to_bytes()) {
        Ok(mut items) => {
            items.sort_by(|one, other| one.price.total_cmp(&other.price));
            items.pop();
            let text = serde_json::to_vec(&items).unwrap_or_default();
            *response.body_mut() = Full::from(text);
        }
        Err(_) => *response.status_mut() = hyper::StatusCode::BAD_REQUEST,
    }
    Ok(response)
}

async fn ask(
    address: SocketAddr,
    number: usize,
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicU64>,
) -> Result<(), Failure> {
    let stream = TcpStream::connect(address).await?;
    let (mut client, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let items = serde_json::to_vec(&items(number))?;
    while !stop.load(Ordering::Relaxed) {
        let request = Request::builder()
            .method(Method::POST)
            .uri("/items")
            .body(Full::<Bytes>::from(items.clone()))?;
        let response = client.send_request(request).await?;
        if !response.status().is_success() {
            return Err(format!("the service said {}", response.status()).into());
        }
        response.into_body().collect().await?;
        answered.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

fn items(seed: usize) -> Vec<Item> {
    (0..60)
        .map(|number| Item {
            name: format!("item {number} of client {seed}"),
            price: f64::from((number * 7919 + seed as u32) % 1000) / 8.0,
            tags: (0..number % 5).map(|tag| format!("tag-{tag}")).collect(),
        })
        .collect()
}
