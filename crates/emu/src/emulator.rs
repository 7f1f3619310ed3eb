//! Namespaces with the path between them, and the two threads that carry packets across.

use crate::capture::{CaptureWriter, Tap};
use crate::clock::{Clock, pause};
use crate::delay_changes::{self, DelayChange, DelayChanges};
use crate::link_pipeline::LinkPipeline;
use crate::monitor::{Monitor, PortMonitor};
use crate::report::{DirectionReport, Report};
use crate::stats::{StatsCell, StatsReader};
use crate::tun::{Tun, ring_drops};
use crate::worker::{Taps, Worker};
use crate::{EmuError, Namespace};
use bentpipe_link::{DirectionModel, LinkContext};
use bentpipe_units::{Bytes, Span, Time};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Terminals that one emulation can have: as many as the last octet tells apart. Each is a namespace and a TUN device.
pub const MAX_TERMINALS: usize = 250;
/// The smallest packet size that IPv6 works with (RFC 8200 §5), and the largest that a TUN device takes.
const MTUS: std::ops::RangeInclusive<u64> = 1280..=65_535;

/// How long whoever waits for a time sleeps at most before looking whether there is something to wait for.
const MAX_SLEEP: Span = Span::from_millis(50);

/// A hop of the path, both directions.
#[derive(Debug, Clone)]
pub struct Hop {
    /// Its name, unique on the path.
    pub name: String,
    /// From server to client: the satellite forward link.
    pub forward: DirectionModel,
    /// From client to server: the satellite return link.
    pub reverse: DirectionModel,
    /// Whether all terminals share it; otherwise each has one of its own.
    pub shared: bool,
}

/// The path, resolved: what a simulation of the same scenario would be told of it.
#[derive(Debug, Clone)]
pub struct PathSpec {
    /// Hops from the clients (first) to the server (last).
    pub hops: Vec<Hop>,
    /// Round trip of the unloaded path, for queues sized in BDP.
    pub base_rtt: Span,
    /// Seed of the links' random draws.
    pub seed: u64,
    /// Number of the run: with the seed it keys every random stream.
    pub run: u64,
}

/// How the emulator works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// How long before a packet is due its thread stops sleeping and looks at the clock instead: about what it costs to be woken. It takes that much processor
    /// time for each packet that is waited for, and half of one processor in all at most.
    pub busy_poll: Span,
    /// Whether to ask for real-time priority. Without permission it goes on without, and says so.
    pub realtime: bool,
    /// Packets of one flow whose deadlines lie within this of each other, and have passed, are handed over as one, as by a network card with generic receive offload (GRO). Zero: each by
    /// itself.
    pub gro: Span,
    /// What the packets inside the links of one direction may take; more are dropped and counted.
    pub memory: Bytes,
}

impl Default for Settings {
    /// Measured on a virtual machine: see decision 14. A gigabit card interrupts up to 20,000 times a second (`InterruptThrottleRate` of Linux's e1000 driver), and joins what came in between.
    fn default() -> Self {
        Self {
            busy_poll: Span::from_micros(40),
            realtime: true,
            gro: Span::from_micros(50),
            memory: Bytes::from_mb(1000),
        }
    }
}

/// One namespace for each client and one for the server, each with an interface into the path, between which nothing goes until an [`Emulator`] runs.
///
/// All of it is held by file descriptors of this process: nothing has a name on the host, and nothing is left when the process ends, however it ends.
#[derive(Debug)]
pub struct Testbed {
    clients: Vec<Namespace>,
    server: Namespace,
    client_tuns: Vec<Arc<Tun>>,
    server_tun: Arc<Tun>,
}

impl Testbed {
    /// Namespaces for so many clients, with interfaces for packets of up to `mtu` bytes.
    ///
    /// Clients have 198.18.0.1, 198.18.0.2 and so on, and the server 198.19.0.1, of the addresses for benchmarking (RFC 2544 §C.2.2); the same with
    /// 2001:2:0:1:: and 2001:2:0:2::1 (RFC 5180 §8). A client's only way out is the path. The server's host sends on what is for other clients, and answers what is for
    /// anyone else with "network unreachable".
    ///
    /// # Errors
    /// Numbers that are not allowed; a process that may not make namespaces or TUN devices.
    pub fn new(clients: usize, mtu: Bytes) -> Result<Self, EmuError> {
        if !(1..=MAX_TERMINALS).contains(&clients) {
            return Err(EmuError::Spec {
                what: format!("{clients} terminals"),
                allowed: format!("1 to {MAX_TERMINALS}"),
            });
        }
        let size = u32::try_from(mtu.get()).ok().filter(|mtu| MTUS.contains(&u64::from(*mtu)));
        let Some(mtu) = size else {
            let allowed = format!("{} to {} bytes", MTUS.start(), MTUS.end());
            return Err(EmuError::Spec { what: format!("packets of {mtu}"), allowed });
        };
        let server = Namespace::new()?;
        let networks = [(client_v4(0).into(), 24), (client_v6(0).into(), 64)];
        let server_tun = Arc::new(Tun::new(&server, mtu, &server_addresses(), &networks)?);
        // So that what it cannot reach is refused and not swallowed. Where /proc is read-only, it is swallowed.
        for key in ["net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"] {
            let _ = server.set(key, "1");
        }
        let mut testbed = Self { clients: Vec::new(), server, client_tuns: Vec::new(), server_tun };
        let everywhere = [(Ipv4Addr::UNSPECIFIED.into(), 0), (Ipv6Addr::UNSPECIFIED.into(), 0)];
        for index in 0..clients {
            let namespace = Namespace::new()?;
            let tun = Tun::new(&namespace, mtu, &client_addresses(index), &everywhere)?;
            testbed.clients.push(namespace);
            testbed.client_tuns.push(Arc::new(tun));
        }
        // Programs without rights may ping. A group that the user namespace does not know is refused, and a ping program may still have the right itself.
        let group = nix::unistd::getgid();
        for namespace in testbed.namespaces() {
            let _ = namespace.set("net.ipv4.ping_group_range", &format!("{group} {group}"));
        }
        Ok(testbed)
    }

    /// The namespace of client number `index`.
    pub fn client(&self, index: usize) -> Option<&Namespace> {
        self.clients.get(index)
    }

    /// The namespace of the server.
    pub fn server(&self) -> &Namespace {
        &self.server
    }

    /// All of them, the server's last.
    pub fn namespaces(&self) -> impl Iterator<Item = &Namespace> {
        self.clients.iter().chain([&self.server])
    }

    /// What the clients' interfaces have dropped unread, and the server's.
    fn ring_drops(&self) -> Result<(u64, u64), EmuError> {
        let clients: Result<Vec<u64>, EmuError> = self.clients.iter().map(ring_drops).collect();
        Ok((clients?.iter().sum(), ring_drops(&self.server)?))
    }
}

/// The addresses of client number `index`, IPv4 first.
pub fn client_addresses(index: usize) -> [IpAddr; 2] {
    let last = index.saturating_add(1).min(255) as u16;
    [client_v4(last).into(), client_v6(last).into()]
}

/// The server's addresses, IPv4 first.
pub fn server_addresses() -> [IpAddr; 2] {
    [Ipv4Addr::new(198, 19, 0, 1).into(), Ipv6Addr::new(0x2001, 2, 0, 2, 0, 0, 0, 1).into()]
}

fn client_v4(last: u16) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, 0, last.min(255) as u8)
}

fn client_v6(last: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 2, 0, 1, 0, 0, 0, last)
}

/// Which of so many clients has an address.
fn terminal_of(address: IpAddr, terminals: usize) -> Option<usize> {
    let last = match address {
        IpAddr::V4(address) if address.octets()[..3] == client_v4(0).octets()[..3] => u16::from(address.octets()[3]),
        IpAddr::V6(address) if address.segments()[..7] == client_v6(0).segments()[..7] => address.segments()[7],
        _ => return None,
    };
    usize::from(last).checked_sub(1).filter(|terminal| *terminal < terminals)
}

/// A path at work: two threads, one for each direction, each with links and a clock that began with it.
///
/// Dropped, it stops; [`Self::stop`] also says what it did.
#[derive(Debug)]
pub struct Emulator {
    testbed: Testbed,
    clock: Clock,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Result<DirectionReport, EmuError>>>,
    /// Whether real-time priority was asked for.
    pub(crate) realtime: bool,
    /// What interfaces had dropped before.
    dropped: (u64, u64),
    stats: StatsReader,
    capture_writers: Vec<CaptureWriter>,
}

impl Emulator {
    /// Lets packets pass between the namespaces of `testbed`. The time of the links begins now.
    ///
    /// # Errors
    /// A path without hops, or a machine that has no threads or timers left.
    pub fn start(testbed: Testbed, spec: &PathSpec, settings: Settings) -> Result<Self, EmuError> {
        Self::start_monitored(testbed, spec, settings, &Monitor::default())
    }

    /// The same, and notes what `monitor` asks for.
    ///
    /// # Errors
    /// Those of [`Self::start`]; a capture whose file cannot be made.
    pub fn start_monitored(
        testbed: Testbed,
        spec: &PathSpec,
        settings: Settings,
        monitor: &Monitor,
    ) -> Result<Self, EmuError> {
        Self::start_with_delay_changes(testbed, spec, &[], settings, monitor)
    }

    /// The same, over hops of which some change while they are used.
    ///
    /// # Errors
    /// Those of [`Self::start_monitored`]; motions of hops or terminals that are not there.
    pub fn start_with_delay_changes(
        testbed: Testbed,
        spec: &PathSpec,
        motions: &[DelayChanges],
        settings: Settings,
        monitor: &Monitor,
    ) -> Result<Self, EmuError> {
        if spec.hops.is_empty() {
            return Err(EmuError::Spec { what: "a path of no hops".to_owned(), allowed: "at least one".to_owned() });
        }
        let terminals = testbed.clients.len();
        let (mut forward, mut reverse) = (LinkPipeline::new(), LinkPipeline::new());
        let context = |hop: &Hop, way: &str| LinkContext {
            rtt: spec.base_rtt,
            seed: spec.seed,
            run: spec.run,
            name: format!("{}/{way}", hop.name),
        };
        delay_changes::check(motions, spec, terminals)?;
        let delay_changes = |hop: usize, course: fn(&DelayChanges) -> &[DelayChange]| -> Vec<(usize, &[DelayChange])> {
            let motions = motions.iter().filter(|motion| motion.hop == hop);
            motions.map(|motion| (motion.terminal, course(motion))).collect()
        };
        for (index, hop) in spec.hops.iter().enumerate() {
            let delay_changes = delay_changes(index, |motion| &motion.reverse);
            reverse.push_with_delay_changes(
                &hop.reverse,
                &context(hop, "return"),
                terminals,
                hop.shared,
                &delay_changes,
            );
        }
        for (index, hop) in spec.hops.iter().enumerate().rev() {
            let delay_changes = delay_changes(index, |motion| &motion.forward);
            forward.push_with_delay_changes(
                &hop.forward,
                &context(hop, "forward"),
                terminals,
                hop.shared,
                &delay_changes,
            );
        }
        if monitor.series {
            forward.keep_series();
            reverse.keep_series();
        }
        let dropped = testbed.ring_drops()?;
        let server = vec![Arc::clone(&testbed.server_tun)];
        let clients = testbed.client_tuns.clone();
        let (clock, stop) = (Clock::start(), Arc::new(AtomicBool::new(false)));
        let mut capture_writers = Vec::new();
        let mut tap = |file: &Option<PathBuf>, names: &[String]| -> Result<Option<Tap>, EmuError> {
            let Some(file) = file else { return Ok(None) };
            let (writer, tap) = CaptureWriter::start(file, names, &monitor.capture, clock)?;
            capture_writers.push(writer);
            Ok(Some(tap))
        };
        let at_server = tap(&monitor.capture.server, &["server".to_owned()])?;
        let at_clients =
            tap(&monitor.capture.clients, &(0..terminals).map(|index| format!("client {index}")).collect::<Vec<_>>())?;
        let lost = tap(&monitor.capture.lost, &["forward".to_owned(), "return".to_owned()])?;
        let to_clients = Taps { entry: at_server.clone(), exit: at_clients.clone(), lost: lost.clone() };
        let to_server = Taps { entry: at_clients, exit: at_server, lost };
        let stats = StatsReader::new();
        let worker = |name, pipeline, (inputs, outputs), terminal_of, taps, stats: &Arc<StatsCell>| Worker {
            name,
            pipeline,
            inputs,
            outputs,
            terminal_of,
            terminals,
            monitor: PortMonitor::new(monitor, name == "forward"),
            settings,
            clock,
            stop: Arc::clone(&stop),
            taps,
            stats: Arc::clone(stats),
        };
        let down = (server.clone(), clients.clone());
        let workers = [
            worker("forward", forward, down, Some(terminal_of as _), to_clients, &stats.forward),
            worker("return", reverse, (clients, server), None, to_server, &stats.reverse),
        ];
        let realtime = settings.realtime;
        let mut emulator = Self {
            testbed,
            realtime,
            clock,
            stop: Arc::clone(&stop),
            threads: Vec::new(),
            dropped,
            stats,
            capture_writers,
        };
        for worker in workers {
            let thread = std::thread::Builder::new().name(worker.name.to_owned()).spawn(|| worker.run());
            emulator.threads.push(thread.map_err(|error| EmuError::system("a thread", error))?);
        }
        Ok(emulator)
    }

    /// The namespaces.
    pub fn testbed(&self) -> &Testbed {
        &self.testbed
    }

    /// Time of the links.
    pub fn elapsed(&self) -> Span {
        self.clock.now().since_start()
    }

    /// The same, as the links have it.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Waits until `at`; false where the emulation came to an end, or `stop` was set, before.
    pub fn wait_until(&self, at: Time, stop: &AtomicBool) -> bool {
        while self.now() < at {
            if stop.load(Ordering::Relaxed) || !self.is_working() {
                return false;
            }
            pause(at.since(self.now()).min(MAX_SLEEP));
        }
        true
    }

    /// What the path carries, readable from any thread while it works.
    pub fn stats(&self) -> StatsReader {
        self.stats.clone()
    }

    /// Whether both directions still work. One that has ended has met an error, which [`Self::stop`] tells.
    pub fn is_working(&self) -> bool {
        !self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Stops: packets that are under way do not arrive. Says what became of every packet.
    ///
    /// # Errors
    /// Whatever a direction ended with.
    pub fn stop(mut self) -> Result<Report, EmuError> {
        let length = self.elapsed();
        self.stop.store(true, Ordering::Relaxed);
        let mut reports = Vec::new();
        for thread in self.threads.drain(..) {
            let ended = thread.join();
            reports.push(ended.map_err(|_| EmuError::system("a direction", std::io::Error::other("it panicked")))??);
        }
        let (clients, server) = self.testbed.ring_drops()?;
        let (Some(mut reverse), Some(mut forward)) = (reports.pop(), reports.pop()) else {
            return Err(EmuError::system("the directions", std::io::Error::other("they were stopped before")));
        };
        reverse.dropped_ring = clients - self.dropped.0;
        forward.dropped_ring = server - self.dropped.1;
        // The threads of the path have ended, and with them the taps.
        let captures = self.capture_writers.drain(..).filter_map(CaptureWriter::finish).collect();
        Ok(Report { length, forward, reverse, captures })
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // What it ended with, nobody asked for.
            let _ = thread.join();
        }
        for writer in self.capture_writers.drain(..) {
            let _ = writer.finish();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lead_back_to_their_terminals() {
        for index in [0, 1, MAX_TERMINALS - 1] {
            for address in client_addresses(index) {
                assert_eq!(terminal_of(address, MAX_TERMINALS), Some(index), "{address}");
                assert_eq!(terminal_of(address, index), None, "{address}: not among so few");
            }
        }
        for address in ["198.18.0.0", "198.18.1.1", "198.19.0.1", "2001:2:0:1::", "2001:2:0:1:1::1"] {
            assert_eq!(terminal_of(address.parse().expect("an address"), MAX_TERMINALS), None, "{address}");
        }
    }

    #[test]
    fn numbers_that_cannot_be_are_refused_with_what_is_allowed() {
        for (clients, mtu) in [(0, 1500), (251, 1500), (1, 1279), (1, 65_536)] {
            let error = Testbed::new(clients, Bytes::new(mtu)).expect_err("refused");
            assert!(matches!(error, EmuError::Spec { .. }), "{error}");
        }
    }
}
