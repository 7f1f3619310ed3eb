//! Memory of `bentpipe serve` and its latency for other clients while one address attacks it.
//!
//! cargo run --release -p bentpipe-net --example siege [COMMAND [ATTACK]]
//!
//! COMMAND is the program to attack, by default `target/release/bentpipe`. 256 connections from
//! 127.0.0.2 have 100 streams each. Another client, at 127.0.0.1, downloads a small file
//! repeatedly. It uses the loopback only and takes about a minute.

// It measures latencies on the real clock.
#![allow(clippy::disallowed_methods)]

use bentpipe_net::Trust;
use bentpipe_net::get::Client;
use http::HeaderMap;
use noq::crypto::rustls::QuicClientConfig;
use noq::{ClientConfig, Connection, Endpoint, TransportConfig, VarInt};
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const CONNECTIONS: usize = 256;
const STREAMS: usize = 100;
const ATTACKER: [u8; 4] = [127, 0, 0, 2];
const PROBES: usize = 60;

/// What the attacker does on each of its connections.
#[derive(Debug, Clone, Copy)]
enum Attack {
    /// Nothing.
    Idle,
    /// Requests whose responses it does not read.
    Unread,
    /// Incomplete headers on each stream.
    Headers,
    /// A SETTINGS frame of 256 MB, sent as far as possible.
    Settings,
    /// An unknown frame of 256 MB, of which 10 kB are sent on each stream.
    Unknown,
}

/// Returns the start of a frame of `length` bytes (RFC 9114 §7.1).
fn frame(kind: u8, length: u32) -> Vec<u8> {
    [&[kind][..], &(0x8000_0000 | length).to_be_bytes()].concat()
}

/// Returns a request for `path`, with entries 17, 23, 1 and 0 of QPACK's static table (RFC 9204,
/// appendix A).
fn request(path: &str) -> Vec<u8> {
    let mut block = vec![0, 0, 0xd1, 0xd7, 0x51, path.len() as u8];
    block.extend_from_slice(path.as_bytes());
    block.extend_from_slice(b"\x50\x09localhost");
    [frame(1, block.len() as u32), block].concat()
}

/// A server process, which is killed when this value is dropped.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(command: &Path, directory: &Path) -> Result<Self> {
        let mut child = Command::new(command)
            .args([
                "serve",
                ".",
                "--listen",
                "127.0.0.1:0",
                "--self-signed",
                "--save-cert",
                "server.pem",
            ])
            .args(["--no-store", "--log", "json"])
            .current_dir(directory)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut output = BufReader::new(child.stdout.take().ok_or("no standard output")?);
        let mut line = String::new();
        output.read_line(&mut line)?;
        std::thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
        let output_json: serde_json::Value = serde_json::from_str(&line)?;
        let address =
            output_json["listening"].as_str().ok_or("no address in the output")?.parse()?;
        Ok(Self { child, address })
    }

    /// Returns a value of its status, in the kernel's unit.
    fn status(&self, name: &str) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find(|line| line.starts_with(name)).ok_or("no such line")?;
        Ok(line.split_whitespace().nth(1).ok_or("no value")?.parse()?)
    }

    fn descriptors(&self) -> Result<usize> {
        Ok(std::fs::read_dir(format!("/proc/{}/fd", self.child.id()))?.count())
    }
}

async fn attack(connection: &Connection, attack: Attack) -> Result<Vec<noq::SendStream>> {
    let mut control = connection.open_uni().await?;
    control.write_all(&[&[0][..], &frame(4, 0)].concat()).await?;
    let mut streams = Vec::new();
    match attack {
        Attack::Idle => {}
        Attack::Settings => {
            control.write_all(&frame(4, 1 << 28)).await?;
            control.write_all(&vec![0; 1 << 20]).await?;
        }
        Attack::Unread | Attack::Headers | Attack::Unknown => {
            for _ in 0..STREAMS {
                let (mut send, recv) = connection.open_bi().await?;
                match attack {
                    Attack::Unread => {
                        send.write_all(&request("/large")).await?;
                        send.finish()?;
                        std::mem::forget(recv);
                        continue;
                    }
                    Attack::Headers => {
                        send.write_all(&frame(1, 30_000)).await?;
                        send.write_all(&vec![0; 29_000]).await?;
                    }
                    _ => {
                        send.write_all(&frame(0x21, 1 << 28)).await?;
                        send.write_all(&vec![0; 10_000]).await?;
                    }
                }
                std::mem::forget(recv);
                streams.push(send);
            }
        }
    }
    streams.push(control);
    Ok(streams)
}

fn tls(pem: &Path) -> Result<rustls::ClientConfig> {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(pem)?)?;
    let mut config = rustls::ClientConfig::builder_with_provider(Arc::new(
        rustls::crypto::ring::default_provider(),
    ))
    .with_protocol_versions(&[&rustls::version::TLS13])?
    .with_root_certificates(roots)
    .with_no_client_auth();
    config.alpn_protocols = vec![b"h3".to_vec()];
    Ok(config)
}

/// Measures downloads of a small file, each over a new connection. Returns the sorted times and the
/// number of failures.
async fn probe(server: &Server, trust: &Trust) -> Result<(Vec<Duration>, usize)> {
    let url = format!("https://{}/small", server.address).parse()?;
    let (mut times, mut failed) = (Vec::new(), 0);
    for _ in 0..PROBES {
        let begun = Instant::now();
        let client = Client::builder().trust(trust.clone()).build()?;
        let ask = async {
            let mut response = client.get(&url, &HeaderMap::new()).await?;
            let mut pieces = Vec::new();
            while response.pieces(&mut pieces).await? {}
            Ok::<_, bentpipe_net::get::ClientError>(response.head.status())
        };
        match tokio::time::timeout(Duration::from_secs(5), ask).await {
            Ok(Ok(status)) if status == 200 => times.push(begun.elapsed()),
            _ => failed += 1,
        }
        client.disconnect().await;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    times.sort();
    Ok((times, failed))
}

async fn measure(command: &Path, what: Attack) -> Result<()> {
    let directory = std::env::temp_dir().join(format!("bentpipe-siege-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    std::fs::write(directory.join("small"), [7; 2000])?;
    std::fs::File::create(directory.join("large"))?.set_len(100_000_000)?;
    let server = Server::start(command, &directory)?;
    let trust = Trust::from_pem(&directory.join("server.pem"))?;
    let (quiet, _) = probe(&server, &trust).await?;
    let empty = server.status("VmRSS:")?;

    let endpoint = Endpoint::client((ATTACKER, 0).into())?;
    let mut transport = TransportConfig::default();
    // Windows of 64 kB for each stream. They stay closed, because nothing is read.
    transport
        .stream_receive_window(VarInt::from_u32(65_536))
        .receive_window(VarInt::from_u32(100_000_000));
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls(
        &directory.join("server.pem")
    )?)?));
    config.transport_config(Arc::new(transport));
    endpoint.set_default_client_config(config);
    let (mut held, mut tasks) = (Vec::new(), Vec::new());
    for _ in 0..CONNECTIONS {
        let connection = endpoint.connect(server.address, "localhost")?.await?;
        held.push(connection.clone());
        tasks.push(tokio::spawn(async move {
            // Streams stay open until the connection is closed, by this client or by the server.
            let streams =
                tokio::time::timeout(Duration::from_secs(8), attack(&connection, what)).await;
            connection.closed().await;
            drop(streams);
        }));
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    let (times, failed) = probe(&server, &trust).await?;
    let alive = held.iter().filter(|connection| connection.close_reason().is_none()).count();
    if let Some(reason) = held.iter().find_map(Connection::close_reason) {
        println!("{what:?}: the first connection that ended: {reason}");
    }
    let p50 = |times: &[Duration]| {
        times.get(times.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1e3)
    };
    println!(
        "{what:?}: {:.1} MB before, {:.1} MB after, {:.1} MB at most; {} descriptors; {alive} of \
            {CONNECTIONS} connections \
         are left; others' p50 {:.1} ms before, {:.1} ms during, {failed} of {PROBES} failed",
        empty as f64 / 1024.0,
        server.status("VmRSS:")? as f64 / 1024.0,
        server.status("VmHWM:")? as f64 / 1024.0,
        server.descriptors()?,
        p50(&quiet),
        p50(&times),
    );
    held.iter().for_each(|connection| connection.close(VarInt::from_u32(0x100), b""));
    for task in tasks {
        task.await?;
    }
    drop(server);
    std::fs::remove_dir_all(directory)?;
    Ok(())
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let command = std::env::args().nth(1).unwrap_or_else(|| "target/release/bentpipe".to_owned());
    let command = std::fs::canonicalize(command)?;
    let only = std::env::args().nth(2);
    for what in [Attack::Idle, Attack::Unread, Attack::Headers, Attack::Settings, Attack::Unknown] {
        if only.as_ref().is_none_or(|only| format!("{what:?}").eq_ignore_ascii_case(only)) {
            measure(&command, what).await?;
        }
    }
    Ok(())
}
