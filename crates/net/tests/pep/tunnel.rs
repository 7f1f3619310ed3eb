//! A tunnel between two proxies, over the loopback.

use crate::clients::{connect, explicit, secret, socks, start};
use crate::kit::{LogBuffer, listener, noise, soon, until};
use bentpipe_net::LogFormat;
use bentpipe_net::pep::{Allowed, Config, Limits, Listener, Logs, NextHop, Pep, Secret};
use bentpipe_units::{Bytes, Span};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::atomic::Ordering::Relaxed;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn egress(secret: Secret, limits: Limits) -> Config {
    Config { allowed: Allowed::all(), limits, ..Config::new(Listener::Tunnel { secret }) }
}

fn ingress(egress: SocketAddr, secret: Secret) -> Config {
    Config { next_hop: NextHop::Tunnel { egress, secret }, ..explicit(Limits::default()) }
}

/// Starts the ingress and the egress of a tunnel.
async fn both(limits: Limits) -> ((Pep, LogBuffer), (Pep, LogBuffer)) {
    let secret = secret();
    let far = start(egress(secret.clone(), limits)).await;
    let near = start(ingress(far.0.address(), secret)).await;
    (near, far)
}

#[tokio::test]
async fn both_directions_pass_the_tunnel_and_end_one_after_the_other() {
    let (listener, target) = listener().await;
    let ((near, near_log), (far, far_log)) = both(Limits::default()).await;
    let sent = noise(3_000_000);
    let expected = sent.clone();
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut seen = Vec::new();
        stream.read_to_end(&mut seen).await.unwrap();
        stream.write_all(&seen[..2_000_000]).await.unwrap();
        seen
    });
    let (mut stream, head) =
        soon(connect(near.address(), &target.to_string(), &sent[..10])).await.unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    stream.write_all(&sent[10..]).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = Vec::new();
    soon(stream.read_to_end(&mut answer)).await.unwrap();
    assert!(serving.await.unwrap() == expected && answer == expected[..2_000_000]);
    for (log, how) in [(near_log, " connect "), (far_log, " tunnel ")] {
        let line = log.lines(1).await.remove(0);
        assert!(line.contains(how) && line.ends_with(" complete"), "{line}");
    }
    until("connections end", || near.connections() + far.connections() == 0).await;
}

#[tokio::test]
async fn resets_and_refusals_pass_the_tunnel() {
    let (listener, target) = listener().await;
    let ((near, near_log), (_far, _)) = both(Limits::default()).await;
    let ends = async |count: usize, end: &str| {
        let line = near_log.lines(count).await.remove(count - 1);
        assert!(line.ends_with(end), "{line}");
    };
    let (mut client, code) = soon(socks(near.address(), target)).await.unwrap();
    assert_eq!(code, 0);
    let (mut served, _) = soon(listener.accept()).await.unwrap();
    // A connection that is reset before the egress has connected counts as refused.
    client.write_u8(7).await.unwrap();
    assert_eq!(soon(served.read_u8()).await.unwrap(), 7);
    served.set_zero_linger().unwrap();
    drop(served);
    assert_eq!(soon(client.read_u8()).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    ends(1, " reset-by-server").await;

    let (client, _) = soon(socks(near.address(), target)).await.unwrap();
    let (mut served, _) = soon(listener.accept()).await.unwrap();
    client.set_zero_linger().unwrap();
    drop(client);
    assert_eq!(soon(served.read_u8()).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    ends(2, " reset-by-client").await;

    // Nothing listens there any more. The client has got its reply already, and is reset.
    drop(listener);
    let (mut client, _) = soon(socks(near.address(), target)).await.unwrap();
    assert_eq!(soon(client.read_u8()).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    ends(3, " refused").await;
}

#[tokio::test]
async fn a_proxy_without_the_secret_is_refused() {
    let (_listener, target) = listener().await;
    let (far_errors, near_errors) = (LogBuffer::default(), LogBuffer::default());
    let errors = |log: &LogBuffer| Logs {
        connections: None,
        errors: Some((LogFormat::Text, Box::new(log.clone()))),
    };
    let config = egress(secret(), Limits::default());
    let far = Pep::start(config, errors(&far_errors)).await.unwrap();
    let limits = Limits { connect_time: Span::from_secs(1), ..Limits::default() };
    let config = Config { limits, ..ingress(far.address(), secret()) };
    let near = Pep::start(config, errors(&near_errors)).await.unwrap();
    assert_ne!(soon(socks(near.address(), target)).await.unwrap().1, 0);
    assert_eq!(far.metrics().connections.load(Relaxed), 0);
    for log in [near_errors, far_errors] {
        let line = log.lines(1).await.remove(0);
        assert!(line.contains("both proxies need the same secret"), "{line}");
    }
    assert!(far.metrics().tunnels_refused.load(Relaxed) > 0);
}

#[tokio::test]
async fn connections_beyond_the_limit_of_the_egress_wait() {
    let (listener, target) = listener().await;
    let ((near, near_log), (far, _)) = both(Limits { connections: 2, ..Limits::default() }).await;
    let mut inside = Vec::new();
    for _ in 0..2 {
        let client = soon(socks(near.address(), target)).await.unwrap().0;
        inside.push((client, soon(listener.accept()).await.unwrap().0));
    }
    assert_eq!(far.connections(), 2);
    // All streams are open. The next connection waits until one has ended.
    let address = near.address();
    let third = tokio::spawn(async move {
        let (mut third, code) = socks(address, target).await.unwrap();
        third.write_all(b"x").await.unwrap();
        (third, code)
    });
    for (client, served) in &mut inside {
        served.write_all(b"y").await.unwrap();
        assert_eq!(soon(client.read_u8()).await.unwrap(), b'y');
    }
    drop(inside.remove(0));
    let (mut served, _) = soon(listener.accept()).await.unwrap();
    assert_eq!(soon(served.read_u8()).await.unwrap(), b'x');
    assert_eq!(soon(third).await.unwrap().1, 0);
    assert_eq!(near_log.lines(1).await.len(), 1);
}

#[tokio::test]
async fn a_tunnel_is_opened_again_after_the_egress_restarts() {
    let (listener, target) = listener().await;
    let secret = secret();
    let (far, _) = start(egress(secret.clone(), Limits::default())).await;
    let (near, _) = start(ingress(far.address(), secret.clone())).await;
    let (mut client, _) = soon(socks(near.address(), target)).await.unwrap();
    let _served = soon(listener.accept()).await.unwrap();
    let listen = far.address();
    far.stop(Span::ZERO).await;
    assert!(soon(client.read_u8()).await.is_err(), "open connections are reset");
    // The old driver may still hold the socket for a moment.
    let again = Config { listen, ..egress(secret, Limits::default()) };
    let _far = soon(async {
        loop {
            match Pep::start(again.clone(), Logs::default()).await {
                Ok(pep) => return pep,
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
            }
        }
    })
    .await;
    let (_client, code) = soon(socks(near.address(), target)).await.unwrap();
    assert_eq!(code, 0);
    soon(listener.accept()).await.unwrap();
}

#[tokio::test]
async fn a_client_that_reads_nothing_does_not_block_the_others() {
    let (listener, target) = listener().await;
    let secret = secret();
    let buffer = Bytes::new(256 * 1024);
    let far = start(Config { buffer, ..egress(secret.clone(), Limits::default()) }).await.0;
    let near = start(Config { buffer, ..ingress(far.address(), secret) }).await.0;
    let (slow, _) = soon(socks(near.address(), target)).await.unwrap();
    socket2::SockRef::from(&slow).set_recv_buffer_size(16 * 1024).unwrap();
    let (mut flooding, _) = soon(listener.accept()).await.unwrap();
    let flood = tokio::spawn(async move {
        let chunk = vec![b'x'; 64 * 1024];
        let mut written = 0;
        while flooding.write_all(&chunk).await.is_ok() {
            written += chunk.len();
        }
        written
    });
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    let (mut quick, _) = soon(socks(near.address(), target)).await.unwrap();
    let (mut served, _) = soon(listener.accept()).await.unwrap();
    served.write_all(&vec![b'y'; 100_000]).await.unwrap();
    drop(served);
    let mut all = Vec::new();
    soon(quick.read_to_end(&mut all)).await.unwrap();
    assert_eq!(all.len(), 100_000);
    drop(slow);
    let written = soon(flood).await.unwrap();
    assert!(written < 32 << 20, "{written} bytes were read from the server");
}
