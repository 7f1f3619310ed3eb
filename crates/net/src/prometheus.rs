//! Metrics for Prometheus, over plain HTTP/1.1 in its text format 0.0.4.

use crate::socket::ACCEPT_RETRY;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt::Write;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Concurrent scrapes. Further ones wait in the kernel's queue. Our choice.
const MAX_SCRAPES: usize = 8;
/// Longest time of a scrape.
const SCRAPE_TIMEOUT: Duration = Duration::from_secs(10);

/// A metric in Prometheus's sense: one value, or one for each set of labels.
pub(crate) struct Series {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    values: Vec<(Cow<'static, str>, f64)>,
}

impl Series {
    /// A value that rises and falls.
    pub(crate) fn gauge(name: &'static str, help: &'static str, value: u64) -> Self {
        Self { name, kind: "gauge", help, values: vec![("".into(), value as f64)] }
    }

    /// A count since the program began.
    pub(crate) fn counter(name: &'static str, help: &'static str, value: &AtomicU64) -> Self {
        Self::counters(name, help, [("", value)])
    }

    /// Counts since the program began, by labels such as `{to="server"}`.
    pub(crate) fn counters<'a>(
        name: &'static str,
        help: &'static str,
        values: impl IntoIterator<Item = (&'static str, &'a AtomicU64)>,
    ) -> Self {
        let values = values
            .into_iter()
            .map(|(labels, value)| (labels.into(), value.load(Relaxed) as f64))
            .collect();
        Self { name, kind: "counter", help, values }
    }
}

impl Series {
    /// The buckets of a histogram, its sum and its count, each under its suffix and label.
    pub(crate) fn histogram(
        name: &'static str,
        help: &'static str,
        values: Vec<(impl Into<Cow<'static, str>>, f64)>,
    ) -> Self {
        let values = values.into_iter().map(|(label, value)| (label.into(), value)).collect();
        Self { name, kind: "histogram", help, values }
    }
}

/// Formats metrics for Prometheus, with `prefix` before each name.
pub(crate) fn text(prefix: &str, series: &[Series]) -> String {
    let mut text = String::new();
    for Series { name, kind, help, values } in series {
        // Writing to a String cannot fail.
        let _ = write!(text, "# HELP {prefix}{name} {help}\n# TYPE {prefix}{name} {kind}\n");
        for (labels, value) in values {
            let _ = writeln!(text, "{prefix}{name}{labels} {value}");
        }
    }
    text
}

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
                match Page::at(request.uri().path()).map(&*text) {
                    Some(Some(page)) => {
                        *response.body_mut() = page;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_have_the_text_format() {
        let [first, second] = [AtomicU64::new(1), AtomicU64::new(2)];
        let series = [
            Series::gauge("connections", "Connections at present", 7),
            Series::counters(
                "bytes_total",
                "Bytes",
                [("{to=\"server\"}", &first), ("{to=\"client\"}", &second)],
            ),
        ];
        assert_eq!(
            text("bentpipe_", &series),
            "# HELP bentpipe_connections Connections at present\n# TYPE bentpipe_connections \
                gauge\n\
             bentpipe_connections 7\n# HELP bentpipe_bytes_total Bytes\n# TYPE \
             bentpipe_bytes_total counter\n\
             bentpipe_bytes_total{to=\"server\"} 1\nbentpipe_bytes_total{to=\"client\"} 2\n"
        );
    }
}
