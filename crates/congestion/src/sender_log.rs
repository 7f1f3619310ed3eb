//! Events of a sender for qlog: its metrics, and the phases of its controller.

use crate::controller::{Ack, SendControl, SentPacket};
use crate::controller_state::StateField;
use crate::pacing::pacing_rate;
use bentpipe_qlog::{Event, Metrics, QlogSink};
use bentpipe_units::{Bytes, Span, Time};

/// Writes the metrics of one sender to a trace, those that have changed.
pub(crate) struct SenderLog {
    sink: QlogSink,
    /// Metrics in the trace.
    written: Metrics,
    /// Metrics now, without the bytes in flight.
    now: Metrics,
    in_flight: Option<Bytes>,
    /// Largest number of bytes in flight that is not in the trace.
    peak: Option<Bytes>,
    smoothed_rtt: Span,
    phase: Option<&'static str>,
    /// Variables of the controller in the trace.
    fields: Vec<StateField>,
}

impl SenderLog {
    pub fn new(sink: QlogSink) -> Self {
        Self {
            sink,
            written: Metrics::default(),
            now: Metrics::default(),
            in_flight: None,
            peak: None,
            smoothed_rtt: Span::ZERO,
            phase: None,
            fields: Vec::new(),
        }
    }

    /// Takes the bytes in flight after a packet. They are written before they fall: each packet is
    /// in the trace by itself.
    pub fn on_packet_sent(&mut self, packet: &SentPacket) {
        self.peak = self.peak.max(Some(packet.in_flight));
    }

    pub fn on_ack(&mut self, ack: &Ack<'_>) {
        let rtt = ack.rtt;
        let deviation =
            if rtt > self.smoothed_rtt { rtt - self.smoothed_rtt } else { self.smoothed_rtt - rtt };
        // RFC 9002 §5.3.
        let variation = match self.now.rtt_variance {
            None => rtt / 2,
            Some(variation) => (variation * 3 + deviation) / 4,
        };
        self.smoothed_rtt = ack.smoothed_rtt;
        self.now.min_rtt = Some(ack.min_rtt);
        self.now.smoothed_rtt = Some(ack.smoothed_rtt);
        self.now.latest_rtt = Some(rtt);
        self.now.rtt_variance = Some(variation);
    }

    /// Writes what has changed, unless only the bytes in flight have grown.
    pub fn on_state(&mut self, now: Time, control: &SendControl, in_flight: Bytes) {
        self.now.congestion_window = Some(control.cwnd.get());
        self.now.ssthresh =
            control.ssthresh.filter(|&threshold| threshold < Bytes::MAX).map(Bytes::get);
        // Without an RTT the rate is that of a burst, not one that the path is probed with.
        if !self.smoothed_rtt.is_zero() {
            self.now.pacing_rate = Some(pacing_rate(control, self.smoothed_rtt).as_bps());
        }
        let falls = self.in_flight.is_none_or(|before| in_flight < before);
        self.in_flight = Some(in_flight);
        let old = self.phase.replace(control.phase);
        let same =
            old == Some(control.phase) && self.now.changes(&mut self.written.clone()).is_none();
        if same && !falls {
            self.peak = self.peak.max(Some(in_flight));
            return;
        }
        if let Some(peak) = self.peak.take().filter(|&peak| peak > in_flight) {
            let bytes_in_flight = Some(peak.get());
            self.write(now, &Metrics { bytes_in_flight, ..Metrics::default() });
        }
        let bytes_in_flight = Some(in_flight.get());
        self.write(now, &Metrics { bytes_in_flight, ..self.now });
        if old != Some(control.phase) {
            let event = Event::CongestionStateUpdated { old, new: control.phase };
            self.sink.add(now, &event);
        }
    }

    /// Writes the variables that have changed.
    pub fn on_fields(&mut self, now: Time, fields: &[StateField]) {
        let mut changed = Vec::new();
        for field in fields {
            match self.fields.iter_mut().find(|written| written.name == field.name) {
                Some(written) if written == field => continue,
                Some(written) => *written = *field,
                None => self.fields.push(*field),
            }
            changed.push((field.name, field.unit, field.value));
        }
        if !changed.is_empty() {
            self.sink.add(now, &Event::ControllerState(&changed));
        }
    }

    /// Writes an event.
    pub fn add(&self, now: Time, event: &Event<'_>) {
        self.sink.add(now, event);
    }

    fn write(&mut self, now: Time, metrics: &Metrics) {
        if let Some(changes) = metrics.changes(&mut self.written) {
            self.sink.add(now, &Event::RecoveryMetricsUpdated(changes));
        }
    }
}
