//! Per-flow packet counters, with flows distinguished by the server's port.

use crate::capture::CaptureConfig;
use crate::gso::ends;
use crate::loss_cause::LossCause;
use crate::packet_log::{PacketLog, PacketRecord, PathService};
use bentpipe_link::DropCause;
use bentpipe_timeseries::SeriesLimit;
use bentpipe_units::{Span, Time};
use std::collections::BTreeMap;

const TCP: u8 = 6;
const UDP: u8 = 17;
/// Flags of a TCP header (RFC 9293 §3.1).
const ACK: u8 = 0x10;
const FIN_SYN_RST: u8 = 0x01 | 0x02 | 0x04;

/// What an emulator records in addition to the counters of its links.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Monitor {
    /// TCP or UDP ports of the server. Each direction's report has [`PortCounters`] for them, in
    /// this order.
    pub ports: Vec<u16>,
    /// Idle time after which the next packet of a port that is listed several times starts its next
    /// counters.
    pub idle_time: Span,
    /// Largest number of points of each time series of the links, if series are recorded.
    pub series: Option<SeriesLimit>,
    /// Largest number of packets of each port that its log has; 0 for no log. Segments of a path
    /// with routers do not know each other's packets: those have none.
    pub packet_log: usize,
    /// Capture files.
    pub capture: CaptureConfig,
}

/// Bytes of packets by layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LayerBytes {
    /// IP headers.
    pub ip: u64,
    /// UDP headers.
    pub udp: u64,
    /// TCP headers without options.
    pub tcp: u64,
    /// TCP options.
    pub options: u64,
    /// Payload.
    pub payload: u64,
}

/// Counters of one flow in one direction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PortCounters {
    /// The server's port.
    pub port: u16,
    /// Time at which the first packet entered the path.
    pub first: Option<Time>,
    /// Time at which the last packet entered the path.
    pub last: Option<Time>,
    /// Packets that entered the path.
    pub packets: u64,
    /// Bytes of these, including IP headers.
    pub bytes: u64,
    /// These bytes by layer.
    pub layers: LayerBytes,
    /// Packets dropped by a policer.
    pub lost_policer: u64,
    /// Packets dropped by a queue: full, or by AQM.
    pub lost_queue: u64,
    /// Packets lost by a loss process.
    pub lost_random: u64,
    /// Packets lost because their link went down, or without a route.
    pub lost_routing: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Of these, TCP segments and UDP datagrams with payload.
    pub delivered_data: u64,
    /// Bytes of all packets delivered.
    pub delivered_bytes: u64,
    /// TCP segments with the ACK flag that entered the path.
    pub acknowledging: u64,
    /// Of these, pure ACKs.
    pub only_acknowledging: u64,
    /// Number of pure ACKs by size of their options in bytes.
    pub option_bytes: BTreeMap<u32, u64>,
    /// The packets, if they are logged.
    pub log: PacketLog,
}

impl PortCounters {
    /// Returns the number of packets lost or dropped, for whatever reason.
    pub fn lost(&self) -> u64 {
        self.lost_policer + self.lost_queue + self.lost_random + self.lost_routing
    }
}

/// Header and payload sizes of a packet, and its ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Parts {
    from: u16,
    to: u16,
    ip: u64,
    udp: u64,
    tcp: u64,
    options: u64,
    payload: u64,
    flags: u8,
}

impl Parts {
    /// Returns the parts of an unfragmented TCP or UDP packet.
    fn of(packet: &[u8]) -> Option<Self> {
        ends(packet)?;
        let (protocol, ip) = match packet.first()? >> 4 {
            4 if u16::from_be_bytes([*packet.get(6)?, *packet.get(7)?]) & 0x3fff == 0 => {
                (*packet.get(9)?, usize::from(packet[0] & 0xf) * 4)
            }
            6 => (*packet.get(6)?, 40),
            _ => return None,
        };
        let transport = packet.get(ip..)?;
        let port =
            |at: usize| Some(u16::from_be_bytes([*transport.get(at)?, *transport.get(at + 1)?]));
        let (header, flags) = match protocol {
            TCP => (usize::from(transport.get(12)? >> 4) * 4, *transport.get(13)?),
            UDP => (8, 0),
            _ => return None,
        };
        let fixed = if protocol == TCP { 20 } else { 8 };
        if header < fixed || header > transport.len() {
            return None;
        }
        Some(Self {
            from: port(0)?,
            to: port(2)?,
            ip: ip as u64,
            udp: if protocol == UDP { 8 } else { 0 },
            tcp: if protocol == TCP { 20 } else { 0 },
            options: (header - fixed) as u64,
            payload: (transport.len() - header) as u64,
            flags,
        })
    }
}

/// Counts the packets of flows in one direction.
#[derive(Debug)]
pub(crate) struct PortMonitor {
    ports: Vec<PortCounters>,
    /// True for the active counters. Of those that share a port, one is active.
    current: Vec<bool>,
    idle_time: Span,
    /// True if the server's port is the source port.
    from_server: bool,
    packet_log: usize,
}

impl PortMonitor {
    pub fn new(monitor: &Monitor, from_server: bool) -> Self {
        let ports = &monitor.ports;
        let ports: Vec<PortCounters> =
            ports.iter().map(|&port| PortCounters { port, ..PortCounters::default() }).collect();
        let current =
            (0..ports.len()).map(|index| !ports[..index].contains(&ports[index])).collect();
        let &Monitor { idle_time, packet_log, .. } = monitor;
        Self { ports, current, idle_time, from_server, packet_log }
    }

    /// Switches to the next counters of `port`, if there are any and the current ones have been
    /// idle for long enough.
    fn start_next(&mut self, now: Time, port: u16) {
        let Some(index) = self.index_of(port) else { return };
        let idle = self.ports[index].last.is_some_and(|last| now.since(last) > self.idle_time);
        let next = self.ports.iter().skip(index + 1).position(|counters| counters.port == port);
        if let Some(next) = next.filter(|_| idle) {
            self.current[index] = false;
            self.current[index + 1 + next] = true;
        }
    }

    fn index_of(&self, port: u16) -> Option<usize> {
        let mut all = self.ports.iter().zip(&self.current);
        all.position(|(counters, current)| *current && counters.port == port)
    }

    fn find(&mut self, packet: &[u8]) -> Option<(&mut PortCounters, Parts)> {
        if self.ports.is_empty() {
            return None;
        }
        let parts = Parts::of(packet)?;
        let port = if self.from_server { parts.from } else { parts.to };
        let index = self.index_of(port)?;
        Some((&mut self.ports[index], parts))
    }

    /// Counts a packet that enters the path.
    pub fn entered(&mut self, now: Time, packet: &[u8]) {
        if self.ports.len() > 1
            && let Some(parts) = Parts::of(packet)
        {
            self.start_next(now, if self.from_server { parts.from } else { parts.to });
        }
        let Some((counters, parts)) = self.find(packet) else { return };
        counters.first = counters.first.or(Some(now));
        counters.last = Some(now);
        counters.packets += 1;
        counters.bytes += packet.len() as u64;
        let layers = &mut counters.layers;
        layers.ip += parts.ip;
        layers.udp += parts.udp;
        layers.tcp += parts.tcp;
        layers.options += parts.options;
        layers.payload += parts.payload;
        if parts.flags & ACK != 0 {
            counters.acknowledging += 1;
            if parts.flags & FIN_SYN_RST == 0 && parts.payload == 0 {
                counters.only_acknowledging += 1;
                *counters.option_bytes.entry(parts.options as u32).or_default() += 1;
            }
        }
    }

    /// Counts a delivered packet, with the times at which it entered the path and was due.
    pub fn delivered(&mut self, times: (Time, Time), service: &PathService, packet: &[u8]) {
        let limit = self.packet_log;
        let Some((counters, parts)) = self.find(packet) else { return };
        if limit > 0 {
            counters.log.add(record(times, service, packet, &parts, false), limit);
        }
        counters.delivered += 1;
        counters.delivered_bytes += packet.len() as u64;
        counters.delivered_data += u64::from(parts.payload > 0);
    }

    /// Counts a lost packet, with the times at which it entered the path and was lost.
    pub fn lost(
        &mut self,
        cause: LossCause,
        times: (Time, Time),
        service: &PathService,
        packet: &[u8],
    ) {
        let limit = self.packet_log;
        let Some((counters, parts)) = self.find(packet) else { return };
        if limit > 0 {
            counters.log.add(record(times, service, packet, &parts, true), limit);
        }
        match cause {
            LossCause::Link(DropCause::Policer) => counters.lost_policer += 1,
            LossCause::Link(DropCause::QueueFull | DropCause::Aqm) => counters.lost_queue += 1,
            LossCause::Link(DropCause::Loss(_)) => counters.lost_random += 1,
            LossCause::Routing => counters.lost_routing += 1,
        }
    }

    pub fn into_ports(self) -> Vec<PortCounters> {
        self.ports
    }
}

fn record(
    (entered, left): (Time, Time),
    service: &PathService,
    packet: &[u8],
    parts: &Parts,
    is_lost: bool,
) -> PacketRecord {
    PacketRecord {
        entered,
        left,
        bytes: packet.len() as u32,
        payload: parts.payload as u32,
        is_lost,
        service: *service,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: (Time, Time) = (Time::ZERO, Time::from_millis(5));

    /// A TCP segment over IPv4 from port `from` to port `to`, with 12 bytes of options.
    fn segment(from: u16, to: u16, flags: u8, payload: usize) -> Vec<u8> {
        let mut packet = vec![0; 20 + 32 + payload];
        packet[0] = 0x45;
        let length = packet.len() as u16;
        packet[2..4].copy_from_slice(&length.to_be_bytes());
        packet[9] = TCP;
        packet[20..22].copy_from_slice(&from.to_be_bytes());
        packet[22..24].copy_from_slice(&to.to_be_bytes());
        packet[32] = 8 << 4;
        packet[33] = flags;
        packet
    }

    fn monitor(ports: &[u16]) -> Monitor {
        Monitor { ports: ports.to_vec(), idle_time: Span::from_secs(2), ..Monitor::default() }
    }

    #[test]
    fn a_port_listed_twice_starts_new_counters_after_idle_time() {
        let mut up = PortMonitor::new(&monitor(&[81, 81]), false);
        for ms in [0, 1900, 4000, 9000] {
            up.entered(Time::from_millis(ms), &segment(5000, 81, ACK, 1));
        }
        up.delivered(TIMES, &PathService::default(), &segment(5000, 81, ACK, 1));
        let ports = up.into_ports();
        assert_eq!(ports.iter().map(|port| port.packets).collect::<Vec<_>>(), [2, 2]);
        assert_eq!((ports[0].delivered, ports[1].delivered), (0, 1));
        assert_eq!(ports[1].first, Some(Time::from_millis(4000)));
    }

    #[test]
    fn packets_are_counted_by_server_port_and_layer() {
        let mut up = PortMonitor::new(&monitor(&[80, 81]), false);
        let at = Time::from_millis;
        up.entered(at(1), &segment(5000, 81, 0x02, 0));
        up.entered(at(2), &segment(5000, 81, ACK, 17));
        up.entered(at(3), &segment(5000, 81, ACK, 0));
        up.entered(at(4), &segment(81, 5000, ACK, 0));
        up.delivered(TIMES, &PathService::default(), &segment(5000, 81, ACK, 17));
        up.lost(
            LossCause::Link(DropCause::QueueFull),
            TIMES,
            &PathService::default(),
            &segment(5000, 81, ACK, 0),
        );
        let ports = up.into_ports();
        assert_eq!(ports[0], PortCounters { port: 80, ..PortCounters::default() });
        let port = &ports[1];
        assert_eq!((port.first, port.last, port.packets), (Some(at(1)), Some(at(3)), 3));
        assert_eq!((port.acknowledging, port.only_acknowledging), (2, 1));
        assert_eq!((port.delivered, port.delivered_data, port.lost_queue), (1, 1, 1));
        let layers = LayerBytes { ip: 60, udp: 0, tcp: 60, options: 36, payload: 17 };
        assert_eq!((port.layers, port.bytes), (layers, 173));
        assert_eq!(port.option_bytes, BTreeMap::from([(12, 1)]));
    }

    #[test]
    fn truncated_packets_and_fragments_are_not_counted() {
        let mut down = PortMonitor::new(&monitor(&[80]), true);
        let whole = segment(80, 5000, ACK, 100);
        for length in 0..whole.len() {
            down.entered(Time::ZERO, &whole[..length]);
        }
        let mut fragment = whole.clone();
        fragment[6] = 0x20;
        down.entered(Time::ZERO, &fragment);
        let mut header_too_long = whole;
        header_too_long[32] = 0xf0;
        header_too_long.truncate(60);
        header_too_long[2..4].copy_from_slice(&60u16.to_be_bytes());
        down.entered(Time::ZERO, &header_too_long);
        assert_eq!(down.into_ports()[0].packets, 0);
    }
}
