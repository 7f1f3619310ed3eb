//! Lost packets and the parameters of loss detection, for a trace.

use crate::observer::PacketObserver;
use bentpipe_congestion::ControllerConfig;
use bentpipe_qlog::{Event, PacketType, QlogSink, RecoveryParameters};
use bentpipe_units::Time;

/// Writes lost packets to a trace.
///
/// The stack reports a packet number without its space. The type of a packet is that of the one
/// that was protected last when the stack reported it as sent.
#[derive(Debug, Clone)]
pub struct LossLog {
    sink: QlogSink,
    observer: PacketObserver,
    /// Types of packets other than 1-RTT, by their order of sending. There are few.
    types: Vec<(u64, PacketType)>,
}

impl LossLog {
    /// A log that writes to `sink`, of the connection that `observer` observes.
    pub(crate) fn new(sink: QlogSink, observer: PacketObserver) -> Self {
        Self { sink, observer, types: Vec::new() }
    }

    /// Writes the parameters: those of RFC 9002, which the stack uses.
    pub(super) fn begin(&self, now: Time, config: &ControllerConfig) {
        let parameters = RecoveryParameters {
            reordering_threshold: Some(3),
            time_threshold_eighths: Some(9),
            timer_granularity: 1,
            max_datagram_size: Some(config.mtu.get()),
            initial_congestion_window: Some(config.initial_window.get()),
        };
        self.sink.add(now, &Event::RecoveryParametersSet(parameters));
    }

    /// Takes the type of the packet that was sent last, whose position is `number`.
    pub(super) fn on_packet_sent(&mut self, number: u64) {
        match self.observer.last_sent() {
            Some(PacketType::OneRtt) | None => {}
            Some(kind) => self.types.push((number, kind)),
        }
    }

    /// Writes the loss of packet number `pn`, whose position is `number`.
    pub(super) fn on_packet_lost(&self, now: Time, pn: u64, number: u64) {
        let known = self.types.iter().find(|&&(position, _)| position == number);
        let kind = known.map_or(PacketType::OneRtt, |&(_, kind)| kind);
        self.sink.add(now, &Event::PacketLost { kind, number: pn });
    }
}
