//! What the server does on this machine, beside what is asked of it: one client as fast as it can,
//! and a thousand at a time, over the loopback.
//!
//! `cargo run --release -p bentpipe-net --example load [one|many]…`: both where none is named, in a
//! minute. Its exit status is 1 where something does not hold. The server is this process; the
//! clients are another one, with the same processors.
// It measures by the wall clock.
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

/// What one client downloads, bytes, and how often: the best counts, since others use the machine
/// too.
const ONE: (u64, usize) = (1_000_000_000, 3);
/// What each of many downloads, bytes.
const MANY: u64 = 4_000_000;
/// How many they are.
const CLIENTS: usize = 1000;
/// Asked of one client: 1 Gbps.
const ASKED_GBPS: f64 = 1.0;
/// What a connection may take besides its send buffer: what is read of its file, pieces whose end
/// is not acknowledged, its own state, what the allocator cannot use.
const EACH: u64 = 768 * 1024;

fn main() -> Result<ExitCode, Failed> {
    // As `bentpipe serve` has it.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .max_blocking_threads(32)
        .enable_all()
        .build()?;
    runtime.block_on(measure())
}

async fn measure() -> Result<ExitCode, Failed> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, url, certificate, count] = arguments.as_slice()
        && word == "client"
    {
        return clients(&url.parse()?, certificate.as_ref(), count.parse()?).await;
    }
    println!("load of the machine {}", std::fs::read_to_string("/proc/loadavg")?.trim());
    let wanted = |name: &str| arguments.is_empty() || arguments.iter().any(|named| named == name);
    let mut held = true;
    if wanted("one") {
        held &= one().await?;
    }
    if wanted("many") {
        held &= many().await?;
    }
    println!("{}", if held { "all held" } else { "NOT all held" });
    Ok(if held { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// One client, one file, several times.
async fn one() -> Result<bool, Failed> {
    let place = Place::new(ONE.0, Limits::default()).await?;
    let mut best = 0.0f64;
    for _ in 0..ONE.1 {
        let report = place.visited_by(1).await?;
        println!(
            "  {:.2} Gbps; processor time of the server {:.2} s, of the client {:.2} s",
            report.gbps, report.server_cpu_s, report.client_cpu_s
        );
        best = best.max(report.gbps);
    }
    let held = best >= ASKED_GBPS;
    println!(
        "one client, {} MB: {best:.2} Gbps at best; asked {ASKED_GBPS}: {}",
        ONE.0 / 1_000_000,
        word(held)
    );
    Ok(held)
}

/// Many clients, who begin to download at once when all of them are connected.
async fn many() -> Result<bool, Failed> {
    // All clients have one address here.
    let limits =
        Limits { per_client: CLIENTS, open_files_per_client: CLIENTS, ..Limits::default() };
    let place = Place::new(MANY, limits).await?;
    let before = place.memory()?;
    let report = place.visited_by(CLIENTS).await?;
    let bound = before + limits.send_memory.get() + EACH * CLIENTS as u64;
    let held = report.failed == 0 && report.connections >= CLIENTS && report.memory <= bound;
    println!(
        "{CLIENTS} clients, {} MB each: {} failed, {} connections at a time, {:.2} Gbps together; \
            memory of the server {} MB before, {} MB at most, \
         asked at most {} MB; processor time of the server {:.2} s, of the clients {:.2} s: {}",
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

fn word(held: bool) -> &'static str {
    if held { "held" } else { "NOT held" }
}

/// A server of one file.
struct Place {
    directory: tempfile::TempDir,
    server: Server,
}

/// How a visit went.
struct Report {
    failed: usize,
    gbps: f64,
    connections: usize,
    memory: u64,
    server_cpu_s: f64,
    client_cpu_s: f64,
}

impl Place {
    async fn new(bytes: u64, limits: Limits) -> Result<Self, Failed> {
        let directory = tempfile::tempdir()?;
        // Written out, so that reading it is what reading a file costs.
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

    /// Resident memory of this process, bytes.
    fn memory(&self) -> Result<u64, Failed> {
        let status = std::fs::read_to_string("/proc/self/status")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
    }

    async fn visited_by(&self, count: usize) -> Result<Report, Failed> {
        let began = processor_s("self")?;
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["client", &format!("https://{}/file", self.server.address())])
            .arg(self.directory.path().join("server.pem"))
            .arg(count.to_string())
            .stderr(Stdio::inherit());
        let mut visit = tokio::task::spawn_blocking(move || command.output());
        let (mut connections, mut memory) = (0, 0);
        let output = loop {
            tokio::select! {
                output = &mut visit => break output??,
                () = tokio::time::sleep(Duration::from_millis(20)) => {
                    connections = connections.max(self.server.connections());
                    memory = memory.max(self.memory()?);
                }
            }
        };
        let line = String::from_utf8(output.stdout)?;
        let figures: Vec<f64> =
            line.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
        let [failed, gbps, client_cpu_s] = figures[..] else { return Err(line.into()) };
        let server_cpu_s = processor_s("self")? - began;
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

/// Processor time of a process so far, in seconds: fields 14 and 15 of proc_pid_stat(5), in
/// hundredths on every Linux there is.
fn processor_s(process: &str) -> Result<f64, Failed> {
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

/// The other process: connects `count` clients, has all download at once, and prints how many
/// failed, the rate and the processor time.
async fn clients(url: &Uri, certificate: &Path, count: usize) -> Result<ExitCode, Failed> {
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
                let _turn = few.acquire().await?;
                take(&client, &hello).await
            };
            all_there.wait().await;
            first?;
            let taken = take(&client, &url).await;
            client.disconnect().await;
            taken
        }));
    }
    all_there.wait().await;
    let began = Instant::now();
    let (mut failed, mut bytes) = (0, 0);
    for task in tasks {
        match task.await? {
            Ok(taken) => bytes += taken,
            Err(error) => {
                eprintln!("{error}");
                failed += 1;
            }
        }
    }
    let gbps = bytes as f64 * 8e-9 / began.elapsed().as_secs_f64();
    println!("{failed} {gbps} {}", processor_s("self")?);
    Ok(ExitCode::SUCCESS)
}

/// Downloads all of `url`, and says how much that was.
async fn take(client: &Client, url: &Uri) -> Result<u64, Failed> {
    let mut response = client.get(url, &HeaderMap::new()).await?;
    let announced: u64 =
        response.head.headers().get("content-length").ok_or("no length")?.to_str()?.parse()?;
    let (mut bytes, mut pieces) = (0, Vec::<Bytes>::new());
    while response.pieces(&mut pieces).await? {
        bytes += pieces.drain(..).map(|piece| piece.len() as u64).sum::<u64>();
    }
    if bytes == announced { Ok(bytes) } else { Err(format!("{bytes} bytes of {announced}").into()) }
}
