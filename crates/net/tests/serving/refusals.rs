//! What is refused, one by one; whoever keeps to the rules is served all the same.

use super::{Place, content};
use bentpipe_net::serve::Limits;
use bentpipe_units::Span;
use http::HeaderMap;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paths_that_lead_out_find_nothing() {
    let place = Place::new().await;
    std::fs::write(place.path().join(".hidden"), "x").unwrap();
    std::os::unix::fs::symlink("/etc", place.path().join("etc")).unwrap();
    let client = place.client();
    for path in [
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/..%2f..%2fetc/passwd",
        "/etc/passwd",
        "/.hidden",
    ] {
        assert_eq!(place.get(&client, path).await.unwrap().head.status(), 404, "{path}");
    }
    assert_eq!(place.get(&client, "/hello.txt").await.unwrap().head.status(), 200);
    client.disconnect().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_header_that_is_too_large_is_refused_and_the_connection_stays() {
    let place = Place::new().await;
    let client = place.client();
    let headers =
        HeaderMap::from_iter([(http::header::COOKIE, "c".repeat(20_000).parse().unwrap())]);
    match client.get(&place.url("/hello.txt"), &headers).await {
        Ok(response) => assert_eq!(response.head.status(), 431),
        // The client's own stack looks at the server's limit too.
        Err(error) => assert!(error.to_string().contains("HTTP/3"), "{error}"),
    }
    assert_eq!(place.get(&client, "/hello.txt").await.unwrap().head.status(), 200);
    client.disconnect().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_beyond_the_limits_are_refused_and_room_comes_back() {
    for limits in [
        Limits { connections: 2, ..Limits::default() },
        Limits { per_client: 2, ..Limits::default() },
    ] {
        let place = Place::limited(limits).await;
        let clients = [place.client(), place.client()];
        for client in &clients {
            assert_eq!(place.get(client, "/hello.txt").await.unwrap().head.status(), 200);
        }
        let third = place.client();
        let error = place.get(&third, "/hello.txt").await.unwrap_err().to_string();
        assert!(error.contains("refuse"), "{error}");
        assert!(place.server.metrics().refused.load(Relaxed) >= 1);
        for client in &clients {
            client.disconnect().await;
        }
        let mut tries = 100;
        while place.get(&third, "/hello.txt").await.is_err() {
            tries -= 1;
            assert!(tries > 0, "no room comes back");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        third.disconnect().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_load_a_client_shows_its_address_and_is_served() {
    let place = Place::limited(Limits { handshakes: 1, ..Limits::default() }).await;
    // A handshake that does not go on: the first flight of a client that never hears the answer.
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let relay = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    relay.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let nowhere = place.client();
    let url = format!("https://{}/", relay.local_addr().unwrap()).parse().unwrap();
    let asking =
        tokio::spawn(async move { nowhere.get(&url, &HeaderMap::new()).await.map(|_| ()) });
    let flight = tokio::task::spawn_blocking(move || {
        let mut buffer = [0; 2048];
        let (length, _) = relay.recv_from(&mut buffer).unwrap();
        buffer[..length].to_vec()
    });
    silent.send_to(&flight.await.unwrap(), place.server.address()).unwrap();
    asking.abort();
    let client = place.client();
    let mut tries = 100;
    while place.server.connections() == 0 {
        tries -= 1;
        assert!(tries > 0, "the first flight did not arrive");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(content(place.get(&client, "/hello.txt").await.unwrap()).await.unwrap(), b"hello");
    assert_eq!(place.server.metrics().retried.load(Relaxed), 1);
    client.disconnect().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_first_flights_is_bounded_and_passes_while_clients_are_served() {
    let handshake_time = Span::from_secs(2);
    let place = Place::limited(Limits { handshakes: 4, handshake_time, ..Limits::default() }).await;
    // First flights of a hundred clients, each from an address of its own that never answers.
    let relay = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let url: http::Uri = format!("https://{}/", relay.local_addr().unwrap()).parse().unwrap();
    let mut silent = Vec::new();
    for _ in 0..100 {
        let (nowhere, url) = (place.client(), url.clone());
        let asking =
            tokio::spawn(async move { nowhere.get(&url, &HeaderMap::new()).await.map(|_| ()) });
        let mut buffer = [0; 2048];
        let (length, _) = relay.recv_from(&mut buffer).await.unwrap();
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.send_to(&buffer[..length], place.server.address()).unwrap();
        silent.push(socket);
        asking.abort();
    }
    let client = place.client();
    assert_eq!(content(place.get(&client, "/hello.txt").await.unwrap()).await.unwrap(), b"hello");
    let metrics = place.server.metrics();
    assert!(
        metrics.retried.load(Relaxed) >= 50,
        "{} were to show their addresses",
        metrics.retried.load(Relaxed)
    );
    assert!(place.server.connections() <= 5, "{} connections", place.server.connections());
    client.disconnect().await;
    let mut tries = 200;
    while place.server.connections() > 0 {
        tries -= 1;
        assert!(tries > 0, "{} connections stay", place.server.connections());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_takes_nothing_is_given_up_and_another_is_served() {
    let place =
        Place::limited(Limits { stall_time: Span::from_millis(500), ..Limits::default() }).await;
    // Sparse, and more than the client's window and the buffers between.
    std::fs::File::create(place.path().join("big")).unwrap().set_len(300_000_000).unwrap();
    let (slow, other) = (place.client(), place.client());
    let held = place.get(&slow, "/big").await.unwrap();
    let mut tries = 300;
    while place.server.metrics().slow.load(Relaxed) == 0 {
        tries -= 1;
        assert!(tries > 0, "nobody was given up");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(place.get(&other, "/hello.txt").await.unwrap().head.status(), 200);
    assert!(content(held).await.is_err(), "what was cut off does not look whole");
    slow.disconnect().await;
    other.disconnect().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn garbage_and_silence_cost_nothing_that_lasts() {
    let place =
        Place::limited(Limits { handshake_time: Span::from_millis(300), ..Limits::default() })
            .await;
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    for length in [0usize, 1, 20, 1200, 1472, 9000] {
        for first in [0x00, 0x40, 0xc0, 0xff] {
            let mut datagram = vec![0x5a; length];
            datagram.first_mut().into_iter().for_each(|byte| *byte = first);
            socket.send_to(&datagram, place.server.address()).unwrap();
        }
    }
    let client = place.client();
    assert_eq!(content(place.get(&client, "/hello.txt").await.unwrap()).await.unwrap(), b"hello");
    client.disconnect().await;
    assert!(place.server.connections() <= 1);
}
