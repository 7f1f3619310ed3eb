//! The server and the client over the loopback: what they do for each other, and what the server
//! refuses.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod downloads;
mod exchange;
mod hostile;
mod limits;
mod outputs;
mod proxy;
mod qlog;
mod refusals;
mod resumed;
mod scripted;
mod slow_peers;
mod tcp;

use bentpipe_net::get::{Client, ClientError, Response};
use bentpipe_net::serve::{Limits, Server, ServerBuilder};
use bentpipe_net::{Certificate, Trust};
use bentpipe_units::Span;
use http::HeaderMap;
use std::path::Path;
use tempfile::TempDir;

/// A server of a directory of its own, and whom to trust.
struct Place {
    directory: TempDir,
    server: Server,
    trust: Trust,
}

impl Place {
    async fn new() -> Self {
        Self::with(|builder| builder).await
    }

    async fn limited(limits: Limits) -> Self {
        Self::with(|builder| builder.limits(limits)).await
    }

    async fn with(change: impl FnOnce(ServerBuilder) -> ServerBuilder) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("hello.txt"), "hello").unwrap();
        let certificate =
            Certificate::self_signed(&["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        let trust = Trust::Only(certificate.own().cloned().into_iter().collect());
        let server = change(Server::builder(directory.path(), certificate)).start().await.unwrap();
        Self { directory, server, trust }
    }

    /// A file of `bytes` bytes, each of which says where it stands.
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

/// All of a response's content.
async fn content(mut response: Response) -> Result<Vec<u8>, ClientError> {
    let mut pieces = Vec::new();
    while response.pieces(&mut pieces).await? {}
    Ok(pieces.concat())
}
