//! The client: downloads the requested files, over as many connections as the test case says.

use crate::case::{Case, Connections, Orders};
use crate::{hq, tls};
use bentpipe_net::get::Client;
use bentpipe_net::{Driver, Qlog, RealClock, Socket, Trust};
use bentpipe_quic::noq_proto::EndpointConfig;
use bentpipe_quic::noq_proto::crypto::rustls::QuicClientConfig;
use bentpipe_quic::{Conn, Endpoint, Task};
use bentpipe_units::Bytes;
use http::Uri;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// A file that a connection has downloaded, or why it has not.
type Download = (String, Result<Vec<u8>, String>);

/// Downloads all files.
pub async fn run(orders: &Orders, case: Case) -> Result<(), String> {
    let requests: Result<Vec<Uri>, _> = orders.requests.iter().map(|url| url.parse()).collect();
    let requests = requests.map_err(|error: http::uri::InvalidUri| error.to_string())?;
    if case.http3 {
        return http3(orders, &requests).await;
    }
    let tls = tls::client(orders, case)?;
    let session = Session { orders, case, clock: RealClock::new() };
    match case.connections {
        Connections::One => session.fetch(&requests, &tls[0]).await,
        Connections::Each => {
            for request in &requests {
                session.fetch(std::slice::from_ref(request), &tls[0]).await?;
            }
            Ok(())
        }
        Connections::Resumed { early } => {
            let (first, others) = requests.split_at(requests.len().min(1));
            session.fetch(first, &tls[usize::from(early)]).await?;
            session.fetch(others, &tls[usize::from(early)]).await
        }
    }
}

/// What the connections of a client have in common.
struct Session<'a> {
    orders: &'a Orders,
    case: Case,
    clock: RealClock,
}

impl Session<'_> {
    /// Downloads over one connection.
    async fn fetch(&self, requests: &[Uri], tls: &Arc<QuicClientConfig>) -> Result<(), String> {
        let Some(server) = requests.first() else { return Ok(()) };
        let host = server.host().ok_or("a URL has no host")?.to_owned();
        let port = server.port_u16().unwrap_or(443);
        let found = tokio::net::lookup_host((host.as_str(), port)).await;
        let remote = found.map_err(|error| format!("{host}: {error}"))?.next();
        let remote = remote.ok_or_else(|| format!("{host} has no address"))?;
        let driver = self.driver(remote)?;
        let (config, trace) = hq::connection(self.clock.base(), self.orders.qlog.as_deref())?;
        let (config, attachments) = config.client(tls.clone());
        let (ended, mut downloads) = mpsc::channel(16);
        let paths: Vec<String> = requests.iter().map(|url| url.path().to_owned()).collect();
        let count = paths.len();
        let key_update = Arc::new(AtomicBool::new(self.case.key_update));
        let app = move |conn: Conn| -> Task {
            for path in paths {
                conn.spawn(download(conn.clone(), path, key_update.clone(), ended.clone()));
            }
            Box::pin(async move { conn.ended().await })
        };
        driver
            .run(move |endpoint, now| {
                let begun = endpoint.connect(now, config, remote, &host, attachments, app);
                if let Err(error) = begun {
                    eprintln!("{error}");
                }
            })
            .await;
        let mut result = Ok(());
        let mut stored = 0;
        while stored < count
            && let Some((path, content)) = downloads.recv().await
        {
            stored += 1;
            let file = self.orders.downloads.join(path.trim_start_matches('/'));
            let written = content.and_then(|content| {
                std::fs::write(&file, content).map_err(|error| error.to_string())
            });
            result = result.and(written.map_err(|error| format!("{}: {error}", file.display())));
        }
        driver.close_all(0).await;
        trace.write("client");
        if stored < count { Err("the connection ended early".to_owned()) } else { result }
    }

    fn driver(&self, remote: SocketAddr) -> Result<Driver, String> {
        let local = match remote {
            SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        };
        let socket = Socket::bind(local).map_err(|error| error.to_string())?;
        let segments = socket.max_segments(1452);
        let endpoint = Endpoint::new(EndpointConfig::default(), self.clock.base(), None, segments);
        Ok(Driver::start(endpoint, socket, self.clock.clone()).0)
    }
}

/// Downloads one file. Updates the keys when its first bytes arrive, if `key_update` is still set:
/// the server's data follows its HANDSHAKE_DONE, before which an update is forbidden (RFC 9001 §6).
async fn download(
    conn: Conn,
    path: String,
    key_update: Arc<AtomicBool>,
    ended: mpsc::Sender<Download>,
) {
    let update = || {
        if key_update.swap(false, Ordering::Relaxed) {
            conn.update_keys();
        }
    };
    let content = hq::get(&conn, &path, update).await;
    // Nobody listens any more once another download has failed.
    let _ = ended.send((path, content)).await;
}

/// Downloads all files over HTTP/3, at the same time.
async fn http3(orders: &Orders, requests: &[Uri]) -> Result<(), String> {
    let trust = Trust::Only(tls::trusted(orders)?);
    let mut builder = Client::builder().trust(trust).no_path_tokens();
    if let Some(qlog) = qlog(orders.qlog.as_deref()) {
        builder = builder.qlog(qlog);
    }
    let client = builder.build().map_err(|error| error.to_string())?;
    let mut downloads = JoinSet::new();
    for url in requests {
        let client = client.clone();
        let file = orders.downloads.join(url.path().trim_start_matches('/'));
        let url = url.clone();
        downloads.spawn(async move {
            let fail = |error: bentpipe_net::get::ClientError| error.to_string();
            let mut response = client.get(&url, &http::HeaderMap::new()).await.map_err(fail)?;
            if !response.head.status().is_success() {
                return Err(format!("{url}: {}", response.head.status()));
            }
            let mut pieces = Vec::new();
            while response.pieces(&mut pieces).await.map_err(fail)? {}
            std::fs::write(&file, pieces.concat()).map_err(|error| error.to_string())
        });
    }
    let mut result = Ok(());
    while let Some(ended) = downloads.join_next().await {
        result = result.and(ended.map_err(|error| error.to_string()).and_then(|ended| ended));
    }
    client.disconnect().await;
    result
}

/// Returns where HTTP/3 connections write their traces.
pub fn qlog(folder: Option<&Path>) -> Option<Qlog> {
    let directory = folder?.to_owned();
    Some(Qlog { directory, files: 1000, bytes: Bytes::from_mb(1000), qvis: false })
}
