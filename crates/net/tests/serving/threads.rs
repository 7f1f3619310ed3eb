//! Several threads: each connection stays with its thread, and limits hold for all together.

use super::exchange::tls;
use super::kit::{LONG, until};
use super::{TestServer, content};
use bentpipe_net::get::Client;
use bentpipe_net::serve::{Limits, Server, ServerBuilder};
use bentpipe_net::{Driver, RealClock, Socket};
use bentpipe_quic::noq_proto::crypto::rustls::QuicClientConfig;
use bentpipe_quic::noq_proto::{ClientConfig, EndpointConfig};
use bentpipe_quic::tls::ALPN_H3;
use bentpipe_quic::{Attachments, Endpoint};
use bentpipe_units::Span;
use http::HeaderMap;
use nix::libc::{BPF_K, BPF_RET, sock_filter, sock_fprog};
use nix::sys::socket::{setsockopt, sockopt};
use std::net::SocketAddr;
use std::num::NonZeroU8;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;
use tokio::time::{Duration, sleep, timeout};

fn four(builder: ServerBuilder) -> ServerBuilder {
    builder.threads(NonZeroU8::new(4).unwrap())
}

/// A NAT on the loopback in front of a server, for one client.
struct Nat {
    address: SocketAddr,
    /// Ports that it has sent from.
    ports: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Nat {
    /// Sends from another port after every `packets` packets of the client, at most `ports` ports.
    /// With `deaf`, nothing comes back.
    async fn new(server: SocketAddr, packets: usize, most: usize, deaf: bool) -> Self {
        let inside = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
        let address = inside.local_addr().unwrap();
        let ports = Arc::new(AtomicUsize::new(0));
        let opened = ports.clone();
        let task = tokio::spawn(async move {
            let (mut buffer, mut sent) = (vec![0; 65_535], 0);
            let (mut outside, mut returning) = (None::<Arc<UdpSocket>>, Vec::new());
            loop {
                let (length, client) = inside.recv_from(&mut buffer).await.unwrap();
                if outside.is_none() || (sent % packets == 0 && returning.len() < most) {
                    let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
                    socket.connect(server).await.unwrap();
                    outside = Some(socket.clone());
                    opened.fetch_add(1, Relaxed);
                    let inside = inside.clone();
                    returning.push(AbortOnDrop(tokio::spawn(async move {
                        let mut buffer = vec![0; 65_535];
                        while let Ok(length) = socket.recv(&mut buffer).await {
                            if !deaf {
                                inside.send_to(&buffer[..length], client).await.unwrap();
                            }
                        }
                    })));
                }
                sent += 1;
                // An error is that of an earlier packet.
                let _ = outside.as_ref().unwrap().send(&buffer[..length]).await;
            }
        });
        Self { address, ports, task }
    }
}

impl Drop for Nat {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Has the kernel pass all datagrams to the first thread: a further socket of the group attaches
/// another program.
fn steer_to_the_first(server: SocketAddr) -> socket2::Socket {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::DGRAM, None).unwrap();
    socket.set_reuse_port(true).unwrap();
    socket.bind(&server.into()).unwrap();
    let mut program = [sock_filter { code: (BPF_RET | BPF_K) as u16, jt: 0, jf: 0, k: 0 }];
    let program = sock_fprog { len: 1, filter: program.as_mut_ptr() };
    setsockopt(&socket, sockopt::AttachReusePortCbpf, &program).unwrap();
    socket
}

async fn whole(site: &TestServer, client: &Client, address: SocketAddr, path: &str) -> Vec<u8> {
    let url = format!("https://{address}{path}").parse().unwrap();
    let response = timeout(LONG, client.get(&url, &HeaderMap::new())).await.expect("in time");
    let response = response.unwrap_or_else(|error| panic!("{error}; {:?}", site.server.metrics()));
    timeout(LONG, content(response)).await.expect("in time").unwrap()
}

fn forwarded(site: &TestServer) -> u64 {
    site.server.metrics().forwarding.forwarded.load(Relaxed)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_stays_with_its_thread_when_a_nat_changes_its_port() {
    for steered in [true, false] {
        let site = TestServer::with(four).await;
        let _group = (!steered).then(|| steer_to_the_first(site.server.address()));
        let expected = site.file("big", 3_000_000);
        for _ in 0..6 {
            let nat = Nat::new(site.server.address(), 8, 6, false).await;
            let client = site.client();
            let copy = whole(&site, &client, nat.address, "/big").await;
            assert!(copy == expected, "{} bytes", copy.len());
            assert!(nat.ports.load(Relaxed) >= 3, "{:?} ports", nat.ports);
            client.disconnect().await;
        }
        let connections = site.server.metrics().connections_quic.load(Relaxed);
        assert_eq!(connections, 6, "a datagram began a connection elsewhere");
        if steered {
            assert_eq!(forwarded(&site), 0);
        } else {
            // The probability that all belong to the first thread is 1 in 4096.
            assert!(forwarded(&site) > 0);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_from_one_port_are_on_several_threads() {
    let site = TestServer::with(four).await;
    let clock = RealClock::new();
    let socket = Socket::bind(([127, 0, 0, 1], 0).into()).unwrap();
    let endpoint =
        Endpoint::new(EndpointConfig::default(), clock.base(), None, socket.max_segments(1452));
    let (driver, _) = Driver::start(endpoint, socket, clock);
    let tls = Arc::new(QuicClientConfig::try_from(tls(&site.trust, ALPN_H3)).unwrap());
    let address = site.server.address();
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    driver
        .run(move |endpoint, now| {
            for _ in 0..16 {
                let (config, sender) = (ClientConfig::new(tls.clone()), sender.clone());
                endpoint
                    .connect(now, config, address, "localhost", Attachments::default(), |conn| {
                        Box::pin(async move {
                            sender.send(conn.handshaken().await).unwrap();
                        })
                    })
                    .unwrap();
            }
        })
        .await;
    for _ in 0..16 {
        timeout(LONG, receiver.recv()).await.expect("in time").unwrap().unwrap();
    }
    assert_eq!(site.server.connections(), 16);
    driver.close_all(0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retry_tokens_are_valid_and_limits_hold_on_all_threads() {
    // Two handshakes that never complete take the places of unvalidated addresses.
    let limits = Limits { handshakes: 2, connections: 12, ..Limits::default() };
    let site = TestServer::with(|builder| four(builder).limits(limits)).await;
    let nats = [
        Nat::new(site.server.address(), 1000, 1, true).await,
        Nat::new(site.server.address(), 1000, 1, true).await,
    ];
    let mut waiting = Vec::new();
    for nat in &nats {
        let (client, url) = (site.client(), format!("https://{}/hello.txt", nat.address));
        waiting.push(AbortOnDrop(tokio::spawn(async move {
            let _ = client.get(&url.parse().unwrap(), &HeaderMap::new()).await;
        })));
    }
    until("two handshakes", || site.server.connections() == 2).await;
    let mut clients = Vec::new();
    for _ in 0..10 {
        let client = site.client();
        assert_eq!(whole(&site, &client, site.server.address(), "/hello.txt").await, b"hello");
        clients.push(client);
    }
    let metrics = site.server.metrics();
    assert_eq!(metrics.retried.load(Relaxed), 10);
    assert_eq!((site.server.connections(), metrics.refused.load(Relaxed)), (12, 0));
    let refused = site.client();
    assert!(site.get(&refused, "/hello.txt").await.is_err());
    assert!(metrics.refused.load(Relaxed) >= 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restarted_server_resets_the_connections_of_the_one_before() {
    let state = tempfile::tempdir().unwrap();
    let keys = state.path().join("server.sqlite");
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("hello.txt"), "hello").unwrap();
    let (certificate, trust) = super::kit::certificate();
    let start = |address: SocketAddr| {
        let builder = Server::builder(directory.path(), certificate.clone());
        four(builder).keys(&keys).listen(address).start()
    };
    let server = start(([127, 0, 0, 1], 0).into()).await.unwrap();
    let address = server.address();
    let url = format!("https://{address}/hello.txt").parse().unwrap();
    let client = Client::builder().trust(trust).build().unwrap();
    assert_eq!(
        content(client.get(&url, &HeaderMap::new()).await.unwrap()).await.unwrap(),
        b"hello"
    );
    // As if it was killed: its connections get no close frame.
    drop(server);
    let restarted = timeout(LONG, async {
        loop {
            match start(address).await {
                Ok(server) => break server,
                Err(_) => sleep(Duration::from_millis(20)).await,
            }
        }
    });
    let restarted = restarted.await.expect("the address is free again");
    // The client sends the request once more when it has learned that its connection is gone. No
    // packet of the old connection would end it before the idle timeout.
    let again = timeout(Duration::from_secs(20), client.get(&url, &HeaderMap::new())).await;
    let again = again.expect("the reset arrives").unwrap();
    assert_eq!(content(again).await.unwrap(), b"hello");
    assert_eq!(restarted.metrics().connections_quic.load(Relaxed), 1);
    client.disconnect().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopping_server_lets_the_clients_of_all_threads_finish() {
    let site = TestServer::with(four).await;
    let expected = site.file("big", 8_000_000);
    let mut downloads = Vec::new();
    for _ in 0..8 {
        let client = site.client();
        let response = site.get(&client, "/big").await.unwrap();
        downloads.push(tokio::spawn(async move {
            let copy = content(response).await;
            client.disconnect().await;
            copy
        }));
    }
    let TestServer { server, directory, .. } = site;
    assert!(server.connections() > 0);
    assert_eq!(timeout(LONG, server.stop(Span::from_secs(60))).await.expect("in time"), 0);
    for download in downloads {
        let copy = timeout(LONG, download).await.expect("in time").unwrap().unwrap();
        assert!(copy == expected, "{} bytes", copy.len());
    }
    drop(directory);
}
