//! Outcome of a matrix: every pairing with its downloads, and verdicts on the targets of the paths.

use crate::{Peer, Protocol, Role};
use bentpipe_results::Direction;
use bentpipe_results::Stats;
use bentpipe_scenario::profiles::{Profile, highest_rate};
use bentpipe_units::Bytes;
use serde::{Deserialize, Serialize};

/// Outcome of a matrix, written to `results.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Version of this program.
    pub version: String,
    /// Always `real`.
    pub clock: String,
    /// Seed of the links' random numbers.
    pub seed: u64,
    /// Number of downloads of each pairing with each file on each path.
    pub repeat: u64,
    /// Peers that took part, and peers that were named but are not installed.
    pub participants: Vec<Participant>,
    /// Every pairing with every file on every path, in the order of the plan.
    pub cells: Vec<Cell>,
    /// Verdict on every pairing on every path.
    pub verdicts: Vec<Verdict>,
    /// Notes, such as an interruption.
    pub notes: Vec<String>,
}

/// A peer of the matrix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Participant {
    /// Name on command lines.
    pub name: String,
    /// Title for readers.
    pub title: String,
    /// Version; `null` if unknown because a program of the system is not installed.
    pub version: Option<String>,
    /// Source of the software.
    pub source: String,
    /// Notes on its settings.
    pub note: String,
    /// Protocols of its client.
    pub client: Vec<Protocol>,
    /// Protocols of its server.
    pub server: Vec<Protocol>,
    /// Required programs and files that are missing; empty if the peer is installed.
    pub missing: Vec<String>,
    /// Command that installs it.
    pub install: String,
}

impl Participant {
    /// Describes `peer`.
    pub fn new(peer: &Peer, version: Option<String>) -> Self {
        let protocols = |role: &Option<Role>| {
            role.as_ref().map(|role| role.protocols.clone()).unwrap_or_default()
        };
        Self {
            name: peer.name.clone(),
            title: peer.title.clone(),
            // A peer with neither a version nor a command that prints it is this program.
            version: version.or_else(|| {
                let own = peer.version.is_none() && peer.version_command.is_empty();
                own.then(|| env!("CARGO_PKG_VERSION").to_owned())
            }),
            source: peer.source.clone(),
            note: peer.note.clone(),
            client: protocols(&peer.client),
            server: protocols(&peer.server),
            missing: peer.missing(),
            install: peer.install_command(),
        }
    }
}

/// Outcome of one download.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunOutcome {
    /// Number of the run. With the seed, it determines the links' random numbers.
    pub run: u64,
    /// True if the complete file arrived with the right content.
    pub completed: bool,
    /// Why the download failed.
    pub reason: Option<String>,
    /// Time to the end of the handshake, in seconds since the client's start, as it reports.
    pub handshake_s: Option<f64>,
    /// Time to the first byte of the file, in seconds, as the client reports.
    pub first_byte_s: Option<f64>,
    /// Time to the last byte of the file, in seconds, as the client reports.
    pub completion_s: Option<f64>,
    /// Packets that the path lost in both directions.
    pub packets_lost: u64,
    /// Reasons to doubt the result, such as packets that the emulator sent late.
    pub warnings: Vec<String>,
}

/// A client and a server, with one file on one path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Name of the client.
    pub client: String,
    /// Name of the server.
    pub server: String,
    /// Protocol of the downloads.
    pub protocol: Protocol,
    /// Profile of the path.
    pub profile: String,
    /// Size of the file.
    pub bytes: u64,
    /// The downloads.
    pub runs: Vec<RunOutcome>,
    /// Number of completed downloads.
    pub completed: u64,
    /// Median completion time of the completed downloads, in seconds.
    pub completion_s: Option<f64>,
    /// Size of the file divided by the median completion time.
    pub goodput_mbps: Option<f64>,
    /// Goodput as a fraction of the highest rate of the path's forward link.
    pub efficiency: Option<f64>,
    /// Target of the path's source, in seconds; `null` if it has none for this size.
    pub target_s: Option<f64>,
    /// True if all downloads completed and the median is within the target; `null` without a
    /// target.
    pub met: Option<bool>,
}

impl Cell {
    /// Creates a pairing without downloads.
    pub fn new(
        client: &str,
        server: &str,
        protocol: Protocol,
        profile: &Profile,
        size: Bytes,
    ) -> Self {
        let targets =
            profile.targets.iter().filter(|target| target.direction == Direction::Download);
        Self {
            client: client.to_owned(),
            server: server.to_owned(),
            protocol,
            profile: profile.name.clone(),
            bytes: size.get(),
            runs: Vec::new(),
            completed: 0,
            completion_s: None,
            goodput_mbps: None,
            efficiency: None,
            target_s: targets
                .filter(|target| target.size == size)
                .map(|target| target.seconds)
                .next(),
            met: None,
        }
    }

    /// Adds a download and updates the statistics.
    pub fn add(&mut self, run: RunOutcome, profile: &Profile) {
        self.runs.push(run);
        self.runs.sort_by_key(|run| run.run);
        let completed = self.runs.iter().filter(|run| run.completed);
        let times: Vec<f64> = completed.clone().filter_map(|run| run.completion_s).collect();
        self.completed = completed.count() as u64;
        self.completion_s = Stats::of(&times).map(|stats| stats.median);
        let bits = self.bytes as f64 * 8.0;
        self.goodput_mbps =
            self.completion_s.filter(|seconds| *seconds > 0.0).map(|seconds| bits / seconds / 1e6);
        let rate = highest_rate(&profile.forward.rate).map(|rate| rate.as_bps() as f64 / 1e6);
        self.efficiency = self
            .goodput_mbps
            .zip(rate.filter(|rate| *rate > 0.0))
            .map(|(goodput, rate)| goodput / rate);
        let all = self.completed == self.runs.len() as u64;
        self.met = self
            .target_s
            .map(|target| all && self.completion_s.is_some_and(|seconds| seconds <= target));
    }

    /// Returns why the first failed download failed.
    pub fn reason(&self) -> Option<&str> {
        self.runs.iter().find_map(|run| run.reason.as_deref())
    }
}

/// Whether a client and a server met the targets of one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Name of the client.
    pub client: String,
    /// Name of the server.
    pub server: String,
    /// Protocol of the downloads.
    pub protocol: Protocol,
    /// Profile of the path.
    pub profile: String,
    /// True if every download of every size completed.
    pub completed: bool,
    /// Sizes in bytes whose target was met.
    pub met: Vec<u64>,
    /// Sizes in bytes whose target was missed.
    pub missed: Vec<u64>,
}

impl Verdict {
    /// Returns the verdicts on all pairings, in the order of their first cells.
    pub fn of(cells: &[Cell]) -> Vec<Self> {
        let mut verdicts: Vec<Self> = Vec::new();
        for cell in cells.iter().filter(|cell| !cell.runs.is_empty()) {
            let at = verdicts.iter().position(|verdict| verdict.is_of(cell)).unwrap_or_else(|| {
                verdicts.push(Self::new(cell));
                verdicts.len() - 1
            });
            let verdict = &mut verdicts[at];
            verdict.completed &= cell.completed == cell.runs.len() as u64;
            match cell.met {
                Some(true) => verdict.met.push(cell.bytes),
                Some(false) => verdict.missed.push(cell.bytes),
                None => {}
            }
        }
        verdicts
    }

    fn new(cell: &Cell) -> Self {
        Self {
            client: cell.client.clone(),
            server: cell.server.clone(),
            protocol: cell.protocol,
            profile: cell.profile.clone(),
            completed: true,
            met: Vec::new(),
            missed: Vec::new(),
        }
    }

    fn is_of(&self, cell: &Cell) -> bool {
        (&self.client, &self.server, self.protocol, &self.profile)
            == (&cell.client, &cell.server, cell.protocol, &cell.profile)
    }

    /// Returns true if all targets were met; `None` if the path has no targets for these sizes.
    pub fn objectives(&self) -> Option<bool> {
        (self.met.len() + self.missed.len() > 0).then_some(self.missed.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_scenario::profiles::profile;

    fn cell(bytes: u64, runs: &[Option<f64>]) -> Cell {
        let path = profile("geo-50-10").unwrap();
        let mut cell = Cell::new("a", "b", Protocol::H3, path, Bytes::new(bytes));
        for (run, completion_s) in runs.iter().enumerate() {
            let reason = completion_s.is_none().then(|| "why".to_owned());
            let completed = completion_s.is_some();
            cell.add(
                RunOutcome {
                    run: run as u64,
                    completed,
                    reason,
                    completion_s: *completion_s,
                    ..Default::default()
                },
                path,
            );
        }
        cell
    }

    #[test]
    fn a_cell_has_the_median_of_completed_downloads_and_is_compared_with_the_target() {
        let ten = cell(10_000_000, &[Some(4.0), Some(9.0), Some(5.0)]);
        assert_eq!((ten.completion_s, ten.target_s, ten.met), (Some(5.0), Some(5.0), Some(true)));
        assert_eq!((ten.goodput_mbps, ten.efficiency), (Some(16.0), Some(0.32)));
        let slow = cell(10_000_000, &[Some(5.1)]);
        assert_eq!(slow.met, Some(false));
        let failed = cell(10_000_000, &[Some(4.0), None]);
        assert_eq!(
            (failed.completed, failed.completion_s, failed.met),
            (1, Some(4.0), Some(false))
        );
        assert_eq!(failed.reason(), Some("why"));
        let other = cell(3_000_000, &[Some(1.0)]);
        assert_eq!((other.target_s, other.met), (None, None));
    }

    #[test]
    fn a_verdict_requires_every_size_with_a_target() {
        let (two, ten, hundred) = (
            cell(2_000_000, &[Some(2.9)]),
            cell(10_000_000, &[Some(4.9)]),
            cell(100_000_000, &[Some(20.1)]),
        );
        let judged = |cells: &[Cell]| {
            Verdict::of(cells)
                .into_iter()
                .map(|verdict| (verdict.objectives(), verdict.completed))
                .collect::<Vec<_>>()
        };
        assert_eq!(judged(&[two.clone(), ten.clone()]), [(Some(true), true)]);
        assert_eq!(judged(&[two.clone(), ten, hundred]), [(Some(false), true)]);
        assert_eq!(judged(&[two, cell(10_000_000, &[None])]), [(Some(false), false)]);
        assert_eq!(judged(&[cell(3_000_000, &[Some(1.0)])]), [(None, true)]);
        assert_eq!(judged(&[cell(2_000_000, &[])]), []);
    }
}
