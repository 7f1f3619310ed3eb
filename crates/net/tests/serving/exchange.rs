//! Requests with content, which the client of the crate does not send.

use super::kit::client_tls;
use super::proxy::Proxied;
use bentpipe_net::{Driver, RealClock, Socket, Trust};
use bentpipe_quic::noq_proto::crypto::rustls::QuicClientConfig;
use bentpipe_quic::noq_proto::{ClientConfig, EndpointConfig};
use bentpipe_quic::tls::ALPN_H3;
use bentpipe_quic::{Attachments, Conn, Endpoint, Http3, Task};
use bytes::{Buf, Bytes};
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio_rustls::TlsConnector;

/// A complete response.
#[derive(Debug)]
pub struct Answer {
    pub head: Response<()>,
    pub body: Vec<u8>,
    /// Over HTTP/3.
    pub trailers: HeaderMap,
}

/// Returns the TLS 1.3 configuration of a client.
pub fn tls(trust: &Trust, alpn: &[u8]) -> rustls::ClientConfig {
    client_tls(trust, alpn, &[&rustls::version::TLS13])
}

/// Sends a request over HTTP/1.1.
pub async fn over_http1(proxied: &Proxied, request: Request<Vec<u8>>) -> Result<Answer, String> {
    let address = proxied.server.address();
    let stream = TcpStream::connect(address).await.unwrap();
    let connector = TlsConnector::from(Arc::new(tls(&proxied.trust, b"http/1.1")));
    let stream = connector.connect("localhost".try_into().unwrap(), stream).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let mut request = request.map(|body| Full::new(Bytes::from(body)));
    request.headers_mut().insert("host", format!("localhost:{}", address.port()).parse().unwrap());
    let (head, body) =
        sender.send_request(request).await.map_err(|error| error.to_string())?.into_parts();
    let body = body.collect().await.map_err(|error| error.to_string())?.to_bytes().to_vec();
    Ok(Answer { head: Response::from_parts(head, ()), body, trailers: HeaderMap::new() })
}

/// Sends a request over HTTP/3. The length of its content is announced only if the request has it.
pub async fn over_http3(proxied: &Proxied, request: Request<Vec<u8>>) -> Result<Answer, String> {
    let config = QuicClientConfig::try_from(tls(&proxied.trust, ALPN_H3)).unwrap();
    early_over_http3(proxied.server.address(), Arc::new(config), request).await
}

/// Sends a request over HTTP/3, as early data if `config` allows it and has a ticket.
pub async fn early_over_http3(
    address: SocketAddr,
    config: Arc<QuicClientConfig>,
    request: Request<Vec<u8>>,
) -> Result<Answer, String> {
    let (mut head, body) = request.into_parts();
    let target = head.uri.path_and_query().unwrap().as_str();
    head.uri = format!("https://localhost:{}{target}", address.port()).parse().unwrap();
    over_http3_to(address, "localhost", config, Request::from_parts(head, body)).await
}

/// Sends a request over HTTP/3 on a connection to `server_name`.
pub async fn over_http3_to(
    address: SocketAddr,
    server_name: &str,
    config: Arc<QuicClientConfig>,
    request: Request<Vec<u8>>,
) -> Result<Answer, String> {
    let (head, body) = request.into_parts();
    let request = Request::from_parts(head, ());
    let work = |conn, requests| exchange(conn, requests, request, body.into());
    on_http3(address, server_name, config, work).await?
}

/// What sends the requests of a connection over HTTP/3.
pub type Requests = h3::client::SendRequest<Http3, Bytes>;

/// Does `work` on a connection over HTTP/3 to `server_name`, and closes it.
pub async fn on_http3<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    address: SocketAddr,
    server_name: &str,
    config: Arc<QuicClientConfig>,
    work: impl FnOnce(Conn, Requests) -> F + Send + 'static,
) -> Result<T, String> {
    let server_name = server_name.to_owned();
    let clock = RealClock::new();
    let socket = Socket::bind(([127, 0, 0, 1], 0).into()).unwrap();
    let endpoint =
        Endpoint::new(EndpointConfig::default(), clock.base(), None, socket.max_segments(1452));
    let (driver, _) = Driver::start(endpoint, socket, clock);
    let config = ClientConfig::new(config);
    let (result, done) = oneshot::channel();
    let app = |conn: Conn| {
        Box::pin(async move {
            let worked = async {
                let requests = connected(&conn).await?;
                Ok(work(conn.clone(), requests).await)
            };
            let _ = result.send(worked.await);
        }) as Task
    };
    driver
        .run(move |endpoint, now| {
            endpoint
                .connect(now, config, address, &server_name, Attachments::default(), app)
                .unwrap();
        })
        .await;
    let done = done.await.map_err(|error| error.to_string())?;
    driver.close_all(0).await;
    done
}

/// Begins HTTP/3 on a connection.
async fn connected(conn: &Conn) -> Result<Requests, String> {
    if !conn.has_0rtt() {
        conn.handshaken().await.map_err(|error| error.to_string())?;
    }
    let built = h3::client::builder().build::<_, _, Bytes>(Http3::new(conn.clone(), 1 << 20)).await;
    let (mut connection, requests) = built.map_err(|error| error.to_string())?;
    conn.spawn(async move {
        // It ends with the test.
        let _ = poll_fn(|cx| connection.poll_close(cx)).await;
    });
    Ok(requests)
}

async fn exchange(
    conn: Conn,
    mut requests: Requests,
    request: Request<()>,
    content: Bytes,
) -> Result<Answer, String> {
    let stream = requests.send_request(request).await.map_err(|error| error.to_string())?;
    let (mut sending, mut taking) = stream.split();
    conn.spawn(async move {
        // Concurrently with the response. A server may stop the upload.
        let _ = sending.send_data(content).await;
        let _ = sending.finish().await;
    });
    let mut head = taking.recv_response().await.map_err(|error| error.to_string())?;
    while head.status().is_informational() {
        head = taking.recv_response().await.map_err(|error| error.to_string())?;
    }
    let mut body = Vec::new();
    while let Some(mut data) = taking.recv_data().await.map_err(|error| error.to_string())? {
        body.extend_from_slice(&data.copy_to_bytes(data.remaining()));
    }
    let trailers = taking.recv_trailers().await.map_err(|error| error.to_string())?;
    Ok(Answer { head, body, trailers: trailers.unwrap_or_default() })
}
