//! The load that the service sends itself.

use std::error::Error;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::SendRequest;

use super::{REQUESTS, library};

/// Sends one request at a time, each after a `tick`.
pub(crate) async fn send(
    mut client: SendRequest<Full<Bytes>>,
    mut tick: impl AsyncFnMut(),
) -> Result<(), Box<dyn Error>> {
    for number in 0..REQUESTS {
        tick().await;
        // The connection may not yet have put the last answer away.
        client.ready().await?;
        let response = client.send_request(library::request(number)?).await?;
        if !response.status().is_success() {
            return Err(format!("request {number}: {}", response.status()).into());
        }
        response.into_body().collect().await?;
    }
    Ok(())
}
