//! What came of it: every pairing with its downloads, and the verdict on the path's targets.

use crate::{Peer, Protocol, Role};
use bentpipe_results::Direction;
use bentpipe_results::Stats;
use bentpipe_scenario::profiles::{Profile, highest_rate};
use bentpipe_units::Bytes;
use serde::{Deserialize, Serialize};

/// All of it, as it is written to `results.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Version of this program.
    pub version: String,
    /// Always `wall`.
    pub clock: String,
    /// Seed of the links' random draws.
    pub seed: u64,
    /// Downloads of each pairing at each point.
    pub repeat: u64,
    /// Those who took part, and those who were asked for and are not installed.
    pub participants: Vec<Participant>,
    /// Every pairing with every file on every path, in the order in which they were played.
    pub cells: Vec<Cell>,
    /// Every pairing on every path.
    pub verdicts: Vec<Verdict>,
    /// What else is to be known: what was interrupted.
    pub notes: Vec<String>,
}

/// A peer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Participant {
    /// What command lines call it.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// Its version; none where it is not installed and of the system.
    pub version: Option<String>,
    /// Where it is from.
    pub source: String,
    /// What there is to know of its settings.
    pub note: String,
    /// What its client speaks.
    pub client: Vec<Protocol>,
    /// What its server speaks.
    pub server: Vec<Protocol>,
    /// What of its needs is not there; empty where it is installed.
    pub missing: Vec<String>,
    /// The command that installs it.
    pub install: String,
}

impl Participant {
    /// How `peer` takes part.
    pub fn new(peer: &Peer, version: Option<String>) -> Self {
        let protocols = |role: &Option<Role>| {
            role.as_ref().map(|role| role.protocols.clone()).unwrap_or_default()
        };
        Self {
            name: peer.name.clone(),
            title: peer.title.clone(),
            // Without a version and a command for it, it is this program.
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

/// One download.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunOutcome {
    /// Number of the run: with the seed it keys the links' random draws.
    pub run: u64,
    /// Whether the whole file arrived, byte by byte.
    pub completed: bool,
    /// Why not.
    pub reason: Option<String>,
    /// Seconds from the client's begin to the end of the handshake, as it says itself.
    pub handshake_s: Option<f64>,
    /// Seconds to the first byte of the file.
    pub first_byte_s: Option<f64>,
    /// Seconds to the last.
    pub completion_s: Option<f64>,
    /// Packets that the path lost, both ways.
    pub packets_lost: u64,
    /// What makes it doubtful: the emulator fell behind.
    pub doubts: Vec<String>,
}

/// A client and a server, with one file on one path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Who asked.
    pub client: String,
    /// Who answered.
    pub server: String,
    /// In which protocol.
    pub protocol: Protocol,
    /// Over which path.
    pub profile: String,
    /// How much.
    pub bytes: u64,
    /// The downloads.
    pub runs: Vec<RunOutcome>,
    /// How many of them were whole.
    pub completed: u64,
    /// Median over those.
    pub completion_s: Option<f64>,
    /// Bytes of the file over that time.
    pub goodput_mbps: Option<f64>,
    /// That over the highest rate of the path's forward link.
    pub efficiency: Option<f64>,
    /// How long it may take by the path's source.
    pub target_s: Option<f64>,
    /// Whether all downloads were whole, and the median is within that; none where the source asks
    /// for nothing.
    pub met: Option<bool>,
}

impl Cell {
    /// A pairing before its first download.
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

    /// Takes a download in, and draws the sums anew.
    pub fn add(&mut self, run: RunOutcome, profile: &Profile) {
        self.runs.push(run);
        self.runs.sort_by_key(|run| run.run);
        let whole = self.runs.iter().filter(|run| run.completed);
        let times: Vec<f64> = whole.clone().filter_map(|run| run.completion_s).collect();
        self.completed = whole.count() as u64;
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

    /// Why the first download that failed did.
    pub fn reason(&self) -> Option<&str> {
        self.runs.iter().find_map(|run| run.reason.as_deref())
    }
}

/// A client and a server on one path: whether they met what its source asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Who asked.
    pub client: String,
    /// Who answered.
    pub server: String,
    /// In which protocol.
    pub protocol: Protocol,
    /// Over which path.
    pub profile: String,
    /// Whether every download of every size was whole.
    pub completed: bool,
    /// Sizes in bytes that were within their target.
    pub met: Vec<u64>,
    /// Sizes in bytes that were not.
    pub missed: Vec<u64>,
}

impl Verdict {
    /// Verdicts of all pairings, in the order of their first cells.
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

    /// As the source would say it; none where it asks for nothing.
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
    fn a_cell_has_the_median_of_what_completed_and_is_judged_by_the_path_s_target() {
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
    fn a_verdict_needs_every_size_that_the_source_asks_for() {
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
