//! Flows without congestion control: UDP at a constant rate or in bursts, and pings.

use super::current_visit::VisitStart;
use super::progress::FlowProgress;
use super::report::VisitReport;
use super::send_schedule::{MIN_BURST, SendSchedule};
use super::shared::Shared;
use super::transport::{Outbox, Outgoing, Transport, side};
use crate::datagram::{Body, Datagram, Filler, FillerProtocol, PathDirection};
use crate::error::SimError;
use crate::outcome::ReverseBytes;
use crate::packet_arena::PacketId;
use crate::spec::{DatagramTraffic, FlowSpec};
use crate::visit_progress::VisitProgress;
use bentpipe_link::{Ecn, Packet};
use bentpipe_quic::{IP_HEADER, IP_UDP_HEADER, SenderMetrics, UDP_HEADER};
use bentpipe_units::{Span, Time};
use std::collections::VecDeque;

/// Datagrams without congestion control.
pub struct DatagramTransport {
    traffic: DatagramTraffic,
    /// Size of its IP packets.
    bytes: u32,
    /// Their ECN field.
    ecn: Ecn,
    last_node: u16,
    visit: Option<ActiveVisit>,
}

/// The active visit.
struct ActiveVisit {
    /// Direction of its data.
    data_direction: PathDirection,
    progress: VisitProgress,
    schedule: SendSchedule,
    /// Echo requests without a reply.
    unanswered: VecDeque<Filler>,
    metrics: SenderMetrics,
}

impl DatagramTransport {
    /// Creates the transport of a flow that has not started.
    pub fn new(
        traffic: DatagramTraffic,
        spec: &FlowSpec,
        shared: &Shared,
    ) -> Result<Self, SimError> {
        let bytes = check(spec, traffic)
            .map_err(|reason| SimError::Spec(format!("flow `{}`: {reason}", spec.name)))?;
        let ecn = spec.marking.ecn;
        Ok(Self { traffic, bytes, ecn, last_node: shared.last_node, visit: None })
    }

    /// Payload of UDP or ICMP in bytes.
    fn content(&self) -> u32 {
        // The headers of both have the same size (RFC 768, RFC 792).
        self.bytes - IP_UDP_HEADER
    }
}

impl ActiveVisit {
    /// Returns the next packet of the data's sender, an IP packet of `bytes`.
    fn next_data(&mut self, now: Time, traffic: DatagramTraffic, bytes: u32) -> Option<Filler> {
        let number = self.schedule.take(now)?;
        let protocol = match traffic {
            DatagramTraffic::Constant { .. } => FillerProtocol::Udp,
            DatagramTraffic::Ping { .. } => FillerProtocol::Echo,
        };
        let mut stats = self.metrics.stats();
        stats.packets_sent += 1;
        stats.bytes_sent += u64::from(bytes - IP_UDP_HEADER);
        let position = stats.bytes_sent as f64;
        if let Some(series) = &mut stats.series {
            series.sent.push(now, position);
        }
        Some(Filler { protocol, number, sent: now, bytes })
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

impl Transport for DatagramTransport {
    fn begin(
        &mut self,
        start: &VisitStart,
        progress: &mut FlowProgress,
        shared: &Shared,
    ) -> Result<(), SimError> {
        self.visit = Some(ActiveVisit {
            data_direction: start.data_direction,
            progress: start.progress.clone(),
            schedule: SendSchedule::new(
                self.traffic,
                (start.now, start.ends.unwrap_or(start.now)),
                shared.seed,
                (&progress.spec.name, start.number),
            ),
            unanswered: VecDeque::new(),
            metrics: SenderMetrics::new(start.series),
        });
        Ok(())
    }

    fn report(&mut self, _now: Time, _progress: &FlowProgress) -> Option<VisitReport> {
        self.visit.take().map(|visit| VisitReport::new(visit.metrics))
    }

    fn end(&mut self, _now: Time, _timed: bool) {}

    fn deliver(&mut self, now: Time, _node: u16, _ecn: Ecn, datagram: &mut Datagram) {
        let Body::Filler(filler) = datagram.body else { return };
        let content = self.content() as usize;
        let Some(visit) = &mut self.visit else { return };
        match filler.protocol {
            FillerProtocol::Udp => visit.progress.received(0, content, now),
            // Only pages ask for names.
            FillerProtocol::Dns => {}
            FillerProtocol::Echo => visit.unanswered.push_back(filler),
            FillerProtocol::EchoReply => {
                visit.progress.received(0, content, now);
                visit.metrics.stats().sample(now, now.since(filler.sent));
            }
        }
    }

    fn wake(&mut self, _now: Time, _node: u16) {}

    fn next_timeout(&self, node: u16) -> Option<Time> {
        let (visit, side) = (self.visit.as_ref()?, side(node, self.last_node)?);
        // Replies are sent at once, without a timer.
        (visit.data_direction.source() == side).then(|| visit.schedule.due())?
    }

    fn poll_transmit(&mut self, outbox: &mut Outbox<'_>) -> Option<Packet<PacketId>> {
        let (bytes, content) = (self.bytes, self.content());
        let (visit, toward) = (self.visit.as_mut()?, PathDirection::leaving(outbox.side()?));
        let filler = if visit.data_direction == toward {
            visit.next_data(outbox.now, self.traffic, bytes)?
        } else {
            Filler { protocol: FillerProtocol::EchoReply, ..visit.unanswered.pop_front()? }
        };
        let packet = Outgoing {
            toward,
            to: if outbox.node == 0 { self.last_node } else { 0 },
            bytes,
            ecn: self.ecn,
            position: (filler.number + 1) as f64 * f64::from(content),
            answers: false,
            connection: 0,
            held: Span::ZERO,
            body: Body::Filler(filler),
        };
        let is_udp = filler.protocol == FillerProtocol::Udp;
        Some(outbox.send(packet, || ReverseBytes {
            ip: u64::from(IP_HEADER),
            udp: if is_udp { u64::from(UDP_HEADER) } else { 0 },
            payload: u64::from(if is_udp { content } else { bytes - IP_HEADER }),
            total: u64::from(bytes),
            ..ReverseBytes::default()
        }))
    }
}
