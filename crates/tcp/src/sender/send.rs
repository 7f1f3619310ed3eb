//! Selection of the next segment, and the limits of transmission.

use super::tlp::Tlp;
use super::{Outgoing, SendLimit, Sender};
use crate::settings::{BufferModel, EcnSupport};
use bentpipe_congestion::{Restart, SentPacket};
use bentpipe_units::{Bytes, Time};

impl Sender {
    /// Returns the next segment to send.
    pub(crate) fn poll(&mut self, now: Time) -> Option<Outgoing> {
        if self.settled || self.gave_up {
            return None;
        }
        if std::mem::take(&mut self.window_probe) {
            return Some(self.probe_window(now));
        }
        match self.next(now) {
            Ok(outgoing) => Some(outgoing),
            Err(limit) => {
                self.stop(now, limit);
                None
            }
        }
    }

    /// Returns when the next timer expires; [`Time::MAX`] for never.
    pub(crate) fn next_timeout(&self, now: Time) -> Time {
        if self.gave_up {
            return Time::MAX;
        }
        let never = Time::MAX;
        let release = if self.limit == SendLimit::Pacing {
            self.pacer.blocked(now).unwrap_or(never)
        } else {
            never
        };
        let loss = self.tlp.due.unwrap_or(never).min(self.rack.due.unwrap_or(never));
        let silence = self.rto_due.unwrap_or(never).min(self.persist_due.unwrap_or(never));
        release.min(loss).min(silence)
    }

    fn next(&mut self, now: Time) -> Result<Outgoing, SendLimit> {
        if self.tlp.wanted
            && let Some(outgoing) = self.send_probe(now)
        {
            return Ok(outgoing);
        }
        if let Some(index) = self.board.first_lost() {
            let bytes = self.board.get(index).map_or(Bytes::ZERO, |segment| segment.bytes());
            if self.is_full(bytes) && !self.repeats_first {
                return Err(SendLimit::Congestion);
            }
            if self.pacer.blocked(now).is_some() {
                return Err(SendLimit::Pacing);
            }
            self.repeats_first = false;
            return self.send_again(now, index).ok_or(SendLimit::Application);
        }
        let segment = Bytes::new(u64::from(self.settings.segment.max(1)));
        let Some((len, fin)) = self.unsent() else {
            // A full window was in use, whatever the application does next.
            return Err(if self.is_full(segment) {
                SendLimit::Congestion
            } else {
                SendLimit::Application
            });
        };
        self.restart_after_idleness(now);
        let bytes = Bytes::new(u64::from(len.max(1)));
        if self.is_full(bytes) {
            return Err(SendLimit::Congestion);
        }
        let (len, fin) = self.within_window(len, fin).ok_or(SendLimit::Peer)?;
        if self.pacer.blocked(now).is_some() {
            return Err(SendLimit::Pacing);
        }
        Ok(self.send_new(now, len, fin))
    }

    /// Returns payload and FIN of the next new segment.
    fn unsent(&self) -> Option<(u32, bool)> {
        let left = self.end.checked_sub(self.nxt)?;
        let len = u64::from(self.settings.segment.max(1)).min(left);
        let fin = self.finishing && len == left;
        (len > 0 || fin).then_some((len as u32, fin))
    }

    /// Returns the part of a new segment that the peer's window accepts now: the whole segment, or
    /// less if that is at least half of the largest window ever seen, since small windows lead to
    /// small segments (RFC 9293 §3.8.6.2.1).
    fn within_window(&self, len: u32, fin: bool) -> Option<(u32, bool)> {
        let usable = self.una.saturating_add(self.window).saturating_sub(self.nxt);
        if u64::from(len) + u64::from(fin) <= usable {
            return Some((len, fin));
        }
        if len > 0 && u64::from(len) <= usable {
            return Some((len, false));
        }
        (usable > 0 && usable >= self.largest_window.div_ceil(2)).then_some((usable as u32, false))
    }

    /// Returns true if the congestion window has no room for `bytes` more.
    fn is_full(&self, bytes: Bytes) -> bool {
        let in_flight = self.in_flight();
        match &self.prr {
            // A segment must be in flight, since only its acknowledgement can open the window.
            _ if in_flight.is_zero() => false,
            Some(prr) => !prr.allows(bytes.get()),
            None => in_flight + bytes > self.controller.send_control().cwnd,
        }
    }

    fn send_new(&mut self, now: Time, len: u32, fin: bool) -> Outgoing {
        let seq = self.nxt;
        let packet = self.transmit(now, Bytes::new(u64::from(len.max(1))));
        self.board.push(seq, len, fin, &packet);
        self.nxt += u64::from(len) + u64::from(fin);
        self.counts.data_segments += u64::from(len > 0);
        if self.rto_due.is_none() {
            self.rto_due = Some(now + self.rto.timeout());
        }
        let classic = self.ecn == EcnSupport::Classic;
        let cwr = classic && len > 0 && std::mem::take(&mut self.cwr);
        Outgoing { seq, len, fin, cwr, ecn_capable: self.ecn.is_on() && len > 0 }
    }

    /// Retransmits a segment that has been declared lost.
    fn send_again(&mut self, now: Time, index: u64) -> Option<Outgoing> {
        let outgoing = self.repeat(now, index)?;
        if let Some(undo) = &mut self.undo {
            undo.retransmitted(now);
        }
        if index == self.board.first() || self.rto_due.is_none() {
            self.rto_due = Some(now + self.rto.timeout());
        }
        Some(outgoing)
    }

    /// Sends a segment again.
    fn repeat(&mut self, now: Time, index: u64) -> Option<Outgoing> {
        let segment = *self.board.get(index)?;
        let packet = self.transmit(now, segment.bytes());
        self.board.sent_again(index, &packet);
        self.counts.data_segments += u64::from(segment.len > 0);
        self.counts.retransmitted += 1;
        Some(Outgoing {
            seq: segment.seq,
            len: segment.len,
            fin: segment.fin,
            cwr: false,
            ecn_capable: false,
        })
    }

    /// Sends a tail loss probe (RFC 8985 §7.3): new data if there is some that the peer accepts,
    /// otherwise the last segment again. It may exceed the congestion window.
    fn send_probe(&mut self, now: Time) -> Option<Outgoing> {
        self.tlp.wanted = false;
        let new = self.unsent().and_then(|(len, fin)| self.within_window(len, fin));
        let outgoing = if let Some((len, fin)) = new {
            let outgoing = self.send_new(now, len, fin);
            self.tlp.sent(self.nxt, false);
            outgoing
        } else {
            let index = self.board.last()?;
            let segment = *self.board.get(index)?;
            // Both transmissions count as in flight until one of them is acknowledged or lost.
            let original = self.sent_packets.get(segment.number).copied();
            let outgoing = self.repeat(now, index)?;
            if let Some(original) = original
                && let Some(earlier) = self.board.keep_in_flight(index, original)
            {
                self.sent_packets.remove(earlier.number);
            }
            self.tlp.sent(segment.end(), true);
            outgoing
        };
        // RFC 8985 §7.3: the retransmission timer restarts.
        self.rto_due = Some(now + self.rto.timeout());
        Some(outgoing)
    }

    /// Returns the segment that the persist timer sends: as much as the window accepts, however
    /// little, or a segment before the expected position, which the peer answers with its window
    /// and otherwise ignores (as in Linux).
    fn probe_window(&mut self, now: Time) -> Outgoing {
        let usable = self.una.saturating_add(self.window).saturating_sub(self.nxt);
        if let Some((len, _)) = self.unsent().filter(|(len, _)| usable > 0 && *len > 0) {
            return self.send_new(now, len.min(u32::try_from(usable).unwrap_or(u32::MAX)), false);
        }
        Outgoing {
            seq: self.una.saturating_sub(1),
            len: 0,
            fin: false,
            cwr: false,
            ecn_capable: false,
        }
    }

    fn transmit(&mut self, now: Time, bytes: Bytes) -> SentPacket {
        let packet = self.sent_packets.on_sent(now, bytes);
        self.controller.on_packet_sent(&packet);
        if let Some(metrics) = &self.metrics {
            metrics.on_packet_sent(now, &packet);
        }
        if let Some(prr) = &mut self.prr {
            prr.on_sent(bytes.get());
        }
        self.last_sent = Some(now);
        let control = self.controller.send_control();
        let rate = control.pacing_rate;
        let quantum = rate.and(control.send_quantum);
        self.pacer.sent(now, bytes, rate, quantum);
        self.changed = true;
        packet
    }

    /// Restarts the probe timer, if a probe would be of use: no data is known to be missing (RFC
    /// 8985 §7.2).
    fn schedule_probe(&mut self, now: Time) {
        self.tlp.due = None;
        let quiet = self.recovery.is_none()
            && self.board.sacked_segments() == 0
            && !self.tlp.is_outstanding();
        if let Some(srtt) = self.rto.srtt()
            && quiet
            && !self.board.is_empty()
        {
            let due = now + Tlp::timeout(srtt, self.board.len() == 1);
            self.tlp.due = Some(self.rto_due.map_or(due, |rto| rto.min(due)));
        }
    }

    /// RFC 5681 §4.1 as in Linux: halves the window for each idle retransmission timeout, down to
    /// the initial one; three quarters of it are remembered as the threshold. Controllers that
    /// model the path handle idle periods themselves.
    fn restart_after_idleness(&mut self, now: Time) {
        let Some(last_sent) = self.last_sent else { return };
        if !self.settings.idle_restart || self.controller.is_rate_based() || !self.board.is_empty()
        {
            return;
        }
        let control = self.controller.send_control();
        let (timeout, before) = (self.rto.base(), control.cwnd);
        let mut idle = now.since(last_sent);
        if idle <= timeout || timeout.is_zero() {
            return;
        }
        let initial = u64::from(self.settings.segment.max(1))
            * u64::from(self.settings.initial_window.max(1));
        let initial = Bytes::new(initial).min(before);
        let mut window = before;
        while idle > timeout && window > initial {
            window = window.mul_f64(0.5);
            idle -= timeout;
        }
        let window = window.max(initial);
        self.last_sent = Some(now);
        if window < before {
            let ssthresh = control.ssthresh.map(|ssthresh| ssthresh.max(before.mul_f64(0.75)));
            self.controller.restart(&Restart {
                now,
                window,
                ssthresh,
                rate: None,
                min_rtt: None,
                recovery_start: 0,
            });
            self.changed = true;
        }
    }

    /// Stops transmission for now.
    fn stop(&mut self, now: Time, limit: SendLimit) {
        self.limit = limit;
        // Only the pacer allows more without another event.
        self.settled = limit != SendLimit::Pacing;
        // Neither the peer's window nor a full send buffer is a lack of data. The kernel does not
        // ask why nothing waits to be sent (tcp_rate_check_app_limited).
        let lacks_data = self.settings.buffers == BufferModel::Linux || !self.is_buffer_full();
        if limit == SendLimit::Application
            && lacks_data
            && self.in_flight() < self.controller.send_control().cwnd
        {
            self.sent_packets.set_app_limited();
        }
        if limit != SendLimit::Peer || !self.board.is_empty() {
            self.persist_due = None;
        } else if self.persist_due.is_none() {
            self.persist_due = Some(now + self.rto.persist(self.persist_backoff));
        }
        let changed = std::mem::take(&mut self.changed);
        if changed {
            self.schedule_probe(now);
        }
        self.report_stop(now, limit, changed);
    }

    /// Reports the limit that has stopped transmission, and the state if it has changed.
    fn report_stop(&mut self, now: Time, limit: SendLimit, changed: bool) {
        let Some(metrics) = &self.metrics else { return };
        let mut stats = metrics.stats();
        stats.on_send_stopped(now, limit.into());
        if self.held_back || limit == SendLimit::Peer {
            // Also while it lasts, so that the counters never lag far behind.
            self.held_back = limit == SendLimit::Peer;
            stats.on_peer_window_blocked(self.held_back, now);
        }
        if changed {
            stats.on_state(now, &self.controller.send_control(), self.in_flight());
            drop(stats);
            metrics.on_controller(now, &*self.controller);
        }
    }
}
