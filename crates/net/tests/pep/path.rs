//! Proxies in network namespaces, and downloads through them by the kernel's TCP.

use bentpipe_emu::{
    Emulator, EmulatorSettings, Hop, Namespace, PathSpec, Testbed, server_addresses,
};
use bentpipe_link::{DirectionConfig, LossConfig};
use bentpipe_net::LogFormat;
use bentpipe_net::pep::{Config, Logs, Pep};
use bentpipe_units::{Bytes, Rate, Ratio, Span};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Returns true, with a message on standard error, if this process may not create namespaces.
pub fn cannot_run() -> bool {
    Testbed::new(1, Bytes::new(1500)).inspect_err(|error| eprintln!("not run: {error}")).is_err()
}

/// A running proxy in a namespace, on a thread of its own.
pub struct Running {
    pub address: SocketAddr,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// Starts a proxy with its log in `log`.
    pub fn start(namespace: &Namespace, config: Config, log: Box<dyn Write + Send>) -> Self {
        let (namespace, (started, address)) = (namespace.clone(), mpsc::channel());
        let (end, ended) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let run = || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .expect("a runtime");
                runtime.block_on(async {
                    let pep = Pep::start(
                        config,
                        Logs { connections: Some((LogFormat::Text, log)), errors: None },
                    )
                    .await
                    .expect("a proxy");
                    started.send(pep.address()).expect("the test waits");
                    // Also ends if the test fails.
                    let _ = ended.await;
                    pep.stop(Span::ZERO).await;
                });
            };
            namespace.inside(run).expect("the namespace");
        });
        let address = address.recv().expect("it has started");
        Self { address, end: Some(end), thread: Some(thread) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.end.take());
        // A panic of the thread has been printed.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Starts an emulated path of 50 and 10 Mbps with an RTT of 600 ms and a queue of one
/// bandwidth-delay product. `loss` is the loss towards the client.
pub fn geo(loss: f64) -> Emulator {
    let forward = DirectionConfig::new(Rate::from_mbps(50), Span::from_millis(300));
    let loss = LossConfig::bernoulli(Ratio::new(loss).expect("a ratio"));
    let forward = DirectionConfig { loss, ..forward };
    let reverse = DirectionConfig::new(Rate::from_mbps(10), Span::from_millis(300));
    let load = |config: &DirectionConfig| config.load(Path::new(".")).expect("a direction");
    let hop = Hop {
        name: "satellite".into(),
        forward: load(&forward),
        reverse: load(&reverse),
        shared: true,
    };
    let path =
        PathSpec { hops: vec![hop], base_rtt: Span::from_millis(600), seed: 7, run: 0, utc: None };
    let testbed = Testbed::new(1, Bytes::new(1500)).expect("namespaces");
    Emulator::start(testbed, &path, EmulatorSettings::default()).expect("an emulator")
}

/// Starts a server in `namespace` that sends as many bytes as a client requests, with the kernel's
/// congestion controller `congestion`. It ends with the process.
pub fn serve(namespace: &Namespace, congestion: &str) -> u16 {
    let listener =
        namespace.inside(|| TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("a port"));
    let listener = listener.expect("the namespace");
    socket2::SockRef::from(&listener)
        .set_tcp_congestion(congestion.as_bytes())
        .expect("a controller");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(move || {
                let mut stream = stream.expect("a connection");
                let mut asked = [0; 8];
                stream.read_exact(&mut asked).expect("a request");
                let content = vec![b'x'; 64 * 1024];
                let mut left = u64::from_be_bytes(asked);
                while left > 0 {
                    let now = left.min(content.len() as u64);
                    // The client may have closed the connection.
                    if stream.write_all(&content[..now as usize]).is_err() {
                        return;
                    }
                    left -= now;
                }
            });
        }
    });
    port
}

/// Downloads `bytes` bytes from `server` in `namespace`, through `proxy` (HTTP CONNECT) if there is
/// one. Returns the time from the first packet to the last byte.
pub fn download(
    namespace: &Namespace,
    server: SocketAddr,
    proxy: Option<SocketAddr>,
    bytes: u64,
) -> Duration {
    let work = || {
        let begin = Instant::now();
        let mut stream = TcpStream::connect(proxy.unwrap_or(server)).expect("a connection");
        if proxy.is_some() {
            write!(stream, "CONNECT {server} HTTP/1.1\r\nHost: {server}\r\n\r\n").expect("asked");
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).expect("an answer");
                head.push(byte[0]);
            }
            assert!(head.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&head));
        }
        stream.write_all(&bytes.to_be_bytes()).expect("asked");
        let (mut buffer, mut seen) = (vec![0; 1 << 16], 0);
        while seen < bytes {
            let length = stream.read(&mut buffer).expect("read");
            assert!(length > 0, "the end after {seen} bytes");
            seen += length as u64;
        }
        begin.elapsed()
    };
    namespace.inside(work).expect("the namespace")
}

/// Returns the address of the server of [`geo`] with `port`.
pub fn server_at(port: u16) -> SocketAddr {
    SocketAddr::new(server_addresses()[0], port)
}
