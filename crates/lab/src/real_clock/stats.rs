//! Statistics of a run on the real clock while it goes on.

use bentpipe_emu::{Emulator, PathStats};
use bentpipe_units::Span;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};

/// Interval between reports: often enough to follow by eye, too seldom to slow a run down.
const INTERVAL: Span = Span::from_millis(500);

/// What the path of a run has carried up to a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveStats {
    /// Time since the start of the path.
    pub elapsed: Span,
    /// Counters of both directions since then.
    pub path: PathStats,
}

/// Receives statistics of runs while they go on.
pub trait StatsObserver: Debug + Send + Sync {
    /// Called at the start of the run called `run`. The returned function is called twice a second
    /// from a thread of its own, and dropped at the end of the run.
    fn start(&self, run: &str) -> Box<dyn FnMut(&LiveStats) + Send>;
}

/// Does `work`, and reports to `observer` meanwhile what `emulator` carries.
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
            // Reports that a slow observer has missed are skipped.
            next = (next + INTERVAL).max(emulator.now() + INTERVAL / 2);
        }
        drop(report);
    };
    std::thread::scope(|scope| {
        let _over = SetOnDrop(&over);
        // Without a thread there are no reports, and the run is the same.
        let _ = std::thread::Builder::new().name("stats".to_owned()).spawn_scoped(scope, watch);
        work()
    })
}

/// Stops the reports however the work ends: a scope waits for its threads.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
