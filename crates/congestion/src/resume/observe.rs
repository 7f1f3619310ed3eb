//! Observing: what a path carries in a round trip, and which of it is worth saving (RFC 9959 §3.1 and §4.1).
//!
//! **What is measured.** At the end of a round, the bytes that were delivered while its newest packet was under way: the
//! capacity that was really used, not the window, which overshoots at the end of slow start. A standing queue lengthens the
//! round trip and fills it with bytes that the path does not hold, so the figure is scaled by the smallest round trip over the
//! current one. In slow start a round delivers what the round before had sent, half of the window by then: that is the
//! halving which §4.1 suggests. Lost bytes are never delivered, so a round of losses counts what came through.
//!
//! **What is left out.** The rounds that Careful Resume itself drove; and rounds in which the application, or the peer's credit, held the
//! sender back, unless they delivered more than what stands: a browser's credit may run out in the very round that fills the path.
//!
//! **What replaces what.** The largest measure of the last period stands. A larger one replaces it at once. A smaller one, be
//! it than an earlier observation of this connection or than the set that it was offered, does so only when the path was
//! really used: [`USED_ROUNDS`] rounds that nothing but the window limited, all after slow start. A short transfer, which
//! never leaves slow start, thus does not make the memory of its path smaller.

use super::{Limits, PathNotes, Saved};
use crate::controller::Ack;
use bentpipe_units::{Bytes, Span, Time};

/// Rounds of settled use after which a smaller measure is believed. Our choice: on a geostationary path five seconds.
const USED_ROUNDS: u32 = 8;

/// Parts that the period is divided into: its beginning moves in steps of a tenth.
const PARTS: usize = 10;

/// Extremes of one part of the period.
#[derive(Debug, Clone, Copy)]
struct Part {
    began: Time,
    window: Bytes,
    rtt: Span,
}

/// Measures a connection.
#[derive(Debug, Clone)]
pub(super) struct Observer {
    /// The newest part is the first.
    parts: [Option<Part>; PARTS],
    period: Span,
    /// Windows smaller than this are not worth saving.
    least: Bytes,
    /// What was said last.
    said: Option<Saved>,
    used: u32,
    /// Whether something other than the window limited the round so far.
    limited: bool,
    /// Packets before this number were sent under other rules.
    from: u64,
}

impl Observer {
    pub(super) fn new(limits: &Limits, initial_window: Bytes) -> Self {
        Self {
            parts: [None; PARTS],
            period: limits.observation_period,
            least: initial_window.mul_f64(limits.minimum_saved_windows),
            said: None,
            used: 0,
            limited: false,
            from: 0,
        }
    }

    /// Rounds are measured again from packet `from` on.
    pub(super) fn pause(&mut self, from: u64) {
        self.from = from;
        self.limited = false;
    }

    /// Takes an acknowledgement in.
    pub(super) fn on_ack(&mut self, ack: &Ack<'_>, in_slow_start: bool, notes: &PathNotes) {
        let newest = ack.newest();
        self.part(ack.now).rtt_at_most(ack.rtt);
        self.limited |= ack.app_limited || newest.app_limited;
        if !ack.round_start {
            return;
        }
        let limited = std::mem::take(&mut self.limited);
        if newest.number < self.from || ack.rtt.is_zero() {
            return;
        }
        let rtt = self.min_rtt().min(ack.rtt);
        let delivered = ack.delivered.saturating_sub(newest.delivered);
        let window = delivered.mul_f64(rtt.as_secs_f64() / ack.rtt.as_secs_f64());
        // What something else than the window held back says nothing of less, but what it has delivered the path did carry.
        if limited && self.said.or_else(|| notes.standing()).is_none_or(|stands| window <= stands.window) {
            return;
        }
        self.part(ack.now).window_at_least(window);
        self.judge(in_slow_start, notes);
    }

    /// Says the largest window of the period where it may replace what stands.
    fn judge(&mut self, in_slow_start: bool, notes: &PathNotes) {
        let window = self.parts.iter().flatten().map(|part| part.window).max().unwrap_or_default();
        if self.said.or_else(|| notes.standing()).is_some_and(|stands| window < stands.window) {
            self.used = if in_slow_start { 0 } else { self.used.saturating_add(1) };
            if self.used < USED_ROUNDS {
                return;
            }
        }
        self.used = 0;
        if window >= self.least {
            let saved = Saved { window, rtt: self.min_rtt(), valid_until: None };
            self.said = Some(saved);
            notes.set_observed(self.said);
        }
    }

    /// Smallest round trip of the period.
    fn min_rtt(&self) -> Span {
        self.parts.iter().flatten().map(|part| part.rtt).min().unwrap_or(Span::MAX)
    }

    /// The part that `now` falls into; forgets those that have left the period.
    fn part(&mut self, now: Time) -> &mut Part {
        let length = self.period / PARTS as u64;
        if self.parts[0].is_none_or(|newest| now.since(newest.began) >= length) {
            for part in &mut self.parts {
                if part.is_some_and(|part| now.since(part.began) >= self.period) {
                    *part = None;
                }
            }
            self.parts.rotate_right(1);
            self.parts[0] = None;
        }
        self.parts[0].get_or_insert(Part { began: now, window: Bytes::ZERO, rtt: Span::MAX })
    }
}

impl Part {
    fn rtt_at_most(&mut self, rtt: Span) {
        self.rtt = self.rtt.min(rtt);
    }

    fn window_at_least(&mut self, window: Bytes) {
        self.window = self.window.max(window);
    }
}
