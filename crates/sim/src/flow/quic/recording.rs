//! What is recorded about the connection of a visit, at both ends.

use crate::datagram::Role;
use crate::flow::current_visit::VisitStart;
use crate::flow::report::ReverseReport;
use crate::outcome::{Acknowledgements, QlogFile};
use bentpipe_quic::observer::{PerAck, TrafficSeries, TrafficStats};
use bentpipe_quic::qlog::{Form, QlogSink};
use bentpipe_quic::{ConnectionConfig, FlowControlReport, SenderMetrics};
use bentpipe_timeseries::{BoundedSeries, Points, Series};
use bentpipe_units::Bytes;

/// The records of a connection.
pub struct Recording {
    /// The data's sender.
    sender: Role,
    /// The senders, client and server. Only the data's has time series.
    metrics: [SenderMetrics; 2],
    /// Flow control of the data.
    pub flow_control: FlowControlReport,
    /// Packets of the data's receiver.
    received: TrafficStats,
    /// Packets of the data's sender, if time series are recorded.
    sent: Option<TrafficStats>,
    /// qlog of client and server, with names.
    qlog: Option<[(String, QlogSink); 2]>,
}

impl Recording {
    /// Creates empty records of a visit's connection to an origin, 0 but for other origins of a
    /// page, with `window` as the first flow-control window of the data. Only that to the first
    /// has time series.
    pub fn new(flow: &str, start: &VisitStart, origin: usize, window: Bytes) -> Self {
        let &VisitStart { data_direction, number, qlog, .. } = start;
        let series = start.series.filter(|_| origin == 0);
        let controller_state = start.controller_state && origin == 0;
        let sender = data_direction.source();
        let of_receiver = series.map_or(TrafficSeries::Totals, TrafficSeries::Acknowledgements);
        let sink = |side| {
            let name = match origin {
                0 => format!("{flow}-visit{number}-{side}"),
                _ => format!("{flow}-visit{number}-origin{origin}-{side}"),
            };
            let sink = QlogSink::new(&name, qlog);
            (name, sink)
        };
        let metrics = [Role::Client, Role::Server]
            .map(|side| SenderMetrics::new(series.filter(|_| side == sender)));
        if controller_state {
            metrics[sender as usize].record_state();
        }
        Self {
            sender,
            metrics,
            flow_control: FlowControlReport::new(window, series),
            received: TrafficStats::new(of_receiver),
            sent: series.map(|limit| TrafficStats::new(TrafficSeries::Numbers(limit))),
            qlog: qlog.any().then(|| ["client", "server"].map(sink)),
        }
    }

    /// Creates the records of a visit's connection to another `origin`. Packets of the data's
    /// receiver count with those of the first.
    pub fn of_origin(&self, flow: &str, start: &VisitStart, origin: usize, window: Bytes) -> Self {
        Self { received: self.received.clone(), ..Self::new(flow, start, origin, window) }
    }

    /// Returns the record of the data's sender.
    pub fn metrics(&self) -> &SenderMetrics {
        &self.metrics[self.sender as usize]
    }

    /// Returns `config` with what records the connection at `side`.
    pub fn attach(&self, config: ConnectionConfig, side: Role) -> ConnectionConfig {
        let flow_control = self.flow_control.clone();
        let (traffic, received, sent) = if side == self.sender {
            // Only series record the flow control of the data sent.
            (self.sent.clone(), None, self.sent.is_some().then_some(flow_control))
        } else {
            (Some(self.received.clone()), Some(flow_control), None)
        };
        config
            .with_metrics(self.metrics[side as usize].clone())
            .with_qlog(self.qlog.as_ref().map(|sinks| sinks[side as usize].1.clone()))
            .with_traffic(traffic)
            .with_flow_control_reports(received, sent)
    }

    /// Returns the number of packets with an acknowledgement that the data's receiver has sent.
    pub fn acks(&self) -> u64 {
        self.received.acks()
    }

    /// Takes the qlog of both ends.
    pub fn take_qlog(&self) -> Vec<QlogFile> {
        let file = |(name, sink): &(String, QlogSink)| QlogFile {
            name: name.clone(),
            current: sink.take(Form::Current),
            qvis: sink.take(Form::Qvis),
        };
        self.qlog.iter().flatten().map(file).collect()
    }

    /// Takes the counters of the reverse direction.
    pub fn take_reverse(&self) -> ReverseReport {
        let received = self.received.take();
        let mut series = Vec::new();
        let mut add = |name, unit, points: Option<Points>| {
            series.extend(points.map(|points| Series::new(name, unit, points)));
        };
        if let Some(numbers) = self.sent.as_ref().and_then(|sent| sent.take().numbers) {
            add("packet_number_sent", "packets", Some(numbers.sent.into_points()));
            add("packet_number_acked", "packets", Some(numbers.acknowledged.into_points()));
        }
        add("data_per_ack", "packets", received.per_ack.map(PerAck::into_points));
        add("ack_frame_bytes", "bytes", received.ack_frame_bytes.map(BoundedSeries::into_points));
        ReverseReport {
            acknowledgements: Some(Acknowledgements {
                packets: received.acks,
                only: received.acks_only,
                data: received.data_received,
                sizes: received.ack_frames,
            }),
            layers: Some(received.sent),
            series,
        }
    }
}
