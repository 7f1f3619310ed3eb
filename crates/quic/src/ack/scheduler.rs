//! Where packets leave a connection: what is only an acknowledgement may have to wait here.

use super::{AckContext, AckDecision, Acknowledger};
use crate::account::TrafficStats;
use crate::credit::FlowControlReport;
use crate::endpoint::{Attached, Transmit};
use crate::packets::{PacketInfo, PacketObserver, Space};
use bentpipe_units::{Span, Time};

/// The last that a connection passes on its way out, and the first on its way in, where it is
/// watched.
#[derive(Debug)]
pub(crate) struct AckScheduler {
    watch: Option<PacketObserver>,
    acknowledger: Option<Acknowledger>,
    account: Option<TrafficStats>,
    credit: Option<FlowControlReport>,
    credit_heard: Option<FlowControlReport>,
    held: Option<Held>,
    /// Whether the datagram that arrived last was marked CE.
    marked: bool,
    /// Kept for its allocation.
    packets: Vec<PacketInfo>,
}

/// A datagram that does nothing but acknowledge.
#[derive(Debug)]
struct Held {
    until: Time,
    transmit: Transmit,
    datagram: Vec<u8>,
    packet: PacketInfo,
}

impl AckScheduler {
    /// An outlet that passes everything where there is no watch. Takes what it needs out of
    /// `attached`.
    pub fn new(attached: &mut Attached) -> Self {
        Self {
            watch: attached.watch.take(),
            acknowledger: attached.acknowledger.take(),
            account: attached.account.take(),
            credit: attached.credit.clone(),
            credit_heard: attached.credit_heard.take(),
            held: None,
            marked: false,
            packets: Vec::new(),
        }
    }

    /// When what is held leaves at the latest.
    pub fn due(&self) -> Option<Time> {
        self.held.as_ref().map(|held| held.until)
    }

    /// A datagram arrives, with CE or without (RFC 3168).
    pub fn arrives(&mut self, marked: bool) {
        self.marked = marked;
    }

    /// Packets may have arrived. `smoothed_rtt`: as this side knows it, where it does. True where
    /// the next packet should elicit an acknowledgement.
    pub fn received(&mut self, now: Time, smoothed_rtt: impl FnOnce() -> Option<Span>) -> bool {
        let Some(watch) = &self.watch else { return false };
        self.packets.clear();
        watch.take_received(&mut self.packets);
        if self.packets.is_empty() {
            return false;
        }
        let seen = AckContext { marked: self.marked, smoothed_rtt: smoothed_rtt() };
        for packet in &self.packets {
            if let Some(account) = &self.account {
                account.received(now, packet);
            }
            if let (Some(credit), Some(limit)) = (&self.credit_heard, packet.frames.max_data) {
                credit.heard(now, limit);
            }
            if let Some(acknowledger) = &mut self.acknowledger {
                acknowledger.received(now, packet, seen);
            }
        }
        let Some(acknowledger) = &self.acknowledger else { return false };
        if let Some(held) = &mut self.held {
            held.until = acknowledger.until();
        }
        acknowledger.wants_ping(now)
    }

    /// Appends what was held and is due.
    pub fn release(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Transmit> {
        let held = self.held.take_if(|held| held.until <= now)?;
        buffer.extend_from_slice(&held.datagram);
        self.left(now, &held.packet);
        Some(held.transmit)
    }

    /// The stack has appended a transmission to `buffer` from `start` on. Takes it out again where
    /// it has to wait.
    pub fn pass(
        &mut self,
        now: Time,
        transmit: Transmit,
        start: usize,
        buffer: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let Some(watch) = &self.watch else { return Some(transmit) };
        let mut packets = std::mem::take(&mut self.packets);
        packets.clear();
        watch.take_sent(&mut packets);
        let decide = match (&mut self.acknowledger, packets.as_slice()) {
            (Some(acknowledger), [packet])
                if packet.space == Space::Data && packet.is_ack_only() =>
            {
                acknowledger.decide(now, packet)
            }
            _ => AckDecision::Send,
        };
        let passed = match (decide, packets.first()) {
            (AckDecision::Hold(until), Some(&packet)) if until > now => {
                let datagram = buffer.split_off(start.min(buffer.len()));
                self.held = Some(Held { until, transmit, datagram, packet });
                None
            }
            _ => {
                // What acknowledges now acknowledges all that the one held does.
                if packets.iter().any(|packet| packet.space == Space::Data && packet.frames.ack > 0)
                {
                    self.held = None;
                }
                packets.iter().for_each(|packet| self.left(now, packet));
                Some(transmit)
            }
        };
        self.packets = packets;
        passed
    }

    fn left(&mut self, now: Time, packet: &PacketInfo) {
        if let Some(account) = &self.account {
            account.sent(now, packet);
        }
        if let (Some(credit), Some(limit)) = (&self.credit, packet.frames.max_data) {
            credit.announced(now, limit);
        }
        if let Some(acknowledger) = &mut self.acknowledger {
            acknowledger.left(now, packet);
        }
    }
}
