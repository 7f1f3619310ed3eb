//! Careful Resume for a program with a noq endpoint of its own: downloads over an RTT of 60 ms, and
//! a migration to another address and an RTT of 400 ms.

use bentpipe_net::Resumption;
use bentpipe_quic::congestion::resume::ResumeState;
use noq::{ClientConfig, Endpoint, PathId, ServerConfig, TransportConfig, VarInt};
use rustls::RootCertStore;
use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
const ONE_WAY: Duration = Duration::from_millis(30);
const CONTENT: usize = 3_000_000;

/// A path on loopback between one client and a server.
struct DelayedPath {
    /// The address that the client sends to.
    address: SocketAddr,
    server: SocketAddr,
    /// The socket towards the server, and the delay in either direction.
    far: watch::Sender<(Arc<UdpSocket>, Duration)>,
    back: mpsc::Sender<(Instant, Vec<u8>)>,
}

impl DelayedPath {
    /// A path to `server` with a delay of [`ONE_WAY`].
    async fn new(server: SocketAddr) -> Outcome<Self> {
        let near = Arc::new(UdpSocket::bind(LOOPBACK).await?);
        let (far, current) = watch::channel((Arc::new(UdpSocket::bind(LOOPBACK).await?), ONE_WAY));
        let address = near.local_addr()?;
        let (client, known) = watch::channel(None);
        let (there, mut arriving) = mpsc::channel::<(Instant, Vec<u8>)>(10_000);
        let (back, mut returning) = mpsc::channel::<(Instant, Vec<u8>)>(10_000);
        let (from, delay) = (near.clone(), current.clone());
        tokio::spawn(async move {
            let mut datagram = [0; 2048];
            while let Ok((length, sender)) = from.recv_from(&mut datagram).await {
                client.send_replace(Some(sender));
                let due = Instant::now() + delay.borrow().1;
                // A full channel is a full queue. The datagram is lost.
                let _ = there.try_send((due, datagram[..length].to_vec()));
            }
        });
        tokio::spawn(async move {
            while let Some((due, datagram)) = arriving.recv().await {
                sleep_until(due).await;
                let far = current.borrow().0.clone();
                let _ = far.send(&datagram).await;
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
        let path = Self { address, server, far, back };
        path.migrate(LOOPBACK.ip(), ONE_WAY).await?;
        Ok(path)
    }

    /// Lets the client's datagrams arrive from `from`, after the delay `one_way`. Those that the
    /// server sends to the old address are lost.
    async fn migrate(&self, from: IpAddr, one_way: Duration) -> Outcome<()> {
        let far = Arc::new(UdpSocket::bind((from, 0)).await?);
        far.connect(self.server).await?;
        self.far.send_replace((far.clone(), one_way));
        let (back, current) = (self.back.clone(), self.far.subscribe());
        tokio::spawn(async move {
            let mut datagram = [0; 2048];
            while let Ok(length) = far.recv(&mut datagram).await {
                if !Arc::ptr_eq(&far, &current.borrow().0) {
                    return;
                }
                let _ = back.try_send((Instant::now() + one_way, datagram[..length].to_vec()));
            }
        });
        Ok(())
    }
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

/// A server program, and a client.
struct Programs {
    server: Endpoint,
    config: ServerConfig,
    client: Endpoint,
    path: DelayedPath,
    resumption: Resumption,
}

impl Programs {
    async fn new() -> Outcome<Self> {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
        let mut trusted = RootCertStore::empty();
        trusted.add(made.cert.der().clone())?;
        let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let config = ServerConfig::with_single_cert(vec![made.cert.der().clone()], key.into())?;
        let server = Endpoint::server(config.clone(), LOOPBACK)?;
        let path = DelayedPath::new(server.local_addr()?).await?;
        let resumption = Resumption::in_memory()?;
        Ok(Self { server, config, client: client(trusted)?, path, resumption })
    }

    /// Downloads once, and migrates to the address and delay of `migration` when a tenth has
    /// arrived. The client then asks for the rest, which the server sends on the new path whatever
    /// the speed of the machine. The program tells the path memory of the migration if `followed`.
    /// Returns the state at the end, and whether the remembered path is in use.
    async fn download(
        &self,
        migration: Option<(IpAddr, Duration)>,
        followed: bool,
    ) -> Outcome<(ResumeState, bool)> {
        let serving = async {
            let incoming = self.server.accept().await.ok_or("the endpoint is closed")?;
            let (config, path) =
                self.resumption.connection(&self.config, incoming.remote_address());
            let connection = incoming.accept_with(config)?.await?;
            let mut stream = connection.open_uni().await?;
            stream.write_all(&vec![7; CONTENT / 10]).await?;
            connection.accept_uni().await?;
            stream.write_all(&vec![7; CONTENT - CONTENT / 10]).await?;
            stream.finish()?;
            while timeout(Duration::from_millis(20), connection.closed()).await.is_err() {
                if followed && let Some(current) = connection.path(PathId::ZERO) {
                    path.set_remote_address(current.remote_address()?)?;
                }
            }
            Outcome::Ok((path.resume_state(), path.in_use()))
        };
        let asking = async {
            let connection = self.client.connect(self.path.address, "localhost")?.await?;
            let mut stream = connection.accept_uni().await?;
            let mut content = vec![0; CONTENT / 10];
            stream.read_exact(&mut content).await?;
            if let Some((from, one_way)) = migration {
                self.path.migrate(from, one_way).await?;
            }
            connection.open_uni().await?.finish()?;
            let rest = stream.read_to_end(CONTENT).await?;
            assert_eq!(content.len() + rest.len(), CONTENT);
            connection.close(VarInt::from_u32(0), b"");
            Outcome::Ok(())
        };
        let (known, asked) =
            timeout(Duration::from_secs(120), async { tokio::join!(serving, asking) }).await?;
        asked?;
        known
    }
}

#[tokio::test]
async fn the_second_connection_of_a_noq_program_uses_what_the_first_one_learned() -> Outcome<()> {
    let programs = Programs::new().await?;
    let (first, used) = programs.download(None, false).await?;
    assert_eq!(first.offered, None);
    assert!(!used);
    let observed = first.observed.ok_or("nothing was observed")?;

    let (second, used) = programs.download(None, false).await?;
    let offered = second.offered.ok_or("nothing was remembered")?;
    assert_eq!((offered.window, offered.rtt), (observed.window, observed.rtt));
    assert!(used, "remembered but not used: {second:?}");
    Ok(())
}

/// An address of another network, and the delay of the path to it.
const ELSEWHERE: (IpAddr, Duration) =
    (IpAddr::V4(Ipv4Addr::new(127, 0, 77, 1)), Duration::from_millis(200));

#[tokio::test]
async fn a_migration_neither_uses_nor_changes_the_memory_of_the_old_path() -> Outcome<()> {
    let programs = Programs::new().await?;
    programs.download(None, false).await?;
    let (migrated, used) = programs.download(Some(ELSEWHERE), false).await?;
    assert_eq!((migrated.path, migrated.offered), (1, None));
    assert!(!used, "what is remembered of the old path is in use on the new one");

    programs.path.migrate(LOOPBACK.ip(), ONE_WAY).await?;
    let (third, _) = programs.download(None, false).await?;
    let offered = third.offered.ok_or("the old path was forgotten")?;
    // The RTT of the other path is 400 ms.
    assert!(offered.rtt.as_secs_f64() < 0.4, "{offered:?}");
    Ok(())
}

#[tokio::test]
async fn a_program_that_follows_a_migration_remembers_the_new_path() -> Outcome<()> {
    let programs = Programs::new().await?;
    let (migrated, _) = programs.download(Some(ELSEWHERE), true).await?;
    assert_eq!(migrated.path, 1);
    assert!(migrated.observed.is_some(), "nothing was observed of the new path: {migrated:?}");

    // A connection that begins at the other address.
    let (there, _) = programs.download(None, false).await?;
    let offered = there.offered.ok_or("the new path was not remembered")?;
    assert!(offered.rtt.as_secs_f64() >= 0.4, "{offered:?}");
    Ok(())
}
