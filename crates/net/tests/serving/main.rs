//! The server and the client over the loopback.
#![allow(clippy::disallowed_methods, reason = "tests make files as they need")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

mod accounting;
mod balancer;
mod book;
mod conformance;
mod downloads;
mod early_data;
mod exchange;
mod fallback;
mod frames;
mod front;
mod front_upstreams;
mod full_disk;
mod grpc;
mod handover;
mod hints;
mod hostile;
mod http3_limits;
#[path = "../kit/mod.rs"]
mod kit;
mod limits;
mod metrics;
mod outputs;
mod peer;
mod priorities;
mod proxy;
mod qlog;
mod redirects;
mod refusals;
mod relay;
mod request_rate;
mod resets;
mod resumed;
mod scripted;
mod shutdown;
mod slow_peers;
mod tcp;
mod threads;
mod trailers;
mod uploads;
mod upstreams;
mod websockets;

use bentpipe_net::Trust;
use bentpipe_net::get::{Client, ClientError, Response};
use bentpipe_net::serve::{Limits, Server, ServerBuilder};
use bentpipe_units::Span;
use http::HeaderMap;
use std::path::Path;
use tempfile::TempDir;

/// A server with a directory of its own, and the trust in its certificate.
struct TestServer {
    directory: TempDir,
    server: Server,
    trust: Trust,
}

impl TestServer {
    async fn new() -> Self {
        Self::with(|builder| builder).await
    }

    async fn limited(limits: Limits) -> Self {
        Self::with(|builder| builder.limits(limits)).await
    }

    async fn with(change: impl FnOnce(ServerBuilder) -> ServerBuilder) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("hello.txt"), "hello").unwrap();
        let (certificate, trust) = kit::certificate();
        let server = change(Server::builder(directory.path(), certificate)).start().await.unwrap();
        Self { directory, server, trust }
    }

    /// Writes a file of `bytes` bytes and returns its content.
    fn file(&self, name: &str, bytes: usize) -> Vec<u8> {
        let content: Vec<u8> = (0..bytes).map(|index| (index % 251) as u8).collect();
        std::fs::write(self.directory.path().join(name), &content).unwrap();
        content
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn client(&self) -> Client {
        Client::builder()
            .trust(self.trust.clone())
            .handshake_time(Span::from_secs(5))
            .build()
            .unwrap()
    }

    fn url(&self, path: &str) -> http::Uri {
        format!("https://{}{path}", self.server.address()).parse().unwrap()
    }

    async fn get(&self, client: &Client, path: &str) -> Result<Response, ClientError> {
        client.get(&self.url(path), &HeaderMap::new()).await
    }
}

/// Returns all content of a response.
async fn content(mut response: Response) -> Result<Vec<u8>, ClientError> {
    let mut pieces = Vec::new();
    while response.pieces(&mut pieces).await? {}
    Ok(pieces.concat())
}
