//! What an emulated path carries while it works: a line for a moment.

use bentpipe_emu::{DirectionStats, PathStats};
use bentpipe_lab::{LiveStats, StatsObserver};
use bentpipe_units::Span;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

/// What came of the path between `before` and `now`, `elapsed` after it began, in columns: what
/// matters most stands first, where a narrow terminal shows it.
///
/// Throughput is of IP packets that were handed to their receiver, delay the mean time that these
/// were on the path. Queues are as they are at the end, losses are all since the beginning.
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
    // Not the path's doing, but the machine's: results are in doubt.
    let dropped = match sum(now, |direction| direction.dropped) {
        0 => String::new(),
        dropped => format!("  {dropped} dropped by the emulator"),
    };
    format!("{:>6.1} s  {forward}  {reverse}  {lost} lost{new}{dropped}", elapsed.as_secs_f64())
}

/// What arrived, between the times at which the figures were written down.
fn mbps(before: &DirectionStats, now: &DirectionStats) -> f64 {
    let took = now.at.since(before.at);
    let bytes = now.bytes_written.saturating_sub(before.bytes_written);
    if took.is_zero() { 0.0 } else { bytes as f64 * 8e-6 / took.as_secs_f64() }
}

/// Of the packets that arrived, if any did.
fn mean_delay(before: &DirectionStats, now: &DirectionStats) -> Option<Span> {
    let packets = now.packets_written.saturating_sub(before.packets_written);
    (packets > 0).then(|| now.delays.saturating_sub(before.delays) / packets)
}

/// One line at the terminal for each run that is under way, below what else is shown there.
#[derive(Debug)]
pub struct Lines(MultiProgress);

impl Lines {
    /// Lines among `bars`.
    pub fn below(bars: &MultiProgress) -> Self {
        Self(bars.clone())
    }
}

impl StatsObserver for Lines {
    fn start(&self, run: &str) -> Box<dyn FnMut(&LiveStats) + Send> {
        let shown = Shown::new(&self.0);
        let (run, mut before) = (run.to_owned(), PathStats::default());
        Box::new(move |live| {
            shown.tell(format!("{run}  {}", line(live.elapsed, &before, &live.path)));
            before = live.path;
        })
    }
}

/// A line at the terminal, gone when this is.
struct Shown {
    bars: MultiProgress,
    line: ProgressBar,
}

impl Shown {
    fn new(bars: &MultiProgress) -> Self {
        let line = bars.add(ProgressBar::new_spinner());
        line.set_style(
            ProgressStyle::with_template("{wide_msg}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner()),
        );
        Self { bars: bars.clone(), line }
    }

    fn tell(&self, text: String) {
        self.line.set_message(text);
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.line.finish_and_clear();
        self.bars.remove(&self.line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_units::Time;

    /// Half a second in which 2000 packets of 1500 bytes took 371.25 ms each, and 3 were lost.
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
    fn a_line_tells_of_the_interval_and_of_losses_since_the_beginning() {
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
    fn rates_go_by_the_time_of_the_figures_and_not_by_that_of_the_line() {
        let (before, mut after) = moments();
        after.forward.at = Time::from_millis(12_250);
        let text = line(Span::from_millis(12_500), &before, &after);
        assert!(text.contains("forward   96.00 Mbps"), "{text}");
    }

    #[test]
    fn what_the_emulator_dropped_is_told_apart_from_what_the_path_lost() {
        let (before, mut after) = moments();
        after.reverse.dropped = 7;
        let text = line(Span::from_millis(12_500), &before, &after);
        assert!(text.ends_with("12 lost (+3)  7 dropped by the emulator"), "{text}");
    }
}
