//! A proxy, and clients of it.

use crate::kit::LogBuffer;
use bentpipe_net::LogFormat;
use bentpipe_net::pep::{Allowed, Config, Limits, Listener, Logs, Pep, Secret};
use std::io::Write;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Returns the configuration of an explicit proxy on the loopback that allows everything.
pub fn explicit(limits: Limits) -> Config {
    Config {
        allowed: Allowed::all(),
        limits,
        ..Config::new(Listener::Explicit { credentials: None })
    }
}

/// Returns a new secret of a tunnel.
pub fn secret() -> Secret {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("secret");
    Secret::make(&file).unwrap();
    Secret::from_file(&file).unwrap()
}

/// Starts a proxy with a log.
pub async fn start(config: Config) -> (Pep, LogBuffer) {
    let log = LogBuffer::default();
    let connections = Some((LogFormat::Text, Box::new(log.clone()) as Box<dyn Write + Send>));
    let logs = Logs { connections, errors: None };
    let pep = Pep::start(config, logs).await.unwrap();
    (pep, log)
}

/// Requests `target` by SOCKS5. Returns the connection and the code of the reply.
pub async fn socks(pep: SocketAddr, target: SocketAddr) -> std::io::Result<(TcpStream, u8)> {
    let SocketAddr::V4(target) = target else { panic!("IPv4 here: {target}") };
    let mut stream = TcpStream::connect(pep).await?;
    stream.write_all(&[5, 1, 0]).await?;
    let mut method = [0; 2];
    stream.read_exact(&mut method).await?;
    assert_eq!(method, [5, 0]);
    let mut request = vec![5, 1, 0, 1];
    request.extend(target.ip().octets());
    request.extend(target.port().to_be_bytes());
    stream.write_all(&request).await?;
    let mut reply = [0; 10];
    stream.read_exact(&mut reply).await?;
    Ok((stream, reply[1]))
}

/// Requests `target` by HTTP CONNECT, and sends `first` at once. Returns the connection and the
/// head of the reply.
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
