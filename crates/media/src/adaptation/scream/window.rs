//! The reference window of SCReAM V2: how much may be in flight, roughly.

use super::delay::QueueDelay;
use crate::settings::{HEADERS, MAX_PAYLOAD};
use bentpipe_units::{Span, Time};

/// Largest packet in bytes (`MSS`). Ours counts headers: so do links.
const MSS: f64 = (MAX_PAYLOAD + HEADERS) as f64;
/// RTT below which flows share as if they had it (`VIRTUAL_RTT`).
pub const VIRTUAL_RTT: Span = Span::from_millis(25);
/// Smallest window in bytes (`MIN_REF_WND`): three segments.
const SMALLEST: f64 = 3.0 * MSS;
/// Factor of the window after a loss (`BETA_LOSS`).
const BETA_LOSS: f64 = 0.7;
/// Factor of the window after a mark of classic ECN (`BETA_ECN`).
const BETA_ECN: f64 = 0.8;
/// Growth in an RTT, as a part of the window (`MUL_INCREASE_FACTOR`).
const GROWTH: f64 = 0.02;
/// RTTs after congestion until this growth is whole again (`POST_CONGESTION_DELAY_RTT`).
const CAUTIOUS_ROUNDS: f64 = 100.0;
/// Window in bytes in flight that it may grow to (`BYTES_IN_FLIGHT_HEAD_ROOM`).
const HEADROOM: f64 = 1.5;
/// Smallest factor of steps near the last window before congestion.
const LEAST_NEAR: f64 = 0.25;

/// What a report shows.
#[derive(Debug, Clone, Copy)]
pub struct Observed {
    /// Bytes that were reported, without marked ones.
    pub unmarked_bytes: u64,
    /// True if packets were lost.
    pub lost: bool,
    /// True if packets were marked.
    pub marked: bool,
    /// Average share of marked packets.
    pub alpha: f64,
    /// Smoothed RTT.
    pub srtt: Span,
    /// Most bytes in flight in this round or the one before, and in the one before.
    pub in_flight: (u64, u64),
    /// True if the rate has reached its limit.
    pub at_limit: bool,
    /// What the smallest rate has in flight, in bytes.
    pub floor: f64,
}

/// A reason to reduce the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Congestion {
    Loss,
    Mark,
    Delay,
}

/// The window.
#[derive(Debug)]
pub struct ReferenceWindow {
    bytes: f64,
    /// The window before the last congestion (`ref_wnd_i`).
    before: f64,
    /// True if it has grown since (`ref_wnd_i_update_allowed`).
    grown: bool,
    /// Losses and marks to which it has not reacted.
    pending: (bool, bool),
    /// When it last reacted to anything, and to a loss or a mark of classic ECN.
    reacted_at: Option<Time>,
    cut_at: Option<Time>,
    /// When a loss or a mark was last reported.
    congested_at: Option<Time>,
    l4s: bool,
}

impl ReferenceWindow {
    pub fn new(bytes: f64, l4s: bool) -> Self {
        Self {
            bytes: bytes.max(SMALLEST),
            before: 1.0,
            grown: true,
            pending: (false, false),
            reacted_at: None,
            cut_at: None,
            congested_at: None,
            l4s,
        }
    }

    /// Its size.
    pub fn bytes(&self) -> f64 {
        self.bytes
    }

    /// Size of a segment in windows, at most 1.
    pub fn small(&self) -> f64 {
        (MSS / self.bytes).min(1.0)
    }

    /// Sets it, at the first RTT.
    pub fn set(&mut self, bytes: f64) {
        self.bytes = bytes.max(SMALLEST);
    }

    /// Handles that nothing was reported for long.
    pub fn collapse(&mut self, now: Time) {
        (self.before, self.bytes, self.grown) = (self.bytes, SMALLEST, false);
        self.congested_at = Some(now);
    }

    /// Handles a report.
    pub fn update(&mut self, now: Time, observed: &Observed, delay: &QueueDelay) {
        self.pending.0 |= observed.lost;
        self.pending.1 |= observed.marked;
        // Steps are small near the window at which congestion began, down to a tenth.
        let distance = (self.bytes - self.before) / self.before * 8.0;
        let near = (distance * distance).clamp(0.1, 1.0);
        if let Some(congestion) = self.congestion(now, observed.srtt, delay) {
            self.reduce(now, congestion, observed, delay, near);
        }
        if observed.lost || observed.marked {
            self.congested_at = Some(now);
        }
        self.grow(now, observed, near);
        // Not in the text, but in its implementation: the smallest rate is never held back.
        self.bytes = self.bytes.max(observed.floor);
    }

    /// Returns the congestion to react to, at most once in a time: to losses and classic marks,
    /// which take a fixed part, once an RTT; to others once a virtual RTT if that is shorter, as
    /// they take accordingly less.
    fn congestion(&mut self, now: Time, srtt: Span, delay: &QueueDelay) -> Option<Congestion> {
        let is_over = |at: Option<Time>, span: Span| at.is_none_or(|at| now >= at + span);
        if !is_over(self.reacted_at, VIRTUAL_RTT.min(srtt)) {
            return None;
        }
        let may_cut = is_over(self.cut_at, srtt);
        let congestion = match self.pending {
            (true, _) if may_cut => Congestion::Loss,
            (_, true) if self.l4s || may_cut => Congestion::Mark,
            (false, false) if delay.virtual_marks() > 0.0 => Congestion::Delay,
            _ => {
                // Of the RTT in which it has been reduced.
                self.pending = (false, false);
                return None;
            }
        };
        self.pending = (false, false);
        if congestion == Congestion::Loss || (congestion == Congestion::Mark && !self.l4s) {
            self.cut_at = Some(now);
        }
        Some(congestion)
    }

    fn reduce(
        &mut self,
        now: Time,
        congestion: Congestion,
        observed: &Observed,
        delay: &QueueDelay,
        near: f64,
    ) {
        let srtt = observed.srtt;
        if std::mem::take(&mut self.grown) {
            self.before = self.bytes;
        }
        // Reductions by shares come each virtual RTT.
        let each = (srtt.as_secs_f64() / VIRTUAL_RTT.as_secs_f64()).max(1.0);
        let factor = match congestion {
            Congestion::Loss => BETA_LOSS,
            Congestion::Mark if !self.l4s => BETA_ECN,
            Congestion::Mark => {
                let mut part = observed.alpha / 2.0 / each;
                if delay.current < delay.target / 4.0 {
                    part *= near.max(LEAST_NEAR);
                }
                let long = srtt.max(VIRTUAL_RTT) * CAUTIOUS_ROUNDS as u64;
                // After long without congestion it may be far above what was in flight. Before the
                // first round has ended, nothing is known of that.
                let in_flight = Some(observed.in_flight.1).filter(|bytes| *bytes > 0);
                if self.reacted_at.is_none_or(|at| now > at + long) {
                    self.bytes = in_flight.map_or(self.bytes, |most| self.bytes.min(most as f64));
                }
                1.0 - part
            }
            Congestion::Delay => 1.0 - delay.virtual_marks() / 2.0 / each,
        };
        self.bytes = (self.bytes * factor).max(SMALLEST);
        self.reacted_at = Some(now);
    }

    fn grow(&mut self, now: Time, observed: &Observed, near: f64) {
        if observed.at_limit {
            return;
        }
        let srtt = observed.srtt.max(VIRTUAL_RTT).as_secs_f64();
        let since = self.congested_at.map_or(f64::INFINITY, |at| now.since(at).as_secs_f64());
        let recovered = (since / (CAUTIOUS_ROUNDS * srtt)).clamp(0.0, 1.0);
        let multiplied = GROWTH * self.bytes / MSS;
        let short = (observed.srtt.as_secs_f64() / VIRTUAL_RTT.as_secs_f64()).min(1.0);
        let increment = observed.unmarked_bytes as f64
            * self.small()
            * short
            * near.max(LEAST_NEAR)
            * (1.0 + multiplied * recovered * near);
        if self.bytes + increment <= MSS + observed.in_flight.0 as f64 * HEADROOM {
            self.bytes += increment;
            self.grown |= increment > 0.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SRTT: Span = Span::from_millis(100);

    fn observed(lost: bool, marked: bool) -> Observed {
        let in_flight = (1_000_000, 1_000_000);
        let (alpha, at_limit, floor) = (0.5, false, 0.0);
        Observed { unmarked_bytes: 0, lost, marked, alpha, srtt: SRTT, in_flight, at_limit, floor }
    }

    fn after(l4s: bool, lost: bool, marked: bool, ms: &[u64]) -> f64 {
        let mut window = ReferenceWindow::new(100_000.0, l4s);
        let delay = QueueDelay::new();
        ms.iter()
            .for_each(|&at| window.update(Time::from_millis(at), &observed(lost, marked), &delay));
        window.bytes() / 100_000.0
    }

    #[test]
    fn losses_and_classic_marks_reduce_it_once_an_rtt() {
        assert!((after(false, true, false, &[0, 30, 60, 99]) - 0.7).abs() < 1e-9);
        assert!((after(false, true, true, &[0, 30, 100]) - 0.49).abs() < 1e-9);
        assert!((after(false, false, true, &[0, 50]) - 0.8).abs() < 1e-9);
    }

    #[test]
    fn marks_of_l4s_reduce_it_by_half_their_share_in_an_rtt() {
        // A quarter of half of 0.5 each 25 ms, and a quarter of that near the window before.
        let first = 1.0 - 0.5 / 2.0 / 4.0;
        assert!((after(true, false, true, &[0, 10, 24]) - first).abs() < 1e-9);
        let near = ((first - 1.0) * 8.0) * ((first - 1.0) * 8.0);
        let second = first * (1.0 - 0.5 / 2.0 / 4.0 * near.max(0.25));
        assert!((after(true, false, true, &[0, 25]) - second).abs() < 1e-9);
    }

    #[test]
    fn a_mark_in_the_first_round_takes_its_share_of_the_start_and_no_more() {
        let mut window = ReferenceWindow::new(100_000.0, true);
        let first = Observed { in_flight: (50_000, 0), ..observed(false, true) };
        window.update(Time::ZERO, &first, &QueueDelay::new());
        assert!((window.bytes() / 100_000.0 - (1.0 - 0.5 / 2.0 / 4.0)).abs() < 1e-9);
    }

    #[test]
    fn it_grows_by_a_segment_and_a_part_of_itself_in_an_rtt() {
        let mut window = ReferenceWindow::new(100_000.0, false);
        let delay = QueueDelay::new();
        let report = Observed { unmarked_bytes: 1_000, ..observed(false, false) };
        (0..100).for_each(|at| window.update(Time::from_millis(at), &report, &delay));
        let grown = window.bytes() - 100_000.0;
        assert!((grown - (MSS + 0.02 * 100_000.0)).abs() < 50.0, "{grown}");
        // Not at the limit of the rate, and not above one and a half times what is in flight.
        let bytes = window.bytes();
        for report in
            [Observed { at_limit: true, ..report }, Observed { in_flight: (60_000, 0), ..report }]
        {
            window.update(Time::from_millis(101), &report, &delay);
            assert!((window.bytes() - bytes).abs() < 1e-9);
        }
        // A tenth of the growth by a part comes back ten RTTs after a loss.
        window.update(Time::from_millis(200), &Observed { lost: true, ..report }, &delay);
        let bytes = window.bytes();
        assert!(bytes < 75_000.0);
    }
}
