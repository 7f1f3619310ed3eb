//! Thread of one direction: reads packets, passes them through the pipeline, and writes them when
//! due.

use crate::busy_poll::{BusyPollBudget, Idle};
use crate::capture::{PacketEvent, Tap};
use crate::clock::{Clock, WakeTimer, thread_time};
use crate::error::EmuError;
use crate::gro::{PacketTimes, SuperPacket};
use crate::gso::{self, HEADER, LARGEST, Rejected};
use crate::link_pipeline::{Addressed, LinkPipeline, Outcome};
use crate::monitor::PortMonitor;
use crate::report::{DirectionReport, LatenessHistogram};
use crate::settings::Settings;
use crate::stats::{DirectionStats, StatsCell};
use crate::sys;
use crate::tun::Tun;
use bentpipe_link::{Ecn, Packet};
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

/// One direction, ready to run.
pub struct Worker {
    pub name: &'static str,
    pub pipeline: LinkPipeline<TunPacket>,
    pub inputs: Vec<Arc<Tun>>,
    pub outputs: Vec<Arc<Tun>>,
    /// Finds the terminal by address in the forward direction. `None` in the return direction,
    /// where the input determines it.
    pub terminal_of: Option<TerminalOf>,
    pub terminals: usize,
    pub monitor: PortMonitor,
    pub settings: Settings,
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
    /// The packets to deliver next.
    super_packet: SuperPacket,
    buffer: Vec<u8>,
    /// Path delay of the last packet, and the sum of all.
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
        let takes_udp = self.outputs.iter().all(|tun| tun.accepts_udp());
        let mut state =
            State::new(self.name, without_realtime, SuperPacket::new(self.settings.gro, takes_udp));
        let timer = WakeTimer::new(state.report.without_realtime.is_none())?;
        let inputs = std::mem::take(&mut self.inputs);
        let waiting: Vec<BorrowedFd<'_>> = inputs.iter().map(|tun| tun.as_fd()).collect();
        let mut pace =
            BusyPollBudget::new(self.settings.busy_poll, self.clock.now(), thread_time());
        loop {
            let more = self.write(&mut state);
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let mut idle = !more;
            for (index, tun) in inputs.iter().enumerate() {
                idle &= !self.read(tun, index, &mut state)?;
            }
            let now = self.clock.now();
            self.publish_stats(now, &mut state);
            if let Some(forced_sleep) = pace.forced_sleep(now, thread_time) {
                timer.wait(forced_sleep, &[])?;
            } else if idle {
                let due = self
                    .pipeline
                    .next_output()
                    .map_or(MAX_SLEEP, |at| at.since(now))
                    .min(MAX_SLEEP);
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
        for (index, tun) in inputs.iter().enumerate() {
            while self.read(tun, index, &mut state)? {}
        }
        self.flush(&mut state);
        Ok(self.summary(state))
    }

    /// Writes the packets that are due. Returns true if there are more.
    fn write(&mut self, state: &mut State) -> bool {
        let now = self.clock.now();
        for _ in 0..MAX_WRITES {
            match self.pipeline.poll(now) {
                Some(outcome) => self.settle(outcome, state),
                None => {
                    self.flush(state);
                    return false;
                }
            }
        }
        self.flush(state);
        true
    }

    /// Accounts for a packet that has left the links.
    fn settle(&mut self, outcome: Outcome<TunPacket>, state: &mut State) {
        match outcome {
            Outcome::Lost(cause, packet) => {
                self.monitor.lost(cause, &packet.payload.payload.whole[HEADER..]);
                state.report.lost += 1;
                state.memory -= cost(&packet);
                if let Some(tap) = &self.taps.lost {
                    let TunPacket { entered, whole } = &packet.payload.payload;
                    let now = self.clock.now();
                    tap.capture(
                        now,
                        usize::from(self.terminal_of.is_none()),
                        PacketEvent::Lost(cause, now.since(*entered)),
                        whole,
                    );
                }
            }
            Outcome::Out { at, packet } => {
                state.memory -= cost(&packet);
                let Packet {
                    ecn,
                    payload: Addressed { terminal, payload: TunPacket { entered, mut whole } },
                    ..
                } = packet;
                let times = PacketTimes { due: at, entered };
                if ecn == Ecn::Ce && gso::ecn(&whole[HEADER..]) != Ecn::Ce {
                    gso::mark_ce(&mut whole[HEADER..]);
                }
                self.monitor.delivered(&whole[HEADER..]);
                if let Err(whole) = state.super_packet.push(times, terminal, whole) {
                    self.flush(state);
                    // An empty super-packet accepts any packet.
                    let _ = state.super_packet.push(times, terminal, whole);
                }
            }
        }
    }

    /// Delivers the merged packets.
    fn flush(&self, state: &mut State) {
        let State { report, lateness, super_packet, delay, delays, .. } = state;
        let (packets, bytes) = super_packet.size();
        if packets == 0 {
            return;
        }
        // In the return direction, one output serves all terminals.
        let interface = if self.outputs.len() == 1 { 0 } else { super_packet.terminal() };
        let now = self.clock.now();
        for (PacketTimes { due, entered }, whole) in super_packet.packets() {
            lateness.record(now.since(due));
            *delay = now.since(entered);
            *delays += *delay;
            if let Some(tap) = &self.taps.exit {
                tap.capture(now, interface, PacketEvent::Received(*delay), whole);
            }
        }
        match super_packet.write(|parts| self.outputs[interface].write(parts)) {
            Ok(()) => {
                report.packets_written += packets;
                report.bytes_written += bytes;
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
        let (queue_packets, queue_bytes) = self.pipeline.waiting();
        self.stats.write(&DirectionStats {
            at: now,
            packets_read: report.packets_read,
            bytes_read: report.bytes_read,
            packets_written: report.packets_written,
            bytes_written: report.bytes_written,
            lost: report.lost,
            dropped: report.dropped_memory + report.dropped_write,
            queue_packets,
            queue_bytes,
            delay: state.delay,
            delays: state.delays,
        });
    }

    /// Reads one input. Returns true if it read a packet.
    fn read(&mut self, tun: &Tun, input: usize, state: &mut State) -> Result<bool, EmuError> {
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
            let packets =
                gso::packets(&buffer[..length], |packet| self.take(now, input, packet, state));
            if let Err(refused) = packets {
                state.report.packets_read += 1;
                state.report.bytes_read += length.saturating_sub(HEADER) as u64;
                match refused {
                    Rejected::Local => state.report.not_carried += 1,
                    Rejected::Malformed => state.report.malformed += 1,
                }
            }
            if self.pipeline.next_output().is_some_and(|at| at + self.merge_delay() <= now) {
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

    /// Counts a packet that enters the path.
    fn take(&mut self, now: Time, input: usize, whole: Box<[u8]>, state: &mut State) {
        let packet = &whole[HEADER..];
        let bytes = packet.len() as u32;
        state.report.packets_read += 1;
        state.report.bytes_read += u64::from(bytes);
        let terminal = match self.terminal_of {
            None => Some(input),
            Some(of) => gso::ends(packet).and_then(|(_, to)| of(to, self.terminals)),
        };
        let Some(terminal) = terminal else {
            state.report.unroutable += 1;
            return;
        };
        if let Some(tap) = &self.taps.entry {
            tap.capture(now, input, PacketEvent::Sent, &whole);
        }
        let ecn = gso::ecn(packet);
        let packet = Packet {
            bytes,
            ecn,
            payload: Addressed { terminal, payload: TunPacket { entered: now, whole } },
        };
        let memory = state.memory + cost(&packet);
        if memory > self.settings.memory.get() {
            state.report.dropped_memory += 1;
            return;
        }
        state.memory = memory;
        self.monitor.entered(now, &packet.payload.payload.whole[HEADER..]);
        // The first link dropped it, or it passed all links at once.
        if let Some(outcome) = self.pipeline.enqueue(now, packet) {
            self.settle(outcome, state);
        }
    }

    fn summary(mut self, state: State) -> DirectionReport {
        let mut links = self.pipeline.counters(self.clock.now());
        for (link, recorder) in links.iter_mut().zip(self.pipeline.take_recorders()) {
            link.recorder = Some(recorder);
        }
        DirectionReport {
            cpu_time: thread_time(),
            in_flight: links.iter().map(|link| link.counters.in_flight.packets).sum(),
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
        super_packet: SuperPacket,
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
            super_packet,
            buffer: vec![0; LARGEST],
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
