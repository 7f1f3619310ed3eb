//! An explicit proxy over the loopback: forwarding, ends of connections, and refusals.

use crate::clients::{connect, explicit, socks, start};
use crate::kit::{listener, noise, soon};
use bentpipe_net::pep::{Allowed, Config, Credentials, Limits, Listener, Logs, Pep};
use std::io::ErrorKind;
use std::sync::atomic::Ordering::Relaxed;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

#[tokio::test]
async fn both_directions_are_forwarded_and_end_one_after_the_other() {
    let (listener, target) = listener().await;
    let (pep, logged) = start(explicit(Limits::default())).await;
    let (sent, answered) = (noise(3_000_000), noise(2_000_001));
    let expected = (sent.clone(), answered.clone());
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut seen = Vec::new();
        // Reads to the end of the client's data before it responds over the half-open connection.
        stream.read_to_end(&mut seen).await.unwrap();
        stream.write_all(&answered).await.unwrap();
        seen
    });
    let (mut stream, head) =
        connect(pep.address(), &target.to_string(), &sent[..1000]).await.unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    stream.write_all(&sent[1000..]).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = Vec::new();
    soon(stream.read_to_end(&mut answer)).await.unwrap();
    assert!(serving.await.unwrap() == expected.0 && answer == expected.1);
    let line = &logged.lines(1).await[0];
    assert!(line.contains(&format!(" connect {target} {target} 3000000 2000001 ")), "{line}");
    assert!(line.ends_with(" complete"), "{line}");
    assert_eq!(pep.metrics().complete.load(Relaxed), 1);
    assert_eq!((pep.connections(), pep.memory().get()), (0, 0));
}

/// Closes with a reset.
fn reset(stream: TcpStream) {
    stream.set_zero_linger().unwrap();
}

#[tokio::test]
async fn a_reset_of_either_side_is_a_reset_for_the_other() {
    let (listener, target) = listener().await;
    let (pep, logged) = start(explicit(Limits::default())).await;

    let (mut client, code) = socks(pep.address(), target).await.unwrap();
    assert_eq!(code, 0);
    reset(listener.accept().await.unwrap().0);
    let error = soon(client.read_u8()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");

    let (client, _) = socks(pep.address(), target).await.unwrap();
    let (mut served, _) = listener.accept().await.unwrap();
    reset(client);
    let error = soon(served.read_u8()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");

    let lines = logged.lines(2).await;
    assert!(
        lines[0].ends_with(" reset-by-server") && lines[1].ends_with(" reset-by-client"),
        "{lines:?}"
    );
}

#[tokio::test]
async fn destinations_are_refused_in_the_protocol_of_the_client() {
    // Nothing listens on this port any more.
    let (listener, target) = listener().await;
    drop(listener);
    let (pep, _) = start(explicit(Limits::default())).await;
    assert_eq!(socks(pep.address(), target).await.unwrap().1, 5);
    let (_, head) = connect(pep.address(), &target.to_string(), b"hello").await.unwrap();
    assert!(head.starts_with("HTTP/1.1 502 "), "{head}");
    let (_, head) = connect(pep.address(), "no-such-host.invalid:80", b"").await.unwrap();
    assert!(head.starts_with("HTTP/1.1 502 "), "{head}");
    // The proxy itself.
    assert_eq!(socks(pep.address(), pep.address()).await.unwrap().1, 2);

    let listener = Listener::Explicit { credentials: None };
    let (pep, logged) = start(Config::new(listener)).await;
    assert_eq!(socks(pep.address(), target).await.unwrap().1, 2);
    // The name is refused as well.
    let (_, head) =
        connect(pep.address(), &format!("localhost:{}", target.port()), b"").await.unwrap();
    assert!(head.starts_with("HTTP/1.1 403 "), "{head}");
    // Lines are written when connections end.
    assert!(logged.lines(2).await.iter().all(|line| line.ends_with(" not-allowed")));
    assert_eq!(pep.metrics().not_allowed.load(Relaxed), 2);
}

#[tokio::test]
async fn clients_that_are_not_allowed_are_reset() {
    let (_listener, target) = listener().await;
    let config = explicit(Limits::default());
    let allowed = Allowed { clients: vec!["127.0.0.1".parse().unwrap()], ..Allowed::all() };
    let (pep, _) = start(Config { allowed, ..config }).await;
    assert_eq!(socks(pep.address(), target).await.unwrap().1, 0);
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    // The kernel accepts the connection before the proxy does.
    let mut other = socket.connect(pep.address()).await.unwrap();
    assert_eq!(soon(other.read_u8()).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn clients_without_the_password_are_refused() {
    let (_listener, target) = listener().await;
    let credentials = Some(Credentials::parse("user:pass").unwrap());
    let (pep, _) = start(Config {
        listener: Listener::Explicit { credentials },
        ..explicit(Limits::default())
    })
    .await;
    let (_, head) = connect(pep.address(), &target.to_string(), b"").await.unwrap();
    assert!(
        head.starts_with("HTTP/1.1 407 ") && head.contains("Proxy-Authenticate: Basic "),
        "{head}"
    );
    let mut stream = TcpStream::connect(pep.address()).await.unwrap();
    stream.write_all(b"\x05\x02\x00\x02\x01\x04user\x04pass").await.unwrap();
    let mut answer = [0; 4];
    soon(stream.read_exact(&mut answer)).await.unwrap();
    assert_eq!(answer, [5, 2, 1, 0]);
}

#[tokio::test]
async fn an_unknown_controller_is_refused_with_those_of_the_kernel() {
    let config = Config { congestion: Some("no-such".to_owned()), ..explicit(Limits::default()) };
    let error = Pep::start(config, Logs::default()).await.unwrap_err().to_string();
    assert!(error.contains("`no-such`") && error.contains("reno"), "{error}");
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let config = Config { listen: taken.local_addr().unwrap(), ..explicit(Limits::default()) };
    let error = Pep::start(config, Logs::default()).await.unwrap_err().to_string();
    assert!(error.contains(&taken.local_addr().unwrap().to_string()), "{error}");
}
