//! Trailers of requests through a front.

use super::exchange::{Requests, on_http3};
use super::front::{Hosts, upstream};
use super::kit::soon;
use bentpipe_net::front::Sites;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// What the upstream got: its `Trailer` fields, bytes of content, and trailers.
type Got = (Vec<String>, usize, HeaderMap);

/// Returns the URL of an upstream over HTTP/1.1, or HTTP/2, and what it gets.
async fn taking(scheme: &str) -> (String, mpsc::Receiver<Got>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("{scheme}://{}", listener.local_addr().unwrap());
    let (sender, got) = mpsc::channel(8);
    let over_http2 = scheme == "h2c";
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let sender = sender.clone();
            let service = service_fn(move |request: Request<Incoming>| {
                let sender = sender.clone();
                async move {
                    let (head, content) = request.into_parts();
                    let announced = head.headers.get_all("trailer").iter();
                    let announced = announced.map(|name| name.to_str().unwrap().to_owned());
                    let announced = announced.collect();
                    let all = content.collect().await.unwrap();
                    let trailers = all.trailers().cloned().unwrap_or_default();
                    sender.send((announced, all.to_bytes().len(), trailers)).await.unwrap();
                    Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
                }
            });
            let stream = TokioIo::new(stream);
            tokio::spawn(async move {
                if over_http2 {
                    let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                    let _ = server.serve_connection(stream, service).await;
                } else {
                    let server = hyper::server::conn::http1::Builder::new();
                    let _ = server.serve_connection(stream, service).await;
                }
            });
        }
    });
    (url, got)
}

/// Sends so much content, with trailers that are announced or not. Returns the status.
async fn send(mut requests: Requests, length: usize, announced: bool) -> u16 {
    let mut request = Request::post("https://a.test/");
    if announced {
        request = request.header("content-length", length).header("trailer", "X-Sum, Host");
    }
    let mut stream = requests.send_request(request.body(()).unwrap()).await.unwrap();
    stream.send_data(Bytes::from(vec![7; length])).await.unwrap();
    let trailers = [("x-sum", "7"), ("x-forwarded-for", "192.0.2.1"), ("authorization", "me")];
    let trailers = trailers
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
    stream.send_trailers(HeaderMap::from_iter(trailers)).await.unwrap();
    stream.finish().await.unwrap();
    soon(stream.recv_response()).await.unwrap().status().as_u16()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trailers_of_requests_reach_the_upstream_without_what_only_a_head_may_say() {
    // More than what is read before the upstream is asked, and less.
    const LENGTHS: [usize; 2] = [100_000, 100];
    let hosts = Hosts::new();
    for scheme in ["http", "h2c"] {
        let (url, mut got) = taking(scheme).await;
        let server = hosts.front(Sites::default().with_default(upstream(&url))).await;
        for (length, announced) in LENGTHS.map(|length| [(length, true), (length, false)]).concat()
        {
            let work = move |_, requests| send(requests, length, announced);
            let asked = on_http3(server.address(), "a.test", hosts.client_config(), work);
            assert_eq!(soon(asked).await.unwrap(), 200, "{scheme} {length} {announced}");
            let (names, bytes, trailers) = soon(got.recv()).await.unwrap();
            assert_eq!(bytes, length);
            // HTTP/1.1 says before the content which trailers follow it.
            let known = announced || length < 1000;
            let case = format!("{scheme} {length} {announced}: {names:?} {trailers:?}");
            assert_eq!(names, if known { vec!["x-sum"] } else { Vec::new() }, "{case}");
            if known || scheme == "h2c" {
                assert_eq!((trailers.len(), &trailers["x-sum"]), (1, &"7".parse().unwrap()));
            } else {
                assert!(trailers.is_empty(), "{case}");
            }
        }
    }
}
