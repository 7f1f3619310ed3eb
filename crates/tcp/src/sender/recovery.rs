//! Loss recovery, timeouts, and undoing spurious recoveries.

use super::Sender;
use super::prr::Prr;
use super::rack::ReorderingInputs;
use super::recovery_state::{Recovery, Undo};
use super::scoreboard::State;
use bentpipe_congestion::Restart;
use bentpipe_congestion::qlog::Event;
use bentpipe_units::{Bytes, Span, Time};

impl Sender {
    /// Handles timers that expired by `now`.
    pub(crate) fn handle_timeout(&mut self, now: Time) {
        let is_due = |due: Option<Time>| due.is_some_and(|due| due <= now);
        self.settled = false;
        let timed_out = is_due(self.tlp.due) || is_due(self.rto_due) || is_due(self.persist_due);
        if let (true, Some(metrics)) = (timed_out, &self.metrics) {
            metrics.on_timeout(now);
        }
        if is_due(self.rack.due) && self.detect_losses(now) {
            self.on_losses(now, 0);
        }
        if is_due(self.tlp.due) {
            self.tlp.due = None;
            self.tlp.wanted = true;
            // If the retransmission timer is due at the same time, the probe replaces it (RFC 8985
            // §7.2).
            self.rto_due = Some(now + self.rto.timeout());
            self.controller.on_timeout(now);
        } else if is_due(self.rto_due) {
            self.on_rto(now);
        }
        if is_due(self.persist_due) {
            self.window_probes += 1;
            self.persist_due = None;
            if self.window_probes > self.settings.retries {
                self.gave_up = true;
            }
            self.persist_backoff += 1;
            self.window_probe = true;
        }
    }

    /// RACK_detect_loss (RFC 8985 §6.2 step 5). Returns true if a segment was lost. Each segment is
    /// lost at its own deadline, while the RFC waits for the last of those that are due.
    pub(super) fn detect_losses(&mut self, now: Time) -> bool {
        self.rack.due = None;
        let Some((newest, rtt)) = self.rack.newest() else { return false };
        let patience = rtt + self.reordering_window();
        let mut any = false;
        while let Some((index, segment)) =
            self.board.oldest().filter(|(_, segment)| segment.number < newest)
        {
            let deadline = segment.sent_at + patience;
            if deadline > now {
                self.rack.due = Some(deadline);
                break;
            }
            self.mark_lost(now, index);
            any = true;
        }
        any
    }

    fn reordering_window(&self) -> Span {
        self.rack.reordering_window(&ReorderingInputs {
            min_rtt: self.rto.min_rtt().unwrap_or_default(),
            srtt: self.rto.srtt().unwrap_or_default(),
            in_recovery: self.recovery.is_some(),
            sacked: self.board.sacked_segments(),
        })
    }

    /// Declares a segment lost, in the sent packets as well.
    fn mark_lost(&mut self, now: Time, index: u64) {
        let Some(segment) = self.board.get(index).copied() else { return };
        // A probe that retransmitted the segment left the original in flight.
        let original = self.board.original(index).map(|packet| packet.number);
        for number in [original, Some(segment.number)].into_iter().flatten() {
            if let Some(packet) = self.sent_packets.get(number).copied() {
                self.sent_packets.on_lost(number);
                self.board.keep_original(index, packet);
                if let Some(metrics) = &self.metrics {
                    metrics.on_packet_lost(now, &packet);
                    let (sequence, length) = (segment.seq, u64::from(segment.len));
                    metrics.log(now, &Event::TcpPacketLost { sequence, length });
                }
            }
        }
        self.board.mark_lost(index);
    }

    /// Reports the declared losses to the controller, and starts to repair them. `delivered` is the
    /// number of bytes newly covered by the acknowledgement that revealed them.
    pub(super) fn on_losses(&mut self, now: Time, delivered: u64) {
        let undo = self.undo(false);
        let before = self.controller.send_control().cwnd;
        self.notify_losses(now, false);
        self.tlp.cancel();
        if self.recovery.is_none() {
            self.recovery = Some(Recovery { until: self.nxt, timeout: false });
            self.undo = Some(undo);
        }
        self.reduce_proportionally(before, delivered);
    }

    /// Returns the state to save before a reduction.
    fn undo(&self, timeout: bool) -> Undo {
        let control = self.controller.send_control();
        Undo {
            first: None,
            open: 0,
            timeout,
            from: self.una,
            until: self.nxt,
            window: control.cwnd,
            ssthresh: control.ssthresh,
        }
    }

    fn notify_losses(&mut self, now: Time, persistent: bool) {
        let Self { sent_packets, controller, metrics, .. } = self;
        sent_packets.report_loss(now, persistent, |loss| {
            controller.on_loss(loss);
            if let Some(metrics) = metrics {
                metrics.on_congestion_event();
                if persistent {
                    metrics.on_timeout_restart();
                }
            }
        });
        self.changed = true;
    }

    /// If the controller has just reduced its window from `before` to its threshold, as in RFC
    /// 5681, starts to reduce the flight proportionally (RFC 9937). Controllers that model the
    /// path, and Careful Resume in retreat, limit the flight themselves.
    pub(super) fn reduce_proportionally(&mut self, before: Bytes, delivered: u64) {
        let control = self.controller.send_control();
        let window = control.cwnd;
        if window >= before {
            return;
        }
        self.cwr = true;
        self.prr = None;
        if !self.controller.is_rate_based() && control.ssthresh == Some(window) {
            let outstanding =
                (self.nxt - self.una).saturating_sub(self.board.sacked_bytes()) + delivered;
            let segment = u64::from(self.settings.segment.max(1));
            self.prr = Some(Prr::new(window.get(), outstanding, segment, self.nxt));
        }
    }

    /// Handles the expiry of the retransmission timer (RFC 6298 §5.4 to 5.6, RFC 8985 §6.3).
    fn on_rto(&mut self, now: Time) {
        self.rto_due = None;
        if self.board.is_empty() {
            return;
        }
        self.counts.timeouts += 1;
        let timeouts = self.rto.back_off();
        if timeouts > self.settings.retries {
            self.gave_up = true;
            return;
        }
        self.rto_due = Some(now + self.rto.timeout());
        let first = self.board.first();
        if self.board.get(first).is_some_and(|head| head.state == State::Sacked) {
            self.board.renege();
        }
        if self.recovery.is_none_or(|recovery| !recovery.timeout) {
            self.undo = Some(self.undo(true));
        }
        let patience =
            self.rack.newest().map_or(Span::ZERO, |(_, rtt)| rtt) + self.reordering_window();
        while let Some((index, segment)) = self.board.oldest()
            && segment.sent_at + patience <= now
        {
            self.mark_lost(now, index);
        }
        self.mark_lost(now, first);
        // RFC 6298 §5.4: what RACK has not given up may still fill a window of one segment.
        self.repeats_first = true;
        self.tlp.cancel();
        self.rack.due = None;
        self.prr = None;
        self.recovery = Some(Recovery { until: self.nxt, timeout: true });
        self.controller.on_timeout(now);
        if timeouts == 1 {
            self.notify_losses(now, true);
            self.cwr = true;
        } else {
            // The same segment timed out again: window and threshold stay (RFC 5681 §3.1).
            self.sent_packets.report_loss(now, true, |_| {});
        }
    }

    /// Ends a recovery or a reduction whose end `una` has reached.
    pub(super) fn end_recovery(&mut self, now: Time) {
        if self.prr.as_ref().is_some_and(|prr| self.una >= prr.until()) {
            self.prr = None;
        }
        if self.recovery.is_some_and(|recovery| self.una >= recovery.until) {
            // The segments declared lost have arrived before they were retransmitted.
            if self.undo.is_some_and(|undo| undo.is_idle()) {
                self.revert_recovery(now);
            }
            self.recovery = None;
            self.rack.recovered();
        }
    }

    /// Undoes the last recovery, which was spurious.
    pub(super) fn revert_recovery(&mut self, now: Time) {
        let Some(undo) = self.undo.take() else { return };
        while let Some(index) = self.board.first_lost() {
            match self.board.take_original(index) {
                Some(packet) => {
                    let number = self.sent_packets.restore(packet);
                    self.board.restored(index, number, packet.sent_at);
                }
                // Dropped by the peer rather than lost: it must be retransmitted.
                None => break,
            }
        }
        self.recovery = None;
        self.prr = None;
        self.rack.reordered();
        self.controller.on_spurious_loss(now);
        // A timeout reduces the window further than controllers remember.
        if undo.timeout
            && !self.controller.is_rate_based()
            && self.controller.send_control().cwnd < undo.window
        {
            let ssthresh = Some(undo.ssthresh.unwrap_or(Bytes::MAX));
            let to = Restart {
                now,
                window: undo.window,
                ssthresh,
                rate: None,
                min_rtt: None,
                recovery_start: 0,
            };
            self.controller.restart(&to);
        }
        if let Some(metrics) = &self.metrics {
            metrics.on_spurious_loss();
        }
        self.changed = true;
    }

    /// Returns true if a recovery can still be undone, and the acknowledgement of a retransmitted
    /// segment does so.
    pub(super) fn is_spurious(&self, echo: Time) -> bool {
        echo > Time::ZERO && self.undo.is_some_and(|undo| undo.is_answered_by(echo))
    }
}
