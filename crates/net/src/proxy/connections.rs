//! Connections to one server of an upstream, over HTTP/1.1 or HTTP/2.

use super::dial::Dialer;
use super::http2::{ActiveStream, Http2Pool, send_alone};
use super::proxy_protocol::{Source, header};
use super::send_error::{SendError, Unanswered};
use super::upload::Upload;
use super::upstream::{Protocol, UpstreamServer};
use http::header::{CONNECTION, HOST, HeaderValue, UPGRADE};
use http::{Request, Response, Uri, Version};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;
use tower_service::Service;

/// Time that an unused connection is kept. Our choice: less than most servers keep theirs. A
/// connection that the upstream has closed is replaced.
const IDLE_TIME: Duration = Duration::from_secs(15);
/// Read buffer for a response, and so the largest size of its header, bytes. Our choice.
const BUFFER: usize = 64 * 1024;

/// Connections to one server.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one for each server of an upstream")]
pub(super) enum Connections {
    /// Kept for further requests.
    Kept {
        http1: Client<HttpsConnector<Dialer>, Upload>,
        /// Not for a server that is asked over HTTP/1.1 alone.
        http2: Option<Http2Pool>,
    },
    /// For a server that gets the PROXY protocol.
    PerRequest(PerRequest),
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
    /// Returns no connections so far. Of HTTP/1.1, `idle` unused ones are kept for each name.
    pub fn new(server: &UpstreamServer, tls: &ClientConfig, idle: usize) -> Self {
        let dialer = || Dialer::new(server.clone());
        if server.proxy_protocol {
            let mut over_http2 = tls.clone();
            over_http2.alpn_protocols = vec![b"h2".to_vec()];
            let tls = [tls.clone(), over_http2].map(Arc::new);
            return Self::PerRequest(PerRequest { dialer: dialer(), tls });
        }
        let builder = || HttpsConnectorBuilder::new().with_tls_config(tls.clone()).https_or_http();
        let http1 = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIME)
            .pool_max_idle_per_host(idle)
            .http1_max_buf_size(BUFFER)
            .build(builder().enable_http1().wrap_connector(dialer()));
        let http2 = (server.protocol != Protocol::Http1).then(|| {
            let connector = builder().enable_http2().wrap_connector(dialer());
            Http2Pool::new(connector, BUFFER, IDLE_TIME)
        });
        Self::Kept { http1, http2 }
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
        let (http1, http2) = match self {
            Self::PerRequest(per_request) => return per_request.send(request).await,
            Self::Kept { http1, http2 } => (http1, http2),
        };
        let ServerRequest { request, server, keep, .. } = request;
        match http2 {
            Some(http2) if request.version() == Version::HTTP_2 => {
                let (response, stream) = http2.send(request, &server, keep).await?;
                Ok((response, Some(stream)))
            }
            _ => Ok((http1.request(request).await?, None)),
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
