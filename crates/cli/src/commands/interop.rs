//! `bentpipe interop`: other implementations' clients and servers over emulated paths.

use crate::args::interop::Interop;
use crate::output::paint;
use crate::output::{self, Look, say};
use crate::status::{FAILED, NOT_MET, OK};
use crate::study::{output_directory, stop_on_interrupt};
use crate::tables::heat_map::heat_map;
use crate::tables::{Align, Table};
use bentpipe_interop::{Cell, Matrix, Outcome, Participant, Peer, Progress, read_all};
use bentpipe_lab::LabError;
use bentpipe_scenario::profiles::{Profile, profile, profiles};
use bentpipe_units::Bytes;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Runs every client against every server. Reads all descriptions first, so that an error there
/// prevents any run. `program` runs Bentpipe's own endpoints.
pub fn run(args: &Interop, program: &Path) -> Result<u8, LabError> {
    let matrix = matrix(args, program)?;
    if args.list {
        return list(&matrix, args.json);
    }
    if let Err(error) = bentpipe_emu::prepare() {
        say!("{} {error}", paint(output::coloured(&std::io::stderr()), "1;31", "error:"));
        return Ok(FAILED);
    }
    if matrix.planned() == 0 {
        let missing: Vec<String> =
            absent(&participants(&matrix)).map(|peer| peer.install.clone()).collect();
        let reason = format!(
            "no installed client and server support the same HTTP version; to install more: {}",
            missing.join("; ")
        );
        return Err(LabError::Usage { argument: "--clients, --servers", reason });
    }
    let stop = stop_on_interrupt();
    let bar = progress_bar(matrix.planned());
    let outcome = matrix.run(&stop, &|ended| {
        bar.inc(1);
        bar.suspend(|| say!("{}", progress_line(&ended)));
    });
    bar.finish_and_clear();
    let outcome = outcome?;
    let directory = outcome.write(&output_directory(args.out.as_deref(), "interop")?)?;
    if args.json {
        output::document(&output::pretty(&outcome))?;
    } else {
        output::print(&text(&outcome, &directory, Look::stdout()))?;
    }
    Ok(status(&outcome, stop.load(Ordering::Relaxed)))
}

fn status(outcome: &Outcome, interrupted: bool) -> u8 {
    let whole = outcome.cells.iter().all(|cell| cell.completed == cell.runs.len() as u64);
    match (interrupted, whole) {
        (true, _) => FAILED,
        (false, true) => OK,
        (false, false) => NOT_MET,
    }
}

fn matrix(args: &Interop, program: &Path) -> Result<Matrix, LabError> {
    let installed =
        args.installed.clone().or_else(|| std::env::var_os("BENTPIPE_PEERS").map(PathBuf::from));
    // Programs run in directories of their own, so their paths must be absolute.
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let installed = absolute(&installed.unwrap_or_else(|| PathBuf::from("target/peers")));
    let peers = read_all(&absolute(&args.peers), &installed)?;
    let clients = named(&peers, &args.clients, "--clients", |peer| peer.client.is_some())?;
    let servers = named(&peers, &args.servers, "--servers", |peer| peer.server.is_some())?;
    let found: Result<Vec<&'static Profile>, LabError> =
        args.profiles.iter().map(|name| path(name)).collect();
    Ok(Matrix {
        peers,
        clients,
        servers,
        protocols: args.protocols.clone(),
        profiles: found?,
        sizes: args.sizes.clone(),
        repeat: args.repeat,
        seed: args.seed,
        jobs: args.jobs,
        bentpipe: program.to_owned(),
    })
}

/// Returns the requested peers, or all that can take the role.
fn named(
    peers: &[Peer],
    requested: &[String],
    argument: &'static str,
    can: impl Fn(&Peer) -> bool,
) -> Result<Vec<String>, LabError> {
    let able: Vec<&str> =
        peers.iter().filter(|peer| can(peer)).map(|peer| peer.name.as_str()).collect();
    for (index, name) in requested.iter().enumerate() {
        let reason = if !able.contains(&name.as_str()) {
            let allowed = if able.is_empty() { "none".to_owned() } else { able.join(", ") };
            format!("no peer is named `{name}`; allowed: {allowed}")
        } else if requested[..index].contains(name) {
            format!("`{name}` is given twice; allowed: each once")
        } else {
            continue;
        };
        return Err(LabError::Usage { argument, reason });
    }
    Ok(if requested.is_empty() {
        able.into_iter().map(str::to_owned).collect()
    } else {
        requested.to_vec()
    })
}

fn path(name: &str) -> Result<&'static Profile, LabError> {
    profile(name).ok_or_else(|| {
        let names: Vec<&str> = profiles().iter().map(|profile| profile.name.as_str()).collect();
        let reason = format!("no profile is named `{name}`; allowed: {}", names.join(", "));
        LabError::Usage { argument: "--profiles", reason }
    })
}

fn participants(matrix: &Matrix) -> Vec<Participant> {
    let takes_part =
        |peer: &&Peer| matrix.clients.contains(&peer.name) || matrix.servers.contains(&peer.name);
    matrix
        .peers
        .iter()
        .filter(takes_part)
        .map(|peer| Participant::new(peer, peer.version.clone()))
        .collect()
}

fn list(matrix: &Matrix, json: bool) -> Result<u8, LabError> {
    let participants = participants(matrix);
    if json {
        return output::document(&output::pretty(&participants));
    }
    let mut table = Table::new(&[
        ("peer", Align::Left),
        ("version", Align::Left),
        ("client", Align::Left),
        ("server", Align::Left),
        ("installed", Align::Left),
    ]);
    for peer in &participants {
        let supported = |protocols: &[bentpipe_interop::Protocol]| {
            protocols.iter().map(|protocol| protocol.name()).collect::<Vec<_>>().join(" ")
        };
        let installed = match peer.missing.as_slice() {
            [] => "yes".to_owned(),
            missing => format!("no {}: {}", missing.join(", "), peer.install),
        };
        let version = peer.version.clone().unwrap_or_else(|| "system".to_owned());
        table.row([
            peer.name.clone(),
            version,
            supported(&peer.client),
            supported(&peer.server),
            installed,
        ]);
    }
    output::print(&table.fitted(output::Look::stdout()))
}

/// Returns the progress line of a finished download.
fn progress_line(ended: &Progress<'_>) -> String {
    let Cell { client, server, profile, bytes, protocol, .. } = ended.cell;
    let what = format!(
        "{client} from {server}, {} with {} over {profile}",
        Bytes::new(*bytes),
        protocol.name()
    );
    match (&ended.run.reason, ended.run.completion_s) {
        (None, Some(seconds)) => format!("{what}: {seconds:.2} s"),
        (reason, _) => format!("{what}: failed: {}", reason.as_deref().unwrap_or_default()),
    }
}

/// Returns the map of the downloads over one path, of one size and with one version of HTTP.
fn map_text(
    outcome: &Outcome,
    (profile, bytes, protocol): (&str, u64, bentpipe_interop::Protocol),
    look: Look,
) -> String {
    let mut text = String::new();
    let within = |cell: &&Cell| {
        (cell.profile.as_str(), cell.bytes, cell.protocol) == (profile, bytes, protocol)
    };
    let cells: Vec<&Cell> = outcome.cells.iter().filter(within).collect();
    let names = |name: &dyn Fn(&Cell) -> String| {
        let mut names: Vec<String> = Vec::new();
        for cell in &cells {
            let name = name(cell);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    };
    let (clients, servers) =
        (names(&|cell| cell.client.clone()), names(&|cell| cell.server.clone()));
    let target = cells
        .first()
        .and_then(|cell| cell.target_s)
        .map_or(String::new(), |target| format!(", target {target} s"));
    let head = format!(
        "{} with {} over {profile}{target}: median seconds",
        Bytes::new(bytes),
        protocol.name()
    );
    let _ = writeln!(text, "{}\nrows: clients; columns: servers", paint(look.colour, "1", &head));
    let find = |client: &str, server: &str| {
        cells.iter().find(|cell| cell.client == client && cell.server == server)
    };
    let whole = |client: &str, server: &str| {
        let cell = find(client, server)?;
        cell.completion_s.filter(|_| cell.completed == cell.runs.len() as u64)
    };
    let slowest = cells.iter().filter_map(|cell| cell.completion_s).fold(1.0, f64::max);
    // Colours by logarithm, so that equal ratios look equal.
    let fastest =
        cells.iter().filter_map(|cell| cell.completion_s).fold(slowest, f64::min).max(1e-3);
    let heat = |seconds: f64| (seconds / fastest).ln() / (slowest / fastest).ln().max(f64::EPSILON);
    text.push_str(&heat_map(&clients, &servers, 2, &whole, &heat, look.colour));
    text + "\n"
}

/// Returns the text of all results.
fn text(outcome: &Outcome, directory: &Path, look: Look) -> String {
    let mut text = String::new();
    let mut maps: Vec<(&str, u64, bentpipe_interop::Protocol)> = Vec::new();
    for cell in &outcome.cells {
        let map = (cell.profile.as_str(), cell.bytes, cell.protocol);
        if !maps.contains(&map) {
            maps.push(map);
        }
    }
    for map in maps {
        text.push_str(&map_text(outcome, map, look));
    }
    text.push_str(&verdicts(outcome, look));
    let failed: Vec<&Cell> = outcome.cells.iter().filter(|cell| cell.reason().is_some()).collect();
    if !failed.is_empty() {
        let _ = writeln!(text, "{}", paint(look.colour, "1", "failures"));
    }
    for cell in failed {
        let (size, reason) = (Bytes::new(cell.bytes), cell.reason().unwrap_or_default());
        let _ = writeln!(
            text,
            "{} from {}, {size} with {} over {}: {reason}",
            cell.client,
            cell.server,
            cell.protocol.name(),
            cell.profile
        );
    }
    for peer in absent(&outcome.participants) {
        let _ = writeln!(
            text,
            "not installed: {} (no {}); to install: {}",
            peer.name,
            peer.missing.join(", "),
            peer.install
        );
    }
    let doubtful = outcome
        .cells
        .iter()
        .flat_map(|cell| &cell.runs)
        .filter(|run| !run.warnings.is_empty())
        .count();
    if doubtful > 0 {
        let _ = writeln!(
            text,
            "note: the emulator fell behind in {doubtful} downloads; see results.json"
        );
    }
    for note in &outcome.notes {
        let _ = writeln!(text, "note: {note}");
    }
    let _ = writeln!(text, "report: {}", directory.join("report.html").display());
    text
}

fn absent(participants: &[Participant]) -> impl Iterator<Item = &Participant> {
    participants.iter().filter(|peer| !peer.missing.is_empty())
}

/// Returns the table of pairings and whether they met the targets of the path's source.
fn verdicts(outcome: &Outcome, look: Look) -> String {
    let mut table = Table::new(&[
        ("client", Align::Left),
        ("server", Align::Left),
        ("HTTP", Align::Left),
        ("path", Align::Left),
        ("objectives", Align::Left),
        ("within target", Align::Left),
        ("missed", Align::Left),
    ]);
    let sizes = |bytes: &[u64]| {
        bytes.iter().map(|bytes| Bytes::new(*bytes).to_string()).collect::<Vec<_>>().join(", ")
    };
    let mut any = false;
    for verdict in &outcome.verdicts {
        let Some(met) = verdict.objectives() else { continue };
        any = true;
        table.row([
            verdict.client.clone(),
            verdict.server.clone(),
            verdict.protocol.name().to_owned(),
            verdict.profile.clone(),
            if met { "met" } else { "not met" }.to_owned(),
            sizes(&verdict.met),
            sizes(&verdict.missed),
        ]);
    }
    if any { table.fitted(look) + "\n" } else { String::new() }
}

/// Returns a progress bar with the remaining time, on standard error if that is a terminal.
fn progress_bar(downloads: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(downloads as u64), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} downloads, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_interop::{Protocol, RunOutcome, Verdict};

    fn outcome(reason: Option<&str>) -> Outcome {
        let path = profile("geo-50-10").unwrap();
        let mut cell = Cell::new("a", "b", Protocol::H3, path, Bytes::from_mb(10));
        let completion_s = reason.is_none().then_some(4.25);
        let reason = reason.map(str::to_owned);
        cell.add(
            RunOutcome {
                completed: reason.is_none(),
                completion_s,
                reason,
                ..RunOutcome::default()
            },
            path,
        );
        Outcome {
            version: "1".to_owned(),
            clock: "real".to_owned(),
            seed: 1,
            repeat: 1,
            participants: Vec::new(),
            verdicts: Verdict::of(std::slice::from_ref(&cell)),
            cells: vec![cell],
            notes: Vec::new(),
        }
    }

    #[test]
    fn results_show_times_verdicts_and_reasons_of_failures() {
        let whole = text(&outcome(None), Path::new("out"), Look::default());
        assert!(
            whole.contains("10 MB with h3 over geo-50-10, target 5 s") && whole.contains("4.25"),
            "{whole}"
        );
        assert!(whole.contains("a       b       h3    geo-50-10  met         10 MB"), "{whole}");
        let failed = text(&outcome(Some("no route")), Path::new("out"), Look::default());
        assert!(
            failed.contains("a from b, 10 MB with h3 over geo-50-10: no route")
                && failed.contains("not met"),
            "{failed}"
        );
        assert_eq!(status(&outcome(None), false), OK);
        assert_eq!(status(&outcome(Some("no")), false), NOT_MET);
        assert_eq!(status(&outcome(None), true), FAILED);
    }
}
