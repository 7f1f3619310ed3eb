//! The server: the files of a folder, over HTTP/0.9 or HTTP/3, until it is killed.

use crate::case::{Case, Orders};
use crate::client::qlog;
use crate::{hq, tls};
use bentpipe_net::serve::Server;
use bentpipe_net::{Certificate, Driver, LogFormat, RealClock, Socket};
use bentpipe_quic::noq_proto::EndpointConfig;
use bentpipe_quic::{Accept, Admission, Conn, Endpoint, RawStream, Task};
use std::path::PathBuf;
use std::sync::Arc;

/// Serves until the process is killed, or its socket fails.
pub async fn run(orders: &Orders, case: Case) -> Result<(), String> {
    if case.http3 {
        return http3(orders).await;
    }
    let clock = RealClock::new();
    let config = tls::server(orders, case)?;
    let socket = Socket::bind(orders.listen).map_err(|error| error.to_string())?;
    let segments = socket.max_segments(1452);
    let (www, traces, base) = (orders.www.clone(), orders.qlog.clone(), clock.base());
    let accepting = config.clone();
    let acceptor = Box::new(move |_| {
        let (connection, trace) = hq::connection(base, traces.as_deref()).ok()?;
        let (config, attachments) = connection.server(&accepting);
        let www = www.clone();
        let app = Box::new(move |conn: Conn| Box::pin(serve(conn, www, trace)) as Task);
        Some(Accept { config, attachments, app })
    });
    let server = Some((Arc::new(config), acceptor as _));
    let mut endpoint = Endpoint::new(EndpointConfig::default(), base, server, segments);
    if case.retry {
        let ask = |_, validated| if validated { Admission::Admit } else { Admission::Retry };
        endpoint.set_gatekeeper(Box::new(ask));
    }
    let (driver, task) = Driver::start(endpoint, socket, clock);
    let ended = task.await;
    drop(driver);
    ended.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}

/// Serves a connection until it ends.
async fn serve(conn: Conn, www: PathBuf, trace: hq::Trace) {
    while let Ok(stream) = RawStream::accept(&conn).await {
        conn.spawn(hq::respond(stream, www.clone()));
    }
    trace.write("server");
}

/// Serves like `bentpipe serve`.
async fn http3(orders: &Orders) -> Result<(), String> {
    let (chain, key) = (orders.certs.join("cert.pem"), orders.certs.join("priv.key"));
    let certificate = Certificate::from_pem(&chain, &key).map_err(|error| error.to_string())?;
    let mut builder = Server::builder(&orders.www, certificate)
        .listen(orders.listen)
        .error_log(LogFormat::Text, Box::new(std::io::stderr()));
    if let Some(qlog) = qlog(orders.qlog.as_deref()) {
        builder = builder.qlog(qlog);
    }
    let mut server = builder.start().await.map_err(|error| error.to_string())?;
    Err(server.failed().await.to_string())
}
