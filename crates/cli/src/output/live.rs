//! Live statistics of an emulated path, one line per interval.

use crate::output;
use bentpipe_emu::{DirectionStats, PathStats};
use bentpipe_realclock::{LiveStats, StatsObserver};
use bentpipe_units::Span;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

/// Returns the statistics of the path between `before` and `now`, `elapsed` after its start, in
/// columns. The most important ones stand first, so that a narrow terminal shows them.
///
/// Throughput counts IP packets delivered to their receiver, and the delay is the mean time of
/// these on the path. Queues are those at the end of the interval, and losses count from the start.
pub fn line(elapsed: Span, before: &PathStats, now: &PathStats) -> String {
    let direction = |name, before: &DirectionStats, now: &DirectionStats| {
        let delay = mean_delay(before, now)
            .map_or("-".to_owned(), |delay| format!("{:.1}", delay.as_millis_f64()));
        format!(
            "{name} {:>7.2} Mbps {delay:>6} ms {:>5.0} kB queued",
            mbps(before, now),
            now.queue_bytes as f64 / 1e3
        )
    };
    let forward = direction("forward", &before.forward, &now.forward);
    let reverse = direction("return", &before.reverse, &now.reverse);
    let sum = |now: &PathStats, of: fn(&DirectionStats) -> u64| of(&now.forward) + of(&now.reverse);
    let lost = sum(now, |direction| direction.lost);
    let new = lost.saturating_sub(sum(before, |direction| direction.lost));
    let new = if new > 0 { format!(" (+{new})") } else { String::new() };
    // Drops by the emulator come from the machine, not from the path, and cast doubt on the
    // results.
    let dropped = match sum(now, |direction| direction.dropped) {
        0 => String::new(),
        dropped => format!("  {dropped} dropped by the emulator"),
    };
    format!("{:>6.1} s  {forward}  {reverse}  {lost} lost{new}{dropped}", elapsed.as_secs_f64())
}

/// Throughput of delivered packets, between the times at which the statistics were taken.
fn mbps(before: &DirectionStats, now: &DirectionStats) -> f64 {
    let took = now.at.since(before.at);
    let bytes = now.bytes_written.saturating_sub(before.bytes_written);
    if took.is_zero() { 0.0 } else { bytes as f64 * 8e-6 / took.as_secs_f64() }
}

/// Mean delay of the delivered packets, if there are any.
fn mean_delay(before: &DirectionStats, now: &DirectionStats) -> Option<Span> {
    let packets = now.packets_written.saturating_sub(before.packets_written);
    (packets > 0).then(|| now.delays.saturating_sub(before.delays) / packets)
}

/// One line on the terminal for each active run, below the progress bars.
#[derive(Debug)]
pub struct LiveLines(MultiProgress);

impl LiveLines {
    /// Creates lines below `bars`.
    pub fn below(bars: &MultiProgress) -> Self {
        Self(bars.clone())
    }
}

impl StatsObserver for LiveLines {
    fn start(&self, run: &str) -> Box<dyn FnMut(&LiveStats) + Send> {
        let shown = LiveLine::new(&self.0);
        let (run, mut before) = (run.to_owned(), PathStats::default());
        Box::new(move |live| {
            shown.set(format!("{run}  {}", line(live.elapsed, &before, &live.path)));
            before = live.path;
        })
    }
}

/// A line on the terminal, removed when dropped.
struct LiveLine {
    bars: MultiProgress,
    line: ProgressBar,
}

impl LiveLine {
    fn new(bars: &MultiProgress) -> Self {
        let line = bars.add(ProgressBar::new_spinner());
        line.set_style(
            ProgressStyle::with_template("{wide_msg}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner()),
        );
        Self { bars: bars.clone(), line }
    }

    fn set(&self, text: String) {
        self.line.set_message(output::printable(&text));
    }
}

impl Drop for LiveLine {
    fn drop(&mut self) {
        self.line.finish_and_clear();
        self.bars.remove(&self.line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_units::Time;

    /// Statistics at two times, 500 ms apart: 2000 packets of 1500 bytes took 371.25 ms each, and 3
    /// were lost.
    fn moments() -> (PathStats, PathStats) {
        let before = DirectionStats {
            at: Time::from_millis(12_000),
            packets_read: 5200,
            bytes_read: 7_800_000,
            packets_written: 5000,
            bytes_written: 7_500_000,
            lost: 9,
            delays: Span::from_millis(1_700_000),
            ..DirectionStats::default()
        };
        let after = DirectionStats {
            at: Time::from_millis(12_500),
            packets_read: 7300,
            bytes_read: 10_950_000,
            packets_written: 7000,
            bytes_written: 10_500_000,
            lost: 12,
            queue_packets: 275,
            queue_bytes: 412_500,
            delays: before.delays + Span::from_micros(371_250) * 2000,
            ..before
        };
        let quiet = |at| DirectionStats { at, ..DirectionStats::default() };
        let now = |forward: DirectionStats| PathStats { forward, reverse: quiet(forward.at) };
        (now(before), now(after))
    }

    #[test]
    fn a_line_covers_the_interval_and_all_losses() {
        let (before, after) = moments();
        assert_eq!(
            line(Span::from_millis(12_500), &before, &after),
            "  12.5 s  forward   48.00 Mbps  371.2 ms   412 kB queued  return    0.00 Mbps      - \
                ms     0 kB queued  12 lost (+3)"
        );
        assert_eq!(
            line(Span::from_millis(500), &PathStats::default(), &PathStats::default()),
            "   0.5 s  forward    0.00 Mbps      - ms     0 kB queued  return    0.00 Mbps      - \
                ms     0 kB queued  0 lost"
        );
    }

    #[test]
    fn rates_use_the_time_of_the_statistics() {
        let (before, mut after) = moments();
        after.forward.at = Time::from_millis(12_250);
        let text = line(Span::from_millis(12_500), &before, &after);
        assert!(text.contains("forward   96.00 Mbps"), "{text}");
    }

    #[test]
    fn drops_by_the_emulator_are_shown_separately() {
        let (before, mut after) = moments();
        after.reverse.dropped = 7;
        let text = line(Span::from_millis(12_500), &before, &after);
        assert!(text.ends_with("12 lost (+3)  7 dropped by the emulator"), "{text}");
    }
}
