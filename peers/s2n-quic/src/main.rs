//! A small HTTP/3 client and server on s2n-quic and h3, with the transport settings that s2n-quic has by default. No crate that joins the two is published: ours is in `adapter`.

mod adapter;

use peer_common::{Error, Fetch, Fetched, Role, Root, Serve, finish, http3};
use s2n_quic::client::Connect;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    finish(match Role::read(std::env::args().skip(1)) {
        Ok(Role::Client(fetch)) => client(&fetch).await,
        Ok(Role::Server(serve)) => server(&serve).await,
        Err(error) => Err(error),
    })
}

async fn client(fetch: &Fetch) -> Result<(), Error> {
    let mut fetched = Fetched::begin(&fetch.output)?;
    let result = tokio::time::timeout(fetch.timeout, get(fetch, &mut fetched)).await;
    println!("{}", fetched.line());
    result.map_err(|_| format!("no end within {:?}", fetch.timeout))?
}

async fn get(fetch: &Fetch, fetched: &mut Fetched) -> Result<(), Error> {
    let any = if fetch.server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let client = s2n_quic::Client::builder().with_tls(fetch.ca.as_path())?.with_io(SocketAddr::new(any, 0))?.start()?;
    let connection = client.connect(Connect::new(fetch.server).with_server_name(fetch.name.as_str())).await?;
    fetched.handshake_done();
    http3::get(adapter::Connection::new(connection), fetch, fetched).await
}

async fn server(serve: &Serve) -> Result<(), Error> {
    let mut server = s2n_quic::Server::builder()
        .with_tls((serve.cert.as_path(), serve.key.as_path()))?
        .with_io(serve.listen)?
        .start()?;
    let root = Root::new(&serve.root);
    while let Some(connection) = server.accept().await {
        let root = root.clone();
        tokio::spawn(async move {
            if let Err(error) = http3::serve(adapter::Connection::new(connection), root).await {
                eprintln!("{error}");
            }
        });
    }
    Ok(())
}
