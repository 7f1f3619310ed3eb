//! Answers Prometheus over plain HTTP/1.1, in its text format 0.0.4.

use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Scrapes at a time: more wait in the kernel's queue. Our choice.
const AT_A_TIME: usize = 8;
/// A scrape takes no longer.
const PATIENCE: Duration = Duration::from_secs(10);

/// What Prometheus calls a metric: one value, or one for each set of labels.
pub(crate) struct Series {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    values: Vec<(&'static str, u64)>,
}

impl Series {
    /// What there is at present.
    pub(crate) fn gauge(name: &'static str, help: &'static str, value: u64) -> Self {
        Self { name, kind: "gauge", help, values: vec![("", value)] }
    }

    /// What was counted since the program began.
    pub(crate) fn counter(name: &'static str, help: &'static str, value: &AtomicU64) -> Self {
        Self::counters(name, help, [("", value)])
    }

    /// What was counted, by labels: `{to="server"}`.
    pub(crate) fn counters<'a>(
        name: &'static str,
        help: &'static str,
        values: impl IntoIterator<Item = (&'static str, &'a AtomicU64)>,
    ) -> Self {
        let values =
            values.into_iter().map(|(labels, value)| (labels, value.load(Relaxed))).collect();
        Self { name, kind: "counter", help, values }
    }
}

/// The text that Prometheus reads, each name behind `prefix`.
pub(crate) fn text(prefix: &str, series: &[Series]) -> String {
    let mut text = String::new();
    for Series { name, kind, help, values } in series {
        // Writing into a String cannot fail.
        let _ = write!(text, "# HELP {prefix}{name} {help}\n# TYPE {prefix}{name} {kind}\n");
        for (labels, value) in values {
            let _ = writeln!(text, "{prefix}{name}{labels} {value}");
        }
    }
    text
}

/// Answers `/metrics` with what `text` says, until the task is dropped. One scrape a connection.
pub(crate) async fn serve(
    listener: TcpListener,
    text: impl Fn() -> String + Send + Sync + 'static,
) {
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
            let _ =
                timeout(PATIENCE, builder.serve_connection(TokioIo::new(stream), service)).await;
            drop(place);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prometheus_can_read_it() {
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
