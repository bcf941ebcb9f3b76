//! The same service as `service`, on smol.
//!
//! ```sh
//! cargo run --release --example service_smol
//! ```

#![allow(clippy::print_stdout, reason = "a demonstration talks")]

mod shared;

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use hyper::service::service_fn;
use shared::library::Library;
use shared::{REQUESTS, RUN_FOR, captures, load};
use smol::Timer;
use smol::net::{TcpListener, TcpStream};
use smol_hyper::rt::FuturesIo;
use tachograph::Recorder;

fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().without_time().init();
    smol::block_on(run())
}

async fn run() -> Result<(), Box<dyn Error>> {
    let library = Arc::new(Library::with_documents());

    let shelves = Arc::clone(&library);
    let (builder, directory) = shared::recorder("service-smol")?;
    let recorder = builder
        .snapshot(move || shelves.snapshot())
        .start(tachograph::smol())?;

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    println!("serving on http://{address} for {} s", RUN_FOR.as_secs());
    // Dropping these two tasks ends them.
    let server = smol::spawn(serve(listener, Arc::clone(&library), recorder.clone()));
    let jobs = smol::spawn(run_jobs(library, recorder.clone()));
    send_load(address).await?;

    drop((jobs, server));
    recorder.stop().await;
    captures::print_all(&directory)
}

async fn serve(listener: TcpListener, library: Arc<Library>, recorder: Recorder) {
    while let Ok((stream, _)) = listener.accept().await {
        let library = Arc::clone(&library);
        let recorder = recorder.clone();
        smol::spawn(async move {
            let answer = service_fn(|request| recorder.task("http", library.answer(request)));
            // A client that goes away is no concern of the service.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(FuturesIo::new(stream), answer)
                .await;
        })
        .detach();
    }
}

/// Both jobs in turn, for ever.
async fn run_jobs(library: Arc<Library>, recorder: Recorder) {
    loop {
        recorder.task("compaction", library.compact()).await;
        recorder.task("checksum", library.check()).await;
        Timer::after(Duration::from_millis(10)).await;
    }
}

/// All requests over one connection.
async fn send_load(address: SocketAddr) -> Result<(), Box<dyn Error>> {
    let stream = TcpStream::connect(address).await?;
    let (client, connection) =
        hyper::client::conn::http1::handshake(FuturesIo::new(stream)).await?;
    smol::spawn(connection).detach();
    let mut ticks = Timer::interval(RUN_FOR / REQUESTS);
    load::send(client, async || {
        ticks.next().await;
    })
    .await
}
