//! Network namespaces with an emulated path between them, and the two threads that carry packets.

use crate::capture::{CaptureWriter, Tap};
use crate::clock::{Clock, UtcPhase, pause};
use crate::delay_changes::{self, DelayChange, DelayChanges};
use crate::direction_path::DirectionPath;
use crate::error::EmuError;
use crate::link_pipeline::LinkPipeline;
use crate::monitor::{Monitor, PortMonitor};
use crate::namespace::Namespace;
use crate::network::{Network, NetworkDirection};
use crate::report::{DirectionReport, Report};
use crate::router::{self, Router};
use crate::settings::{EmulatorSettings, Hop, PathSpec};
use crate::stats::{StatsCell, StatsReader};
use crate::sys;
use crate::tun::{self, Tun, ring_drops};
use crate::worker::{Segment, Taps, TerminalFrom, Worker};
use bentpipe_link::LinkContext;
use bentpipe_units::{Bytes, Span, Time};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Maximum number of terminals, distinguished by the last octet of their addresses. Each is a
/// namespace and a TUN device.
pub const MAX_TERMINALS: usize = 250;
/// Allowed MTUs: the minimum of IPv6 (RFC 8200 §5) to the maximum of a TUN device.
const MTUS: std::ops::RangeInclusive<u64> = 1280..=65_535;

/// Longest sleep before checking whether to stop.
const MAX_SLEEP: Span = Span::from_millis(50);

/// One network namespace per client and one for the server, each with an interface into the path.
/// No packet passes until an [`Emulator`] runs.
///
/// The file descriptors of this process hold everything. Nothing has a name on the host, and
/// nothing remains when the process ends, even if it is killed.
#[derive(Debug)]
pub struct Testbed {
    clients: Vec<Namespace>,
    server: Namespace,
    client_tuns: Vec<Arc<Tun>>,
    server_tun: Arc<Tun>,
    /// In the order from the clients to the server.
    routers: Vec<Router>,
}

impl Testbed {
    /// Creates namespaces for `clients` clients, with interfaces of `mtu` bytes.
    ///
    /// Clients have the addresses 198.18.0.1, 198.18.0.2 and so on, and the server 198.19.0.1, from
    /// the benchmarking range (RFC 2544 §C.2.2); IPv6 addresses are 2001:2:0:1:: and 2001:2:0:2::1
    /// (RFC 5180 §8). The path is a client's only route. The server forwards packets for other
    /// clients and answers others with "network unreachable".
    ///
    /// # Errors
    /// A number is out of range, or the process may not create namespaces or TUN devices.
    pub fn new(clients: usize, mtu: Bytes) -> Result<Self, EmuError> {
        Self::with_routers(clients, mtu, &[])
    }

    /// Like [`Self::new`], with a router in the middle of the path after each of these numbers of
    /// hops from the clients. A router is a namespace that forwards packets; programs in it can
    /// keep some, as a proxy does. The first one forwards packets from client to client.
    ///
    /// # Errors
    /// Those of [`Self::new`].
    pub fn with_routers(
        clients: usize,
        mtu: Bytes,
        after_hops: &[usize],
    ) -> Result<Self, EmuError> {
        if !(1..=MAX_TERMINALS).contains(&clients) {
            return Err(EmuError::Spec {
                what: format!("{clients} terminals are not possible"),
                allowed: format!("1 to {MAX_TERMINALS}"),
            });
        }
        let size = u32::try_from(mtu.get()).ok().filter(|mtu| MTUS.contains(&u64::from(*mtu)));
        let Some(mtu) = size else {
            let allowed = format!("{} to {} bytes", MTUS.start(), MTUS.end());
            return Err(EmuError::Spec {
                what: format!("an MTU of {mtu} is not possible"),
                allowed,
            });
        };
        let server = Namespace::new()?;
        let networks = [(client_v4(0).into(), 24), (client_v6(0).into(), 64)];
        let server_tun =
            Arc::new(Tun::new(&server, tun::NAME, mtu, &server_addresses(), &networks)?);
        // Makes the server reject unreachable destinations instead of dropping packets. With a
        // read-only /proc, it drops them.
        for key in ["net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"] {
            let _ = server.set(key, "1");
        }
        let mut routers = Vec::new();
        for (index, after) in after_hops.iter().enumerate() {
            routers.push(Router::new(index, *after, mtu, &networks)?);
        }
        let (clients_held, client_tuns) = (Vec::new(), Vec::new());
        let mut testbed = Self { clients: clients_held, server, client_tuns, server_tun, routers };
        let everywhere = [(Ipv4Addr::UNSPECIFIED.into(), 0), (Ipv6Addr::UNSPECIFIED.into(), 0)];
        for index in 0..clients {
            let namespace = Namespace::new()?;
            let tun = Tun::new(&namespace, tun::NAME, mtu, &client_addresses(index), &everywhere)?;
            testbed.clients.push(namespace);
            testbed.client_tuns.push(Arc::new(tun));
        }
        // Lets unprivileged programs ping. The kernel refuses groups unknown to the user namespace;
        // the ping program may still have the right itself.
        let group = nix::unistd::getgid();
        for namespace in testbed.namespaces() {
            let _ = namespace.set("net.ipv4.ping_group_range", &format!("{group} {group}"));
        }
        Ok(testbed)
    }

    /// Namespace of client number `index`.
    ///
    /// # Errors
    /// There is no such client.
    pub fn client(&self, index: usize) -> Result<&Namespace, EmuError> {
        self.clients.get(index).ok_or_else(|| EmuError::Spec {
            what: format!("client {index} does not exist"),
            allowed: format!("{} clients, counted from 0", self.clients.len()),
        })
    }

    /// Namespace of the server.
    pub fn server(&self) -> &Namespace {
        &self.server
    }

    /// Namespace of router number `index`, counted from the clients.
    pub fn router(&self, index: usize) -> Option<&Namespace> {
        self.routers.get(index).map(|router| &router.namespace)
    }

    /// The namespaces at the ends of the path, the server's last.
    pub fn namespaces(&self) -> impl Iterator<Item = &Namespace> {
        self.clients.iter().chain([&self.server])
    }

    /// Packets that interfaces dropped before they were read: on the way to the server, and on the
    /// way to the clients.
    fn ring_drops(&self) -> Result<(u64, u64), EmuError> {
        let (mut up, mut down) = (0, ring_drops(&self.server, tun::NAME)?);
        for client in &self.clients {
            up += ring_drops(client, tun::NAME)?;
        }
        for router in &self.routers {
            let (router_down, router_up) = router.ring_drops()?;
            up += router_up;
            down += router_down;
        }
        Ok((up, down))
    }

    /// Returns the interfaces at the ends of segment number `index` of the path: towards the
    /// clients, and towards the server.
    fn interfaces(&self, index: usize) -> (Vec<Arc<Tun>>, Vec<Arc<Tun>>) {
        let before = index.checked_sub(1).and_then(|before| self.routers.get(before));
        let near =
            before.map_or_else(|| self.client_tuns.clone(), |router| vec![Arc::clone(&router.up)]);
        let far = self.routers.get(index).map_or(&self.server_tun, |router| &router.down);
        (near, vec![Arc::clone(far)])
    }
}

/// Addresses of client number `index`, IPv4 first.
pub fn client_addresses(index: usize) -> [IpAddr; 2] {
    let last = index.saturating_add(1).min(255) as u16;
    [client_v4(last).into(), client_v6(last).into()]
}

/// Addresses of the server, IPv4 first.
pub fn server_addresses() -> [IpAddr; 2] {
    [Ipv4Addr::new(198, 19, 0, 1).into(), Ipv6Addr::new(0x2001, 2, 0, 2, 0, 0, 0, 1).into()]
}

fn client_v4(last: u16) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, 0, last.min(255) as u8)
}

fn client_v6(last: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 2, 0, 1, 0, 0, 0, last)
}

/// Returns the client that has `address`, of the first `terminals` clients.
fn terminal_of(address: IpAddr, terminals: usize) -> Option<usize> {
    let last = match address {
        IpAddr::V4(address) if address.octets()[..3] == client_v4(0).octets()[..3] => {
            u16::from(address.octets()[3])
        }
        IpAddr::V6(address) if address.segments()[..7] == client_v6(0).segments()[..7] => {
            address.segments()[7]
        }
        _ => return None,
    };
    usize::from(last).checked_sub(1).filter(|terminal| *terminal < terminals)
}

/// A running emulation: a clock, and one thread per direction with its links.
///
/// Dropping it stops the emulation. [`Self::stop`] also returns a report.
#[derive(Debug)]
pub struct Emulator {
    testbed: Testbed,
    clock: Clock,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Result<DirectionReport, EmuError>>>,
    /// Whether real-time priority was requested.
    realtime: bool,
    /// Packets that the interfaces had dropped before the start, to the server and to the clients.
    dropped: (u64, u64),
    stats: StatsReader,
    capture_writers: Vec<CaptureWriter>,
}

impl Emulator {
    /// Starts to carry packets between the namespaces of `testbed`. Link time starts at zero now,
    /// or when UTC is as the path requires.
    ///
    /// # Errors
    /// The path has no hops, or the system has no threads or timers left.
    pub fn start(
        testbed: Testbed,
        spec: &PathSpec,
        settings: EmulatorSettings,
    ) -> Result<Self, EmuError> {
        Self::start_monitored(testbed, spec, settings, &Monitor::default())
    }

    /// Like [`Self::start`], and records what `monitor` selects.
    ///
    /// # Errors
    /// Those of [`Self::start`], or a capture file cannot be created.
    pub fn start_monitored(
        testbed: Testbed,
        spec: &PathSpec,
        settings: EmulatorSettings,
        monitor: &Monitor,
    ) -> Result<Self, EmuError> {
        Self::start_with_delay_changes(testbed, spec, &[], settings, monitor)
    }

    /// Like [`Self::start_monitored`], with hops whose delays change.
    ///
    /// # Errors
    /// Those of [`Self::start_monitored`], or unknown hops or terminals in the delay changes.
    pub fn start_with_delay_changes(
        testbed: Testbed,
        spec: &PathSpec,
        changes: &[DelayChanges],
        settings: EmulatorSettings,
        monitor: &Monitor,
    ) -> Result<Self, EmuError> {
        if spec.hops.is_empty() {
            return Err(EmuError::Spec {
                what: "the path has no hops".to_owned(),
                allowed: "at least one hop".to_owned(),
            });
        }
        let terminals = testbed.clients.len();
        let context = |hop: &Hop, direction: &str| LinkContext {
            rtt: spec.base_rtt,
            seed: spec.seed,
            run: spec.run,
            name: format!("{}/{direction}", hop.name),
        };
        delay_changes::check(changes, spec, terminals)?;
        let delay_changes = |hop: usize,
                             list: fn(&DelayChanges) -> &[DelayChange]|
         -> Vec<(usize, &[DelayChange])> {
            let changes = changes.iter().filter(|change| change.hop == hop);
            changes.map(|change| (change.terminal, list(change))).collect()
        };
        let (mut forward, mut reverse) = (Vec::new(), Vec::new());
        for (number, hops) in
            router::segments(&testbed.routers, &spec.hops)?.into_iter().enumerate()
        {
            let (mut down, mut up) = (LinkPipeline::new(), LinkPipeline::new());
            for index in hops.clone() {
                let hop = &spec.hops[index];
                let delay_changes = delay_changes(index, |change| &change.reverse);
                up.push_with_delay_changes(
                    &hop.reverse,
                    &context(hop, "return"),
                    terminals,
                    hop.shared,
                    &delay_changes,
                );
            }
            for index in hops.rev() {
                let hop = &spec.hops[index];
                let delay_changes = delay_changes(index, |change| &change.forward);
                down.push_with_delay_changes(
                    &hop.forward,
                    &context(hop, "forward"),
                    terminals,
                    hop.shared,
                    &delay_changes,
                );
            }
            if let Some(limit) = monitor.series {
                down.keep_series(limit);
                up.keep_series(limit);
            }
            let (near, far) = testbed.interfaces(number);
            let from =
                if number == 0 { TerminalFrom::Input } else { TerminalFrom::Source(terminal_of) };
            let (up, down) = (DirectionPath::Links(up), DirectionPath::Links(down));
            reverse.push(Segment::new(up, near.clone(), far.clone(), from));
            forward.push(Segment::new(down, far, near, TerminalFrom::Destination(terminal_of)));
        }
        forward.reverse();
        Self::start_segments(testbed, [forward, reverse], spec.utc, settings, monitor)
    }

    /// Like [`Self::start_monitored`], over a network that carries both directions.
    ///
    /// # Errors
    /// Those of [`Self::start_monitored`], or the testbed has routers.
    pub fn start_network(
        testbed: Testbed,
        network: Box<dyn Network>,
        settings: EmulatorSettings,
        monitor: &Monitor,
    ) -> Result<Self, EmuError> {
        if !testbed.routers.is_empty() {
            return Err(EmuError::Spec {
                what: "routers on a network".to_owned(),
                allowed: "a testbed without routers".to_owned(),
            });
        }
        let [forward, reverse] = NetworkDirection::both(network).map(DirectionPath::Network);
        let (clients, server) = testbed.interfaces(0);
        let to_clients = TerminalFrom::Destination(terminal_of);
        let forward = Segment::new(forward, server.clone(), clients.clone(), to_clients);
        let reverse = Segment::new(reverse, clients, server, TerminalFrom::Input);
        Self::start_segments(testbed, [vec![forward], vec![reverse]], None, settings, monitor)
    }

    /// Starts the threads of both directions: to the clients, and to the server.
    fn start_segments(
        testbed: Testbed,
        [forward, reverse]: [Vec<Segment>; 2],
        utc: Option<UtcPhase>,
        settings: EmulatorSettings,
        monitor: &Monitor,
    ) -> Result<Self, EmuError> {
        let terminals = testbed.clients.len();
        let dropped = testbed.ring_drops()?;
        let clock = utc.map_or_else(|| Ok(Clock::start()), Clock::start_in_phase)?;
        let stop = Arc::new(AtomicBool::new(false));
        let mut capture_writers = Vec::new();
        let mut tap = |file: &Option<PathBuf>, names: &[String]| -> Result<Option<Tap>, EmuError> {
            let Some(file) = file else { return Ok(None) };
            let (writer, tap) = CaptureWriter::start(file, names, &monitor.capture, clock)?;
            capture_writers.push(writer);
            Ok(Some(tap))
        };
        let at_server = tap(&monitor.capture.server, &["server".to_owned()])?;
        let at_clients = tap(
            &monitor.capture.clients,
            &(0..terminals).map(|index| format!("client {index}")).collect::<Vec<_>>(),
        )?;
        let lost = tap(&monitor.capture.lost, &["forward".to_owned(), "return".to_owned()])?;
        let to_clients =
            Taps { entry: at_server.clone(), exit: at_clients.clone(), lost: lost.clone() };
        let to_server = Taps { entry: at_clients, exit: at_server, lost };
        let stats = StatsReader::new();
        let worker = |name, segments, taps, stats: &Arc<StatsCell>| Worker {
            name,
            segments,
            from_server: name == "forward",
            terminals,
            monitor: PortMonitor::new(monitor, name == "forward"),
            settings,
            clock,
            stop: Arc::clone(&stop),
            taps,
            stats: Arc::clone(stats),
        };
        let workers = [
            worker("forward", forward, to_clients, &stats.forward),
            worker("return", reverse, to_server, &stats.reverse),
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
            let thread =
                std::thread::Builder::new().name(worker.name.to_owned()).spawn(|| worker.run());
            emulator
                .threads
                .push(thread.map_err(|error| EmuError::system("starting a thread", error))?);
        }
        Ok(emulator)
    }

    /// The testbed that this emulation runs on.
    pub fn testbed(&self) -> &Testbed {
        &self.testbed
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Span {
        self.clock.now().since_start()
    }

    /// Current link time.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// The clock of the links, which other threads can keep.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Raises the priority of the calling thread, if real-time priority was requested and is
    /// permitted, above other programs and below the emulator. An application that reads late makes
    /// its kernel close the window.
    pub fn raise_priority(&self) {
        if self.realtime {
            let _ = sys::realtime(sys::APPLICATION_PRIORITY);
        }
    }

    /// Waits until `at`. Returns false if the emulation ended or `stop` was set before.
    pub fn wait_until(&self, at: Time, stop: &AtomicBool) -> bool {
        while self.now() < at {
            if stop.load(Ordering::Relaxed) || !self.is_working() {
                return false;
            }
            pause(at.since(self.now()).min(MAX_SLEEP));
        }
        true
    }

    /// Statistics of the running path, readable from any thread.
    pub fn stats(&self) -> StatsReader {
        self.stats.clone()
    }

    /// True while both directions run. [`Self::stop`] returns the error of one that has ended.
    pub fn is_working(&self) -> bool {
        !self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Stops the emulation and reports the fate of every packet. Packets in flight do not arrive.
    ///
    /// # Errors
    /// The error with which a direction ended.
    pub fn stop(mut self) -> Result<Report, EmuError> {
        let length = self.elapsed();
        self.stop.store(true, Ordering::Relaxed);
        let mut reports = Vec::new();
        for thread in self.threads.drain(..) {
            let ended = thread.join();
            reports.push(ended.map_err(|_| {
                EmuError::system("running a direction", std::io::Error::other("it panicked"))
            })??);
        }
        let (up, down) = self.testbed.ring_drops()?;
        let (Some(mut reverse), Some(mut forward)) = (reports.pop(), reports.pop()) else {
            return Err(EmuError::system(
                "stopping the emulation",
                std::io::Error::other("it was stopped before"),
            ));
        };
        reverse.dropped_ring = up - self.dropped.0;
        forward.dropped_ring = down - self.dropped.1;
        // The threads of the path have ended and dropped their taps.
        let captures = self.capture_writers.drain(..).filter_map(CaptureWriter::finish).collect();
        Ok(Report { length, forward, reverse, captures })
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // The result is not needed.
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
    fn addresses_map_back_to_their_terminals() {
        for index in [0, 1, MAX_TERMINALS - 1] {
            for address in client_addresses(index) {
                assert_eq!(terminal_of(address, MAX_TERMINALS), Some(index), "{address}");
                assert_eq!(terminal_of(address, index), None, "{address}: fewer terminals");
            }
        }
        for address in ["198.18.0.0", "198.18.1.1", "198.19.0.1", "2001:2:0:1::", "2001:2:0:1:1::1"]
        {
            assert_eq!(
                terminal_of(address.parse().expect("valid address"), MAX_TERMINALS),
                None,
                "{address}"
            );
        }
    }

    #[test]
    fn numbers_out_of_range_are_rejected() {
        for (clients, mtu) in [(0, 1500), (251, 1500), (1, 1279), (1, 65_536)] {
            let error = Testbed::new(clients, Bytes::new(mtu)).expect_err("rejected");
            assert!(matches!(error, EmuError::Spec { .. }), "{error}");
        }
    }
}
