//! Every client against every server.

use crate::download::Download;
use crate::program::version;
use crate::stage::Stage;
use crate::{Cell, Outcome, Participant, Peer, Protocol, RunOutcome, Verdict, html};
use bentpipe_emu::{Hop, PathSpec};
use bentpipe_lab::LabError;
use bentpipe_lab::{Changes, MANIFEST, Plan, Staging, Task};
use bentpipe_scenario::profiles::{Profile, highest_rate};
use bentpipe_units::{Bytes, Rate, Span};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A download may take this long, and [`SLOWNESS`] times as long as the link needs for the file.
/// Our choice: it is to tell what hangs from what is slow, and a window of 1 MB over a GEO path
/// takes four times as long as the link.
const BASE_TIMEOUT: Duration = Duration::from_secs(30);
const SLOWNESS: u32 = 8;

/// Who plays against whom, with what, and where.
#[derive(Debug)]
pub struct Matrix {
    /// Those that are installed, or are asked for.
    pub peers: Vec<Peer>,
    /// Names of clients, in order.
    pub clients: Vec<String>,
    /// Names of servers, in order.
    pub servers: Vec<String>,
    /// Protocols to play, where both sides speak them.
    pub protocols: Vec<Protocol>,
    /// Paths.
    pub profiles: Vec<&'static Profile>,
    /// Sizes of the files.
    pub sizes: Vec<Bytes>,
    /// Downloads of each pairing.
    pub repeat: NonZeroUsize,
    /// Seed of the links' random draws and of the files.
    pub seed: u64,
    /// Downloads at the same time.
    pub jobs: NonZeroUsize,
    /// This program, for the peer that is ours.
    pub bentpipe: PathBuf,
}

/// A download that has ended.
#[derive(Debug)]
pub struct Progress<'a> {
    /// The pairing, without its downloads.
    pub cell: &'a Cell,
    /// The download.
    pub run: &'a RunOutcome,
}

/// A download in its place.
struct Job {
    cell: usize,
    size: usize,
    run: u64,
}

impl Matrix {
    /// Every pairing, unplayed, with the number of its file.
    fn cells(&self) -> Vec<(Cell, usize)> {
        let mut cells = Vec::new();
        for profile in &self.profiles {
            for (size, bytes) in self.sizes.iter().enumerate() {
                for &protocol in &self.protocols {
                    for client in self.able(&self.clients, |peer| peer.client.as_ref(), protocol) {
                        for server in
                            self.able(&self.servers, |peer| peer.server.as_ref(), protocol)
                        {
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

    /// Those of `names` that are installed and speak `protocol`.
    fn able(
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

    /// How many downloads there are to be.
    pub fn planned(&self) -> usize {
        self.cells().len() * self.repeat.get()
    }

    /// Plays. `ended` is told of every download. What was running when `stop` is set is left out,
    /// and said in the notes.
    ///
    /// # Errors
    /// The machine does not let this process emulate paths, or has no room for the files.
    pub fn play(
        &self,
        stop: &AtomicBool,
        ended: &(dyn Fn(Progress<'_>) + Sync),
    ) -> Result<Outcome, LabError> {
        let stage = Stage::new(&self.sizes, self.seed)?;
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
                        match self.download(cell, job, &stage, stop) {
                            // One that was interrupted says nothing of the peers.
                            Ok(_) if stop.load(Ordering::Relaxed) => break,
                            Ok(run) => {
                                ended(Progress { cell, run: &run });
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
            notes.push(format!(
                "interrupted: {} of {} downloads were played",
                done.len(),
                jobs.len()
            ));
        }
        for (at, run) in done {
            let profile = self.profiles.iter().find(|profile| profile.name == cells[at].profile);
            if let Some(profile) = profile {
                cells[at].add(run, profile);
            }
        }
        let asked =
            |peer: &&Peer| self.clients.contains(&peer.name) || self.servers.contains(&peer.name);
        let participants = self.peers.iter().filter(asked).map(|peer| {
            Participant::new(peer, stage.work().ok().and_then(|work| version(peer, work.path())))
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
        stage: &Stage,
        stop: &AtomicBool,
    ) -> Result<RunOutcome, LabError> {
        let failed = |reason: String| LabError::Run {
            variant: format!("{} from {}", cell.client, cell.server),
            point: format!(" over {}", cell.profile),
            run: job.run,
            reason,
        };
        let found =
            self.find(&cell.client).zip(self.find(&cell.server)).zip(stage.contents.get(job.size));
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
        download.play(stage, stop).map_err(|error| failed(error.to_string()))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long a client may take for a file over a link of such a rate.
fn timeout(size: Bytes, rate: Option<Rate>) -> Duration {
    let link = rate.filter(|rate| !rate.is_zero()).map_or(Span::ZERO, |rate| rate.time_for(size));
    BASE_TIMEOUT + Duration::from_nanos(link.as_nanos()) * SLOWNESS
}

/// The path of a profile, as a run of a scenario with that profile has it.
fn path(profile: &str, seed: u64, run: u64) -> Result<PathSpec, LabError> {
    // A scenario needs somebody who talks. Nobody will: only its path is used.
    let text = format!(
        "name = \"peers\"\n[path]\nprofile = \"{profile}\"\n[workload]\ndownload = \"1 MB\"\n"
    );
    let changes = Changes { seed: Some(seed), ..Changes::default() };
    let spec =
        Plan::parse("the profile", &text, Path::new("."), &changes)?.spec(Task { case: 0, run })?;
    let hops = spec.hops.into_iter();
    let hops = hops.map(|hop| Hop {
        name: hop.name,
        forward: hop.forward,
        reverse: hop.reverse,
        shared: hop.shared,
    });
    Ok(PathSpec { hops: hops.collect(), base_rtt: spec.base_rtt, seed: spec.seed, run: spec.run })
}

impl Outcome {
    /// Writes `manifest.json` (who took part), `results.json` (everything) and `report.html` (a
    /// page) into a directory that is replaced whole.
    ///
    /// # Errors
    /// A place that cannot be written, or that holds something else.
    pub fn write(&self, directory: &Path) -> Result<PathBuf, LabError> {
        let staging = Staging::create(directory)?;
        let text = |value: serde_json::Result<String>| {
            value.map_err(|error| LabError::write(directory, error))
        };
        let manifest = serde_json::json!({ "version": self.version, "clock": self.clock, "participants": self.participants });
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
    fn a_client_may_take_longer_for_more() {
        let rate = Some(Rate::from_mbps(50));
        assert_eq!(timeout(Bytes::from_mb(100), rate), Duration::from_secs(30 + 128));
        assert_eq!(timeout(Bytes::from_mb(100), None), Duration::from_secs(30));
    }

    #[test]
    fn the_path_is_the_profile_s_with_the_run_s_number() {
        let path = path("geo-50-10", 7, 3).unwrap();
        assert_eq!(
            (path.base_rtt, path.seed, path.run, path.hops.len()),
            (Span::from_millis(650), 7, 3, 1)
        );
    }

    /// Peers of which only some are installed and only some speak everything.
    fn matrix(place: &Path) -> Matrix {
        let write = |name: &str, needs: &str, roles: &str| {
            let folder = place.join("peers").join(name);
            std::fs::create_dir_all(&folder).unwrap();
            let text = format!(
                "name = \"{name}\"\ntitle = \"\"\nsource = \"\"\nversion = \"1\"\nneeds = \
                    [\"{needs}\"]\n{roles}"
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
    fn those_play_who_are_installed_and_speak_the_same() {
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
    fn what_is_interrupted_before_it_begins_says_so_and_names_who_is_missing() {
        let place = tempfile::tempdir().unwrap();
        let outcome =
            matrix(place.path()).play(&AtomicBool::new(true), &|_| panic!("nothing ends")).unwrap();
        assert_eq!(outcome.notes, ["interrupted: 0 of 15 downloads were played"]);
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
