//! Live statistics of a run on the real clock.

use bentpipe_emu::{Emulator, PathStats};
use bentpipe_units::Span;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};

/// Interval between reports: short enough to follow, long enough not to slow the run down.
const INTERVAL: Span = Span::from_millis(500);

/// Statistics of a run's path at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveStats {
    /// Time since the start of the path.
    pub elapsed: Span,
    /// Counters of both directions since then.
    pub path: PathStats,
}

/// Receives live statistics of runs.
pub trait StatsObserver: Debug + Send + Sync {
    /// Called at the start of the run that is labelled `run`. The returned function is called twice
    /// a second from its own thread, and dropped at the end of the run.
    fn start(&self, run: &str) -> Box<dyn FnMut(&LiveStats) + Send>;
}

/// Does `work` and meanwhile reports the statistics of `emulator` to `observer`.
pub(super) fn observe<T>(
    observer: Option<&dyn StatsObserver>,
    run: &str,
    emulator: &Emulator,
    work: impl FnOnce() -> T,
) -> T {
    let Some(observer) = observer else { return work() };
    let mut report = observer.start(run);
    let over = AtomicBool::new(false);
    let watch = || {
        let reader = emulator.stats();
        let mut next = emulator.now() + INTERVAL;
        while emulator.wait_until(next, &over) {
            report(&LiveStats { elapsed: emulator.elapsed(), path: reader.read() });
            // Skip the reports that a slow observer missed.
            next = (next + INTERVAL).max(emulator.now() + INTERVAL / 2);
        }
        drop(report);
    };
    std::thread::scope(|scope| {
        let _over = SetOnDrop(&over);
        // If the thread cannot be started, the run goes on without reports.
        let _ = std::thread::Builder::new().name("stats".to_owned()).spawn_scoped(scope, watch);
        work()
    })
}

/// Sets its flag when dropped. Ends the reports even if the work panics, because the scope waits
/// for its threads.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
