//! Time budgets in words.

use super::account::Account;
use crate::headline::follows_from_time;
use crate::metrics::Row;
use bentpipe_timeseries::TimePart;

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
    pub part: TimePart,
    /// How much more of it the second has, in seconds; negative for less.
    pub more_s: f64,
}

/// The difference between two accounts.
#[derive(Debug, Clone)]
pub struct Difference {
    /// The metric that is compared.
    pub row: Row,
    /// Its median of the first.
    pub base: f64,
    /// Its median of the second.
    pub other: f64,
    /// Parts of the time that differ, the largest contribution to the difference first.
    pub reasons: Vec<Reason>,
    /// True if the difference is no larger than the scatter of the runs allows.
    pub within_scatter: bool,
    /// True if some runs did not complete.
    is_partial: bool,
    /// True if the metric is the completion time.
    is_completion: bool,
    /// Completion time of the first, or its fixed duration.
    base_s: f64,
}

impl Difference {
    /// Returns true if the two have the same value, within 1 %.
    pub fn is_none(&self) -> bool {
        self.more().abs() <= SAME * self.base.abs().max(self.other.abs())
    }

    /// Returns by how much the second is larger, in the metric's unit; negative if it is smaller.
    pub fn more(&self) -> f64 {
        self.other - self.base
    }
}

/// Returns the difference that `other` makes compared with `base`.
pub fn difference(base: &Account<'_>, other: &Account<'_>) -> Difference {
    let (before, after) = (base.value(), other.value());
    let more = after - before;
    let mut reasons: Vec<Reason> = TimePart::ALL
        .into_iter()
        .zip(base.parts.iter().zip(&other.parts))
        .map(|(part, (base, other))| Reason { part, more_s: other - base })
        .filter(|reason| reason.more_s != 0.0)
        .collect();
    // Those that explain the difference come before those that reduce it.
    if base.is_completion() {
        reasons.sort_by(|a, b| (b.more_s * more).total_cmp(&(a.more_s * more)));
    } else {
        reasons.sort_by(|a, b| b.more_s.abs().total_cmp(&a.more_s.abs()));
    }
    let within_scatter = match (base.standard_error(), other.standard_error()) {
        (Some(a), Some(b)) => more.abs() <= STANDARD_ERRORS * a.hypot(b),
        _ => false,
    };
    Difference {
        row: base.row,
        base: before,
        other: after,
        reasons,
        within_scatter,
        is_partial: base.is_partial() || other.is_partial(),
        is_completion: base.is_completion(),
        base_s: base.completion_s,
    }
}

/// Returns what an account measured and where its time went, in words that follow its name: `took
/// 8.00 s: 5.03 s slow start; 1.60 s time to send the data, 0.65 s handshake`, or `has goodput 45.6
/// Mbps; of 300 s: …`. Of several runs it is the median.
pub fn statement(account: &Account<'_>) -> String {
    let median = match (account.values.len(), account.runs) {
        (1, all) if all > 1 => format!(" (the only one of {all} runs that completed)"),
        (n, all) if n < all => format!(" (median of the {n} of {all} runs that completed)"),
        (n, _) if n > 1 => format!(" (median of {n} runs)"),
        _ => String::new(),
    };
    let spent = composition(account);
    if account.is_completion() {
        let time = seconds(account.completion_s);
        let long = in_days(account.completion_s);
        return join(format!("took {time} s{long}{median}"), &spent);
    }
    let head = format!("{}{median}", valued(&account.row, account.value()));
    if account.row.name == LOST {
        let most = account.losses.most();
        let most = most.map(|(place, packets)| format!(", most of them {place} ({packets:.0})"));
        return head + &most.unwrap_or_default();
    }
    if spent.is_empty() || !follows_from_time(&account.row) {
        return head;
    }
    format!("{head}; of {} s: {spent}", seconds(account.completion_s))
}

/// Returns where the time of an account went, in words, causes of slowness first: `5.03 s slow
/// start; 1.60 s time to send the data, 0.65 s handshake`; empty if that is unknown. The first
/// cause that follows from losses names where the packets were lost that cost the time.
pub fn composition(account: &Account<'_>) -> String {
    match (list(account, false).as_str(), list(account, true).as_str()) {
        ("", needed) => needed.to_owned(),
        (causes, "") => causes.to_owned(),
        (causes, needed) => format!("{causes}; {needed}"),
    }
}

/// Returns the causes of slowness of an account in words, as in [`composition`].
pub(crate) fn causes(account: &Account<'_>) -> String {
    list(account, false)
}

/// Returns the longest parts that every transfer has if `needed`, or the longest causes.
fn list(account: &Account<'_>, needed: bool) -> String {
    let parts = account.longest_parts(needed).into_iter();
    let least = SMALLEST_SHARE * account.completion_s;
    let named = parts.filter(|(_, time)| *time >= least).take(MOST_REASONS);
    let mut losses = account.losses.costliest();
    let texts = named.map(|(part, time)| {
        let of_loss = if OF_LOSSES.contains(&part.name()) { losses.take() } else { None };
        format!("{} s{} {}{}", seconds(time), in_days(time), part.words(), after(of_loss))
    });
    texts.collect::<Vec<_>>().join(", ")
}

/// The metric of which a sentence says where the packets were lost.
const LOST: &str = "lost_percent";

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
    /// Returns the difference in words that follow the name of the second, with the name of the
    /// first: `is 3.6 s faster than none: 3.6 s less slow start`, `has goodput 0.824 Mbps, 0.0181
    /// times that of bbr3: 283 s more congestion window`.
    pub fn text_with(&self, base: &str) -> String {
        let doubt = match (self.is_partial, self.within_scatter && !self.is_none()) {
            (true, false) => " (counting only runs that completed)",
            (true, true) => " (counting only runs that completed, and within their scatter)",
            (false, true) => " (within the scatter of the runs)",
            (false, false) => "",
        };
        let head = match (self.is_completion, self.is_none()) {
            (true, true) => format!("is as fast as {base}{doubt}"),
            (true, false) => {
                let direction = if self.more() < 0.0 { "faster" } else { "slower" };
                format!("is {} s {direction} than {base}{doubt}", seconds(self.more().abs()))
            }
            (false, true) => format!("{}, as {base}{doubt}", valued(&self.row, self.other)),
            (false, false) => {
                format!("{}, {}{doubt}", valued(&self.row, self.other), self.against(base))
            }
        };
        match follows_from_time(&self.row) {
            true => join(head, &self.reasons_text()),
            false => head,
        }
    }

    /// Returns how the second compares with the first: by their ratio, or by their difference if
    /// both are percentages or one is not positive.
    fn against(&self, base: &str) -> String {
        if self.row.unit == "%" || self.base <= 0.0 || self.other <= 0.0 {
            let unit = if self.row.unit == "%" { "percentage points" } else { self.row.unit };
            let direction = if self.more() < 0.0 { "less" } else { "more" };
            let amount = format!("{} {unit}", significant(self.more().abs()));
            return format!("{} {direction} than {base}", amount.trim_end());
        }
        format!("{} times that of {base}", significant(self.other / self.base))
    }

    fn reasons_text(&self) -> String {
        let all = self.is_none() || !self.is_completion;
        let compared = if all { self.base_s } else { self.more().abs() };
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
                format!("{} s {more} {}", seconds(more_s.abs()), part.words())
            })
            .collect();
        texts.join(", ")
    }
}

fn join(head: String, reasons: &str) -> String {
    if reasons.is_empty() { head } else { format!("{head}: {reasons}") }
}

/// Returns what somebody has of a metric, in words that follow their name: `has goodput 45.6 Mbps`,
/// `lost 2.50 % of its packets`.
fn valued(row: &Row, value: f64) -> String {
    let value = significant(value);
    if row.name == LOST {
        return format!("lost {value} % of its packets");
    }
    format!("has {} {value} {}", row.in_sentence(), row.unit).trim_end().to_owned()
}

/// Returns a value with three significant digits, without an exponent.
pub(crate) fn significant(value: f64) -> String {
    let size = value.abs();
    let digits = if size >= 100.0 || size == 0.0 {
        0
    } else {
        (2.0 - size.log10().floor()).clamp(0.0, 6.0) as usize
    };
    format!("{value:.digits$}")
}

/// Returns a time with as many digits as a reader needs.
pub fn seconds(time: f64) -> String {
    match time {
        time if time >= 100.0 => format!("{time:.0}"),
        time if time >= 10.0 => format!("{time:.1}"),
        time if time >= 0.1 => format!("{time:.2}"),
        time => format!("{time:.3}"),
    }
}

/// Returns a span of two hours and more in days and hours, as ` (5 d 10:04:18)`; empty for a
/// shorter one.
pub fn in_days(time: f64) -> String {
    // Spans of scenarios are far below the largest number of seconds.
    let seconds = time.max(0.0) as u64;
    if seconds < 7200 {
        return String::new();
    }
    let clock = format!("{:02}:{:02}:{:02}", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    match seconds / 86_400 {
        0 => format!(" ({clock})"),
        days => format!(" ({days} d {clock})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explanation::Losses;
    use crate::flow_metrics::find_metric;
    use crate::run::Point;

    fn account<'a>(
        variant: &'a str,
        point: &'a Point,
        times: &[f64],
        parts: &[(&str, f64)],
    ) -> Account<'a> {
        let parts = TimePart::ALL
            .into_iter()
            .map(|part| {
                let found = parts.iter().find(|(name, _)| *name == part.name());
                found.map_or(0.0, |(_, time)| *time)
            })
            .collect();
        let mut account = Account::single(variant, point, times[0], parts);
        account.values = (0..).zip(times.iter().copied()).collect();
        account.runs = times.len();
        account.completion_s = account.value();
        account
    }

    #[test]
    fn spans_of_two_hours_and_more_have_days_and_hours() {
        let known = [(7199.9, ""), (7200.0, " (02:00:00)"), (468_258.0, " (5 d 10:04:18)")];
        for (time, text) in known {
            assert_eq!(in_days(time), text);
        }
    }

    #[test]
    fn parts_of_two_hours_and_more_have_days_and_hours() {
        let point = Point::new();
        let parts = [("outage_s", 448_420.0), ("requests_s", 3_000.0)];
        let long = account("mars", &point, &[451_420.0], &parts);
        let text = statement(&long);
        assert!(text.contains("451420 s (5 d 05:23:40): 448420 s (5 d 04:33:40) out"), "{text}");
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
            difference.text_with("none"),
            "is 3.50 s faster than none: 3.30 s less slow start, 0.65 s less handshake, 0.45 s \
             more timeouts"
        );
        assert_eq!(
            statement(&base),
            "took 8.00 s: 5.00 s slow start; 1.70 s time to send the data, 1.30 s handshake"
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
            "3.00 s congestion window after losses on the channel (37 packets), \
             1.00 s timeouts; 2.00 s time to send the data"
        );
        // A few losses cost more than many.
        lossy.losses = Losses { channel: 12.0, queue: 700.0, reverse: 5.0, ..Losses::default() };
        lossy.losses.cost_s = [3.5, 0.5, 0.0, 0.0];
        assert!(composition(&lossy).contains("after losses on the channel (12 packets)"));
        lossy.losses.reverse_cost_s = 2.5;
        assert!(composition(&lossy).contains("after losses on the channel (17 packets)"));
        let parts = [("timeout_s", 1.0), ("serialisation_s", 2.0)];
        let mut silent = account("a", &point, &[3.0], &parts);
        silent.losses.reverse = 12.0;
        assert_eq!(
            composition(&silent),
            "1.00 s timeouts after losses on the way to the sender (12 packets); \
             2.00 s time to send the data"
        );
        let mut starting = account("a", &point, &[6.0], &[("slow_start_s", 6.0)]);
        starting.losses.policer = 1.0;
        assert_eq!(composition(&starting), "6.00 s slow start");
    }

    #[test]
    fn a_difference_within_the_scatter_is_called_that() {
        let point = Point::new();
        let parts = [("serialisation_s", 2.0)];
        let base = account("a", &point, &[1.0, 2.0, 3.0], &parts);
        let other = account("b", &point, &[1.5, 2.5, 3.5], &[("timeout_s", 2.5)]);
        let difference = difference(&base, &other);
        assert!(difference.within_scatter && !difference.is_none());
        assert!(difference.text_with("a").contains("slower than a (within the scatter"));
    }

    #[test]
    fn medians_of_completed_runs_are_called_that() {
        let point = Point::new();
        let parts = [("serialisation_s", 2.0)];
        let base = Account { runs: 6, ..account("a", &point, &[7.0, 8.0], &parts) };
        let other = account("b", &point, &[5.0, 5.1], &parts);
        assert!(statement(&base).starts_with("took 7.50 s (median of the 2 of 6 runs that compl"));
        let text = difference(&base, &other).text_with("a");
        assert_eq!(text, "is 2.45 s faster than a (counting only runs that completed)");
        let one = Account { runs: 6, ..account("a", &point, &[7.0], &parts) };
        assert!(statement(&one).starts_with("took 7.00 s (the only one of 6 runs that completed)"));
    }

    #[test]
    fn equal_times_may_have_different_reasons() {
        let point = Point::new();
        let base = account("a", &point, &[2.0], &[("pacing_s", 2.0)]);
        let other = account("b", &point, &[2.001], &[("timeout_s", 2.001)]);
        assert_eq!(difference(&base, &base).text_with("a"), "is as fast as a");
        let text = difference(&base, &other).text_with("a");
        assert_eq!(text, "is as fast as a: 2.00 s more timeouts, 2.00 s less pacing");
    }

    #[test]
    fn flows_of_fixed_duration_are_compared_by_their_goodput() {
        let point = Point::new();
        let goodput = find_metric("goodput_mbps").unwrap().row;
        let of = |variant, mbps: &[f64], parts: &[(&str, f64)]| {
            let mut account = account(variant, &point, mbps, parts);
            (account.row, account.completion_s) = (goodput, 300.0);
            account
        };
        let bbr3 = of("bbr3", &[45.5, 45.6, 45.7], &[("serialisation_s", 280.0)]);
        let parts = [("congestion_window_s", 283.0), ("serialisation_s", 5.0)];
        let newreno = of("newreno", &[0.8, 0.824, 0.83], &parts);
        assert_eq!(
            statement(&bbr3),
            "has goodput 45.6 Mbps (median of 3 runs); of 300 s: 280 s time to send the data"
        );
        assert_eq!(
            difference(&bbr3, &newreno).text_with("bbr3"),
            "has goodput 0.824 Mbps, 0.0181 times that of bbr3: 283 s more congestion window, \
             275 s less time to send the data"
        );
        assert_eq!(difference(&bbr3, &bbr3).text_with("bbr3"), "has goodput 45.6 Mbps, as bbr3");
    }

    #[test]
    fn lost_datagrams_are_told_with_the_place() {
        let point = Point::new();
        let mut call = account("a", &point, &[49.76], &[]);
        (call.row, call.parts) = (find_metric("lost_percent").unwrap().row, Vec::new());
        (call.losses.queue, call.losses.channel) = (4147.0, 3.0);
        assert_eq!(
            statement(&call),
            "lost 49.8 % of its packets, most of them at a full queue (4147)"
        );
    }

    #[test]
    fn percentages_are_compared_by_points() {
        let point = Point::new();
        let lost = find_metric("lost_percent").unwrap().row;
        let of = |variant, percent: f64| Account {
            row: lost,
            ..account(variant, &point, &[percent], &[])
        };
        let text = difference(&of("a", 0.0), &of("b", 51.2)).text_with("a");
        assert_eq!(text, "lost 51.2 % of its packets, 51.2 percentage points more than a");
    }

    #[test]
    fn a_delay_in_queues_does_not_follow_from_where_the_time_of_a_transfer_went() {
        let point = Point::new();
        let delay = find_metric("queue_delay_mean_ms").unwrap().row;
        let of = |variant, ms: f64, window_s| Account {
            row: delay,
            completion_s: 10.0,
            ..account(variant, &point, &[ms], &[("congestion_window_s", window_s)])
        };
        let (base, other) = (of("a", 12.9, 0.7), of("b", 52.7, 3.5));
        assert_eq!(statement(&base), "has mean queueing delay 12.9 ms");
        assert_eq!(
            difference(&base, &other).text_with("a"),
            "has mean queueing delay 52.7 ms, 4.09 times that of a"
        );
    }

    #[test]
    fn the_account_of_several_runs_is_that_of_the_median() {
        let point = Point::new();
        let three = account("a", &point, &[9.0, 2.0, 4.0], &[]);
        assert_eq!((three.value(), three.typical_run()), (4.0, Some(2)));
        let four = account("a", &point, &[9.0, 2.0, 4.0, 6.0], &[]);
        assert_eq!((four.value(), four.typical_run()), (5.0, Some(2)));
    }
}
