//! The endpoint of the QUIC interop runner, with s2n-quic's default transport settings.

use crate::adapter;
use peer_common::interop::{self, Orders, Request};
use peer_common::{Error, Root, http3};
use s2n_quic::client::Connect;
use s2n_quic::connection::{Connection, Handle};
use s2n_quic::provider::{endpoint_limits, tls};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;
use tokio::task::JoinSet;

/// Without a feature that its authors call unstable, s2n-quic does not resume sessions; its stable
/// interface neither updates keys on request nor chooses a cipher suite.
const CASES: [&str; 5] = ["handshake", "transfer", "multiconnect", "retry", "http3"];

/// Plays the test case of the environment.
pub async fn run() -> ExitCode {
    interop::run(&CASES, &CASES, client, server).await
}

async fn client(orders: &Orders) -> Result<(), Error> {
    for requests in orders.connections() {
        fetch(orders, &requests).await?;
    }
    Ok(())
}

/// Downloads files over a connection of its own.
async fn fetch(orders: &Orders, requests: &[Request]) -> Result<(), Error> {
    let Some(first) = requests.first() else { return Ok(()) };
    let remote = first.address()?;
    let any =
        if remote.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let tls = tls::default::Client::builder()
        .with_certificate(Path::new(interop::CA))?
        // The runner's longest chain has nine certificates below the authority.
        .with_max_cert_chain_depth(10)?
        .with_application_protocols([orders.alpn()])?
        .with_key_logging()?
        .build()?;
    let mut client =
        s2n_quic::Client::builder().with_tls(tls)?.with_io(SocketAddr::new(any, 0))?.start()?;
    let connect = Connect::new(remote).with_server_name(first.host.as_str());
    let connection = client.connect(connect).await?;
    if orders.test_case == "http3" {
        http3::get_all(adapter::Connection::new(connection), requests).await?;
    } else {
        let handle = connection.handle();
        download(&handle, requests).await?;
        handle.close(0u32.into());
    }
    client.wait_idle().await.map_err(|error| format!("{error:?}").into())
}

/// Downloads files over HTTP/0.9, at the same time.
async fn download(connection: &Handle, requests: &[Request]) -> Result<(), Error> {
    let mut downloads = JoinSet::new();
    for request in requests {
        let (mut connection, request) = (connection.clone(), request.clone());
        downloads.spawn(async move {
            let (receive, send) = connection.open_bidirectional_stream().await?.split();
            interop::get(send, receive, &request, || ()).await
        });
    }
    while let Some(downloaded) = downloads.join_next().await {
        downloaded??;
    }
    Ok(())
}

async fn server(orders: &Orders) -> Result<(), Error> {
    let tls = tls::default::Server::builder()
        .with_certificate(Path::new(interop::CERT), Path::new(interop::KEY))?
        .with_application_protocols([orders.alpn()])?
        .with_key_logging()?
        .build()?;
    let mut limits = endpoint_limits::Default::builder();
    if orders.test_case == "retry" {
        // From this number of handshakes on, s2n-quic sends a Retry.
        limits = limits.with_inflight_handshake_limit(0)?;
    }
    let mut server = s2n_quic::Server::builder()
        .with_tls(tls)?
        .with_endpoint_limits(limits.build()?)?
        .with_io(interop::LISTEN.parse::<SocketAddr>()?)?
        .start()?;
    let root = Root::new(Path::new("/www"));
    while let Some(connection) = server.accept().await {
        if orders.test_case == "http3" {
            http3::spawn(async move { Ok(adapter::Connection::new(connection)) }, &root);
        } else {
            tokio::spawn(serve(connection, root.clone()));
        }
    }
    Ok(())
}

/// Serves a connection until it ends.
async fn serve(mut connection: Connection, root: Root) {
    while let Ok(Some(stream)) = connection.accept_bidirectional_stream().await {
        let root = root.clone();
        tokio::spawn(async move {
            let (receive, send) = stream.split();
            if let Err(error) = interop::respond(send, receive, &root).await {
                eprintln!("{error}");
            }
        });
    }
}
