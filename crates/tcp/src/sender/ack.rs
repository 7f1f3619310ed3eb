//! Processing of acknowledgements.

use super::scoreboard::{Sent, State};
use super::{SendLimit, Sender};
use crate::segment::Segment;
use crate::settings::EcnSupport;
use bentpipe_congestion::EcnCe;
use bentpipe_congestion::qlog::Event;
use bentpipe_units::{Span, Time};

/// Summary of one acknowledgement.
#[derive(Debug, Clone, Copy, Default)]
struct AckSummary {
    /// Bytes newly acknowledged.
    delivered: u64,
    /// True if a retransmitted segment is among them.
    ambiguous: bool,
    /// RTT of the first segment acknowledged in order, among those sent once. It includes the ACK
    /// delay.
    in_order: Option<Span>,
    /// RTT of the last segment acknowledged selectively.
    selective: Option<Span>,
    /// True if the original of a retransmitted segment has arrived, according to the echoed
    /// timestamp.
    spurious: bool,
    /// True if a tail loss probe has repaired a loss.
    repaired: bool,
}

/// How an acknowledgement covers a segment.
#[derive(Debug, Clone, Copy)]
struct Coverage {
    /// True for the segment at SND.UNA, acknowledged in order: the echoed timestamp is the one it
    /// arrived with (RFC 7323 §4.3).
    exact: bool,
    /// True if SND.UNA covers it, rather than a block.
    in_order: bool,
    echo: Time,
    /// Returns the range that the peer reports as a duplicate.
    duplicate: Option<(u64, u64)>,
}

impl Sender {
    /// Processes the acknowledgement of a segment. Returns false if it acknowledges data that was
    /// never sent.
    pub(crate) fn on_ack(&mut self, now: Time, segment: &Segment) -> bool {
        let ack = segment.ack;
        if ack > self.nxt {
            return false;
        }
        self.window_probes = 0;
        let same = ack == self.una && segment.window == self.window && segment.sack.is_empty();
        let marked = self.newly_marked(segment);
        if same && self.board.is_empty() && !segment.flags.ece && marked == 0 {
            // The segment carries the other direction's data, with no new acknowledgement for this
            // one.
            self.window_from = self.window_from.max(segment.seq);
            return true;
        }
        self.settled = false;
        let mut summary = AckSummary::default();
        let duplicate = duplicate(segment);
        if let Some((start, end)) = duplicate {
            self.on_duplicate(start, end);
        }
        let before = self.una;
        let mut coverage = Coverage { exact: true, in_order: true, echo: segment.echo, duplicate };
        while let Some((index, sent)) = self.board.pop(ack) {
            self.deliver(now, index, &sent, coverage, &mut summary);
            coverage.exact = false;
        }
        self.una = self.una.max(ack);
        let advanced = self.una > before;
        self.take_blocks(now, segment, &mut summary);
        self.take_window(segment, advanced);
        if advanced {
            self.board.forget_before(self.una);
            self.rto.answered();
            self.tlp.acknowledged(self.una);
            self.rto_due = (!self.board.is_empty()).then(|| now + self.rto.timeout());
        }
        debug_assert!(
            !self.board.is_empty() || self.in_flight().is_zero(),
            "`sent_packets` has more than is outstanding"
        );
        if summary.delivered > 0 {
            self.take_sample(now, advanced, segment.echo, &summary);
            self.notify_ack(now);
        }
        if self.ecn == EcnSupport::Classic && segment.flags.ece {
            self.on_echo(now, summary.delivered);
        }
        if marked > 0 {
            self.on_marks(now, marked, summary.delivered);
        }
        self.conclude(now, advanced, duplicate.is_some(), segment.echo, &summary);
        true
    }

    /// Completes an acknowledgement: losses, recovery, and new transmissions.
    fn conclude(
        &mut self,
        now: Time,
        advanced: bool,
        duplicate: bool,
        echo: Time,
        summary: &AckSummary,
    ) {
        if (summary.spurious && self.is_spurious(echo))
            || (duplicate && self.undo.is_some_and(|undo| undo.is_complete()))
        {
            self.revert_recovery(now);
        }
        let lost = (summary.delivered > 0 && self.detect_losses(now)) || summary.repaired;
        if lost {
            self.on_losses(now, summary.delivered);
        }
        if summary.repaired {
            // No later acknowledgement can show the repair to have been spurious.
            self.undo = None;
        }
        self.end_recovery(now);
        let in_flight = self.in_flight().get();
        if let Some(prr) = &mut self.prr {
            prr.on_ack(summary.delivered, in_flight, advanced && !lost);
        }
    }

    /// Each block newly covers some segments, or none.
    fn take_blocks(&mut self, now: Time, segment: &Segment, summary: &mut AckSummary) {
        if segment.sack.is_empty() {
            return;
        }
        let mut newly = std::mem::take(&mut self.newly);
        for (start, end) in segment.sack.blocks(segment.ack) {
            let start = start.max(self.una);
            if start < end && end <= self.nxt {
                self.board.sack(start, end, &mut newly);
            }
        }
        let coverage = Coverage {
            exact: false,
            in_order: false,
            echo: segment.echo,
            duplicate: duplicate(segment),
        };
        for (index, sent) in newly.drain(..) {
            self.deliver(now, index, &sent, coverage, summary);
        }
        self.newly = newly;
    }

    /// Accounts for a segment that is newly acknowledged.
    fn deliver(
        &mut self,
        now: Time,
        index: u64,
        sent: &Sent,
        coverage: Coverage,
        summary: &mut AckSummary,
    ) {
        if sent.state == State::Sacked {
            return;
        }
        summary.delivered += sent.bytes().get();
        let rtt = now.since(sent.sent_at);
        if sent.state == State::InFlight && !sent.retransmitted {
            self.sent_packets.on_acked(now, sent.number);
            self.rack.arrived(sent.number, rtt);
            self.rack.reached(sent.end(), false);
            if coverage.in_order {
                summary.in_order.get_or_insert(rtt);
            } else {
                summary.selective = Some(rtt);
            }
            return;
        }
        summary.ambiguous = true;
        self.rack.reached(sent.end(), sent.retransmitted);
        let stamped = coverage.exact && coverage.echo > Time::ZERO;
        let original = self.board.take_original(index);
        if sent.state == State::Lost {
            summary.spurious |= stamped;
            if let Some(packet) = original {
                self.sent_packets.on_acked_late(now, packet);
            }
            return;
        }
        let duplicate =
            coverage.duplicate.is_some_and(|(start, end)| start <= sent.seq && end >= sent.end());
        let is_original = if stamped {
            coverage.echo < sent.sent_at
        } else {
            // Too early for an acknowledgement of the retransmission (RFC 8985 §6.2 step 1).
            self.rto.min_rtt().is_some_and(|min_rtt| rtt < min_rtt)
        };
        summary.spurious |= stamped && is_original;
        match original {
            Some(packet) if is_original || duplicate => {
                self.sent_packets.remove(sent.number);
                if !self.sent_packets.on_acked(now, packet.number) {
                    self.sent_packets.on_acked_late(now, packet);
                }
            }
            original => {
                self.sent_packets.on_acked(now, sent.number);
                self.rack.arrived(sent.number, rtt);
                // A probe's original was in flight all the time: it is the loss that the probe has
                // repaired (RFC 8985 §7.4).
                if let Some(packet) = original
                    && self.sent_packets.on_lost(packet.number)
                {
                    summary.repaired = true;
                    if let Some(metrics) = &self.metrics {
                        metrics.on_packet_lost(now, &packet);
                        let (sequence, length) = (sent.seq, u64::from(sent.len));
                        metrics.log(now, &Event::TcpPacketLost { sequence, length });
                    }
                }
            }
        }
    }

    /// Takes an RTT sample for the timeout: from segments sent once, or from the echoed timestamp
    /// (RFC 7323 §4.1), never an ambiguous one (Karn).
    fn take_sample(&mut self, now: Time, advanced: bool, echo: Time, summary: &AckSummary) {
        let stamped = (advanced && echo > Time::ZERO && echo <= now).then(|| now.since(echo));
        let sample =
            if summary.ambiguous { stamped } else { summary.in_order.or(summary.selective) };
        if let Some(rtt) = sample {
            self.rto.sample(now, rtt, self.una, self.nxt);
        }
    }

    fn notify_ack(&mut self, now: Time) {
        let app_limited = matches!(self.limit, SendLimit::Application | SendLimit::Peer);
        let recovers = self.recovery.is_some_and(|recovery| self.una < recovery.until);
        let repairing = recovers || self.board.has_losses();
        let Self { sent_packets, controller, metrics, .. } = self;
        sent_packets.set_repairing(repairing);
        sent_packets.report_ack(now, app_limited, |ack| {
            controller.on_ack(ack);
            if let Some(metrics) = metrics {
                metrics.on_ack(ack);
            }
        });
        self.changed = true;
    }

    /// Processes segments that the peer received twice: input for RACK, and evidence of a spurious
    /// recovery.
    fn on_duplicate(&mut self, start: u64, end: u64) {
        if self.tlp.repeated(end) {
            return;
        }
        self.rack.duplicated(self.una, self.nxt);
        if let Some(undo) = &mut self.undo {
            undo.duplicated(start, end);
        }
    }

    /// Responds to an ECN echo, once per RTT (RFC 3168 §6.1.2).
    fn on_echo(&mut self, now: Time, delivered: u64) {
        let newest = self.rack.newest().map_or(0, |(number, _)| number);
        if newest < self.marked {
            return;
        }
        self.marked = self.sent_packets.next_number();
        let before = self.controller.send_control().cwnd;
        self.controller.on_ecn_ce(&EcnCe {
            now,
            newest,
            bytes_in_flight: self.in_flight(),
            next_number: self.sent_packets.next_number(),
            marked: None,
        });
        self.cwr = true;
        if let Some(metrics) = &self.metrics {
            metrics.on_congestion_event();
        }
        self.reduce_proportionally(before, delivered);
    }

    /// Returns how many packets a segment reports as marked that none did before (AccECN).
    fn newly_marked(&mut self, segment: &Segment) -> u64 {
        if !self.ecn.is_accurate() {
            return 0;
        }
        let marked = segment.ce_packets_since(self.ce_packets);
        if marked > 0 {
            self.ce_packets = segment.ce_packets;
        }
        marked
    }

    /// Responds to marks that the peer has counted: each report goes to the controller.
    fn on_marks(&mut self, now: Time, marked: u64, delivered: u64) {
        let before = self.controller.send_control().cwnd;
        self.controller.on_ecn_ce(&EcnCe {
            now,
            newest: self.rack.newest().map_or(0, |(number, _)| number),
            bytes_in_flight: self.in_flight(),
            next_number: self.sent_packets.next_number(),
            marked: Some(marked),
        });
        if let Some(metrics) = &self.metrics
            && self.controller.send_control().cwnd < before
        {
            metrics.on_congestion_event();
        }
        self.reduce_proportionally(before, delivered);
    }

    /// Updates the window (RFC 9293 §3.10.7.4, SND.WL1 and SND.WL2). As in Linux, a larger window
    /// also counts in a repetition.
    fn take_window(&mut self, segment: &Segment, advanced: bool) {
        let newer = segment.seq > self.window_from
            || (segment.seq == self.window_from && segment.window > self.window)
            || advanced;
        if segment.ack == self.una && newer {
            if segment.window > self.window || advanced {
                self.persist_due = None;
                self.persist_backoff = 0;
            }
            self.window = segment.window;
            self.window_from = segment.seq;
            self.largest_window = self.largest_window.max(segment.window);
        }
    }
}

/// Returns the duplicate range that a first block reports (RFC 2883 §4).
fn duplicate(segment: &Segment) -> Option<(u64, u64)> {
    let mut blocks = segment.sack.blocks(segment.ack);
    let (start, end) = blocks.next()?;
    let within = blocks.next().is_some_and(|(from, until)| from <= start && end <= until);
    (start < end && (end <= segment.ack || within)).then_some((start, end))
}
