//! A small HTTP/3 client and server on s2n-quic and h3, with s2n-quic's default transport settings.
//! `adapter` joins the two, because no published crate does.

mod adapter;
mod interop;

use peer_common::{Error, Fetch, Fetched, Root, Serve, http3, run};
use s2n_quic::client::Connect;
use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("interop") {
        return interop::run().await;
    }
    run(get, serve).await
}

async fn get(fetch: &Fetch, fetched: &mut Fetched) -> Result<(), Error> {
    let client = s2n_quic::Client::builder()
        .with_tls(fetch.ca.as_path())?
        .with_io(fetch.local())?
        .start()?;
    let connection =
        client.connect(Connect::new(fetch.server).with_server_name(fetch.name.as_str())).await?;
    fetched.handshake_done();
    http3::get(adapter::Connection::new(connection), fetch, fetched).await
}

async fn serve(directory: &Serve) -> Result<(), Error> {
    let mut server = s2n_quic::Server::builder()
        .with_tls((directory.cert.as_path(), directory.key.as_path()))?
        .with_io(directory.listen)?
        .start()?;
    let root = Root::new(&directory.root);
    while let Some(connection) = server.accept().await {
        http3::spawn(async move { Ok(adapter::Connection::new(connection)) }, &root);
    }
    Ok(())
}
