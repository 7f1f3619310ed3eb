//! Flows without congestion control: UDP at a constant rate or in bursts, and pings.

use super::interface::Flow;
use super::progress::{FlowProgress, FlowResults, ReverseReport, VisitReport};
use super::send_schedule::{MIN_BURST, SendSchedule};
use super::shared::Shared;
use crate::datagram::{Body, Datagram, Filler, FillerProtocol, PathDirection, Role};
use crate::error::SimError;
use crate::outcome::{PathOutcome, ReverseBytes};
use crate::packet_arena::{PacketArena, PacketId};
use crate::spec::{DatagramTraffic, FlowSpec};
use bentpipe_link::{Ecn, Packet};
use bentpipe_quic::{IP_HEADER, IP_UDP_HEADER, SenderMetrics, UDP_HEADER};
use bentpipe_units::Time;
use std::collections::VecDeque;

/// A flow without congestion control.
pub struct DatagramFlow {
    progress: FlowProgress,
    kind: DatagramTraffic,
    /// Size of its IP packets.
    bytes: u32,
    last_node: u16,
    running: Option<Running>,
}

/// The active visit.
struct Running {
    schedule: SendSchedule,
    /// Echo requests without a reply.
    unanswered: VecDeque<Filler>,
    metrics: SenderMetrics,
}

impl DatagramFlow {
    /// Creates a flow that has not started. `index` determines its addresses.
    pub fn new(
        spec: FlowSpec,
        kind: DatagramTraffic,
        index: usize,
        shared: &Shared,
    ) -> Result<Self, SimError> {
        let bytes = check(&spec, kind)
            .map_err(|reason| SimError::Spec(format!("flow `{}`: {reason}", spec.name)))?;
        Ok(Self {
            progress: FlowProgress::new(spec, index),
            kind,
            bytes,
            last_node: shared.last_node,
            running: None,
        })
    }

    fn side(&self, node: u16) -> Option<Role> {
        match node {
            0 => Some(Role::Client),
            node if node == self.last_node => Some(Role::Server),
            _ => None,
        }
    }

    /// Returns the direction of packets that `node` sends, and true if they are requests or data,
    /// false if they are replies.
    fn leaving(&self, node: u16) -> Option<(PathDirection, bool)> {
        let toward = match self.side(node)? {
            Role::Client => PathDirection::ToServer,
            Role::Server => PathDirection::ToClient,
        };
        Some((toward, self.progress.data_direction()? == toward))
    }

    /// Payload of UDP or ICMP in bytes.
    fn content(&self) -> u32 {
        // The headers of both have the same size (RFC 768, RFC 792).
        self.bytes - IP_UDP_HEADER
    }
}

/// Returns the size of its packets, or an error if the flow is invalid.
fn check(spec: &FlowSpec, kind: DatagramTraffic) -> Result<u32, String> {
    let packet = match kind {
        DatagramTraffic::Constant { rate, .. } if rate.is_zero() => {
            return Err(format!("the rate of datagrams is {rate}; allowed: a rate above zero"));
        }
        DatagramTraffic::Constant { bursts: Some((on, off)), .. } if on.min(off) < MIN_BURST => {
            return Err(format!(
                "bursts of {on} and pauses of {off} are too short; allowed: {MIN_BURST} or more"
            ));
        }
        DatagramTraffic::Ping { interval, .. } if interval.is_zero() => {
            return Err(format!(
                "the ping interval is {interval}; allowed: an interval above zero"
            ));
        }
        DatagramTraffic::Constant { packet, .. } | DatagramTraffic::Ping { packet, .. } => packet,
    };
    if spec.visits.iter().any(|visit| visit.duration.is_none()) {
        return Err(
            "datagrams have no end of their own; allowed: visits with a duration".to_owned()
        );
    }
    let smallest = u64::from(IP_UDP_HEADER) + 1;
    u32::try_from(packet.get())
        .ok()
        .filter(|_| (smallest..=65_535).contains(&packet.get()))
        .ok_or_else(|| {
            format!("packets of {packet} are not possible; allowed: {smallest} B to 65535 B")
        })
}

impl Flow for DatagramFlow {
    fn progress(&self) -> &FlowProgress {
        &self.progress
    }

    fn progress_mut(&mut self) -> &mut FlowProgress {
        &mut self.progress
    }

    fn begin_visit(&mut self, now: Time, shared: &Shared) -> Result<(), SimError> {
        let (visit, _) = self.progress.begin(now, shared);
        let ends = self.progress.ends().unwrap_or(now);
        self.running = Some(Running {
            schedule: SendSchedule::new(
                self.kind,
                (now, ends),
                shared.seed,
                (&self.progress.spec.name, self.progress.visit()),
            ),
            unanswered: VecDeque::new(),
            metrics: SenderMetrics::new(shared.series_of(self.progress.recorded(), &visit)),
        });
        Ok(())
    }

    fn end_visit(&mut self, now: Time, shared: &Shared) {
        let Some(running) = self.running.take() else { return };
        let report = VisitReport {
            transport: self.kind.name(),
            connections: 0,
            handshake: None,
            record: &mut running.metrics.stats(),
            duplicate_bytes: 0,
            path: PathOutcome::default(),
            pep: None,
            reverse: ReverseReport::default(),
            flow_control: None,
            qlog: Vec::new(),
        };
        self.progress.end(now, shared, report);
    }

    fn deliver(&mut self, now: Time, _node: u16, _ecn: Ecn, datagram: &mut Datagram) {
        let Body::Filler(filler) = datagram.body else { return };
        let content = self.content() as usize;
        let (Some(running), Some(progress)) = (&mut self.running, self.progress.progress()) else {
            return;
        };
        // Packets of an earlier visit have no receiver.
        if datagram.visit != self.progress.visit() {
            return;
        }
        match filler.protocol {
            FillerProtocol::Udp => progress.received(0, content, now),
            FillerProtocol::Echo => running.unanswered.push_back(filler),
            FillerProtocol::EchoReply => {
                progress.received(0, content, now);
                running.metrics.stats().sample(now, now.since(filler.sent));
            }
        }
    }

    fn wake(&mut self, _now: Time, _node: u16) {}

    fn next_timeout(&self, node: u16) -> Option<Time> {
        let (_, own) = self.leaving(node)?;
        // Replies are sent at once, without a timer.
        self.running.as_ref().filter(|_| own)?.schedule.due()
    }

    fn poll_transmit(
        &mut self,
        now: Time,
        node: u16,
        packet_arena: &mut PacketArena,
    ) -> Option<Packet<PacketId>> {
        let (toward, own) = self.leaving(node)?;
        let (bytes, content) = (self.bytes, self.content());
        let running = self.running.as_mut()?;
        let filler = if own {
            let number = running.schedule.take(now)?;
            let protocol = match self.kind {
                DatagramTraffic::Constant { .. } => FillerProtocol::Udp,
                DatagramTraffic::Ping { .. } => FillerProtocol::Echo,
            };
            let mut record = running.metrics.stats();
            record.packets_sent += 1;
            record.bytes_sent += u64::from(content);
            let position = record.bytes_sent as f64;
            if let Some(series) = &mut record.series {
                series.sent.push(now, position);
            }
            Filler { protocol, number, sent: now, bytes }
        } else {
            Filler { protocol: FillerProtocol::EchoReply, ..running.unanswered.pop_front()? }
        };
        let udp = filler.protocol == FillerProtocol::Udp;
        self.progress.count_sent(now, toward, bytes, || ReverseBytes {
            ip: u64::from(IP_HEADER),
            udp: if udp { u64::from(UDP_HEADER) } else { 0 },
            payload: u64::from(if udp { content } else { bytes - IP_HEADER }),
            total: u64::from(bytes),
            ..ReverseBytes::default()
        });
        let (flow, visit) = (self.progress.index as u32, self.progress.visit());
        let trip = self.progress.trip(now, node);
        let to = if node == 0 { self.last_node } else { 0 };
        let position = (filler.number + 1) as f64 * f64::from(content);
        let datagram =
            Datagram { flow, visit, toward, to, position, trip, body: Body::Filler(filler) };
        Some(packet_arena.send(bytes, Ecn::NotEct, datagram))
    }

    fn into_results(self: Box<Self>) -> FlowResults {
        self.progress.into_results()
    }
}
