//! The server: a path says which object of the visit is meant, and its size.

use super::body::Zeros;
use super::exchange::Exchange;
use super::socket::CLOSE_TIMEOUT;
use bentpipe_tcp::http::Role;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::io;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// Serves connections until the exchange is finished, and then until they are closed.
pub(super) async fn run(
    listener: std::net::TcpListener,
    tls: TlsAcceptor,
    exchange: Arc<Exchange>,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = tokio::select! {
            accepted = listener.accept() => accepted?,
            () = exchange.finished() => break,
        };
        connections.spawn(serve(stream, tls.clone(), exchange.clone()));
    }
    let closed = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(CLOSE_TIMEOUT, closed).await;
    Ok(())
}

async fn serve(stream: TcpStream, tls: TlsAcceptor, exchange: Arc<Exchange>) {
    // An error only makes small messages slower, or leaves the socket out of the samples.
    let _ = stream.set_nodelay(true);
    let _ = exchange.add_socket(&stream, Role::Server);
    // The client notices a connection that fails.
    let Ok(stream) = tls.accept(stream).await else { return };
    let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let stream = TokioIo::new(stream);
    let service = service_fn(move |request| respond(request, exchange.clone()));
    if http2 {
        let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        let _ = builder.serve_connection(stream, service).await;
    } else {
        let builder = hyper::server::conn::http1::Builder::new();
        let _ = builder.serve_connection(stream, service).await;
    }
}

/// Returns the object that the path `/INDEX` names, or receives it.
async fn respond(
    request: Request<Incoming>,
    exchange: Arc<Exchange>,
) -> hyper::Result<Response<Zeros>> {
    let index = request.uri().path().trim_start_matches('/').parse::<usize>().ok();
    let Some(index) = index.filter(|&index| index < exchange.objects.len()) else {
        let mut response = Response::new(Zeros::new(0));
        *response.status_mut() = StatusCode::NOT_FOUND;
        return Ok(response);
    };
    if request.method() == Method::PUT {
        exchange.receive(index, request.into_body(), Role::Server).await?;
        return Ok(Response::new(Zeros::new(0)));
    }
    Ok(Response::new(Zeros::new(exchange.size(index))))
}
