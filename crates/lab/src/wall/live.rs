//! Looking on at runs while they go on.

use bentpipe_emu::{Emulator, PathStats};
use bentpipe_units::Span;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};

/// How often whoever looks on is told: often enough to follow by eye, and too seldom to cost a run
/// anything. Our choice.
const EVERY: Span = Span::from_millis(500);

/// What the path of a run carries at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Live {
    /// Time since the path began to work.
    pub elapsed: Span,
    /// Both directions, since then.
    pub now: PathStats,
}

/// Looks on at runs.
pub trait Onlooker: Debug + Send + Sync {
    /// A run begins that is called `run`. What this gives is told of it twice a second, from a
    /// thread that the run does not wait for before its end, and dropped when it ends.
    fn begins(&self, run: &str) -> Box<dyn FnMut(&Live) + Send>;
}

/// Does `work`, and has `onlooker` told what `emulator` carries meanwhile.
pub(super) fn beside<T>(
    onlooker: Option<&dyn Onlooker>,
    run: &str,
    emulator: &Emulator,
    work: impl FnOnce() -> T,
) -> T {
    let Some(onlooker) = onlooker else { return work() };
    let mut tell = onlooker.begins(run);
    let over = AtomicBool::new(false);
    let watch = || {
        let gauge = emulator.stats();
        let mut next = emulator.now() + EVERY;
        while emulator.wait_until(next, &over) {
            tell(&Live { elapsed: emulator.elapsed(), now: gauge.read() });
            // Times that a slow onlooker has missed are not made up for.
            next = (next + EVERY).max(emulator.now() + EVERY / 2);
        }
        drop(tell);
    };
    std::thread::scope(|scope| {
        let _over = Over(&over);
        // Without a thread nobody looks on, and the run is the same.
        let _ = std::thread::Builder::new().name("onlooker".to_owned()).spawn_scoped(scope, watch);
        work()
    })
}

/// Ends the looking on however the work ends: a scope waits for its threads.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
