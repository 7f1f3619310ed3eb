//! Time budgets in words.

use super::account::Account;
use crate::time_budget::{TIME_PARTS, TimePart};

/// Most parts that a sentence names.
const MOST_REASONS: usize = 4;
/// Smallest share of the completion time, or of the difference, that a sentence names.
const SMALLEST_SHARE: f64 = 0.02;
/// Difference below which two times are the same, as a share of the longer.
const SAME: f64 = 0.01;
/// Standard errors within which a difference is not one (95 % of a normal distribution).
const STANDARD_ERRORS: f64 = 1.96;

/// A reason of a difference.
#[derive(Debug, Clone, Copy)]
pub struct Reason {
    /// The part that differs.
    pub part: &'static TimePart,
    /// How much more of it the second has, in seconds; negative for less.
    pub more_s: f64,
}

/// The difference between two accounts.
#[derive(Debug, Clone)]
pub struct Difference {
    /// Mean completion time of the first, in seconds.
    pub base_s: f64,
    /// By how much the second takes longer, in seconds; negative if it is faster.
    pub longer_s: f64,
    /// Parts that differ, the largest contribution to the difference first.
    pub reasons: Vec<Reason>,
    /// True if the difference is no larger than the scatter of the runs allows.
    pub within_scatter: bool,
}

impl Difference {
    /// Returns true if the two take the same time, within 1 %.
    pub fn is_none(&self) -> bool {
        self.longer_s.abs() <= SAME * self.base_s.max(self.base_s + self.longer_s)
    }
}

/// Returns the difference that `other` makes compared with `base`.
pub fn difference(base: &Account<'_>, other: &Account<'_>) -> Difference {
    let base_s = base.mean_s();
    let longer_s = other.mean_s() - base_s;
    let mut reasons: Vec<Reason> = TIME_PARTS
        .iter()
        .zip(base.parts.iter().zip(&other.parts))
        .map(|(part, (base, other))| Reason { part, more_s: other - base })
        .filter(|reason| reason.more_s != 0.0)
        .collect();
    // Those that explain the difference come before those that reduce it.
    reasons.sort_by(|a, b| (b.more_s * longer_s).total_cmp(&(a.more_s * longer_s)));
    let within_scatter = match (base.standard_error(), other.standard_error()) {
        (Some(a), Some(b)) => longer_s.abs() <= STANDARD_ERRORS * a.hypot(b),
        _ => false,
    };
    Difference { base_s, longer_s, reasons, within_scatter }
}

/// Returns where the time of an account went, in words, causes of slowness first: `8.00 s: 5.03 s
/// slow start; 1.60 s time to send the data, 0.65 s handshake`. The first cause that follows from
/// losses names where most packets were lost.
pub fn composition(account: &Account<'_>) -> String {
    let mean = account.mean_s();
    let list = |needed: bool| {
        let parts = account.longest_parts(needed).into_iter();
        let named = parts.filter(|(_, time)| *time >= SMALLEST_SHARE * mean).take(MOST_REASONS);
        let mut losses = account.losses.most();
        let texts = named.map(|(part, time)| {
            let of_loss = if OF_LOSSES.contains(&part.name) { losses.take() } else { None };
            format!("{} s {}{}", seconds(time), part.words, after(of_loss))
        });
        texts.collect::<Vec<_>>().join(", ")
    };
    match (list(false).as_str(), list(true).as_str()) {
        ("", needed) => format!("{} s: {needed}", seconds(mean)),
        (causes, "") => format!("{} s: {causes}", seconds(mean)),
        (causes, needed) => format!("{} s: {causes}; {needed}", seconds(mean)),
    }
}

/// Parts that losses cause.
const OF_LOSSES: [&str; 4] =
    ["congestion_window_s", "loss_detection_s", "timeout_s", "lost_packets_s"];

/// Returns what follows the name of a part that losses cause: where most were, and how many.
fn after(losses: Option<(&str, f64)>) -> String {
    let Some((place, packets)) = losses else { return String::new() };
    let packets = packets.round().max(1.0);
    let unit = if packets == 1.0 { "packet" } else { "packets" };
    format!(" after losses {place} ({packets} {unit})")
}

impl Difference {
    /// Returns the difference in words: `3.6 s faster: 3.6 s less slow start`.
    pub fn text(&self) -> String {
        join(self.head(), &self.reasons_text())
    }

    /// Returns the difference in words with the name of what it is compared with: `3.6 s faster
    /// than none: 3.6 s less slow start`, `as fast as none`.
    pub fn text_with(&self, base: &str) -> String {
        let word = if self.is_none() { "as" } else { "than" };
        join(format!("{} {word} {base}", self.head()), &self.reasons_text())
    }

    fn head(&self) -> String {
        if self.is_none() {
            return "as fast".to_owned();
        }
        let direction = if self.longer_s < 0.0 { "faster" } else { "slower" };
        let doubt = if self.within_scatter { " (within the scatter of the runs)" } else { "" };
        format!("{} s {direction}{doubt}", seconds(self.longer_s.abs()))
    }

    fn reasons_text(&self) -> String {
        let compared = if self.is_none() { self.base_s } else { self.longer_s.abs() };
        let least = SMALLEST_SHARE * compared;
        let mut named: Vec<&Reason> =
            self.reasons.iter().filter(|reason| reason.more_s.abs() >= least).collect();
        if named.len() > MOST_REASONS {
            // The largest, in the order of the others.
            let mut sizes: Vec<f64> = named.iter().map(|reason| reason.more_s.abs()).collect();
            sizes.sort_by(|a, b| b.total_cmp(a));
            let smallest = sizes.get(MOST_REASONS - 1).copied().unwrap_or_default();
            named.retain(|reason| reason.more_s.abs() >= smallest);
        }
        let texts: Vec<String> = named
            .into_iter()
            .map(|Reason { part, more_s }| {
                let more = if *more_s < 0.0 { "less" } else { "more" };
                format!("{} s {more} {}", seconds(more_s.abs()), part.words)
            })
            .collect();
        texts.join(", ")
    }
}

fn join(head: String, reasons: &str) -> String {
    if reasons.is_empty() { head } else { format!("{head}: {reasons}") }
}

/// Returns a time with as many digits as a reader needs.
fn seconds(time: f64) -> String {
    match time {
        time if time >= 100.0 => format!("{time:.0}"),
        time if time >= 10.0 => format!("{time:.1}"),
        time if time >= 0.1 => format!("{time:.2}"),
        time => format!("{time:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explanation::Losses;
    use crate::run::Point;

    fn account<'a>(
        variant: &'a str,
        point: &'a Point,
        times: &[f64],
        parts: &[(&str, f64)],
    ) -> Account<'a> {
        Account {
            variant,
            point,
            flow: "main",
            visit: 1,
            completions: (0..).zip(times.iter().copied()).collect(),
            parts: TIME_PARTS
                .iter()
                .map(|part| {
                    let found = parts.iter().find(|(name, _)| *name == part.name);
                    found.map_or(0.0, |(_, time)| *time)
                })
                .collect(),
            losses: Losses::default(),
        }
    }

    #[test]
    fn the_reasons_of_a_difference_come_in_the_order_of_their_weight() {
        let point = Point::new();
        let base = account(
            "none",
            &point,
            &[8.0],
            &[("slow_start_s", 5.0), ("handshake_s", 1.3), ("serialisation_s", 1.7)],
        );
        let other = account(
            "careful",
            &point,
            &[4.5],
            &[
                ("slow_start_s", 1.7),
                ("handshake_s", 0.65),
                ("serialisation_s", 1.7),
                ("timeout_s", 0.45),
            ],
        );
        let difference = difference(&base, &other);
        assert_eq!(
            difference.text(),
            "3.50 s faster: 3.30 s less slow start, 0.65 s less handshake, 0.45 s more timeouts"
        );
        assert_eq!(
            composition(&base),
            "8.00 s: 5.00 s slow start; 1.70 s time to send the data, 1.30 s handshake"
        );
    }

    #[test]
    fn a_cause_that_follows_from_losses_says_where_they_were() {
        let point = Point::new();
        let parts = [("congestion_window_s", 3.0), ("timeout_s", 1.0), ("serialisation_s", 2.0)];
        let mut lossy = account("a", &point, &[6.0], &parts);
        lossy.losses = Losses { channel: 37.4, queue: 2.0, ..Losses::default() };
        assert_eq!(
            composition(&lossy),
            "6.00 s: 3.00 s congestion window after losses on the channel (37 packets), \
             1.00 s timeouts; 2.00 s time to send the data"
        );
        let parts = [("timeout_s", 1.0), ("serialisation_s", 2.0)];
        let mut silent = account("a", &point, &[3.0], &parts);
        silent.losses.reverse = 12.0;
        assert_eq!(
            composition(&silent),
            "3.00 s: 1.00 s timeouts after losses on the way to the sender (12 packets); \
             2.00 s time to send the data"
        );
        let mut starting = account("a", &point, &[6.0], &[("slow_start_s", 6.0)]);
        starting.losses.policer = 1.0;
        assert_eq!(composition(&starting), "6.00 s: 6.00 s slow start");
    }

    #[test]
    fn a_difference_within_the_scatter_is_called_that() {
        let point = Point::new();
        let parts = [("serialisation_s", 2.0)];
        let base = account("a", &point, &[1.0, 2.0, 3.0], &parts);
        let other = account("b", &point, &[1.5, 2.5, 3.5], &[("timeout_s", 2.5)]);
        let difference = difference(&base, &other);
        assert!(difference.within_scatter && !difference.is_none());
        assert!(difference.text().starts_with("0.50 s slower (within the scatter"));
    }

    #[test]
    fn equal_times_may_have_different_reasons() {
        let point = Point::new();
        let base = account("a", &point, &[2.0], &[("pacing_s", 2.0)]);
        let other = account("b", &point, &[2.001], &[("timeout_s", 2.001)]);
        let text = difference(&base, &other).text();
        assert_eq!(text, "as fast: 2.00 s more timeouts, 2.00 s less pacing");
        assert_eq!(difference(&base, &base).text(), "as fast");
        assert_eq!(difference(&base, &base).text_with("a"), "as fast as a");
        let text = difference(&base, &other).text_with("a");
        assert_eq!(text, "as fast as a: 2.00 s more timeouts, 2.00 s less pacing");
    }
}
