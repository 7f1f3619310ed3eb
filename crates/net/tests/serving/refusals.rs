//! Refusals. Other clients are served all the same.

use super::kit::until;
use super::{TestServer, content};
use bentpipe_net::serve::Limits;
use bentpipe_units::Span;
use http::HeaderMap;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paths_outside_the_directory_are_not_found() {
    let site = TestServer::new().await;
    std::fs::write(site.path().join(".hidden"), "x").unwrap();
    std::os::unix::fs::symlink("/etc", site.path().join("etc")).unwrap();
    let client = site.client();
    for path in [
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/..%2f..%2fetc/passwd",
        "/etc/passwd",
        "/.hidden",
    ] {
        assert_eq!(site.get(&client, path).await.unwrap().head.status(), 404, "{path}");
    }
    assert_eq!(site.get(&client, "/hello.txt").await.unwrap().head.status(), 200);
    client.disconnect().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_header_that_is_too_large_is_refused_and_the_connection_stays() {
    let site = TestServer::new().await;
    let client = site.client();
    let headers =
        HeaderMap::from_iter([(http::header::COOKIE, "c".repeat(20_000).parse().unwrap())]);
    match client.get(&site.url("/hello.txt"), &headers).await {
        Ok(response) => assert_eq!(response.head.status(), 431),
        // The client's own stack may apply the server's limit.
        Err(error) => assert!(error.to_string().contains("HTTP/3"), "{error}"),
    }
    assert_eq!(site.get(&client, "/hello.txt").await.unwrap().head.status(), 200);
    client.disconnect().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_beyond_the_limits_are_refused_until_others_end() {
    for limits in [
        Limits { connections: 2, ..Limits::default() },
        Limits { per_client: 2, ..Limits::default() },
    ] {
        let site = TestServer::limited(limits).await;
        let clients = [site.client(), site.client()];
        for client in &clients {
            assert_eq!(site.get(client, "/hello.txt").await.unwrap().head.status(), 200);
        }
        let third = site.client();
        let error = site.get(&third, "/hello.txt").await.unwrap_err().to_string();
        assert!(error.contains("refuse"), "{error}");
        assert!(site.server.metrics().refused.load(Relaxed) >= 1);
        for client in &clients {
            client.disconnect().await;
        }
        let mut tries = 100;
        while site.get(&third, "/hello.txt").await.is_err() {
            tries -= 1;
            assert!(tries > 0, "no room comes back");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        third.disconnect().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_load_a_client_validates_its_address_and_is_served() {
    let site = TestServer::limited(Limits { handshakes: 1, ..Limits::default() }).await;
    // An incomplete handshake: the first flight of a client that never receives the response.
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let relay = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    relay.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let nowhere = site.client();
    let url = format!("https://{}/", relay.local_addr().unwrap()).parse().unwrap();
    let asking =
        tokio::spawn(async move { nowhere.get(&url, &HeaderMap::new()).await.map(|_| ()) });
    let flight = tokio::task::spawn_blocking(move || {
        let mut buffer = [0; 2048];
        let (length, _) = relay.recv_from(&mut buffer).unwrap();
        buffer[..length].to_vec()
    });
    silent.send_to(&flight.await.unwrap(), site.server.address()).unwrap();
    asking.abort();
    let client = site.client();
    until("the first flight did not arrive", || site.server.connections() > 0).await;
    assert_eq!(content(site.get(&client, "/hello.txt").await.unwrap()).await.unwrap(), b"hello");
    assert_eq!(site.server.metrics().retried.load(Relaxed), 1);
    client.disconnect().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_first_flights_is_bounded_while_clients_are_served() {
    let handshake_time = Span::from_secs(2);
    let site =
        TestServer::limited(Limits { handshakes: 4, handshake_time, ..Limits::default() }).await;
    // First flights of a hundred clients, each from an address that never responds.
    let relay = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let url: http::Uri = format!("https://{}/", relay.local_addr().unwrap()).parse().unwrap();
    let mut silent = Vec::new();
    for _ in 0..100 {
        let (nowhere, url) = (site.client(), url.clone());
        let asking =
            tokio::spawn(async move { nowhere.get(&url, &HeaderMap::new()).await.map(|_| ()) });
        let mut buffer = [0; 2048];
        let (length, _) = relay.recv_from(&mut buffer).await.unwrap();
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.send_to(&buffer[..length], site.server.address()).unwrap();
        silent.push(socket);
        asking.abort();
    }
    let client = site.client();
    assert_eq!(content(site.get(&client, "/hello.txt").await.unwrap()).await.unwrap(), b"hello");
    let metrics = site.server.metrics();
    assert!(
        metrics.retried.load(Relaxed) >= 50,
        "{} had to validate their addresses",
        metrics.retried.load(Relaxed)
    );
    assert!(site.server.connections() <= 5, "{} connections", site.server.connections());
    client.disconnect().await;
    let mut tries = 200;
    while site.server.connections() > 0 {
        tries -= 1;
        assert!(tries > 0, "{} connections stay", site.server.connections());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_reads_nothing_is_aborted_and_another_is_served() {
    let site =
        TestServer::limited(Limits { stall_time: Span::from_millis(500), ..Limits::default() })
            .await;
    // A sparse file, larger than the client's window and all buffers.
    std::fs::File::create(site.path().join("big")).unwrap().set_len(300_000_000).unwrap();
    let (slow, other) = (site.client(), site.client());
    let held = site.get(&slow, "/big").await.unwrap();
    until("nobody was given up", || site.server.metrics().slow.load(Relaxed) > 0).await;
    assert_eq!(site.get(&other, "/hello.txt").await.unwrap().head.status(), 200);
    assert!(content(held).await.is_err(), "an aborted response is not complete");
    slow.disconnect().await;
    other.disconnect().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_datagrams_take_no_lasting_resources() {
    let site =
        TestServer::limited(Limits { handshake_time: Span::from_millis(300), ..Limits::default() })
            .await;
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    for length in [0usize, 1, 20, 1200, 1472, 9000] {
        for first in [0x00, 0x40, 0xc0, 0xff] {
            let mut datagram = vec![0x5a; length];
            datagram.first_mut().into_iter().for_each(|byte| *byte = first);
            socket.send_to(&datagram, site.server.address()).unwrap();
        }
    }
    let client = site.client();
    assert_eq!(content(site.get(&client, "/hello.txt").await.unwrap()).await.unwrap(), b"hello");
    client.disconnect().await;
    assert!(site.server.connections() <= 1);
}
