//! Bounds on connections, memory and time.

use crate::clients::{connect, explicit, socks, start};
use crate::kit::{listener, scrape, soon, until};
use bentpipe_net::pep::{Config, Limits};
use bentpipe_units::{Bytes, Span};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Sends all data of each connection back.
fn echo(listener: TcpListener) {
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut read, mut write) = stream.split();
                let _ = tokio::io::copy(&mut read, &mut write).await;
                let _ = write.shutdown().await;
            });
        }
    });
}

/// Sends data and waits for it to come back.
async fn works(stream: &mut TcpStream) {
    stream.write_all(b"there?").await.unwrap();
    let mut back = [0; 6];
    soon(stream.read_exact(&mut back)).await.unwrap();
    assert_eq!(&back, b"there?");
}

/// Returns whether a new client is reset without a reply.
async fn is_reset(pep: SocketAddr) -> bool {
    match TcpStream::connect(pep).await {
        Ok(mut stream) => soon(stream.read_u8())
            .await
            .is_err_and(|error| error.kind() == ErrorKind::ConnectionReset),
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

#[tokio::test]
async fn connections_beyond_the_limit_are_reset_and_the_others_continue() {
    let (listener, target) = listener().await;
    echo(listener);
    let (pep, _) = start(explicit(Limits { connections: 40, ..Limits::default() })).await;
    let mut inside = Vec::new();
    for _ in 0..40 {
        inside.push(socks(pep.address(), target).await.unwrap().0);
    }
    for _ in 0..100 {
        assert!(is_reset(pep.address()).await);
    }
    for stream in &mut inside {
        works(stream).await;
    }
    assert_eq!(pep.metrics().refused_connections.load(Relaxed), 100);
    assert!(pep.memory() <= Limits::default().memory);
    // Connections that end make room for others.
    inside.truncate(20);
    until("connections end", || pep.connections() == 20).await;
    works(&mut socks(pep.address(), target).await.unwrap().0).await;
}

#[tokio::test]
async fn connections_without_memory_are_reset_and_the_others_continue() {
    let (listener, target) = listener().await;
    echo(listener);
    let (pep, _) = start(explicit(Limits { memory: Bytes::from_mb(3), ..Limits::default() })).await;
    let mut inside = Vec::new();
    while pep.metrics().refused_memory.load(Relaxed) == 0 {
        match socks(pep.address(), target).await {
            Ok((stream, _)) => inside.push(stream),
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}"),
        }
        assert!(inside.len() < 100);
    }
    assert!(
        inside.len() >= 9 && pep.memory() <= Bytes::from_mb(3),
        "{} in {}",
        inside.len(),
        pep.memory()
    );
    for stream in &mut inside {
        works(stream).await;
    }
}

#[tokio::test]
async fn the_connections_of_one_client_are_bounded() {
    let (_listener, target) = listener().await;
    let (pep, _) = start(explicit(Limits { per_client: 2, ..Limits::default() })).await;
    let _inside =
        (socks(pep.address(), target).await.unwrap(), socks(pep.address(), target).await.unwrap());
    assert!(is_reset(pep.address()).await);
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let mut other = socket.connect(pep.address()).await.unwrap();
    other.write_all(&[5, 1, 0]).await.unwrap();
    assert_eq!(soon(other.read_u16()).await.unwrap(), 0x500);
}

#[tokio::test]
async fn a_client_that_reads_nothing_stops_its_server_within_the_buffers() {
    let (listener, target) = listener().await;
    let config = Config { buffer: Bytes::new(128 * 1024), ..explicit(Limits::default()) };
    let (pep, _) = start(config).await;
    let written = Arc::new(AtomicU64::new(0));
    let count = written.clone();
    const ALL: usize = 64 * 1024 * 1024;
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let chunk = vec![b'x'; 64 * 1024];
        while count.load(Relaxed) < ALL as u64 {
            stream.write_all(&chunk).await.unwrap();
            count.fetch_add(chunk.len() as u64, Relaxed);
        }
    });
    // The client's buffer is small, so that the data is in the buffers of proxy and server.
    let (mut stream, _) = connect(pep.address(), &target.to_string(), b"").await.unwrap();
    socket2::SockRef::from(&stream).set_recv_buffer_size(64 * 1024).unwrap();
    let mut held = u64::MAX;
    soon(async {
        while held != written.load(Relaxed) {
            held = written.load(Relaxed);
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    })
    .await;
    // The server's own send buffer grows to about 4 MB.
    assert!(held < 16 * 1024 * 1024, "{held} bytes were read from the server");
    assert!(pep.memory() <= Bytes::from_mb(2), "{}", pep.memory());
    // Once the client reads, all data arrives.
    let mut sink = vec![0; 1 << 20];
    let mut seen = 0;
    loop {
        match soon(stream.read(&mut sink)).await.unwrap() {
            0 => break,
            read => seen += read,
        }
    }
    assert_eq!(seen, ALL);
}

#[tokio::test]
async fn idle_clients_and_connections_end() {
    let (listener, target) = listener().await;
    let (handshake_time, idle_time) = (Span::from_millis(200), Span::from_millis(300));
    let half_open_time = Span::from_millis(100);
    let limits = Limits { handshake_time, idle_time, half_open_time, ..Limits::default() };
    let (pep, logged) = start(explicit(limits)).await;
    // Clients that send nothing, or half of a handshake.
    for beginning in [&b""[..], b"\x05", b"CONNECT a:1 HT"] {
        let mut idle = TcpStream::connect(pep.address()).await.unwrap();
        idle.write_all(beginning).await.unwrap();
        assert!(soon(idle.read_u8()).await.is_err());
    }
    assert_eq!(pep.metrics().not_understood.load(Relaxed), 3);
    // An idle connection.
    let (mut client, _) = socks(pep.address(), target).await.unwrap();
    let _served = listener.accept().await.unwrap();
    assert_eq!(soon(client.read_u8()).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    // A half-closed connection.
    let (mut client, _) = socks(pep.address(), target).await.unwrap();
    let (mut served, _) = listener.accept().await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(soon(served.read(&mut [0])).await.unwrap(), 0);
    assert_eq!(soon(client.read_u8()).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert!(logged.lines(2).await.iter().all(|line| line.ends_with(" idle")), "{}", logged.text());
    assert_eq!(pep.metrics().idle.load(Relaxed), 2);
}

#[tokio::test]
async fn a_stop_waits_for_open_connections_and_accepts_no_others() {
    let (listener, target) = listener().await;
    echo(listener);
    let (pep, logged) = start(explicit(Limits::default())).await;
    let address = pep.address();
    let (mut finishing, _) = socks(address, target).await.unwrap();
    let (mut staying, _) = socks(address, target).await.unwrap();
    let stopping = tokio::spawn(pep.stop(Span::from_secs(2)));
    until("the listener is closed", || std::net::TcpStream::connect(address).is_err()).await;
    works(&mut finishing).await;
    finishing.shutdown().await.unwrap();
    assert_eq!(soon(finishing.read(&mut [0])).await.unwrap(), 0);
    assert_eq!(soon(stopping).await.unwrap(), 1);
    assert_eq!(soon(staying.read_u8()).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    let lines = logged.lines(2).await;
    assert!(lines[0].ends_with(" complete") && lines[1].ends_with(" stopped"), "{lines:?}");
}

#[tokio::test]
async fn prometheus_can_read_the_counters() {
    let (listener, target) = listener().await;
    echo(listener);
    let metrics = Some("127.0.0.1:0".parse().unwrap());
    let (pep, _) = start(Config { metrics, ..explicit(Limits::default()) }).await;
    let (mut client, _) = socks(pep.address(), target).await.unwrap();
    works(&mut client).await;
    let text = scrape(pep.metrics_address().unwrap()).await;
    assert!(text.starts_with("HTTP/1.1 200 "), "{text}");
    assert!(
        text.contains("\nbentpipe_pep_connections 1\n")
            && text.contains("\nbentpipe_pep_memory_bytes "),
        "{text}"
    );
}
