//! A listener for Prometheus and load balancers, over plain HTTP/1.1.

use crate::process_metrics::process_metrics;
use crate::socket::ACCEPT_RETRY;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Concurrent scrapes. Further ones wait in the kernel's queue. Our choice.
const MAX_SCRAPES: usize = 8;
/// Longest time of a scrape.
const SCRAPE_TIMEOUT: Duration = Duration::from_secs(10);

/// A page that the listener serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Page {
    /// `/metrics`, in Prometheus's format.
    Metrics,
    /// `/health`, for load balancers: 200 while the service accepts connections.
    Health,
}

impl Page {
    fn at(path: &str) -> Option<Self> {
        match path {
            "/metrics" => Some(Self::Metrics),
            "/health" => Some(Self::Health),
            _ => None,
        }
    }
}

/// A listener for Prometheus and load balancers.
#[derive(Debug)]
pub(crate) struct MetricsListener {
    listener: TcpListener,
    address: SocketAddr,
}

impl MetricsListener {
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        Self::new(TcpListener::bind(address).await?)
    }

    /// Uses a listener of another process.
    pub fn inherited(listener: std::net::TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Self::new(TcpListener::from_std(listener)?)
    }

    fn new(listener: TcpListener) -> io::Result<Self> {
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// The address that it is bound to.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its descriptor.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Starts to answer requests for pages with what `text` returns, until the task is aborted.
    /// `None` is answered with 503. Each connection serves one request.
    pub fn serve(
        self,
        text: impl Fn(Page) -> Option<String> + Send + Sync + 'static,
    ) -> JoinHandle<()> {
        tokio::spawn(serve(self.listener, text))
    }
}

async fn serve(
    listener: TcpListener,
    text: impl Fn(Page) -> Option<String> + Send + Sync + 'static,
) {
    let (text, scrapes) = (Arc::new(text), Arc::new(Semaphore::new(MAX_SCRAPES)));
    // The semaphore is never closed.
    while let Ok(permit) = scrapes.clone().acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_RETRY).await;
            continue;
        };
        let text = text.clone();
        tokio::spawn(async move {
            let service = service_fn(|request: Request<Incoming>| {
                let mut response = Response::new(String::new());
                let page = Page::at(request.uri().path());
                match page.map(&*text) {
                    Some(Some(mut body)) => {
                        if page == Some(Page::Metrics) {
                            body += &process_metrics();
                        }
                        *response.body_mut() = body;
                        let kind =
                            HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
                        response.headers_mut().insert(CONTENT_TYPE, kind);
                    }
                    Some(None) => *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE,
                    None => *response.status_mut() = StatusCode::NOT_FOUND,
                }
                std::future::ready(Ok::<_, Infallible>(response))
            });
            let mut builder = hyper::server::conn::http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(SCRAPE_TIMEOUT).keep_alive(false);
            // An error of the scraper's connection concerns nobody else.
            let _ =
                timeout(SCRAPE_TIMEOUT, builder.serve_connection(TokioIo::new(stream), service))
                    .await;
            drop(permit);
        });
    }
}
