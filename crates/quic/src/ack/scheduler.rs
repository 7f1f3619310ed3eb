//! The last stage of sending: ACK-only packets may be held here.

use super::acknowledger::{AckContext, AckDecision, Acknowledger};
use crate::endpoint::{Attachments, Transmit};
use crate::flow_control::FlowControlReport;
use crate::observer::{PacketInfo, PacketObserver, Space, TrafficStats};
use bentpipe_qlog::{PacketTexts, QlogSink};
use bentpipe_units::{Span, Time};

/// The last stage of a connection's sending and the first of its receiving, if it is observed.
#[derive(Debug)]
pub(crate) struct AckScheduler {
    observer: Option<PacketObserver>,
    acknowledger: Option<Acknowledger>,
    traffic: Option<TrafficStats>,
    flow_control_received: Option<FlowControlReport>,
    flow_control_sent: Option<FlowControlReport>,
    held: Option<Held>,
    /// Whether the last datagram that arrived was marked CE.
    marked: bool,
    /// Whether packets may have arrived since the observer was asked last.
    arrived: bool,
    /// Kept for its allocation.
    packets: Vec<PacketInfo>,
    /// The trace, and the text of `packets`.
    log: Option<(QlogSink, PacketTexts)>,
}

/// A datagram that only acknowledges.
#[derive(Debug)]
struct Held {
    until: Time,
    transmit: Transmit,
    datagram: Vec<u8>,
    packet: PacketInfo,
    /// Its text for the trace.
    text: PacketTexts,
}

impl AckScheduler {
    /// Takes its parts out of `attachments`. Without an observer it passes everything on.
    pub fn new(attachments: &mut Attachments) -> Self {
        Self {
            observer: attachments.observer.take(),
            acknowledger: attachments.acknowledger.take(),
            traffic: attachments.traffic.take(),
            flow_control_received: attachments.flow_control_received.clone(),
            flow_control_sent: attachments.flow_control_sent.take(),
            held: None,
            marked: false,
            // The packets of the datagram that begins a connection.
            arrived: true,
            packets: Vec::new(),
            log: attachments.qlog.as_ref().map(|sink| (sink.clone(), sink.packets())),
        }
    }

    /// Returns the time at which the held datagram leaves at the latest.
    pub fn due(&self) -> Option<Time> {
        self.held.as_ref().map(|held| held.until)
    }

    /// Handles a datagram that arrives, with a CE mark or without (RFC 3168). The stack keeps its
    /// own record of marks private.
    pub fn on_datagram(&mut self, marked: bool) {
        self.marked = marked;
        self.arrived = true;
    }

    /// Handles datagrams that arrived before their keys, and that the stack has now.
    pub fn on_early(&mut self) {
        self.arrived = true;
    }

    /// Handles the packets that have arrived, if any. `smoothed_rtt`: that of this side, if known.
    /// Returns true if the next packet should elicit an acknowledgement.
    pub fn on_received(&mut self, now: Time, smoothed_rtt: impl FnOnce() -> Option<Span>) -> bool {
        let Some(observer) = &self.observer else { return false };
        if !std::mem::take(&mut self.arrived) {
            return false;
        }
        self.packets.clear();
        observer.take_received(&mut self.packets);
        if self.packets.is_empty() {
            return false;
        }
        let context = AckContext { marked: self.marked, smoothed_rtt: smoothed_rtt() };
        for packet in &self.packets {
            if let Some(traffic) = &self.traffic {
                traffic.on_received(now, packet);
            }
            if let (Some(report), Some(limit)) = (&self.flow_control_sent, packet.frames.max_data) {
                report.on_received(now, limit);
            }
            if let Some(acknowledger) = &mut self.acknowledger {
                acknowledger.on_received(now, packet, context);
            }
        }
        let Some(acknowledger) = &self.acknowledger else { return false };
        if let Some(held) = &mut self.held {
            held.until = acknowledger.until();
        }
        acknowledger.wants_ping(now)
    }

    /// Appends the held datagram to `buffer`, if it is due.
    pub fn release(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Transmit> {
        let held = self.held.take_if(|held| held.until <= now)?;
        buffer.extend_from_slice(&held.datagram);
        self.on_sent(now, &held.packet);
        if let (Some((sink, _)), Some(text)) = (&self.log, held.text.get(0)) {
            sink.packet_sent(now, text);
        }
        Some(held.transmit)
    }

    /// Handles a transmission that the stack has appended to `buffer` from `start` on. Takes it out
    /// of the buffer again if it is held.
    pub fn pass(
        &mut self,
        now: Time,
        transmit: Transmit,
        start: usize,
        buffer: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let Some(observer) = &self.observer else { return Some(transmit) };
        let mut packets = std::mem::take(&mut self.packets);
        packets.clear();
        observer.take_sent(&mut packets);
        if let Some((_, texts)) = &mut self.log {
            observer.take_texts(texts);
        }
        let decision = match (&mut self.acknowledger, packets.as_slice()) {
            (Some(acknowledger), [packet])
                if packet.space == Space::Data && packet.is_ack_only() =>
            {
                acknowledger.decide(now, packet)
            }
            _ => AckDecision::Send,
        };
        let passed = match (decision, packets.first()) {
            (AckDecision::Hold(until), Some(&packet)) if until > now => {
                let datagram = buffer.split_off(start.min(buffer.len()));
                let text = match &mut self.log {
                    Some((sink, texts)) => std::mem::replace(texts, sink.packets()),
                    None => PacketTexts::default(),
                };
                self.held = Some(Held { until, transmit, datagram, packet, text });
                None
            }
            _ => {
                // An ACK that leaves now covers everything that the held one does.
                if packets.iter().any(|packet| packet.space == Space::Data && packet.frames.ack > 0)
                {
                    self.held = None;
                }
                packets.iter().for_each(|packet| self.on_sent(now, packet));
                if let Some((sink, texts)) = &self.log {
                    (0..texts.len())
                        .filter_map(|index| texts.get(index))
                        .for_each(|text| sink.packet_sent(now, text));
                }
                Some(transmit)
            }
        };
        self.packets = packets;
        passed
    }

    fn on_sent(&mut self, now: Time, packet: &PacketInfo) {
        if let Some(traffic) = &self.traffic {
            traffic.on_sent(now, packet);
        }
        if let (Some(report), Some(limit)) = (&self.flow_control_received, packet.frames.max_data) {
            report.on_announced(now, limit);
        }
        if let Some(acknowledger) = &mut self.acknowledger {
            acknowledger.on_sent(now, packet);
        }
    }
}
