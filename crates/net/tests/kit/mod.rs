//! Set-up that the integration tests share.

#![allow(dead_code, reason = "each test target uses a part of it")]

use bentpipe_net::{Certificate, Trust};
use rustls::RootCertStore;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

/// Longer than anything in the tests takes, even on a busy machine.
pub const LONG: Duration = Duration::from_secs(60);

/// Returns the result of `work`, which must take less than [`LONG`].
pub async fn soon<T>(work: impl Future<Output = T>) -> T {
    timeout(LONG, work).await.expect("it takes too long")
}

/// Waits until `condition` is true. `what` names it.
pub async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let wait = async {
        while !condition() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LONG, wait).await.unwrap_or_else(|_| panic!("not in time: {what}"));
}

/// A log in memory.
#[derive(Clone, Default)]
pub struct LogBuffer(Arc<Mutex<Vec<u8>>>);

impl LogBuffer {
    /// Returns the log so far.
    pub fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// Waits for `count` lines and returns all lines.
    pub async fn lines(&self, count: usize) -> Vec<String> {
        until("lines of the log", || self.text().lines().count() >= count).await;
        self.text().lines().map(str::to_owned).collect()
    }
}

impl Write for LogBuffer {
    fn write(&mut self, data: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Returns a TCP listener on the loopback, and its address.
pub async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Returns bytes that depend on their position, without a short period.
pub fn noise(bytes: usize) -> Vec<u8> {
    (0..bytes as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// Returns a self-signed certificate of the loopback, and the trust in it.
pub fn certificate() -> (Certificate, Trust) {
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let certificate = Certificate::self_signed(&names).unwrap();
    let trust = Trust::Only(certificate.own().cloned().into_iter().collect());
    (certificate, trust)
}

/// Returns the TLS configuration of a client with `alpn`.
pub fn client_tls(
    trust: &Trust,
    alpn: &[u8],
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> rustls::ClientConfig {
    let Trust::Only(certificates) = trust else { panic!("a test certificate is expected") };
    let mut roots = RootCertStore::empty();
    certificates.iter().for_each(|one| roots.add(one.clone()).unwrap());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![alpn.to_vec()];
    config
}

/// Returns the response to a scrape of the metrics at `address`.
pub async fn scrape(address: SocketAddr) -> String {
    page(address, "/metrics").await
}

/// Returns the response to a request for `path` over plain HTTP.
pub async fn page(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    soon(stream.read_to_string(&mut text)).await.unwrap();
    text
}
