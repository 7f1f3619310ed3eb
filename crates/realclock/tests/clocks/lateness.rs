//! Whether the machine let programs run when they were due.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

/// Wake-ups are looked at together for this long.
const WINDOW: Duration = Duration::from_millis(100);
/// From here on a wake-up is late. On a calm machine it comes after a tenth of a millisecond.
const LATE: Duration = Duration::from_micros(500);

/// A thread that wakes up each millisecond and notes when it was late.
///
/// It has nothing to do with the emulator, whose own lateness is what tests look for.
pub struct Lateness {
    ended: Arc<AtomicBool>,
    thread: JoinHandle<f64>,
}

impl Lateness {
    pub fn watch() -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let thread = spawn({
            let ended = Arc::clone(&ended);
            move || {
                let mut worst = 0.0_f64;
                while !ended.load(Ordering::Relaxed) {
                    worst = worst.max(late_in_a_window());
                }
                worst
            }
        });
        Lateness { ended, thread }
    }

    /// Ends the thread. Returns the share of late wake-ups in the worst 100 ms, from 0 to 1.
    pub fn worst(self) -> f64 {
        self.ended.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

#[expect(clippy::disallowed_methods, reason = "how late the machine is, by its own clock")]
fn late_in_a_window() -> f64 {
    let (mut all, mut late) = (0_u32, 0_u32);
    let start = Instant::now();
    while start.elapsed() < WINDOW {
        let before = Instant::now();
        sleep(Duration::from_millis(1));
        all += 1;
        late += u32::from(before.elapsed() >= Duration::from_millis(1) + LATE);
    }
    f64::from(late) / f64::from(all)
}
