//! Limits on how often a client asks, over all versions of HTTP.

use super::TestServer;
use super::exchange::{early_over_http3, tls};
use super::proxy::ask;
use super::slow_peers::Http2;
use super::tcp;
use bentpipe_net::serve::Limits;
use bentpipe_quic::noq_proto::crypto::rustls::QuicClientConfig;
use bentpipe_quic::tls::ALPN_H3;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_asks_too_often_is_told_when_it_may_ask_again() {
    let limits = Limits {
        request_rate: Some("1/min".parse().unwrap()),
        request_burst: NonZeroU32::new(2).unwrap(),
        ..Limits::default()
    };
    let site = TestServer::limited(limits).await;
    let refused = [200, 200, 429, 429];

    // On one connection, which goes on.
    let mut stream = tcp::connect_as(&site, [127, 0, 0, 2], b"http/1.1").await;
    let request = |last: bool| {
        let more = if last { "close" } else { "keep-alive" };
        format!("GET /hello.txt HTTP/1.1\r\nhost: h\r\nconnection: {more}\r\n\r\n")
    };
    let all = [false, false, false, true].map(request).concat();
    let answers = tcp::ask(&mut stream, &all).await;
    let statuses: Vec<u16> =
        answers.split("HTTP/1.1 ").filter_map(|answer| answer.get(..3)?.parse().ok()).collect();
    assert_eq!(statuses, refused, "{answers}");
    assert!(answers.to_lowercase().contains("retry-after: 60\r\n"), "{answers}");

    let mut client = Http2::connect(&site, [127, 0, 0, 3], 1 << 20).await;
    for status in refused {
        let response = client.ask("/hello.txt").await.unwrap();
        assert_eq!(response.status(), status);
        assert_eq!(response.headers().contains_key("retry-after"), status == 429);
    }

    // On connections of their own, one with content that nobody reads.
    let config = QuicClientConfig::try_from(tls(&site.trust, ALPN_H3)).unwrap();
    let config = Arc::new(config);
    let requests = [("GET", 0), ("GET", 0), ("GET", 0), ("POST", 300_000)].into_iter().zip(refused);
    for ((method, content), status) in requests {
        let request = ask(method, "/hello.txt", &[], vec![0; content]);
        let answer = early_over_http3(site.server.address(), config.clone(), request).await;
        let head = answer.unwrap().head;
        assert_eq!(head.status(), status, "{method}");
        assert_eq!(head.headers().contains_key("retry-after"), status == 429);
    }
    assert_eq!(site.server.metrics().limited.load(Relaxed), 6);
}
