//! Flows without congestion control: UDP at a constant rate or in bursts, and pings.

use super::interface::Flow;
use super::progress::{FlowProgress, FlowResults, ReverseReport, VisitReport};
use super::shared::Shared;
use crate::datagram::{Body, Datagram, Filler, FillerProtocol, PathDirection, Role};
use crate::error::SimError;
use crate::outcome::{PathOutcome, ReverseBytes};
use crate::packet_arena::{PacketArena, PacketId};
use crate::spec::{DatagramTraffic, FlowSpec};
use bentpipe_link::random::{Stream, stream};
use bentpipe_link::{Ecn, Packet};
use bentpipe_quic::{IP_HEADER, IP_UDP_HEADER, SenderMetrics, UDP_HEADER};
use bentpipe_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// Minimum mean length of bursts and pauses.
const MIN_BURST: Span = Span::from_millis(1);

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
    schedule: Schedule,
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
        let purpose = format!("flow/{}/bursts/{}", self.progress.spec.name, self.progress.visit());
        let ends = self.progress.ends().unwrap_or(now);
        self.running = Some(Running {
            schedule: Schedule::new(
                self.kind,
                now,
                ends,
                stream(shared.seed.0, shared.seed.1, &purpose),
            ),
            unanswered: VecDeque::new(),
            metrics: SenderMetrics::new(shared.series_of(self.progress.index, &visit)),
        });
        Ok(())
    }

    fn end_visit(&mut self, now: Time, shared: &Shared) {
        let Some(running) = self.running.take() else { return };
        let report = VisitReport {
            transport: match self.kind {
                DatagramTraffic::Constant { bursts: None, .. } => "cbr",
                DatagramTraffic::Constant { bursts: Some(_), .. } => "on-off",
                DatagramTraffic::Ping { .. } => "ping",
            },
            connections: 0,
            handshake: None,
            record: &mut running.metrics.stats(),
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
    ) -> Option<(PathDirection, Packet<PacketId>)> {
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
        self.progress.count_sent(
            now,
            toward,
            ReverseBytes {
                ip: u64::from(IP_HEADER),
                udp: if udp { u64::from(UDP_HEADER) } else { 0 },
                payload: u64::from(if udp { content } else { bytes - IP_HEADER }),
                total: u64::from(bytes),
                ..ReverseBytes::default()
            },
        );
        let (flow, visit) = (self.progress.index as u32, self.progress.visit());
        let to = if node == 0 { self.last_node } else { 0 };
        let position = (filler.number + 1) as f64 * f64::from(content);
        let payload = packet_arena.put(Datagram {
            flow,
            visit,
            toward,
            to,
            position,
            body: Body::Filler(filler),
        });
        Some((toward, Packet { bytes, ecn: Ecn::NotEct, payload }))
    }

    fn into_results(self: Box<Self>) -> FlowResults {
        self.progress.into_results()
    }
}

/// Sending times of packets.
struct Schedule {
    kind: DatagramTraffic,
    begun: Time,
    ends: Time,
    /// Packets sent.
    sent: u64,
    bursts: Option<Bursts>,
    /// Sending time of the next packet.
    due: Option<Time>,
}

/// Bursts and pauses, drawn one after the other.
struct Bursts {
    stream: Stream,
    /// Mean lengths of bursts and pauses.
    mean: (Span, Span),
    /// Total time in bursts up to the end of the latest one.
    sending: Span,
    /// Total time in pauses before the end of that burst.
    paused: Span,
}

impl Bursts {
    /// Draws the next pause and burst.
    fn next(&mut self) {
        let (on, off) = self.mean;
        self.paused += off.mul_f64(self.stream.exponential());
        self.sending += on.mul_f64(self.stream.exponential());
    }
}

impl Schedule {
    fn new(kind: DatagramTraffic, begun: Time, ends: Time, mut stream: Stream) -> Self {
        let bursts = match kind {
            DatagramTraffic::Constant { bursts: Some((on, off)), .. } => {
                // Starts in the long-run state: the rest of an exponential time has the same
                // distribution as all of it.
                let sends = stream.chance(on.as_secs_f64() / (on + off).as_secs_f64());
                let mut bursts =
                    Bursts { stream, mean: (on, off), sending: Span::ZERO, paused: Span::ZERO };
                if sends {
                    bursts.sending = on.mul_f64(bursts.stream.exponential());
                } else {
                    bursts.next();
                }
                Some(bursts)
            }
            _ => None,
        };
        let mut schedule = Self { kind, begun, ends, sent: 0, bursts, due: None };
        schedule.due = schedule.next();
        schedule
    }

    /// Returns the sending time of the next packet.
    fn due(&self) -> Option<Time> {
        self.due
    }

    /// Returns the number of the packet to send `now`, if any.
    fn take(&mut self, now: Time) -> Option<u64> {
        self.due.filter(|&due| due <= now)?;
        let number = self.sent;
        self.sent += 1;
        self.due = self.next();
        Some(number)
    }

    /// Returns the sending time of packet number `sent`; `None` once the visit has ended.
    ///
    /// Computed from the start, so that rounding errors do not accumulate. Bursts share one clock
    /// that stops between them: at the end of a burst, the time left until the next packet carries
    /// over, so the mean rate is the rate times the fraction of time in bursts.
    fn next(&mut self) -> Option<Time> {
        let offset = match self.kind {
            DatagramTraffic::Constant { rate, packet, .. } => {
                rate.time_for(Bytes::new(packet.get().saturating_mul(self.sent)))
            }
            DatagramTraffic::Ping { interval, .. } => interval * self.sent,
        };
        let mut due = self.begun + offset;
        if let Some(bursts) = &mut self.bursts {
            while bursts.sending <= offset
                && self.begun + bursts.sending + bursts.paused < self.ends
            {
                bursts.next();
            }
            due += bursts.paused;
        }
        (due < self.ends).then_some(due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_units::Rate;

    fn times(kind: DatagramTraffic, seconds: u64, seed: u64) -> Vec<Time> {
        let ends = Time::from_secs(seconds);
        let mut schedule = Schedule::new(kind, Time::ZERO, ends, stream(seed, 0, "test"));
        let mut times = Vec::new();
        while let Some(due) = schedule.due() {
            assert_eq!(schedule.take(due), Some(times.len() as u64));
            times.push(due);
        }
        times
    }

    fn constant(bursts: Option<(Span, Span)>) -> DatagramTraffic {
        DatagramTraffic::Constant { rate: Rate::from_mbps(12), packet: Bytes::new(1500), bursts }
    }

    #[test]
    fn a_constant_rate_is_exact_from_the_first_packet() {
        let times = times(constant(None), 10, 1);
        assert_eq!(
            (times.len(), times[0], times[9_999]),
            (10_000, Time::ZERO, Time::from_millis(9_999))
        );
        let odd = DatagramTraffic::Constant {
            rate: Rate::from_mbps(7),
            packet: Bytes::new(1000),
            bursts: None,
        };
        let expected = Rate::from_mbps(7).time_for(Bytes::new(8_000_000));
        assert_eq!(
            self::times(odd, 20, 1)[8_000].since_start(),
            expected,
            "rounding errors do not accumulate"
        );
    }

    #[test]
    fn bursts_and_pauses_have_their_means() {
        let (on, off) = (Span::from_millis(300), Span::from_millis(700));
        let times = times(constant(Some((on, off))), 4_000, 7);
        // 4,000 periods: the fraction of time in bursts has a standard error of about 0.3 % / 0.3.
        // Allows four of them.
        let share = times.len() as f64 / 4_000_000.0;
        assert!((share - 0.3).abs() < 0.02, "{share}");
        // A gap is a pause if it is longer than the time between packets. Shorter pauses are not
        // visible.
        let gaps: Vec<f64> = times
            .windows(2)
            .map(|pair| pair[1].since(pair[0]).as_secs_f64() - 0.001)
            .filter(|gap| *gap > 1e-6)
            .collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        // Standard error 0.7 s / sqrt(4,000) = 11 ms. Allows four of them.
        assert!((mean - 0.7).abs() < 0.044, "{mean}");
        // The standard deviation of an exponential time equals its mean, while that of a constant
        // time is zero.
        let spread = (gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>()
            / gaps.len() as f64)
            .sqrt();
        assert!((spread / mean - 1.0).abs() < 0.1, "{spread}");
    }

    #[test]
    fn bursts_start_in_the_long_run_state() {
        let begins_in_burst = |seed: &u64| {
            let bursts = Some((Span::from_secs(1), Span::from_secs(3)));
            times(constant(bursts), 1_000, *seed).first() == Some(&Time::ZERO)
        };
        // 200 draws with probability 1/4: standard error 0.031. Allows four of them.
        let share = (0..200).filter(begins_in_burst).count() as f64 / 200.0;
        assert!((share - 0.25).abs() < 0.125, "{share}");
    }

    #[test]
    fn no_packet_is_due_after_the_visit() {
        let bursts = Some((MIN_BURST, Span::from_secs(1_000_000)));
        assert!(times(constant(bursts), 1, 3).len() < 3);
        let ping = DatagramTraffic::Ping { interval: Span::MAX, packet: Bytes::new(84) };
        assert_eq!(times(ping, 1, 1), [Time::ZERO]);
    }
}
