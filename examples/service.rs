//! A small HTTP service on tokio that records itself: it serves on loopback,
//! sends itself a bounded load, runs two jobs of different cost, and after 14
//! seconds ends and shows what was recorded.
//!
//! ```sh
//! cargo run --release --example service
//! ```
//!
//! As a service in production it is opted in by the environment; without that,
//! since it is a demonstration, it makes a fresh directory of its own.

#![allow(clippy::print_stdout, reason = "a demonstration talks")]

mod shared;

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use shared::library::Library;
use shared::{REQUESTS, RUN_FOR, captures, load};
use tachograph::Recorder;
use tokio::net::{TcpListener, TcpStream};

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().without_time().init();
    let library = Arc::new(Library::with_documents());

    let shelves = Arc::clone(&library);
    let (builder, directory) = shared::recorder("service")?;
    let recorder = builder
        .snapshot(move || shelves.snapshot())
        .start(tachograph::tokio())?;

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    println!("serving on http://{address} for {} s", RUN_FOR.as_secs());
    let server = tokio::spawn(serve(listener, Arc::clone(&library), recorder.clone()));
    let jobs = tokio::spawn(run_jobs(library, recorder.clone()));
    send_load(address).await?;

    jobs.abort();
    server.abort();
    recorder.stop().await;
    captures::print_all(&directory)
}

async fn serve(listener: TcpListener, library: Arc<Library>, recorder: Recorder) {
    while let Ok((stream, _)) = listener.accept().await {
        let library = Arc::clone(&library);
        let recorder = recorder.clone();
        tokio::spawn(async move {
            let answer = service_fn(|request| recorder.task("http", library.answer(request)));
            // A client that goes away is no concern of the service.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), answer)
                .await;
        });
    }
}

/// Both jobs in turn, for ever.
async fn run_jobs(library: Arc<Library>, recorder: Recorder) {
    loop {
        recorder.task("compaction", library.compact()).await;
        recorder.task("checksum", library.check()).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// All requests over one connection.
async fn send_load(address: SocketAddr) -> Result<(), Box<dyn Error>> {
    let stream = TcpStream::connect(address).await?;
    let (client, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let mut ticks = tokio::time::interval(RUN_FOR / REQUESTS);
    load::send(client, async || {
        ticks.tick().await;
    })
    .await
}
