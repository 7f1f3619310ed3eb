//! A proxy, and clients of it.

use bentpipe_net::LogFormat;
use bentpipe_net::pep::{Allowed, Config, Limits, Listener, Pep};
use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What an explicit proxy on the loopback is made of, that lets everybody go everywhere.
pub fn explicit(limits: Limits) -> Config {
    Config {
        allowed: Allowed::all(),
        limits,
        ..Config::new(Listener::Explicit { credentials: None })
    }
}

/// Lines that were logged.
#[derive(Clone, Default)]
pub struct Logged(Arc<Mutex<Vec<u8>>>);

impl Logged {
    pub fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// Waits for so many lines.
    pub async fn lines(&self, count: usize) -> Vec<String> {
        crate::soon(async {
            loop {
                let lines: Vec<String> = self.text().lines().map(str::to_owned).collect();
                if lines.len() >= count {
                    return lines;
                }
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        })
        .await
    }
}

impl Write for Logged {
    fn write(&mut self, data: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A proxy that runs, and its log.
pub async fn start(config: Config) -> (Pep, Logged) {
    let logged = Logged::default();
    let pep = Pep::start(config, Some((LogFormat::Text, Box::new(logged.clone())))).await.unwrap();
    (pep, logged)
}

/// A port that is listened at, on the loopback.
pub async fn server() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Asks by SOCKS5 for `target`; the connection, and what the proxy answered.
pub async fn socks(pep: SocketAddr, target: SocketAddr) -> std::io::Result<(TcpStream, u8)> {
    let SocketAddr::V4(target) = target else { panic!("IPv4 here: {target}") };
    let mut stream = TcpStream::connect(pep).await?;
    stream.write_all(&[5, 1, 0]).await?;
    let mut chosen = [0; 2];
    stream.read_exact(&mut chosen).await?;
    assert_eq!(chosen, [5, 0]);
    let mut request = vec![5, 1, 0, 1];
    request.extend(target.ip().octets());
    request.extend(target.port().to_be_bytes());
    stream.write_all(&request).await?;
    let mut answer = [0; 10];
    stream.read_exact(&mut answer).await?;
    Ok((stream, answer[1]))
}

/// Asks by HTTP CONNECT for `target`, and says `first` at once; the connection, and the head of the
/// answer.
pub async fn connect(
    pep: SocketAddr,
    target: &str,
    first: &[u8],
) -> std::io::Result<(TcpStream, String)> {
    let mut stream = TcpStream::connect(pep).await?;
    let mut request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n").into_bytes();
    request.extend(first);
    stream.write_all(&request).await?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    Ok((stream, String::from_utf8(head).unwrap()))
}

/// Waits until `condition` holds.
pub async fn until(condition: impl Fn() -> bool) {
    crate::soon(async {
        while !condition() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    })
    .await;
}
