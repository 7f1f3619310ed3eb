//! Careful Resume for a program with a noq endpoint of its own: two downloads over an RTT of 60 ms.

use bentpipe_net::Resumption;
use bentpipe_quic::congestion::resume::ResumeState;
use noq::{ClientConfig, Endpoint, ServerConfig, TransportConfig, VarInt};
use rustls::RootCertStore;
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
const ONE_WAY: Duration = Duration::from_millis(30);
const CONTENT: usize = 3_000_000;

/// Forwards datagrams between one client and `server` with a delay of [`ONE_WAY`].
async fn delayed_path(server: SocketAddr) -> Outcome<SocketAddr> {
    let (near, far) =
        (Arc::new(UdpSocket::bind(LOOPBACK).await?), Arc::new(UdpSocket::bind(LOOPBACK).await?));
    far.connect(server).await?;
    let address = near.local_addr()?;
    let (client, known) = tokio::sync::watch::channel(None);
    let (there, mut arriving) = mpsc::channel::<(Instant, Vec<u8>)>(10_000);
    let (back, mut returning) = mpsc::channel::<(Instant, Vec<u8>)>(10_000);
    let (from, to) = (near.clone(), far.clone());
    tokio::spawn(async move {
        let mut datagram = [0; 2048];
        while let Ok((length, sender)) = from.recv_from(&mut datagram).await {
            client.send_replace(Some(sender));
            // A full channel is a full queue. The datagram is lost.
            let _ = there.try_send((Instant::now() + ONE_WAY, datagram[..length].to_vec()));
        }
    });
    tokio::spawn(async move {
        while let Some((due, datagram)) = arriving.recv().await {
            sleep_until(due).await;
            let _ = to.send(&datagram).await;
        }
    });
    let from = far;
    tokio::spawn(async move {
        let mut datagram = [0; 2048];
        while let Ok(length) = from.recv(&mut datagram).await {
            let _ = back.try_send((Instant::now() + ONE_WAY, datagram[..length].to_vec()));
        }
    });
    tokio::spawn(async move {
        while let Some((due, datagram)) = returning.recv().await {
            sleep_until(due).await;
            let client = *known.borrow();
            if let Some(client) = client {
                let _ = near.send_to(&datagram, client).await;
            }
        }
    });
    Ok(address)
}

/// Returns a client's endpoint, with flow-control windows that do not limit it.
fn client(trusted: RootCertStore) -> Outcome<Endpoint> {
    let mut transport = TransportConfig::default();
    transport
        .stream_receive_window(VarInt::from_u32(16_000_000))
        .receive_window(VarInt::from_u32(16_000_000));
    let mut config = ClientConfig::with_root_certificates(Arc::new(trusted))?;
    config.transport_config(Arc::new(transport));
    let endpoint = Endpoint::client(LOOPBACK)?;
    endpoint.set_default_client_config(config);
    Ok(endpoint)
}

/// Downloads once. Returns the state at the end, and whether the remembered path was used.
async fn download(
    server: &Endpoint,
    config: &ServerConfig,
    resumption: &Resumption,
    client: &Endpoint,
    at: SocketAddr,
) -> Outcome<(ResumeState, bool)> {
    let serving = async {
        let incoming = server.accept().await.ok_or("the endpoint is closed")?;
        let (config, path) = resumption.connection(config, incoming.remote_address());
        let connection = incoming.accept_with(config)?.await?;
        let mut stream = connection.open_uni().await?;
        stream.write_all(&vec![7; CONTENT]).await?;
        stream.finish()?;
        connection.closed().await;
        Outcome::Ok((path.resume_state(), path.in_use()))
    };
    let asking = async {
        let connection = client.connect(at, "localhost")?.await?;
        let content = connection.accept_uni().await?.read_to_end(CONTENT).await?;
        assert_eq!(content.len(), CONTENT);
        connection.close(VarInt::from_u32(0), b"");
        Outcome::Ok(())
    };
    let (known, asked) =
        timeout(Duration::from_secs(30), async { tokio::join!(serving, asking) }).await?;
    asked?;
    known
}

#[tokio::test]
async fn the_second_connection_of_a_noq_program_uses_what_the_first_one_learned() -> Outcome<()> {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
    let mut trusted = RootCertStore::empty();
    trusted.add(made.cert.der().clone())?;
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let config = ServerConfig::with_single_cert(vec![made.cert.der().clone()], key.into())?;
    let server = Endpoint::server(config.clone(), LOOPBACK)?;
    let at = delayed_path(server.local_addr()?).await?;
    let client = client(trusted)?;
    let resumption = Resumption::in_memory()?;

    let (first, used) = download(&server, &config, &resumption, &client, at).await?;
    assert_eq!(first.offered, None);
    assert!(!used);
    let observed = first.observed.ok_or("nothing was observed")?;

    let (second, used) = download(&server, &config, &resumption, &client, at).await?;
    let offered = second.offered.ok_or("nothing was remembered")?;
    assert_eq!((offered.window, offered.rtt), (observed.window, observed.rtt));
    assert!(used, "remembered but not used: {second:?}");
    Ok(())
}
