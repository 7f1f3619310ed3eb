//! Progress of the runs of a scenario on standard error: a bar on a terminal, a line every few
//! seconds elsewhere.

use bentpipe_lab::Plan;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time between two lines.
const INTERVAL: Duration = Duration::from_secs(5);

/// Shows how many runs have ended and how long the rest will take. Dropping it removes the bar.
pub(crate) enum Progress<'a> {
    /// On a terminal.
    Bar(ProgressBar, &'a MultiProgress),
    /// Elsewhere.
    Lines(Lines),
}

impl<'a> Progress<'a> {
    /// Starts to show the progress of `plan`, as one of `bars` on a terminal.
    pub fn new(plan: &Plan, bars: &'a MultiProgress) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self::Lines(Lines::new(&plan.name, plan.tasks.len(), Instant::now()));
        }
        let bar = bars.add(ProgressBar::new(plan.tasks.len() as u64));
        let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} runs, {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(plan.name.clone());
        bar.enable_steady_tick(Duration::from_millis(200));
        Self::Bar(bar, bars)
    }

    /// Shows that `done` runs have ended.
    pub fn set(&self, done: usize) {
        match self {
            Self::Bar(bar, _) => bar.set_position(done as u64),
            Self::Lines(lines) => {
                if let Some(line) = lines.at(done, Instant::now()) {
                    eprintln!("{line}");
                }
            }
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        if let Self::Bar(bar, bars) = self {
            bar.finish_and_clear();
            bars.remove(bar);
        }
    }
}

/// Decides when to write a line.
pub(crate) struct Lines {
    name: String,
    runs: usize,
    start: Instant,
    last: Mutex<Instant>,
}

impl Lines {
    fn new(name: &str, runs: usize, start: Instant) -> Self {
        Self { name: name.to_owned(), runs, start, last: Mutex::new(start) }
    }

    /// Returns the line that is due at `now`, if any. The last run has none: results follow.
    fn at(&self, done: usize, now: Instant) -> Option<String> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if done == 0 || done >= self.runs || now.duration_since(*last) < INTERVAL {
            return None;
        }
        *last = now;
        let left = now.duration_since(self.start).mul_f64(self.runs as f64 / done as f64 - 1.0);
        let Self { name, runs, .. } = self;
        Some(format!("{name}: {done} of {runs} runs, about {} s left", left.as_secs().max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_every_five_seconds_tells_runs_and_remaining_time() {
        let start = Instant::now();
        let lines = Lines::new("demo", 40, start);
        let at = |done, secs| lines.at(done, start + Duration::from_secs(secs));
        assert_eq!(at(2, 4), None);
        assert_eq!(at(10, 6).as_deref(), Some("demo: 10 of 40 runs, about 18 s left"));
        assert_eq!(at(20, 10), None);
        assert_eq!(at(30, 12).as_deref(), Some("demo: 30 of 40 runs, about 4 s left"));
        assert_eq!(at(40, 60), None, "the results follow");
    }
}
