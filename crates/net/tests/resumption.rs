//! Careful Resume for a program with a noq endpoint of its own: downloads over an RTT of 60 ms, and
//! a migration to another address and an RTT of 400 ms.

mod delayed_path;

use bentpipe_net::{NarrowWindow, Resumption, WindowKind};
use bentpipe_quic::congestion::resume::ResumeState;
use bentpipe_units::Bytes;
use delayed_path::{DelayedPath, LOOPBACK, Outcome};
use noq::{ClientConfig, Endpoint, PathId, ServerConfig, TransportConfig, VarInt};
use rustls::RootCertStore;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

const ONE_WAY: Duration = Duration::from_millis(30);
/// So much that three rounds of the path after a migration are limited by nothing but the window. A
/// round that anything else limits says nothing about the path, and a busy machine spoils some.
const CONTENT: usize = 12_000_000;

/// Returns a client's endpoint, with these flow-control windows.
fn client(trusted: RootCertStore, window: u32) -> Outcome<Endpoint> {
    let mut transport = TransportConfig::default();
    let window = VarInt::from_u32(window);
    transport.stream_receive_window(window).receive_window(window);
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
    /// With windows that limit no download here.
    async fn new() -> Outcome<Self> {
        Self::with_windows(16_000_000).await
    }

    async fn with_windows(window: u32) -> Outcome<Self> {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
        let mut trusted = RootCertStore::empty();
        trusted.add(made.cert.der().clone())?;
        let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let config = ServerConfig::with_single_cert(vec![made.cert.der().clone()], key.into())?;
        let server = Endpoint::server(config.clone(), LOOPBACK)?;
        let path = DelayedPath::new(server.local_addr()?, ONE_WAY).await?;
        let resumption = Resumption::in_memory()?;
        Ok(Self { server, config, client: client(trusted, window)?, path, resumption })
    }

    /// Downloads once, and migrates to the address and delay of `migration` when a tenth has
    /// arrived. The client then asks for the rest, which the server sends on the new path whatever
    /// the speed of the machine. The program tells the path memory of the migration if `followed`.
    /// Returns the state at the end, whether the remembered path is in use, and what limited it.
    async fn download(
        &self,
        migration: Option<(IpAddr, Duration)>,
        followed: bool,
    ) -> Outcome<(ResumeState, bool, Option<NarrowWindow>)> {
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
            Outcome::Ok((path.resume_state(), path.in_use(), path.narrow_window()))
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
    let (first, used, narrow) = programs.download(None, false).await?;
    assert_eq!(first.offered, None);
    assert!(!used);
    assert_eq!(narrow, None);
    let observed = first.observed.ok_or("nothing was observed")?;

    let (second, used, _) = programs.download(None, false).await?;
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
    let (migrated, used, _) = programs.download(Some(ELSEWHERE), false).await?;
    assert_eq!((migrated.path, migrated.offered), (1, None));
    assert!(!used, "what is remembered of the old path is in use on the new one");

    programs.path.migrate(LOOPBACK.ip(), ONE_WAY).await?;
    let (third, _, _) = programs.download(None, false).await?;
    let offered = third.offered.ok_or("the old path was forgotten")?;
    // The RTT of the other path is 400 ms.
    assert!(offered.rtt.as_secs_f64() < 0.4, "{offered:?}");
    Ok(())
}

#[tokio::test]
async fn a_program_that_follows_a_migration_remembers_the_new_path() -> Outcome<()> {
    let programs = Programs::new().await?;
    let (migrated, _, _) = programs.download(Some(ELSEWHERE), true).await?;
    assert_eq!(migrated.path, 1);
    assert!(migrated.observed.is_some(), "nothing was observed of the new path: {migrated:?}");

    // A connection that begins at the other address.
    let (there, _, _) = programs.download(None, false).await?;
    let offered = there.offered.ok_or("the new path was not remembered")?;
    assert!(offered.rtt.as_secs_f64() >= 0.4, "{offered:?}");
    Ok(())
}

#[tokio::test]
async fn a_program_is_told_that_the_windows_of_its_client_limit_it() -> Outcome<()> {
    let programs = Programs::with_windows(300_000).await?;
    let (_, _, narrow) = programs.download(None, false).await?;
    let narrow = narrow.ok_or("nothing is said about the windows")?;
    assert_eq!((narrow.kind, narrow.size), (WindowKind::Stream, Bytes::new(300_000)));
    Ok(())
}

#[tokio::test]
async fn a_small_send_window_is_found() -> Outcome<()> {
    let mut programs = Programs::new().await?;
    let mut transport = TransportConfig::default();
    transport.send_window(400_000);
    programs.config.transport_config(Arc::new(transport));
    let (_, _, narrow) = programs.download(None, false).await?;
    let narrow = narrow.ok_or("nothing is said about the send window")?;
    assert_eq!((narrow.kind, narrow.size), (WindowKind::Send, Bytes::new(400_000)));
    Ok(())
}
