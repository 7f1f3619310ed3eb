//! Progress of the runs of a scenario on standard error: a bar on a terminal, a line every few
//! seconds elsewhere.
#![allow(clippy::disallowed_methods, reason = "how long a user waits")]

use crate::output::{self, say};
use bentpipe_lab::Progress;
use indicatif::{HumanDuration, MultiProgress, ProgressBar, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time between two lines.
const INTERVAL: Duration = Duration::from_secs(5);

/// Shows how many runs have ended, how many of them the store had, and how long the rest will take.
/// Dropping it removes the bar.
pub(crate) enum ProgressDisplay<'a> {
    /// On a terminal.
    Bar {
        bar: ProgressBar,
        name: String,
        /// True once a run has ended that the store did not have.
        running: AtomicBool,
        bars: &'a MultiProgress,
    },
    /// Elsewhere.
    Lines(Lines),
}

impl<'a> ProgressDisplay<'a> {
    /// Starts to show the progress of the scenario `name`, as one of `bars` on a terminal.
    pub fn new(name: &str, bars: &'a MultiProgress) -> Self {
        let name = &output::printable(name);
        if !std::io::stderr().is_terminal() {
            return Self::Lines(Lines::new(name, Instant::now()));
        }
        let bar = bars.add(ProgressBar::new(0));
        // A bar of no runs would be full.
        let style = ProgressStyle::with_template("{msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(name.to_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        Self::Bar { bar, name: name.to_owned(), running: AtomicBool::new(false), bars }
    }

    /// Shows `progress`.
    pub fn set(&self, progress: Progress) {
        match self {
            Self::Bar { bar, name, running, .. } => {
                if bar.length() == Some(0) {
                    bar.set_style(style());
                }
                bar.set_length(progress.planned as u64);
                bar.set_position(progress.done as u64);
                // Runs of the store take no time, so the estimate begins after them.
                if progress.done > progress.reused && !running.swap(true, Ordering::Relaxed) {
                    bar.reset_eta();
                    if progress.reused > 0 {
                        bar.set_message(format!("{name} ({} reused)", progress.reused));
                    }
                }
            }
            Self::Lines(lines) => {
                if let Some(line) = lines.at(progress, Instant::now()) {
                    say!("{line}");
                }
            }
        }
    }
}

/// Returns the style of a bar once the number of runs is known. How long the rest takes is known
/// after the first of them.
fn style() -> ProgressStyle {
    let left = |state: &ProgressState, text: &mut dyn Write| {
        let _ = match state.pos() {
            0 => write!(text, "{:#}", HumanDuration(state.elapsed())),
            _ => write!(text, "{:#} left", HumanDuration(state.eta())),
        };
    };
    let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} runs, {left}");
    style.unwrap_or_else(|_| ProgressStyle::default_bar()).with_key("left", left)
}

impl Drop for ProgressDisplay<'_> {
    fn drop(&mut self) {
        if let Self::Bar { bar, bars, .. } = self {
            bar.finish_and_clear();
            bars.remove(bar);
        }
    }
}

/// Decides when to write a line.
pub(crate) struct Lines {
    name: String,
    start: Instant,
    last: Mutex<Instant>,
}

impl Lines {
    fn new(name: &str, start: Instant) -> Self {
        Self { name: name.to_owned(), start, last: Mutex::new(start) }
    }

    /// Returns the line that is due at `now`, if any. The last run has none: results follow.
    fn at(&self, progress: Progress, now: Instant) -> Option<String> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let Progress { planned, done, reused } = progress;
        if done == 0 || done >= planned || now.duration_since(*last) < INTERVAL {
            return None;
        }
        *last = now;
        let left = now
            .duration_since(self.start)
            .mul_f64((planned - done) as f64 / (done - reused).max(1) as f64);
        let reused = if reused > 0 { format!(" ({reused} reused)") } else { String::new() };
        let name = &self.name;
        Some(format!(
            "{name}: {done} of {planned} runs{reused}, about {} s left",
            left.as_secs().max(1)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_every_five_seconds_tells_runs_and_remaining_time() {
        let start = Instant::now();
        let lines = Lines::new("demo", start);
        let at = |done, reused, secs| {
            lines.at(Progress { planned: 40, done, reused }, start + Duration::from_secs(secs))
        };
        assert_eq!(at(2, 0, 4), None);
        assert_eq!(at(10, 0, 6).as_deref(), Some("demo: 10 of 40 runs, about 18 s left"));
        assert_eq!(at(20, 0, 10), None);
        assert_eq!(at(30, 0, 12).as_deref(), Some("demo: 30 of 40 runs, about 4 s left"));
        let reused = "demo: 30 of 40 runs (20 reused), about 20 s left";
        assert_eq!(at(30, 20, 20).as_deref(), Some(reused));
        assert_eq!(at(40, 0, 60), None, "the results follow");
    }
}
