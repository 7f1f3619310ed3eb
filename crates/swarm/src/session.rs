//! Plays episodes on several threads until the time is over, one fails, or somebody stops it.

use crate::case::{Case, Kind};
use crate::clock;
use crate::failure::{Failure, Unplayed};
use crate::report::Counts;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Longest real time of an episode. The longest ones take seconds on a busy machine.
const LONGEST: Duration = Duration::from_secs(180);
/// Time between two looks at the clock, and between two lines of progress.
const LOOK: Duration = Duration::from_millis(200);
const PROGRESS: Duration = Duration::from_secs(10);

/// What to play.
#[derive(Debug, Clone)]
pub struct Session {
    /// The first seed; the others follow it.
    pub first: u64,
    /// Number of episodes; by default, as many as the time permits.
    pub runs: Option<u64>,
    /// Time after which none begins.
    pub time: Option<Duration>,
    /// Number of threads.
    pub threads: NonZeroUsize,
    /// Kind of all episodes; by default, the seeds decide.
    pub kind: Option<Kind>,
    /// Dimensions that are left out.
    pub without: BTreeSet<String>,
}

/// A thread that plays: the episode that it plays since then, and the flag that ends it.
#[derive(Default)]
struct Player {
    since: Mutex<Option<Instant>>,
    stop: AtomicBool,
}

impl Session {
    /// Returns the episode of `seed`.
    pub fn case(&self, seed: u64) -> Case {
        let kind = self.kind.unwrap_or_else(|| Kind::of(seed));
        Case { seed, kind, without: self.without.clone() }
    }

    /// Plays, and returns the counts and the first failure. Sets no more than `stop`, which ends
    /// the session from outside.
    pub fn play(&self, stop: &AtomicBool) -> (Counts, Option<(Case, Failure)>) {
        let (begun, next) = (clock::now(), AtomicU64::new(0));
        let players: Vec<Player> = (0..self.threads.get()).map(|_| Player::default()).collect();
        let over = AtomicBool::new(false);
        let (sender, receiver) = channel();
        let (mut counts, mut failed) = (Counts::default(), None);
        std::thread::scope(|scope| {
            for player in &players {
                let (sender, next, over) = (sender.clone(), &next, &over);
                scope.spawn(move || self.work(player, next, over, &sender));
            }
            drop(sender);
            let mut printed = begun;
            loop {
                match receiver.recv_timeout(LOOK) {
                    Ok((case, Ok(()))) => counts.played(case.kind),
                    Ok((_, Err(Unplayed::Skipped(reason)))) => counts.skipped(reason),
                    Ok((case, Err(Unplayed::Failed(failure)))) => {
                        failed.get_or_insert((case, failure));
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                let now = clock::now();
                let timed_out = self.time.is_some_and(|time| now - begun >= time);
                let ends = stop.load(Ordering::Relaxed) || failed.is_some();
                over.store(ends || timed_out, Ordering::Relaxed);
                for player in &players {
                    let since = *player.since.lock().unwrap_or_else(PoisonError::into_inner);
                    let late = since.is_some_and(|since| now - since > LONGEST);
                    player.stop.store(ends || late, Ordering::Relaxed);
                }
                if now - printed >= PROGRESS {
                    printed = now;
                    eprintln!("swarm: {} s, {}", (now - begun).as_secs(), counts.text());
                }
            }
        });
        (counts, failed)
    }

    fn work(
        &self,
        player: &Player,
        next: &AtomicU64,
        over: &AtomicBool,
        sender: &Sender<(Case, Result<(), Unplayed>)>,
    ) {
        let set = |since| *player.since.lock().unwrap_or_else(PoisonError::into_inner) = since;
        while !over.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if self.runs.is_some_and(|runs| number >= runs) {
                break;
            }
            let case = self.case(self.first.wrapping_add(number));
            set(Some(clock::now()));
            let mut played = case.play(&player.stop);
            set(None);
            if player.stop.load(Ordering::Relaxed) && played.is_ok() {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                let what = format!("still running after {} s", LONGEST.as_secs());
                played = Err(Failure::new("the episode ends", what).into());
            }
            if sender.send((case, played)).is_err() {
                break;
            }
        }
    }
}
