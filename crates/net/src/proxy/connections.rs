//! Connections to one server of an upstream, over HTTP/1.1 or HTTP/2.

use super::dial::Dialer;
use super::http2::{ActiveStream, Http2Pool, send_alone};
use super::per_thread::PerThread;
use super::proxy_protocol::{Source, header};
use super::send_error::{SendError, Unanswered};
use super::upload::Upload;
use super::upstream::{Protocol, UpstreamServer};
use http::header::{CONNECTION, HOST, HeaderName, HeaderValue, UPGRADE};
use http::{HeaderMap, Request, Response, Uri, Version};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tower_service::Service;

/// Time that an unused connection is kept whose server does not say how long it keeps its own. Our
/// choice: less than Apache and Node, which keep theirs for 5 s. What is sent on a connection that
/// the server is closing is lost.
const IDLE_TIME: Duration = Duration::from_secs(4);
/// Longest time that an unused connection is kept, whatever its server says. Our choice.
const MAX_IDLE_TIME: Duration = Duration::from_secs(15);
/// Read buffer for a response, and so the largest size of its header, bytes. Our choice.
const BUFFER: usize = 64 * 1024;

/// Connections to one server.
#[derive(Debug)]
pub(super) enum Connections {
    /// Kept for further requests, apart for each thread that carries QUIC connections: a connection
    /// is driven where it was opened, and a busy thread would keep the requests of another waiting.
    Kept(PerThread<Kept>),
    /// For a server that gets the PROXY protocol.
    PerRequest(PerRequest),
}

/// Connections that are kept for further requests.
#[derive(Debug)]
pub(super) struct Kept {
    http1: Mutex<Http1>,
    /// Opens connections over HTTP/1.1.
    connector: HttpsConnector<Dialer>,
    /// Unused ones that are kept for each name.
    idle: usize,
    /// Not for a server that is asked over HTTP/1.1 alone.
    http2: Option<Http2Pool>,
}

/// Connections over HTTP/1.1.
#[derive(Debug)]
struct Http1 {
    client: Client<HttpsConnector<Dialer>, Upload>,
    /// Time that unused ones are kept.
    idle_time: Duration,
    /// Whether the server has said it.
    said: bool,
}

impl Http1 {
    fn new(connector: HttpsConnector<Dialer>, idle: usize, idle_time: Duration) -> Self {
        let idle = if idle_time.is_zero() { 0 } else { idle };
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(idle_time)
            .pool_max_idle_per_host(idle)
            .http1_max_buf_size(BUFFER)
            .build(connector);
        Self { client, idle_time, said: false }
    }
}

impl Kept {
    fn new(server: &UpstreamServer, tls: &ClientConfig, idle: usize) -> Self {
        let dialer = || Dialer::new(server.clone());
        let builder = || HttpsConnectorBuilder::new().with_tls_config(tls.clone()).https_or_http();
        let connector = builder().enable_http1().wrap_connector(dialer());
        let http1 = Mutex::new(Http1::new(connector.clone(), idle, IDLE_TIME));
        let http2 = (server.protocol != Protocol::Http1).then(|| {
            let connector = builder().enable_http2().wrap_connector(dialer());
            Http2Pool::new(connector, BUFFER, IDLE_TIME)
        });
        Self { http1, connector, idle, http2 }
    }

    fn http1(&self) -> MutexGuard<'_, Http1> {
        self.http1.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes for how long the server keeps its connections, as the header of a response says. Of
    /// several times that it says, the shortest counts, so that a server cannot make each response
    /// the end of all kept connections.
    fn note_keep_alive(&self, headers: &HeaderMap) {
        let Some(time) = kept_by_server(headers) else { return };
        let mut http1 = self.http1();
        let shorter = time < http1.idle_time;
        if shorter || time > http1.idle_time && !http1.said {
            // Unused connections of the one before are closed with it.
            *http1 = Http1::new(self.connector.clone(), self.idle, time);
        }
        http1.said = true;
    }
}

/// Returns how long a connection is kept, if the header of a response on it says how long the
/// server keeps it (`Keep-Alive: timeout=5`): a second less, in which what is under way arrives.
fn kept_by_server(headers: &HeaderMap) -> Option<Duration> {
    let field = headers.get(HeaderName::from_static("keep-alive"))?.to_str().ok()?;
    let timeout = field.split(',').find_map(|part| {
        let (name, value) = part.split_once('=')?;
        let value = value.trim().trim_matches('"');
        value.parse::<u64>().ok().filter(|_| name.trim().eq_ignore_ascii_case("timeout"))
    });
    Some(Duration::from_secs(timeout?.saturating_sub(1)).min(MAX_IDLE_TIME))
}

/// Opens a connection for each request, which begins with the client's address (PROXY protocol).
pub(super) struct PerRequest {
    dialer: Dialer,
    /// For HTTP/1.1, and for HTTP/2.
    tls: [Arc<ClientConfig>; 2],
}

impl fmt::Debug for PerRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerRequest").field("dialer", &self.dialer).finish_non_exhaustive()
    }
}

/// A request to one server.
#[derive(Debug)]
pub(super) struct ServerRequest {
    /// The request, whose version is that of HTTP to use.
    pub request: Request<Upload>,
    /// The server, with the host that TLS names.
    pub server: Uri,
    /// Whether its connection over HTTP/2 is kept. Over HTTP/1.1, the request says so itself.
    pub keep: bool,
    /// The client, for a server that gets the PROXY protocol.
    pub source: Option<Source>,
}

impl Connections {
    /// Returns no connections so far. Of HTTP/1.1, `idle` unused ones are kept for each name and
    /// thread.
    pub fn new(server: &UpstreamServer, tls: &ClientConfig, idle: usize) -> Self {
        if server.proxy_protocol {
            let dialer = Dialer::new(server.clone());
            let mut over_http2 = tls.clone();
            over_http2.alpn_protocols = vec![b"h2".to_vec()];
            let tls = [tls.clone(), over_http2].map(Arc::new);
            return Self::PerRequest(PerRequest { dialer, tls });
        }
        let (server, tls) = (server.clone(), tls.clone());
        Self::Kept(PerThread::new(move || Kept::new(&server, &tls, idle)))
    }

    /// Sends a request once, and returns the response, with its place on a connection that it
    /// shares.
    ///
    /// # Errors
    /// The server cannot be reached, or does not respond.
    pub async fn send(
        &self,
        request: ServerRequest,
    ) -> Result<(Response<Incoming>, Option<ActiveStream>), Unanswered> {
        let kept = match self {
            Self::PerRequest(per_request) => return per_request.send(request).await,
            Self::Kept(kept) => kept.get(),
        };
        let ServerRequest { request, server, keep, .. } = request;
        match &kept.http2 {
            Some(http2) if request.version() == Version::HTTP_2 => {
                let (response, stream) = http2.send(request, &server, keep).await?;
                Ok((response, Some(stream)))
            }
            _ => {
                let client = kept.http1().client.clone();
                let response = client.request(request).await?;
                kept.note_keep_alive(response.headers());
                Ok((response, None))
            }
        }
    }
}

impl PerRequest {
    async fn send(
        &self,
        ServerRequest { mut request, server, source, .. }: ServerRequest,
    ) -> Result<(Response<Incoming>, Option<ActiveStream>), Unanswered> {
        let dialer = self.dialer.clone().with_header(header(source));
        let [over_http1, over_http2] = &self.tls;
        if request.version() == Version::HTTP_2 {
            let connector = HttpsConnector::from((dialer, over_http2.clone()));
            let (response, stream) = send_alone(connector, server, BUFFER, request).await?;
            return Ok((response, Some(stream)));
        }
        let connector = HttpsConnector::from((dialer, over_http1.clone()));
        let mut sender = match open(connector, server).await {
            Ok(sender) => sender,
            Err(error) => return Err(Unanswered { error, unsent: Some(request.into_body()) }),
        };
        let uri = std::mem::take(request.uri_mut());
        let host = uri.authority().and_then(|host| HeaderValue::from_str(host.as_str()).ok());
        *request.uri_mut() = uri.path_and_query().cloned().map(Uri::from).unwrap_or_default();
        let headers = request.headers_mut();
        if let Some(host) = host.filter(|_| !headers.contains_key(HOST)) {
            headers.insert(HOST, host);
        }
        if !headers.contains_key(UPGRADE) {
            headers.append(CONNECTION, HeaderValue::from_static("close"));
        }
        match sender.try_send_request(request).await {
            Ok(response) => Ok((response, None)),
            Err(error) => Err(Unanswered::failed(error)),
        }
    }
}

/// Opens a connection over HTTP/1.1 to the server at `name`.
async fn open(
    mut connector: HttpsConnector<Dialer>,
    name: Uri,
) -> Result<http1::SendRequest<Upload>, SendError> {
    poll_fn(|cx| connector.poll_ready(cx)).await.map_err(SendError::connect)?;
    let stream = connector.call(name).await.map_err(SendError::connect)?;
    let begun = http1::Builder::new().max_buf_size(BUFFER).handshake(stream).await;
    let (sender, connection) = begun.map_err(|error| SendError::connect(error.into()))?;
    // Its error is that of the request.
    tokio::spawn(connection.with_upgrades());
    Ok(sender)
}

#[cfg(test)]
mod tests {
    use super::super::outgoing::OutgoingHead;
    use super::*;
    use http::{Method, StatusCode};
    use http_body_util::BodyExt;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::mpsc;
    use tokio::runtime::Builder;

    /// Starts a web server that answers requests of a few bytes, and returns its URL. It ends with
    /// the test's process.
    fn web_server() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                std::thread::spawn(move || {
                    let mut request = [0; 1024];
                    while stream.read(&mut request).is_ok_and(|length| length > 0) {
                        stream.write_all(answer).unwrap();
                    }
                });
            }
        });
        url
    }

    /// Asks once, on a thread's own runtime.
    fn ask(connections: &Connections, server: &UpstreamServer) -> StatusCode {
        let head = OutgoingHead::own(&Method::GET, "/", HeaderMap::new(), true);
        let request = head.to(server, Upload::empty()).unwrap();
        Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let (response, _) = connections.send(request).await.unwrap();
            let status = response.status();
            response.into_body().collect().await.unwrap();
            status
        })
    }

    #[test]
    fn a_busy_thread_does_not_keep_the_requests_of_another_waiting() {
        let server = UpstreamServer::new(&web_server()).unwrap();
        let tls =
            ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
        let tls = tls.with_safe_default_protocol_versions().unwrap();
        let tls = tls.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth();
        let connections = Arc::new(Connections::new(&server, &tls, 8));
        let (idle, seen) = mpsc::channel();
        let (done, awaited) = mpsc::channel::<()>();
        let (busy, of_busy) = (connections.clone(), server.clone());
        let busy = std::thread::spawn(move || {
            // The runtime stays, and its connection is idle, but nothing drives it.
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            let head = OutgoingHead::own(&Method::GET, "/", HeaderMap::new(), true);
            let request = head.to(&of_busy, Upload::empty()).unwrap();
            runtime.block_on(async {
                let (response, _) = busy.send(request).await.unwrap();
                response.into_body().collect().await.unwrap();
                // Until the connection is back among the idle ones.
                tokio::time::sleep(Duration::from_millis(50)).await;
            });
            idle.send(()).unwrap();
            let _ = awaited.recv_timeout(Duration::from_secs(20));
        });
        seen.recv().unwrap();
        let (answered, answer) = mpsc::channel();
        std::thread::spawn(move || answered.send(ask(&connections, &server)));
        let status = answer.recv_timeout(Duration::from_secs(10));
        done.send(()).unwrap();
        busy.join().unwrap();
        assert_eq!(status, Ok(StatusCode::OK));
    }

    #[test]
    fn connections_are_kept_for_a_second_less_than_the_server_keeps_them() {
        let kept = |field: &'static str| {
            let field = HeaderValue::from_static(field);
            let headers = HeaderMap::from_iter([(HeaderName::from_static("keep-alive"), field)]);
            kept_by_server(&headers).map(|time| time.as_secs())
        };
        for (field, expected) in [
            ("timeout=5", Some(4)),
            ("timeout=5, max=100", Some(4)),
            ("max=100, Timeout = \"8\"", Some(7)),
            ("timeout=600", Some(15)),
            ("timeout=1", Some(0)),
            ("timeout=0", Some(0)),
            ("timeout=-1", None),
            ("max=100", None),
            ("", None),
        ] {
            assert_eq!(kept(field), expected, "{field}");
        }
        assert_eq!(kept_by_server(&HeaderMap::new()), None);
    }
}
