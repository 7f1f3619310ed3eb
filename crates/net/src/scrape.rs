//! Answers Prometheus, over plain HTTP/1.1.

use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Scrapes at a time: more wait in the kernel's queue. Our choice.
const AT_A_TIME: usize = 8;
/// A scrape takes no longer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Answers `/metrics` with what `text` says, until the task is dropped. One scrape a connection.
pub(crate) async fn serve(listener: TcpListener, text: impl Fn() -> String + Send + Sync + 'static) {
    let (text, places) = (Arc::new(text), Arc::new(Semaphore::new(AT_A_TIME)));
    // The semaphore is never closed.
    while let Ok(place) = places.clone().acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let text = text.clone();
        tokio::spawn(async move {
            let service = service_fn(|request: Request<Incoming>| {
                let mut response = Response::new(String::new());
                if request.uri().path() == "/metrics" {
                    *response.body_mut() = text();
                    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
                    response.headers_mut().insert(CONTENT_TYPE, kind);
                } else {
                    *response.status_mut() = StatusCode::NOT_FOUND;
                }
                std::future::ready(Ok::<_, Infallible>(response))
            });
            let mut builder = hyper::server::conn::http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(PATIENCE).keep_alive(false);
            // How the scraper ends its connection is its own affair.
            let _ = timeout(PATIENCE, builder.serve_connection(TokioIo::new(stream), service)).await;
            drop(place);
        });
    }
}
