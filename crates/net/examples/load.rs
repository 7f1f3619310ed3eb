//! Load test of the server over the loopback: one client at full speed, and a thousand clients
//! concurrently.
//!
//! `cargo run --release -p bentpipe-net --example load [one|many]…` runs both tests by default and
//! takes about a minute. The exit status is 1 if a requirement is not met. The server is this
//! process. The clients are another process on the same CPUs.
//!
//! `tools/bench/server-speed` uses its two halves alone, to compare servers: `load client URL
//! CERTIFICATE CLIENTS REQUESTS`, whose clients each download the URL so many times, and `load
//! serve DIRECTORY CERTIFICATE KEY PORT THREADS`.
// It measures on the real clock.
#![allow(clippy::disallowed_methods)]

use bentpipe_net::get::Client;
use bentpipe_net::serve::{Limits, Server};
use bentpipe_net::{Certificate, Trust};
use bentpipe_units::Span;
use bytes::Bytes;
use http::{HeaderMap, Uri};
use std::error::Error;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Barrier, Semaphore};

type Failed = Box<dyn Error + Send + Sync>;

/// Size of the download of one client, bytes, and number of downloads. The best one counts, because
/// other programs use the machine too.
const ONE: (u64, usize) = (1_000_000_000, 3);
/// Size of the download of each of many clients, bytes.
const MANY: u64 = 4_000_000;
/// Number of clients.
const CLIENTS: usize = 1000;
/// Required rate of one client: 1 Gbps.
const REQUIRED_GBPS: f64 = 1.0;
/// Allowed memory of a connection in addition to its send buffer, bytes: the piece read from its
/// file, partly acknowledged pieces, its own state, and the allocator's overhead.
const EACH: u64 = 768 * 1024;

fn main() -> Result<ExitCode, Failed> {
    // As in `bentpipe serve`.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .max_blocking_threads(32)
        .enable_all()
        .build()?;
    runtime.block_on(measure())
}

async fn measure() -> Result<ExitCode, Failed> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["client", url, certificate, count, requests] => {
            let load = (count.parse()?, requests.parse()?);
            return clients(&url.parse()?, certificate.as_ref(), load).await;
        }
        ["serve", directory, certificate, key, port, threads] => {
            let certificate = Certificate::from_pem(certificate.as_ref(), key.as_ref())?;
            let _server = Server::builder(directory.as_ref(), certificate)
                .limits(all_from_one_address())
                .threads(threads.parse()?)
                .listen(([127, 0, 0, 1], port.parse()?).into())
                .start()
                .await?;
            return std::future::pending().await;
        }
        _ => {}
    }
    println!("load of the machine {}", std::fs::read_to_string("/proc/loadavg")?.trim());
    let selected = |name: &str| arguments.is_empty() || arguments.iter().any(|named| named == name);
    let mut held = true;
    if selected("one") {
        held &= one().await?;
    }
    if selected("many") {
        held &= many().await?;
    }
    println!("{}", if held { "all requirements met" } else { "NOT all requirements met" });
    Ok(if held { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Measures one client with one file, several times.
async fn one() -> Result<bool, Failed> {
    let server = TestServer::new(ONE.0, Limits::default()).await?;
    let mut best = 0.0f64;
    for _ in 0..ONE.1 {
        let report = server.measure_clients(1).await?;
        println!(
            "  {:.2} Gbps; CPU time of the server {:.2} s, of the client {:.2} s",
            report.gbps, report.server_cpu_s, report.client_cpu_s
        );
        best = best.max(report.gbps);
    }
    let held = best >= REQUIRED_GBPS;
    println!(
        "one client, {} MB: {best:.2} Gbps at best; required {REQUIRED_GBPS}: {}",
        ONE.0 / 1_000_000,
        word(held)
    );
    Ok(held)
}

/// Measures many clients, which start to download when all are connected.
async fn many() -> Result<bool, Failed> {
    let limits = all_from_one_address();
    let server = TestServer::new(MANY, limits).await?;
    let before = server.memory()?;
    let report = server.measure_clients(CLIENTS).await?;
    let bound = before + limits.send_memory.get() + EACH * CLIENTS as u64;
    let held = report.failed == 0 && report.connections >= CLIENTS && report.memory <= bound;
    println!(
        "{CLIENTS} clients, {} MB each: {} failed, {} connections at a time, {:.2} Gbps together; \
            memory of the server {} MB before, {} MB at most, \
         allowed {} MB; CPU time of the server {:.2} s, of the clients {:.2} s: {}",
        MANY / 1_000_000,
        report.failed,
        report.connections,
        report.gbps,
        before / 1_000_000,
        report.memory / 1_000_000,
        bound / 1_000_000,
        report.server_cpu_s,
        report.client_cpu_s,
        word(held)
    );
    Ok(held)
}

/// Returns limits that allow all clients to have the same address.
fn all_from_one_address() -> Limits {
    Limits { per_client: CLIENTS, files_per_client: CLIENTS, ..Limits::default() }
}

fn word(held: bool) -> &'static str {
    if held { "met" } else { "NOT met" }
}

/// A server of one file.
struct TestServer {
    directory: tempfile::TempDir,
    server: Server,
}

/// Result of a measurement.
struct Report {
    failed: usize,
    gbps: f64,
    connections: usize,
    memory: u64,
    server_cpu_s: f64,
    client_cpu_s: f64,
}

impl TestServer {
    async fn new(bytes: u64, limits: Limits) -> Result<Self, Failed> {
        let directory = tempfile::tempdir()?;
        // Not sparse, so that reading it costs as much as for other files.
        let file = directory.path().join("file");
        let chunk = vec![0x5a; 1_000_000];
        let mut writer = std::fs::File::create(file)?;
        for _ in 0..bytes / 1_000_000 {
            std::io::Write::write_all(&mut writer, &chunk)?;
        }
        let certificate = Certificate::self_signed(&["127.0.0.1".to_owned()])?;
        std::fs::write(directory.path().join("server.pem"), certificate.pem())?;
        let server = Server::builder(directory.path(), certificate).limits(limits).start().await?;
        Ok(Self { directory, server })
    }

    /// Returns the resident memory of this process, bytes.
    fn memory(&self) -> Result<u64, Failed> {
        let status = std::fs::read_to_string("/proc/self/status")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
    }

    async fn measure_clients(&self, count: usize) -> Result<Report, Failed> {
        let began = cpu_s("self")?;
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["client", &format!("https://{}/file", self.server.address())])
            .arg(self.directory.path().join("server.pem"))
            .args([&count.to_string(), "1"])
            .stderr(Stdio::inherit());
        let mut clients = tokio::task::spawn_blocking(move || command.output());
        let (mut connections, mut memory) = (0, 0);
        let output = loop {
            tokio::select! {
                output = &mut clients => break output??,
                () = tokio::time::sleep(Duration::from_millis(20)) => {
                    connections = connections.max(self.server.connections());
                    memory = memory.max(self.memory()?);
                }
            }
        };
        let line = String::from_utf8(output.stdout)?;
        let figures: Vec<f64> =
            line.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
        let [failed, gbps, client_cpu_s, _] = figures[..] else { return Err(line.into()) };
        let server_cpu_s = cpu_s("self")? - began;
        Ok(Report {
            failed: failed as usize,
            gbps,
            connections,
            memory,
            server_cpu_s,
            client_cpu_s,
        })
    }
}

/// Returns the CPU time of a process so far, in seconds: fields 14 and 15 of proc_pid_stat(5),
/// which are hundredths of a second on Linux.
fn cpu_s(process: &str) -> Result<f64, Failed> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    let (_, after_name) = stat.rsplit_once(')').ok_or("no name")?;
    let ticks: u64 = after_name
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|ticks| ticks.parse::<u64>().ok())
        .sum();
    Ok(ticks as f64 / 100.0)
}

/// Runs the process of the clients: connects `count` clients, downloads the URL `requests` times
/// with each of them, and prints the number of failures, the rate, the CPU time and the duration.
async fn clients(
    url: &Uri,
    certificate: &Path,
    (count, requests): (usize, usize),
) -> Result<ExitCode, Failed> {
    let trust = Trust::from_pem(certificate)?;
    let (all_there, few) = (Arc::new(Barrier::new(count + 1)), Arc::new(Semaphore::new(32)));
    let mut tasks = Vec::new();
    for _ in 0..count {
        let client =
            Client::builder().trust(trust.clone()).handshake_time(Span::from_secs(30)).build()?;
        let (url, all_there, few) = (url.clone(), all_there.clone(), few.clone());
        tasks.push(tokio::spawn(async move {
            let hello: Uri =
                format!("https://{}/server.pem", url.authority().map_or("", |host| host.as_str()))
                    .parse()?;
            let first = {
                let _permit = few.acquire().await?;
                fetch(&client, &hello).await
            };
            all_there.wait().await;
            first?;
            let mut bytes = 0;
            for _ in 0..requests {
                bytes += fetch(&client, &url).await?;
            }
            client.disconnect().await;
            Ok::<u64, Failed>(bytes)
        }));
    }
    all_there.wait().await;
    let began = Instant::now();
    let (mut failed, mut bytes) = (0, 0);
    for task in tasks {
        match task.await? {
            Ok(size) => bytes += size,
            Err(error) => {
                eprintln!("{error}");
                failed += 1;
            }
        }
    }
    let elapsed_s = began.elapsed().as_secs_f64();
    let gbps = bytes as f64 * 8e-9 / elapsed_s;
    println!("{failed} {gbps} {} {elapsed_s}", cpu_s("self")?);
    Ok(ExitCode::SUCCESS)
}

/// Downloads `url`. Returns its size, bytes.
async fn fetch(client: &Client, url: &Uri) -> Result<u64, Failed> {
    let mut response = client.get(url, &HeaderMap::new()).await?;
    let announced: u64 =
        response.head.headers().get("content-length").ok_or("no length")?.to_str()?.parse()?;
    let (mut bytes, mut pieces) = (0, Vec::<Bytes>::new());
    while response.pieces(&mut pieces).await? {
        bytes += pieces.drain(..).map(|piece| piece.len() as u64).sum::<u64>();
    }
    if bytes == announced { Ok(bytes) } else { Err(format!("{bytes} bytes of {announced}").into()) }
}
