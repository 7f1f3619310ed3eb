//! Two fronts behind a balancer of UDP that finds the server by the connection ID alone.

use super::front::{Hosts, upstream, web};
use super::kit::noise;
use bentpipe_net::RoutableIds;
use bentpipe_net::front::Sites;
use bentpipe_net::serve::Server;
use bentpipe_units::Span;
use std::collections::HashMap;
use std::fs::{self, Permissions};
use std::net::SocketAddr;
use std::num::NonZeroU8;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UdpSocket};

const NAMES: [&str; 2] = ["a1", "b2"];
/// Datagrams of a client between two of its moves: few enough that a download has some, and fewer
/// moves than a server refuses.
const MOVES: usize = 300;

/// What the balancer did with packets with short headers, and with clients' own IDs.
#[derive(Debug, Default)]
struct Counts {
    routed: [AtomicUsize; 2],
    fallback: AtomicUsize,
    dropped: AtomicUsize,
}

struct Balancer {
    ids: RoutableIds,
    servers: [SocketAddr; 2],
    counts: Arc<Counts>,
}

impl Balancer {
    /// Returns the server of a datagram (draft-ietf-quic-load-balancers §4).
    fn route(&self, datagram: &[u8]) -> Option<SocketAddr> {
        let long = datagram[0] & 0x80 != 0;
        let id = if long {
            datagram.get(6..6 + usize::from(*datagram.get(5)?))?
        } else {
            datagram.get(1..18)?
        };
        let name = self.ids.server_of(id);
        let known = |known: &&str| name.as_deref() == hex(known).as_deref();
        if let Some(place) = NAMES.iter().position(known) {
            self.counts.routed[place].fetch_add(1, Relaxed);
            return Some(self.servers[place]);
        }
        if !long {
            self.counts.dropped.fetch_add(1, Relaxed);
            return None;
        }
        self.counts.fallback.fetch_add(1, Relaxed);
        let sum: usize = id.iter().map(|byte| usize::from(*byte)).sum();
        Some(self.servers[sum % 2])
    }

    /// Passes datagrams on. Servers see each client move, to another port.
    async fn run(self, outside: UdpSocket) {
        let outside = Arc::new(outside);
        let mut inside = HashMap::<SocketAddr, (Arc<UdpSocket>, usize)>::new();
        let mut buffer = vec![0; 65_536];
        loop {
            let (length, client) = outside.recv_from(&mut buffer).await.unwrap();
            let Some(server) = self.route(&buffer[..length]) else { continue };
            let moved = inside.get(&client).is_none_or(|(_, sent)| *sent == MOVES);
            if moved {
                let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
                let (taking, back) = (socket.clone(), outside.clone());
                tokio::spawn(async move {
                    let mut buffer = vec![0; 65_536];
                    while let Ok(length) = taking.recv(&mut buffer).await {
                        let _ = back.send_to(&buffer[..length], client).await;
                    }
                });
                inside.insert(client, (socket, 0));
            }
            let (socket, sent) = inside.get_mut(&client).unwrap();
            *sent += 1;
            socket.send_to(&buffer[..length], server).await.unwrap();
        }
    }
}

fn hex(text: &str) -> Option<Vec<u8>> {
    u8::from_str_radix(text, 16).ok().map(|byte| vec![byte])
}

/// Returns the URL of an upstream whose responses are long.
async fn long(length: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
            stream.write_all(&[head.into_bytes(), noise(length)].concat()).await.unwrap();
        }
    });
    url
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_balancer_finds_the_server_of_each_connection_by_its_ids_alone() {
    const LENGTH: usize = 2_000_000;
    let hosts = Hosts::new();
    let key = hosts.path("key");
    fs::write(&key, "8f95f09245765f80256934e50c66207f\n").unwrap();
    fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
    let long = long(LENGTH).await;
    let mut servers = Vec::new();
    for name in ["first", "second"] {
        let sites = Sites::default().with_default(upstream(&web(name).await));
        let sites = sites.with_host("long.b.test", upstream(&long)).unwrap();
        let ids = RoutableIds::from_file(NAMES[servers.len()], &key, 3).unwrap();
        let builder = Server::front(sites, hosts.table()).routable_ids(ids);
        servers.push(builder.threads(NonZeroU8::new(2).unwrap()).start().await.unwrap());
    }
    let outside = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let (address, counts) = (outside.local_addr().unwrap(), Arc::<Counts>::default());
    let ids = RoutableIds::from_file(NAMES[0], &key, 3).unwrap();
    let servers_at = [servers[0].address(), servers[1].address()];
    let balancer = Balancer { ids, servers: servers_at, counts: counts.clone() };
    tokio::spawn(balancer.run(outside));

    let mut answered = HashMap::<String, usize>::new();
    while answered.len() < 2 {
        let answer = hosts.ask_at(address, "a.test", "https://a.test/", &[]).await.unwrap();
        let name = answer.head.headers()["x-server"].to_str().unwrap().to_owned();
        *answered.entry(name).or_default() += 1;
        assert!(answered.values().sum::<usize>() < 40, "one server gets all: {answered:?}");
    }
    for _ in 0..3 {
        let url = "https://long.b.test/";
        let answer = hosts.ask_at(address, "long.b.test", url, &[]).await.unwrap();
        assert!(answer.body == noise(LENGTH), "it is not what was sent");
    }
    let routed = counts.routed.each_ref().map(|count| count.load(Relaxed));
    assert!(routed.iter().all(|count| *count > 2), "{counts:?}");
    assert_eq!(counts.dropped.load(Relaxed), 0, "{counts:?}");
    assert!(counts.fallback.load(Relaxed) > 0, "{counts:?}");
    for server in servers {
        server.stop(Span::from_secs(60)).await;
    }
}
