//! Thread of one direction: reads packets, passes them through the links of a segment of the path,
//! and writes them when due. A path without routers is one segment.

use crate::busy_poll::{BusyPollBudget, Idle};
use crate::capture::{PacketEvent, Tap};
use crate::clock::{Clock, WakeTimer, thread_time};
use crate::direction_path::DirectionPath;
use crate::error::EmuError;
use crate::flow_hash::FlowHash;
use crate::gro::{PacketTimes, SuperPacket};
use crate::gso::{self, HEADER, LARGEST, Rejected};
use crate::link_pipeline::{Addressed, Outcome};
use crate::monitor::PortMonitor;
use crate::packet_log::PathService;
use crate::report::{DirectionReport, LatenessHistogram};
use crate::settings::EmulatorSettings;
use crate::stats::{DirectionStats, StatsCell};
use crate::sys;
use crate::tun::Tun;
use bentpipe_link::{Ecn, FlowKey, Packet};
use bentpipe_units::{Span, Time};
use nix::sys::prctl::set_timerslack;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Longest sleep before checking whether to stop.
const MAX_SLEEP: Span = Span::from_millis(50);
/// Maximum number of writes before reading continues, and of reads before writing does, so that
/// neither is delayed for long.
const MAX_WRITES: usize = 64;
const MAX_READS: usize = 32;
/// How late a packet may become while others are read to be merged with it: about ten packets, and
/// within the target for the median.
const MERGE_DELAY: Span = Span::from_micros(20);
/// Memory that a packet needs in addition to its bytes: the allocation and its entries in queues.
/// An estimate.
const OVERHEAD: u64 = 160;

/// Maps an address to one of the terminals.
pub type TerminalOf = fn(IpAddr, usize) -> Option<usize>;

/// Interval at which an active direction publishes statistics.
const STATS_INTERVAL: Span = Span::from_millis(1);

/// A packet with its `virtio_net_hdr`, and the time at which it entered the path.
pub struct TunPacket {
    entered: Time,
    whole: Box<[u8]>,
}

/// Capture points of a direction.
#[derive(Clone, Default)]
pub struct Taps {
    /// At the entry of the path.
    pub entry: Option<Tap>,
    /// At the exit of the path.
    pub exit: Option<Tap>,
    /// For packets that the path loses.
    pub lost: Option<Tap>,
}

/// How the terminal of a packet is found. Its links may belong to that terminal alone.
pub enum TerminalFrom {
    /// By the input that it is read from.
    Input,
    /// By its source address.
    Source(TerminalOf),
    /// By its destination.
    Destination(TerminalOf),
}

/// The links between two neighbouring namespaces of the path, or from all clients to the next one.
pub struct Segment {
    pipeline: DirectionPath<TunPacket>,
    inputs: Vec<Arc<Tun>>,
    outputs: Vec<Arc<Tun>>,
    terminal_from: TerminalFrom,
    /// Whether the outputs accept UDP super-packets.
    takes_udp: bool,
    /// Tells flows apart, if a queue needs it.
    flow_hash: Option<FlowHash>,
}

impl Segment {
    /// Creates a segment from `inputs` to `outputs`. A single output serves all terminals.
    pub fn new(
        pipeline: DirectionPath<TunPacket>,
        inputs: Vec<Arc<Tun>>,
        outputs: Vec<Arc<Tun>>,
        terminal_from: TerminalFrom,
    ) -> Self {
        let takes_udp = outputs.iter().all(|tun| tun.accepts_udp());
        let flow_hash = pipeline.needs_flow().then(FlowHash::new);
        Self { pipeline, inputs, outputs, terminal_from, takes_udp, flow_hash }
    }

    /// Returns the flow of `packet` if a queue needs it.
    fn flow(&self, packet: &[u8]) -> FlowKey {
        self.flow_hash.as_ref().map_or(FlowKey::default(), |hash| hash.key(packet))
    }

    /// Returns the terminal of `packet`, read from input number `input`.
    fn terminal(&self, input: usize, packet: &[u8], terminals: usize) -> Option<usize> {
        match self.terminal_from {
            TerminalFrom::Input => Some(input),
            TerminalFrom::Source(of) => gso::ends(packet).and_then(|(from, _)| of(from, terminals)),
            TerminalFrom::Destination(of) => {
                gso::ends(packet).and_then(|(_, to)| of(to, terminals))
            }
        }
    }
}

/// One direction, ready to run.
pub struct Worker {
    pub name: &'static str,
    /// In the order in which packets pass them.
    pub segments: Vec<Segment>,
    /// True in the forward direction.
    pub from_server: bool,
    pub terminals: usize,
    pub monitor: PortMonitor,
    pub settings: EmulatorSettings,
    pub clock: Clock,
    pub stop: Arc<AtomicBool>,
    pub taps: Taps,
    pub stats: Arc<StatsCell>,
}

/// Counters and working state of a direction.
struct State {
    report: DirectionReport,
    lateness: LatenessHistogram,
    /// Memory of the packets in the pipeline.
    memory: u64,
    /// The packets that each segment delivers next.
    super_packets: Vec<SuperPacket>,
    buffer: Vec<u8>,
    /// Packets and bytes that entered the first segment, and that left the last one.
    entered: (u64, u64),
    left: (u64, u64),
    /// Delay of the last packet in the last segment, and the sum of all packets in all segments.
    delay: Span,
    delays: Span,
    published_at: Time,
}

impl Worker {
    /// Runs until `stop` is set.
    pub fn run(mut self) -> Result<DirectionReport, EmuError> {
        // Both improve precision; neither is required.
        let _ = set_timerslack(1);
        let without_realtime =
            match (self.settings.realtime, sys::realtime(sys::PACKET_THREAD_PRIORITY)) {
                (false, _) => Some("not requested".to_owned()),
                (true, Ok(())) => None,
                (true, Err(error)) => Some(error.to_string()),
            };
        let super_packet =
            |segment: &Segment| SuperPacket::new(self.settings.gro, segment.takes_udp);
        let super_packets = self.segments.iter().map(super_packet).collect();
        let mut state = State::new(self.name, without_realtime, super_packets);
        let timer = WakeTimer::new(state.report.without_realtime.is_none())?;
        let inputs: Vec<(usize, usize, Arc<Tun>)> = (self.segments.iter().enumerate())
            .flat_map(|(segment, links)| {
                let inputs = links.inputs.iter().cloned().enumerate();
                inputs.map(move |(input, tun)| (segment, input, tun))
            })
            .collect();
        let waiting: Vec<BorrowedFd<'_>> = inputs.iter().map(|(_, _, tun)| tun.as_fd()).collect();
        let mut pace =
            BusyPollBudget::new(self.settings.busy_poll, self.clock.now(), thread_time());
        loop {
            let mut more = false;
            for segment in 0..self.segments.len() {
                more |= self.write(segment, &mut state);
            }
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let mut idle = !more;
            for (segment, input, tun) in &inputs {
                idle &= !self.read(tun, *segment, *input, &mut state)?;
            }
            let now = self.clock.now();
            self.publish_stats(now, &mut state);
            if let Some(forced_sleep) = pace.forced_sleep(now, thread_time) {
                timer.wait(forced_sleep, &[])?;
            } else if idle {
                let due = self.next_output().map_or(MAX_SLEEP, |at| at.since(now)).min(MAX_SLEEP);
                match pace.idle(now, due) {
                    // Busy polling continues to read input until a packet is due.
                    Idle::BusyPoll => continue,
                    Idle::Sleep(span) => timer.wait(span, &waiting)?,
                }
            } else {
                pace.work(now);
                continue;
            }
            pace.slept(self.clock.now());
        }
        // Counts what arrived before the end.
        for (segment, input, tun) in &inputs {
            while self.read(tun, *segment, *input, &mut state)? {}
        }
        (0..self.segments.len()).for_each(|segment| self.flush(segment, &mut state));
        Ok(self.summary(state))
    }

    /// Returns the time at which the next packet leaves a segment, or an earlier time.
    fn next_output(&self) -> Option<Time> {
        self.segments.iter().filter_map(|segment| segment.pipeline.next_output()).min()
    }

    /// Writes the packets of `segment` that are due. Returns true if there are more.
    fn write(&mut self, segment: usize, state: &mut State) -> bool {
        let now = self.clock.now();
        for _ in 0..MAX_WRITES {
            match self.segments[segment].pipeline.poll(now) {
                Some(outcome) => self.settle(segment, outcome, state),
                None => {
                    self.flush(segment, state);
                    return false;
                }
            }
        }
        self.flush(segment, state);
        true
    }

    /// Accounts for a packet that has left the links of `segment`.
    fn settle(&mut self, segment: usize, outcome: Outcome<TunPacket>, state: &mut State) {
        match outcome {
            Outcome::Lost(cause, packet) => {
                let Addressed { service, payload: TunPacket { entered, whole }, .. } =
                    &packet.payload;
                let (entered, now) = (*entered, self.clock.now());
                self.monitor.lost(cause, (entered, now), service, &whole[HEADER..]);
                state.report.lost += 1;
                state.memory -= cost(&packet);
                if let Some(tap) = &self.taps.lost {
                    tap.capture(
                        now,
                        usize::from(!self.from_server),
                        PacketEvent::Lost(cause, now.since(entered)),
                        whole,
                    );
                }
            }
            Outcome::Out { at, packet } => {
                state.memory -= cost(&packet);
                let Packet {
                    ecn,
                    payload:
                        Addressed { terminal, service, payload: TunPacket { entered, mut whole } },
                    ..
                } = packet;
                let times = PacketTimes { due: at, entered };
                if ecn == Ecn::Ce && gso::ecn(&whole[HEADER..]) != Ecn::Ce {
                    gso::mark_ce(&mut whole[HEADER..]);
                }
                if self.is_last(segment) {
                    self.monitor.delivered((entered, at), &service, &whole[HEADER..]);
                }
                if let Err(whole) = state.super_packets[segment].push(times, terminal, whole) {
                    self.flush(segment, state);
                    // An empty super-packet accepts any packet.
                    let _ = state.super_packets[segment].push(times, terminal, whole);
                }
            }
        }
    }

    /// Returns true if packets leave the path after `segment`.
    fn is_last(&self, segment: usize) -> bool {
        segment + 1 == self.segments.len()
    }

    /// Delivers the merged packets of `segment`.
    fn flush(&self, segment: usize, state: &mut State) {
        let is_last = self.is_last(segment);
        let State { report, lateness, super_packets, delay, delays, left, .. } = state;
        let super_packet = &mut super_packets[segment];
        let (packets, bytes) = super_packet.size();
        if packets == 0 {
            return;
        }
        // One output serves all terminals, unless each has its own.
        let outputs = &self.segments[segment].outputs;
        let interface = if outputs.len() == 1 { 0 } else { super_packet.terminal() };
        let now = self.clock.now();
        for (PacketTimes { due, entered }, whole) in super_packet.packets() {
            lateness.record(now.since(due));
            *delay = now.since(entered);
            *delays += *delay;
            if let Some(tap) = self.taps.exit.as_ref().filter(|_| is_last) {
                tap.capture(now, interface, PacketEvent::Received(*delay), whole);
            }
        }
        match super_packet.write(|parts| outputs[interface].write(parts)) {
            Ok(()) => {
                report.packets_written += packets;
                report.bytes_written += bytes;
                if is_last {
                    *left = (left.0 + packets, left.1 + bytes);
                }
            }
            Err(_) => report.dropped_write += packets,
        }
        super_packet.clear();
    }

    /// Publishes statistics.
    fn publish_stats(&self, now: Time, state: &mut State) {
        if now.since(state.published_at) < STATS_INTERVAL {
            return;
        }
        state.published_at = now;
        let report = &state.report;
        let waiting = self.segments.iter().map(|segment| segment.pipeline.waiting());
        let (queue_packets, queue_bytes) =
            waiting.fold((0, 0), |sum, each| (sum.0 + each.0, sum.1 + each.1));
        self.stats.write(&DirectionStats {
            at: now,
            packets_read: state.entered.0,
            bytes_read: state.entered.1,
            packets_written: state.left.0,
            bytes_written: state.left.1,
            lost: report.lost,
            dropped: report.dropped_memory + report.dropped_write,
            queue_packets,
            queue_bytes,
            delay: state.delay,
            delays: state.delays,
        });
    }

    /// Reads one input of `segment`. Returns true if it read a packet.
    fn read(
        &mut self,
        tun: &Tun,
        segment: usize,
        input: usize,
        state: &mut State,
    ) -> Result<bool, EmuError> {
        // Taken out, to borrow its packets while the state changes.
        let mut buffer = std::mem::take(&mut state.buffer);
        let mut some = false;
        for _ in 0..MAX_READS {
            let read = tun
                .read(&mut buffer)
                .map_err(|error| EmuError::system("reading from a TUN device", error))?;
            let Some(length) = read else { break };
            some = true;
            let now = self.clock.now();
            let packets = gso::packets(&buffer[..length], |packet| {
                self.take(now, segment, input, packet, state)
            });
            if let Err(refused) = packets {
                state.report.packets_read += 1;
                state.report.bytes_read += length.saturating_sub(HEADER) as u64;
                match refused {
                    Rejected::Local => state.report.not_carried += 1,
                    Rejected::Malformed => state.report.malformed += 1,
                }
            }
            if self.next_output().is_some_and(|at| at + self.merge_delay() <= now) {
                break;
            }
        }
        state.buffer = buffer;
        Ok(some)
    }

    /// How late a packet may become while others are read to be merged with it.
    fn merge_delay(&self) -> Span {
        self.settings.gro.min(MERGE_DELAY)
    }

    /// Counts a packet that enters the links of `segment`.
    fn take(
        &mut self,
        now: Time,
        segment: usize,
        input: usize,
        whole: Box<[u8]>,
        state: &mut State,
    ) {
        let packet = &whole[HEADER..];
        let bytes = packet.len() as u32;
        let is_first = segment == 0;
        state.report.packets_read += 1;
        state.report.bytes_read += u64::from(bytes);
        if is_first {
            state.entered = (state.entered.0 + 1, state.entered.1 + u64::from(bytes));
        }
        let Some(terminal) = self.segments[segment].terminal(input, packet, self.terminals) else {
            state.report.unroutable += 1;
            return;
        };
        if let Some(tap) = self.taps.entry.as_ref().filter(|_| is_first) {
            tap.capture(now, input, PacketEvent::Sent, &whole);
        }
        let packet = Packet {
            bytes,
            ecn: gso::ecn(packet),
            dscp: gso::dscp(packet),
            flow: self.segments[segment].flow(packet),
            payload: Addressed {
                terminal,
                payload: TunPacket { entered: now, whole },
                service: PathService::default(),
            },
        };
        let memory = state.memory + cost(&packet);
        if memory > self.settings.memory.get() {
            state.report.dropped_memory += 1;
            return;
        }
        state.memory = memory;
        if is_first {
            self.monitor.entered(now, &packet.payload.payload.whole[HEADER..]);
        }
        // The first link dropped it, or it passed all links at once.
        if let Some(outcome) = self.segments[segment].pipeline.enqueue(now, packet) {
            self.settle(segment, outcome, state);
        }
    }

    fn summary(mut self, state: State) -> DirectionReport {
        let (mut links, mut in_flight) = (Vec::new(), 0);
        for segment in &mut self.segments {
            let now = self.clock.now();
            let (mut own, inside) = segment.pipeline.counters(now);
            for (link, recorder) in own.iter_mut().zip(segment.pipeline.take_recorders(now)) {
                link.recorder = Some(recorder);
            }
            links.extend(own);
            in_flight += inside;
        }
        DirectionReport {
            cpu_time: thread_time(),
            in_flight,
            lateness: state.lateness.summary(),
            links,
            ports: self.monitor.into_ports(),
            ..state.report
        }
    }
}

impl State {
    fn new(
        name: &'static str,
        without_realtime: Option<String>,
        super_packets: Vec<SuperPacket>,
    ) -> Self {
        let report = DirectionReport {
            name,
            without_realtime,
            cpu_time: Span::ZERO,
            packets_read: 0,
            bytes_read: 0,
            packets_written: 0,
            bytes_written: 0,
            lost: 0,
            not_carried: 0,
            malformed: 0,
            unroutable: 0,
            dropped_memory: 0,
            dropped_write: 0,
            dropped_ring: 0,
            in_flight: 0,
            lateness: crate::Lateness::default(),
            links: Vec::new(),
            ports: Vec::new(),
        };
        Self {
            report,
            lateness: LatenessHistogram::new(),
            memory: 0,
            super_packets,
            buffer: vec![0; LARGEST],
            entered: (0, 0),
            left: (0, 0),
            delay: Span::ZERO,
            delays: Span::ZERO,
            published_at: Time::ZERO,
        }
    }
}

/// Memory of a packet in the pipeline.
fn cost(packet: &Packet<Addressed<TunPacket>>) -> u64 {
    packet.payload.payload.whole.len() as u64 + OVERHEAD
}
