//! What the proxy takes on, and what it does with more.

use crate::clients::{connect, explicit, server, socks, start, until};
use crate::soon;
use bentpipe_net::pep::{Config, Limits};
use bentpipe_units::{Bytes, Span};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Serves every connection what it sends, until the end.
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

/// Sends something and waits for it to come back.
async fn works(stream: &mut TcpStream) {
    stream.write_all(b"there?").await.unwrap();
    let mut back = [0; 6];
    soon(stream.read_exact(&mut back)).await.unwrap();
    assert_eq!(&back, b"there?");
}

/// Whether a client that connects is reset without a word.
async fn is_reset(pep: SocketAddr) -> bool {
    match TcpStream::connect(pep).await {
        Ok(mut stream) => soon(stream.read_u8())
            .await
            .is_err_and(|error| error.kind() == ErrorKind::ConnectionReset),
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

#[tokio::test]
async fn more_connections_than_there_are_places_are_reset_and_the_others_unharmed() {
    let (listener, target) = server().await;
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
    // Places are given back.
    inside.truncate(20);
    until(|| pep.connections() == 20).await;
    works(&mut socks(pep.address(), target).await.unwrap().0).await;
}

#[tokio::test]
async fn without_memory_connections_are_reset_and_the_others_unharmed() {
    let (listener, target) = server().await;
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
async fn one_client_does_not_take_all_places() {
    let (_listener, target) = server().await;
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
async fn a_client_that_takes_nothing_stops_its_server_and_nothing_grows() {
    let (listener, target) = server().await;
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
    // Its own buffer is small, so that what is held is the proxy's and the server's.
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
    // The server's own send buffer grows to 4 MB or so.
    assert!(held < 16 * 1024 * 1024, "{held} bytes were taken from the server");
    assert!(pep.memory() <= Bytes::from_mb(2), "{}", pep.memory());
    // And once it takes them, all of them come.
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
async fn silence_is_not_waited_for() {
    let (listener, target) = server().await;
    let (handshake_time, idle_time) = (Span::from_millis(200), Span::from_millis(300));
    let half_open_time = Span::from_millis(100);
    let limits = Limits { handshake_time, idle_time, half_open_time, ..Limits::default() };
    let (pep, logged) = start(explicit(limits)).await;
    // A client that says nothing, and one that says half of it.
    for beginning in [&b""[..], b"\x05", b"CONNECT a:1 HT"] {
        let mut silent = TcpStream::connect(pep.address()).await.unwrap();
        silent.write_all(beginning).await.unwrap();
        assert!(soon(silent.read_u8()).await.is_err());
    }
    assert_eq!(pep.metrics().not_understood.load(Relaxed), 3);
    // A connection on which nothing moves.
    let (mut client, _) = socks(pep.address(), target).await.unwrap();
    let _served = listener.accept().await.unwrap();
    assert_eq!(soon(client.read_u8()).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    // One direction of which has ended.
    let (mut client, _) = socks(pep.address(), target).await.unwrap();
    let (mut served, _) = listener.accept().await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(soon(served.read(&mut [0])).await.unwrap(), 0);
    assert_eq!(soon(client.read_u8()).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert!(logged.lines(2).await.iter().all(|line| line.ends_with(" idle")), "{}", logged.text());
    assert_eq!(pep.metrics().idle.load(Relaxed), 2);
}

#[tokio::test]
async fn stopped_it_waits_for_who_is_inside_and_takes_nobody_else() {
    let (listener, target) = server().await;
    echo(listener);
    let (pep, logged) = start(explicit(Limits::default())).await;
    let address = pep.address();
    let (mut finishing, _) = socks(address, target).await.unwrap();
    let (mut staying, _) = socks(address, target).await.unwrap();
    let stopping = tokio::spawn(pep.stop(Span::from_secs(2)));
    until(|| std::net::TcpStream::connect(address).is_err()).await;
    works(&mut finishing).await;
    finishing.shutdown().await.unwrap();
    assert_eq!(soon(finishing.read(&mut [0])).await.unwrap(), 0);
    assert_eq!(soon(stopping).await.unwrap(), 1);
    assert_eq!(soon(staying.read_u8()).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    let lines = logged.lines(2).await;
    assert!(lines[0].ends_with(" complete") && lines[1].ends_with(" stopped"), "{lines:?}");
}

#[tokio::test]
async fn prometheus_reads_what_happened() {
    let (listener, target) = server().await;
    echo(listener);
    let metrics = Some("127.0.0.1:0".parse().unwrap());
    let (pep, _) = start(Config { metrics, ..explicit(Limits::default()) }).await;
    let (mut client, _) = socks(pep.address(), target).await.unwrap();
    works(&mut client).await;
    let mut scrape = TcpStream::connect(pep.metrics_address().unwrap()).await.unwrap();
    scrape.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut text = String::new();
    soon(scrape.read_to_string(&mut text)).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 200 "), "{text}");
    assert!(
        text.contains("\nbentpipe_pep_connections 1\n")
            && text.contains("\nbentpipe_pep_memory_bytes "),
        "{text}"
    );
}
