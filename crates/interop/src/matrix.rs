//! The matrix of clients and servers.

use crate::download::Download;
use crate::program::version;
use crate::shared_files::SharedFiles;
use crate::{Cell, Outcome, Participant, Peer, Protocol, RunOutcome, Verdict, html};
use bentpipe_emu::PathSpec;
use bentpipe_lab::LabError;
use bentpipe_lab::{Changes, MANIFEST, Plan, Staging, Task};
use bentpipe_realclock::emulated_hops;
use bentpipe_scenario::profiles::{Profile, highest_rate};
use bentpipe_units::{Bytes, Rate, Span};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Constant part of a download's timeout.
const BASE_TIMEOUT: Duration = Duration::from_secs(30);
/// Rest of the timeout, in units of the transmission time of the file.
///
/// Our choice: slow clients must not count as hanging, and a window of 1 MB over a GEO path takes
/// four times the transmission time.
const TIMEOUT_FACTOR: u32 = 8;

/// Plan of the downloads: peers, paths and files.
#[derive(Debug)]
pub struct Matrix {
    /// Peers that are installed or named by the user.
    pub peers: Vec<Peer>,
    /// Names of clients, in order.
    pub clients: Vec<String>,
    /// Names of servers, in order.
    pub servers: Vec<String>,
    /// Protocols. A pairing runs those that both peers support.
    pub protocols: Vec<Protocol>,
    /// Profiles of the paths.
    pub profiles: Vec<&'static Profile>,
    /// Sizes of the files.
    pub sizes: Vec<Bytes>,
    /// Number of downloads of each pairing.
    pub repeat: NonZeroUsize,
    /// Seed of the links' random numbers and of the files.
    pub seed: u64,
    /// Number of parallel downloads.
    pub jobs: NonZeroUsize,
    /// Path of this program, which is one of the peers.
    pub bentpipe: PathBuf,
}

/// A finished download.
#[derive(Debug)]
pub struct Progress<'a> {
    /// The pairing, without its downloads.
    pub cell: &'a Cell,
    /// Outcome of the download.
    pub run: &'a RunOutcome,
}

/// A planned download: indices of its cell and its file, and the number of the run.
struct Job {
    cell: usize,
    size: usize,
    run: u64,
}

impl Matrix {
    /// Returns every pairing without downloads, with the index of its file.
    fn cells(&self) -> Vec<(Cell, usize)> {
        let mut cells = Vec::new();
        for profile in &self.profiles {
            for (size, bytes) in self.sizes.iter().enumerate() {
                for &protocol in &self.protocols {
                    let clients =
                        self.capable(&self.clients, |peer| peer.client.as_ref(), protocol);
                    let servers =
                        self.capable(&self.servers, |peer| peer.server.as_ref(), protocol);
                    for client in clients {
                        for server in &servers {
                            cells.push((
                                Cell::new(&client.name, &server.name, protocol, profile, *bytes),
                                size,
                            ));
                        }
                    }
                }
            }
        }
        cells
    }

    /// Returns the peers among `names` that are installed and support `protocol`.
    fn capable(
        &self,
        names: &[String],
        role: impl Fn(&Peer) -> Option<&super::Role>,
        protocol: Protocol,
    ) -> Vec<&Peer> {
        let installed = names
            .iter()
            .filter_map(|name| self.find(name))
            .filter(|peer| peer.missing().is_empty());
        installed
            .filter(|peer| role(peer).is_some_and(|role| role.protocols.contains(&protocol)))
            .collect()
    }

    fn find(&self, name: &str) -> Option<&Peer> {
        self.peers.iter().find(|peer| peer.name == name)
    }

    /// Returns the number of planned downloads.
    pub fn planned(&self) -> usize {
        self.cells().len() * self.repeat.get()
    }

    /// Runs all downloads and calls `on_finished` after each. Downloads that are running when
    /// `stop` is set are discarded; a note in the outcome reports the interruption.
    ///
    /// # Errors
    /// Returns an error if this process is not permitted to emulate paths, or if the files cannot
    /// be written.
    pub fn run(
        &self,
        stop: &AtomicBool,
        on_finished: &(dyn Fn(Progress<'_>) + Sync),
    ) -> Result<Outcome, LabError> {
        let files = SharedFiles::new(&self.sizes, self.seed)?;
        let (mut cells, sizes): (Vec<Cell>, Vec<usize>) = self.cells().into_iter().unzip();
        let jobs: Vec<Job> = sizes
            .iter()
            .enumerate()
            .flat_map(|(cell, &size)| {
                (0..self.repeat.get() as u64).map(move |run| Job { cell, size, run })
            })
            .collect();
        let next = AtomicUsize::new(0);
        let done: Mutex<Vec<(usize, RunOutcome)>> = Mutex::new(Vec::new());
        let failed: Mutex<Option<LabError>> = Mutex::new(None);
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.get().min(jobs.len()) {
                scope.spawn(|| {
                    while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if stop.load(Ordering::Relaxed) || lock(&failed).is_some() {
                            break;
                        }
                        let cell = &cells[job.cell];
                        match self.download(cell, job, &files, stop) {
                            // An interrupted download is no result of the peers.
                            Ok(_) if stop.load(Ordering::Relaxed) => break,
                            Ok(run) => {
                                on_finished(Progress { cell, run: &run });
                                lock(&done).push((job.cell, run));
                            }
                            Err(error) => *lock(&failed) = Some(error),
                        }
                    }
                });
            }
        });
        if let Some(error) = lock(&failed).take() {
            return Err(error);
        }
        let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut notes = Vec::new();
        if done.len() < jobs.len() {
            notes.push(format!("interrupted: {} of {} downloads finished", done.len(), jobs.len()));
        }
        for (index, run) in done {
            let cell = &mut cells[index];
            let profile = self.profiles.iter().find(|profile| profile.name == cell.profile);
            if let Some(profile) = profile {
                cell.add(run, profile);
            }
        }
        let named =
            |peer: &&Peer| self.clients.contains(&peer.name) || self.servers.contains(&peer.name);
        let participants = self.peers.iter().filter(named).map(|peer| {
            Participant::new(peer, files.work().ok().and_then(|work| version(peer, work.path())))
        });
        Ok(Outcome {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            clock: "real".to_owned(),
            seed: self.seed,
            repeat: self.repeat.get() as u64,
            participants: participants.collect(),
            verdicts: Verdict::of(&cells),
            cells,
            notes,
        })
    }

    fn download(
        &self,
        cell: &Cell,
        job: &Job,
        files: &SharedFiles,
        stop: &AtomicBool,
    ) -> Result<RunOutcome, LabError> {
        let failed = |reason: String| LabError::Run {
            variant: format!("{} from {}", cell.client, cell.server),
            point: format!(" over {}", cell.profile),
            run: job.run,
            reason,
        };
        let found =
            self.find(&cell.client).zip(self.find(&cell.server)).zip(files.contents.get(job.size));
        let Some(((client, server), content)) = found else {
            return Err(failed("no such pairing".to_owned()));
        };
        let path = path(&cell.profile, self.seed, job.run)?;
        let rate = bentpipe_scenario::profiles::profile(&cell.profile)
            .and_then(|profile| highest_rate(&profile.forward.rate));
        let download = Download {
            client,
            server,
            protocol: cell.protocol,
            path,
            content,
            run: job.run,
            timeout: timeout(content.size, rate),
            bentpipe: &self.bentpipe,
        };
        download.run(files, stop).map_err(|error| failed(error.to_string()))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the maximum time of a client for a file over a link of `rate`.
fn timeout(size: Bytes, rate: Option<Rate>) -> Duration {
    let link = rate.filter(|rate| !rate.is_zero()).map_or(Span::ZERO, |rate| rate.time_for(size));
    BASE_TIMEOUT + Duration::from_nanos(link.as_nanos()) * TIMEOUT_FACTOR
}

/// Returns the path that a run of a scenario with `profile` has.
fn path(profile: &str, seed: u64, run: u64) -> Result<PathSpec, LabError> {
    let changes = Changes { seed: Some(seed), ..Changes::default() };
    Ok(emulated_hops(&Plan::profile(profile, &changes)?.spec(Task { case: 0, run })?))
}

impl Outcome {
    /// Replaces a directory with `manifest.json` (the participants), `results.json` (the complete
    /// outcome) and `report.html`.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be written or contains other files.
    pub fn write(&self, directory: &Path) -> Result<PathBuf, LabError> {
        let staging = Staging::create(directory)?;
        let text = |value: serde_json::Result<String>| {
            value.map_err(|error| LabError::write(directory, error))
        };
        let manifest = serde_json::json!({
            "version": self.version, "clock": self.clock, "participants": self.participants,
        });
        staging.write(MANIFEST, text(serde_json::to_string_pretty(&manifest))?.as_bytes())?;
        staging.write("results.json", text(serde_json::to_string_pretty(self))?.as_bytes())?;
        staging.write("report.html", html::page(self).as_bytes())?;
        staging.commit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_scenario::profiles::profile;

    #[test]
    fn the_timeout_grows_with_the_size() {
        let rate = Some(Rate::from_mbps(50));
        assert_eq!(timeout(Bytes::from_mb(100), rate), Duration::from_secs(30 + 128));
        assert_eq!(timeout(Bytes::from_mb(100), None), Duration::from_secs(30));
    }

    #[test]
    fn the_path_has_the_profile_and_the_number_of_the_run() {
        let path = path("geo-50-10", 7, 3).unwrap();
        assert_eq!(
            (path.base_rtt, path.seed, path.run, path.hops.len()),
            (Span::from_millis(650), 7, 3, 1)
        );
    }

    /// Creates a matrix in which only some peers are installed and only some support all protocols.
    fn matrix(place: &Path) -> Matrix {
        let write = |name: &str, needs: &str, roles: &str| {
            let folder = place.join("peers").join(name);
            std::fs::create_dir_all(&folder).unwrap();
            let text = format!(
                "name = \"{name}\"\ntitle = \"\"\nsource = \"\"\nversion = \"1\"\n\
                 needs = [\"{needs}\"]\n{roles}"
            );
            std::fs::write(folder.join("peer.toml"), text).unwrap();
        };
        let role = |role: &str, protocols: &str| {
            format!("[{role}]\nprotocols = [{protocols}]\ncommand = [\"sh\"]\n")
        };
        write("absent", "no-such-program", &role("client", "\"h3\""));
        write("both", "sh", &(role("client", "\"h3\", \"h1\"") + &role("server", "\"h3\"")));
        write("client", "sh", &role("client", "\"h3\""));
        write("server", "sh", &role("server", "\"h3\", \"h1\""));
        let all = || ["absent", "both", "client", "server"].map(str::to_owned).to_vec();
        Matrix {
            peers: super::super::read_all(&place.join("peers"), place).unwrap(),
            clients: all(),
            servers: all(),
            protocols: vec![Protocol::H3, Protocol::H1],
            profiles: vec![profile("terrestrial").unwrap()],
            sizes: vec![Bytes::from_mb(2)],
            repeat: NonZeroUsize::new(3).unwrap(),
            seed: 1,
            jobs: NonZeroUsize::MIN,
            bentpipe: PathBuf::new(),
        }
    }

    #[test]
    fn pairings_are_of_installed_peers_with_a_common_protocol() {
        let place = tempfile::tempdir().unwrap();
        let matrix = matrix(place.path());
        let pairs: Vec<String> = matrix
            .cells()
            .iter()
            .map(|(cell, _)| format!("{} {} {}", cell.protocol.name(), cell.client, cell.server))
            .collect();
        assert_eq!(
            pairs,
            [
                "h3 both both",
                "h3 both server",
                "h3 client both",
                "h3 client server",
                "h1 both server"
            ]
        );
        assert_eq!(matrix.planned(), 15);
    }

    #[test]
    fn an_interrupted_outcome_has_a_note_and_lists_what_is_missing() {
        let place = tempfile::tempdir().unwrap();
        let outcome = matrix(place.path())
            .run(&AtomicBool::new(true), &|_| panic!("no download finishes"))
            .unwrap();
        assert_eq!(outcome.notes, ["interrupted: 0 of 15 downloads finished"]);
        assert_eq!(outcome.participants[0].missing, ["no-such-program"]);
        assert!(
            outcome.cells.iter().all(|cell| cell.runs.is_empty()) && outcome.verdicts.is_empty()
        );
        let target = place.path().join("out");
        outcome.write(&target).unwrap();
        let read: Outcome =
            serde_json::from_str(&std::fs::read_to_string(target.join("results.json")).unwrap())
                .unwrap();
        assert_eq!(read, outcome);
        outcome.write(&target).unwrap();
        assert!(
            std::fs::read_to_string(target.join("report.html"))
                .unwrap()
                .contains("no-such-program")
        );
    }
}
