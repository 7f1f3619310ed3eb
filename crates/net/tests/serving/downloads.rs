//! Downloads.

use super::kit::{certificate, until};
use super::{TestServer, content};
use bentpipe_net::get::{Client, Download, DownloadError, discard, download};
use bentpipe_net::serve::{Limits, Server};
use bentpipe_net::store::TokenFile;
use bentpipe_net::{PathReport, Trust};
use bentpipe_units::Span;
use http::HeaderMap;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_arrive_whole_and_in_ranges() {
    let site = TestServer::new().await;
    let expected = site.file("big.bin", 5_000_000);
    let client = site.client();
    let response = site.get(&client, "/big.bin").await.unwrap();
    assert_eq!(response.head.status(), 200);
    assert!(content(response).await.unwrap() == expected);

    let headers = HeaderMap::from_iter([(http::header::RANGE, "bytes=1000-2999".parse().unwrap())]);
    let part = client.get(&site.url("/big.bin"), &headers).await.unwrap();
    assert_eq!(part.head.status(), 206);
    assert!(content(part).await.unwrap() == expected[1000..3000]);
    assert_eq!(site.get(&client, "/none").await.unwrap().head.status(), 404);
    client.disconnect().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_connection_sends_its_request_with_the_first_flight() {
    let site = TestServer::new().await;
    let client = site.client();
    let first = site.get(&client, "/hello.txt").await.unwrap();
    assert!(!first.timings().early);
    assert_eq!(content(first).await.unwrap(), b"hello");
    // Tickets arrive after the handshake.
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    client.disconnect().await;
    let what = Download { url: site.url("/hello.txt"), file: site.path().join("copy") };
    let outcome = download(&client, &what, |_, _| {}).await.unwrap();
    let timings = outcome.timings;
    assert!(timings.early && timings.completion.unwrap() >= timings.first_byte, "{timings:?}");
    assert_eq!(outcome.path, Some(PathReport::Unknown), "too little to learn from");
    // Another request on the same connection.
    let again = discard(&client, &what.url, |_, _| {}).await.unwrap().timings;
    assert!(!again.early && again.handshake.is_none() && again.start > timings.start, "{again:?}");
    client.disconnect().await;
    until("the server took nothing early", || site.server.metrics().early.load(Relaxed) > 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_clients_at_once_are_served_without_an_error() {
    let site = TestServer::new().await;
    let expected = site.file("file.bin", 300_000);
    let clients = (0..100).map(|_| {
        let (client, url) = (site.client(), site.url("/file.bin"));
        tokio::spawn(async move {
            let response = client.get(&url, &HeaderMap::new()).await.unwrap();
            let arrived = content(response).await.unwrap();
            client.disconnect().await;
            arrived
        })
    });
    for client in clients.collect::<Vec<_>>() {
        assert!(client.await.unwrap() == expected);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_download_resumes_unless_the_file_has_changed() {
    let site = TestServer::new().await;
    let expected = site.file("file.bin", 1_000_000);
    let here = tempfile::tempdir().unwrap();
    let what = Download { url: site.url("/file.bin"), file: here.path().join("copy") };
    let (part, mark) = (here.path().join("copy.part"), here.path().join("copy.part.json"));
    let client = site.client();
    let head = site.get(&client, "/file.bin").await.unwrap().head;
    let etag = head.headers()["etag"].to_str().unwrap().to_owned();
    let leave_partial = |etag: &str| {
        std::fs::write(&part, &expected[..400_000]).unwrap();
        let url = what.url.to_string();
        let record = serde_json::json!({ "url": url, "location": url, "etag": etag });
        std::fs::write(&mark, record.to_string()).unwrap();
    };
    for (etag, resumed_at) in [(etag.as_str(), 400_000), ("\"another\"", 0)] {
        leave_partial(etag);
        let outcome = download(&client, &what, |_, _| {}).await.unwrap();
        assert_eq!((outcome.bytes, outcome.resumed_at), (1_000_000, resumed_at));
        assert!(std::fs::read(&what.file).unwrap() == expected);
        assert!(!part.exists() && !mark.exists());
    }
    let none = Download { url: site.url("/none"), file: here.path().join("none") };
    let error = download(&client, &none, |_, _| {}).await.unwrap_err();
    assert!(matches!(error, DownloadError::Status { status, .. } if status == 404), "{error}");
    assert!(!here.path().join("none").exists());
    client.disconnect().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stops_lets_downloads_finish() {
    let site = TestServer::new().await;
    let expected = site.file("file.bin", 20_000_000);
    let client = site.client();
    let mut response = site.get(&client, "/file.bin").await.unwrap();
    let mut pieces = Vec::new();
    response.pieces(&mut pieces).await.unwrap();
    let taking = tokio::spawn(async move {
        while response.pieces(&mut pieces).await.unwrap() {}
        pieces.concat()
    });
    let left = site.server.stop(Span::from_secs(20)).await;
    assert!(taking.await.unwrap() == expected);
    assert_eq!(left, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_in_a_file_serve_another_client() {
    let site = TestServer::new().await;
    let here = tempfile::tempdir().unwrap();
    let file = here.path().join("state/tokens.sqlite");
    let visit = || async {
        let tokens = TokenFile::open(&file).unwrap();
        let client = bentpipe_net::get::Client::builder()
            .trust(site.trust.clone())
            .tokens(tokens)
            .build()
            .unwrap();
        let response = site.get(&client, "/hello.txt").await.unwrap();
        assert_eq!(content(response).await.unwrap(), b"hello");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        client.disconnect().await;
    };
    visit().await;
    use bentpipe_quic::noq_proto::TokenStore;
    let kept = TokenFile::open(&file).unwrap();
    let token = TokenStore::take(&kept, &site.server.address().to_string());
    assert!(token.is_some(), "the server sent a token (NEW_TOKEN)");
    let again = TokenStore::take(&kept, &site.server.address().to_string());
    assert_eq!(again, None, "a token can be taken once");
    drop(kept);
    visit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tickets_in_a_file_are_taken_once_and_damaged_ones_cost_a_handshake() {
    let site = TestServer::new().await;
    let here = tempfile::tempdir().unwrap();
    let file = here.path().join("tokens.sqlite");
    let visit = |trust: Trust| async {
        let tokens = TokenFile::open(&file).unwrap();
        let client = Client::builder().trust(trust).tokens(tokens).build().unwrap();
        let response = site.get(&client, "/hello.txt").await.unwrap();
        let early = response.timings().early;
        assert_eq!(content(response).await.unwrap(), b"hello");
        client.disconnect().await;
        early
    };
    let kept = |change: &str| {
        let database = rusqlite::Connection::open(&file).unwrap();
        database.execute(change, []).unwrap();
        let count = "SELECT count(*) FROM ticket";
        database.query_row(count, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    let nothing = "UPDATE ticket SET token = token";
    assert!(!visit(site.trust.clone()).await);
    until("a ticket", || kept(nothing) > 0).await;
    assert!(visit(site.trust.clone()).await);
    // Others may have come before the end of the connection.
    assert!(visit(site.trust.clone()).await);
    // Neither used for servers that are not verified, nor kept of them.
    assert!(!visit(Trust::Anybody).await);
    assert_eq!(kept("DELETE FROM ticket"), 0);
    assert!(!visit(Trust::Anybody).await);
    assert_eq!(kept(nothing), 0);
    for damage in [
        "UPDATE ticket SET token = zeroblob(100000)",
        "UPDATE ticket SET token = substr(token, 1, 200)",
        "UPDATE ticket SET expires_ms = 1",
    ] {
        // A busy client may end its connection before it has had both.
        for _ in 0..5 {
            visit(site.trust.clone()).await;
            tokio::time::sleep(Duration::from_millis(100)).await;
            if kept(nothing) > 1 {
                break;
            }
        }
        assert!(kept(nothing) > 1);
        kept(damage);
        assert!(!visit(site.trust.clone()).await, "{damage}");
        kept("DELETE FROM ticket");
    }
}

/// Starts servers one after another at one port with one certificate, and the keys in `files`.
/// Returns whether the client's request to each left with the first flight and was accepted.
async fn early_data(files: &[Option<&Path>], limits: &[Limits]) -> Vec<bool> {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("hello.txt"), "hello").unwrap();
    let (certificate, trust) = certificate();
    let client = Client::builder().trust(trust).build().unwrap();
    let (mut early, mut address) = (Vec::new(), ([127, 0, 0, 1], 0).into());
    for (keys, limits) in files.iter().zip(limits) {
        let start = || {
            let builder = Server::builder(directory.path(), certificate.clone());
            let builder = builder.listen(address).limits(*limits);
            match keys {
                Some(file) => builder.keys(file),
                None => builder,
            }
            .start()
        };
        let mut started = start().await;
        // The last connections of the one before may take a moment to close.
        for _ in 0..100 {
            if started.is_ok() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            started = start().await;
        }
        let server = started.unwrap();
        address = server.address();
        let url = format!("https://{address}/hello.txt").parse().unwrap();
        let response = client.get(&url, &HeaderMap::new()).await.unwrap();
        early.push(response.timings().early);
        assert_eq!(content(response).await.unwrap(), b"hello");
        // Tickets arrive after the handshake, and are written in the background.
        tokio::time::sleep(Duration::from_millis(500)).await;
        client.disconnect().await;
        server.stop(Span::from_secs(5)).await;
    }
    early
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn early_data_is_accepted_after_a_restart_with_the_same_keys_and_settings() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("server.sqlite");
    let limits = Limits::default();
    let kept = early_data(&[Some(file.as_path()); 3], &[limits; 3]).await;
    assert_eq!(kept, [false, true, true]);
    let lost = early_data(&[None; 2], &[limits; 2]).await;
    assert_eq!(lost, [false, false], "keys in memory");
    let fewer = Limits { requests: 50, ..limits };
    let changed = early_data(&[Some(file.as_path()); 2], &[limits, fewer]).await;
    assert_eq!(changed, [false, false], "clients remember the limits before");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_at_two_ports_of_a_host_leave_each_other_their_tickets_and_tokens() {
    let here = tempfile::tempdir().unwrap();
    std::fs::write(here.path().join("hello.txt"), "hello").unwrap();
    let (certificate, trust) = certificate();
    let mut servers = Vec::new();
    for _ in 0..2 {
        servers.push(Server::builder(here.path(), certificate.clone()).start().await.unwrap());
    }
    let file = here.path().join("tokens.sqlite");
    for file in [None, Some(&file)] {
        let mut builder = Client::builder().trust(trust.clone());
        if let Some(file) = file {
            builder = builder.tokens(TokenFile::open(file).unwrap());
        }
        let client = builder.build().unwrap();
        let mut early = Vec::new();
        for visit in 0..6 {
            let server = &servers[visit % 2];
            let url = format!("https://{}/hello.txt", server.address()).parse().unwrap();
            let response = client.get(&url, &HeaderMap::new()).await.unwrap();
            early.push(response.timings().early);
            assert_eq!(content(response).await.unwrap(), b"hello");
            // Tickets arrive after the handshake, and are written in the background.
            tokio::time::sleep(Duration::from_millis(200)).await;
            client.disconnect().await;
        }
        assert_eq!(early, [false, false, true, true, true, true], "{file:?}");
    }
    let kept = rusqlite::Connection::open(&file).unwrap();
    for table in ["ticket", "address_token"] {
        let mut names = kept.prepare(&format!("SELECT DISTINCT server FROM {table}")).unwrap();
        let names = names.query_map([], |row| row.get::<_, String>(0)).unwrap();
        let mut names: Vec<String> = names.map(Result::unwrap).collect();
        let mut expected: Vec<String> =
            servers.iter().map(|server| server.address().to_string()).collect();
        names.sort();
        expected.sort();
        assert_eq!(names, expected, "{table}");
    }
}
