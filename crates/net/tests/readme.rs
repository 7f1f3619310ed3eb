//! The lines of the README's "As a library", run: a server with a noq endpoint of its own, and its
//! client, over an RTT of 200 ms.

#![allow(clippy::disallowed_methods, reason = "downloads on the real clock")]

mod delayed_path;

use bentpipe_net::store::SqliteStore;
use bentpipe_quic::path_memory::{Limits, PathStore};
use bentpipe_units::Epoch;
use delayed_path::{DelayedPath, LOOPBACK, Outcome};
use noq::{ClientConfig, Connection, Endpoint, ServerConfig, VarInt};
use rustls::RootCertStore;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::time::timeout;

type Error = Box<dyn std::error::Error + Send + Sync>;

const ONE_WAY: Duration = Duration::from_millis(100);
const CONTENT: usize = 5_000_000;

async fn serve(connection: Connection) -> Result<(), Error> {
    let mut stream = connection.open_uni().await?;
    stream.write_all(&vec![7; CONTENT]).await?;
    stream.finish()?;
    connection.closed().await;
    Ok(())
}

async fn server(endpoint: Endpoint, server_config: ServerConfig) -> Result<(), Error> {
    let resumption = bentpipe_net::Resumption::open("paths.sqlite".as_ref())?;
    while let Some(incoming) = endpoint.accept().await {
        let (config, path) = resumption.connection(&server_config, incoming.remote_address());
        let connecting = incoming.accept_with(config)?;
        tokio::spawn(async move {
            serve(connecting.await?).await?;
            drop(path);
            Ok::<_, Error>(())
        });
    }
    Ok(())
}

fn with_windows(
    mut server_config: ServerConfig,
    mut client_config: ClientConfig,
) -> (ServerConfig, ClientConfig) {
    let mut transport = noq::TransportConfig::default();
    transport
        .send_window(64_000_000)
        .stream_receive_window(64_000_000u32.into())
        .receive_window(64_000_000u32.into());
    let transport = std::sync::Arc::new(transport);
    server_config.transport_config(transport.clone());
    client_config.transport_config(transport);
    (server_config, client_config)
}

/// Returns the lines without comments and indentation.
fn lines(text: &str) -> Vec<String> {
    let code = |line: &str| line.split("//").next().unwrap_or("").trim().to_owned();
    text.lines().map(code).filter(|line| !line.is_empty()).collect()
}

#[test]
fn the_lines_of_the_readme_are_those_that_are_run_here() {
    let readme = include_str!("../../../README.md");
    let (_, section) = readme.split_once("\n## As a library\n").expect("the section");
    let (section, _) = section.split_once("\n## ").expect("its end");
    let here = lines(include_str!("readme.rs"));
    let blocks: Vec<&str> = section.split("```").skip(1).step_by(2).collect();
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        let block = lines(block.strip_prefix("rust").expect("Rust"));
        assert!(here.windows(block.len()).any(|lines| lines == block), "{block:#?}");
    }
}

#[tokio::test]
async fn the_lines_of_the_readme_remember_a_path() -> Outcome<()> {
    let directory = tempfile::tempdir()?;
    std::env::set_current_dir(directory.path())?;
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
    let mut trusted = RootCertStore::empty();
    trusted.add(made.cert.der().clone())?;
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let server_config = ServerConfig::with_single_cert(vec![made.cert.der().clone()], key.into())?;
    let client_config = ClientConfig::with_root_certificates(Arc::new(trusted))?;
    let (server_config, client_config) = with_windows(server_config, client_config);

    let endpoint = Endpoint::server(server_config.clone(), LOOPBACK)?;
    let path = DelayedPath::new(endpoint.local_addr()?, ONE_WAY).await?;
    let running = tokio::spawn(server(endpoint.clone(), server_config));
    let client = Endpoint::client(LOOPBACK)?;
    client.set_default_client_config(client_config);
    for visit in 1..=3 {
        let began = Instant::now();
        let connection = client.connect(path.address, "localhost")?.await?;
        let mut stream = connection.accept_uni().await?;
        assert_eq!(stream.read_to_end(CONTENT).await?.len(), CONTENT);
        println!("visit {visit}: {:.2} s", began.elapsed().as_secs_f64());
        connection.close(VarInt::from_u32(0), b"");
        // The server notices, and saves.
        tokio::time::sleep(2 * ONE_WAY).await;
    }
    endpoint.close(VarInt::from_u32(0), b"");
    timeout(Duration::from_secs(20), running).await???;

    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
    let now = Epoch::from_unix_millis(u64::try_from(now)?);
    let store = SqliteStore::open("paths.sqlite".as_ref(), Limits::default())?;
    assert_eq!(store.list(now)?.len(), 1, "the path is remembered");
    Ok(())
}
