//! The hosts of an episode in virtual time, and what must hold while they run.

use super::client::Client;
use super::kit::{Kit, SkewedClock};
use super::plan::{EpisodePlan, Store};
use super::server::{Server, Survivors};
use super::wire::{Datagram, Wire};
use crate::draw::Random;
use crate::failure::Failure;
use bentpipe_units::{Span, Time};
use bytes::BytesMut;
use ring::digest::{Context, SHA256};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError};
use tempfile::TempDir;

const SERVER: ([u8; 4], u16) = ([198, 51, 100, 2], 443);
/// Most wakes at one time: a host that asks for more never sleeps.
const MOST_AT_ONCE: u32 = 10_000;
/// A server may send three times what came from an address that is not validated (RFC 9000 §8.1).
const AMPLIFICATION: u64 = 3;

/// A planned change, in the order of time.
enum Change {
    Stop,
    Start,
    Move(usize, bool),
    Step(bool, f64),
    Forged(Datagram),
}

/// All hosts.
pub struct World {
    plan: EpisodePlan,
    kit: Kit,
    now: Time,
    server: Option<Server>,
    survivors: Survivors,
    clients: Vec<Client>,
    wire: Wire,
    changes: VecDeque<(Time, Change)>,
    /// Those of the server and of the clients.
    clocks: [SkewedClock; 2],
    /// Bytes from and to each forged address.
    forged: BTreeMap<SocketAddr, (u64, u64)>,
    replays: Random,
    legitimate: Arc<AtomicU64>,
    /// Of all datagrams: time, addresses and length.
    digest: Context,
    directory: TempDir,
}

impl World {
    /// Prepares an episode whose attempts last at most `patience`.
    pub fn new(plan: &EpisodePlan, patience: Span) -> Result<Self, Failure> {
        let kit = Kit::new(plan)?;
        let clocks = [SkewedClock::new(), SkewedClock::new()];
        clocks.iter().for_each(|clock| clock.set(Time::ZERO));
        let directory =
            tempfile::tempdir().map_err(|error| Failure::new("disk", error.to_string()))?;
        let mut survivors = Survivors::default();
        let server = Server::start(plan, &kit, &clocks[0], directory.path(), &mut survivors)?;
        let legitimate = Arc::<AtomicU64>::default();
        let clients = (0..plan.clients.len()).map(|number| {
            Client::new(plan, &kit, number, &clocks[1], patience, legitimate.clone())
        });
        let clients = clients.collect::<Result<Vec<_>, _>>()?;
        let changes = changes(plan, &kit, &clocks[1])?;
        Ok(Self {
            now: Time::ZERO,
            server: Some(server),
            survivors,
            clients,
            wire: Wire::new(plan),
            changes,
            clocks,
            forged: BTreeMap::new(),
            replays: Random::new(plan.seed, "endpoints/replays/each"),
            legitimate,
            digest: Context::new(&SHA256),
            directory,
            plan: plan.clone(),
            kit,
        })
    }

    /// Runs until every transfer is complete, and no longer than `bound`.
    ///
    /// # Errors
    /// A check that does not hold.
    pub fn run(&mut self, bound: Time) -> Result<(), Failure> {
        self.run_while(bound, |world| !world.clients.iter().all(Client::is_done))?;
        let unfinished = self.clients.iter().filter(|client| !client.is_done());
        let unfinished: Vec<String> = unfinished.map(Client::progress).collect();
        if unfinished.is_empty() {
            return Ok(());
        }
        let what = format!("after {}: {}", bound.since(Time::ZERO), unfinished.join("; "));
        Err(Failure::new("completion", what))
    }

    /// Lets `span` pass, after which the server has forgotten all connections.
    ///
    /// # Errors
    /// A check that does not hold.
    pub fn settle(&mut self, span: Span) -> Result<(), Failure> {
        self.run_while(self.now + span, |_| true)?;
        let open = self.server.as_ref().map_or(0, |server| server.endpoint.open_connections());
        if open > 0 {
            let what = format!("the server still has {open}, {span} after the last transfer");
            return Err(Failure::new("connections end", what));
        }
        Ok(())
    }

    fn run_while(&mut self, end: Time, goes_on: fn(&Self) -> bool) -> Result<(), Failure> {
        let mut at_once = 0;
        self.flush()?;
        while goes_on(self) {
            let hosts = self.clients.iter().filter_map(Client::next_timeout);
            let server = self.server.as_ref().and_then(|server| server.endpoint.next_timeout());
            let planned = self.changes.front().map(|(at, _)| *at);
            let next = hosts.chain(server).chain(planned).chain(self.wire.next()).min();
            let Some(next) = next.filter(|next| *next <= end) else { break };
            at_once = if next > self.now { 0 } else { at_once + 1 };
            if at_once > MOST_AT_ONCE {
                let what = format!("{MOST_AT_ONCE} wakes at {}", self.now.since(Time::ZERO));
                return Err(Failure::new("hosts sleep", what));
            }
            self.now = self.now.max(next);
            self.step()?;
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), Failure> {
        let now = self.now;
        self.clocks.iter().for_each(|clock| clock.set(now));
        while self.changes.front().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, change)) = self.changes.pop_front() {
                self.change(change)?;
            }
        }
        while let Some(datagram) = self.wire.arrived(now) {
            self.deliver(datagram);
        }
        if let Some(server) = &mut self.server {
            server.endpoint.handle_timeout(now);
        }
        for client in &mut self.clients {
            client.endpoint.handle_timeout(now);
            client.act(&self.kit, SERVER.into(), now)?;
        }
        self.flush()
    }

    fn change(&mut self, change: Change) -> Result<(), Failure> {
        match change {
            Change::Stop => {
                let ended = self.server.take();
                self.survivors.accepted += ended.map_or(0, |server| server.accepted_tokens());
            }
            Change::Start if self.server.is_none() => {
                let directory = self.directory.path();
                let (clock, survivors) = (&self.clocks[0], &mut self.survivors);
                let server = Server::start(&self.plan, &self.kit, clock, directory, survivors)?;
                self.server = Some(server);
            }
            Change::Start => {}
            Change::Move(client, network) => {
                let address = &mut self.clients[client].address;
                let port = address.port() + 1;
                *address = match (network, address.ip()) {
                    (true, _) => SocketAddr::from(([203, 0, client as u8, port as u8], port)),
                    (false, ip) => SocketAddr::new(ip, port),
                };
            }
            Change::Step(of_server, seconds) => self.clocks[usize::from(!of_server)].step(seconds),
            Change::Forged(datagram) => self.wire.inject(&self.plan, self.now, datagram),
        }
        Ok(())
    }

    fn deliver(&mut self, Datagram { from, to, data }: Datagram) {
        let now = self.now;
        if to != SERVER.into() {
            // What was sent to an address that its client has left is lost.
            if let Some(client) = self.clients.iter_mut().find(|client| client.address == to) {
                client.endpoint.handle_datagram(now, from, None, BytesMut::from(&data[..]));
            }
            return;
        }
        let Some(server) = &mut self.server else { return };
        if is_forged(from) {
            self.forged.entry(from).or_default().0 += data.len() as u64;
        }
        server.endpoint.handle_datagram(now, from, None, BytesMut::from(&data[..]));
    }

    /// Sends what the hosts have to send.
    fn flush(&mut self) -> Result<(), Failure> {
        let (now, mut buffer) = (self.now, Vec::new());
        let mut sent = Vec::new();
        for client in &mut self.clients {
            while let Some(transmit) = client.endpoint.poll_transmit(now, &mut buffer) {
                let (from, to) = (client.address, SERVER.into());
                let pieces = buffer.chunks(transmit.segment_size);
                sent.extend(pieces.map(|data| Datagram { from, to, data: data.to_vec() }));
                buffer.clear();
            }
        }
        for datagram in sent.drain(..) {
            self.replay(&datagram);
            self.note(&datagram);
            self.wire.send(&self.plan, now, true, datagram);
        }
        while let Some(server) = &mut self.server
            && let Some(transmit) = server.endpoint.poll_transmit(now, &mut buffer)
        {
            let (from, to) = (SERVER.into(), transmit.destination);
            let pieces = buffer.chunks(transmit.segment_size);
            sent.extend(pieces.map(|data| Datagram { from, to, data: data.to_vec() }));
            buffer.clear();
        }
        for datagram in sent {
            self.note(&datagram);
            if is_forged(datagram.to) {
                self.amplified(&datagram)?;
            }
            self.wire.send(&self.plan, now, false, datagram);
        }
        Ok(())
    }

    /// Counts what goes to a forged address.
    fn amplified(&mut self, datagram: &Datagram) -> Result<(), Failure> {
        let (received, sent) = self.forged.entry(datagram.to).or_default();
        *sent += datagram.data.len() as u64;
        if *sent <= AMPLIFICATION * *received {
            return Ok(());
        }
        let what = format!("{sent} bytes to {} for {received} from there", datagram.to);
        Err(Failure::new("amplification", what))
    }

    /// Lets a client's datagram arrive once more: as it is, with a byte changed, or from elsewhere.
    fn replay(&mut self, datagram: &Datagram) {
        let during_faults = self.now.as_secs_f64() < self.plan.faults_end_s;
        if !during_faults || !self.replays.chance(self.plan.replays) {
            return;
        }
        let mut copy = datagram.clone();
        if self.replays.chance(0.5) {
            let at = self.replays.whole(0, copy.data.len() as u64 - 1) as usize;
            copy.data[at] ^= self.replays.whole(1, 255) as u8;
        }
        if self.replays.chance(0.3) {
            copy.from = forged_address(self.replays.whole(0, 3));
        }
        self.wire.inject(&self.plan, self.now, copy);
    }

    fn note(&mut self, Datagram { from, to, data }: &Datagram) {
        let line = format!("{} {from} {to} {}\n", self.now.as_nanos(), data.len());
        self.digest.update(line.as_bytes());
    }

    /// Checks what the server remembers and has accepted, and returns the digest of all datagrams.
    ///
    /// # Errors
    /// A check that does not hold.
    pub fn finish(mut self) -> Result<Vec<u8>, Failure> {
        let wrong = *self.survivors.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        if wrong > 0 {
            return Err(Failure::new(
                "bytes as asked",
                format!("{wrong} uploads with wrong bytes"),
            ));
        }
        let accepted = self.survivors.accepted
            + self.server.as_ref().map_or(0, |server| server.accepted_tokens());
        let brought = self.legitimate.load(Relaxed);
        if accepted > brought {
            let what = format!("{accepted} accepted, {brought} brought that were not forged");
            return Err(Failure::new("tokens", what));
        }
        let paths = self.paths()?;
        if matches!(self.plan.store, Store::Sqlite | Store::WriteBehind) {
            // The file has what the server had.
            self.change(Change::Stop)?;
            self.change(Change::Start)?;
            let again = self.paths()?;
            if again != paths {
                let what = format!("{paths} before the last restart, {again} after it");
                return Err(Failure::new("the store survives a restart", what));
            }
        }
        self.digest.update(paths.as_bytes());
        Ok(self.digest.finish().as_ref().to_vec())
    }

    /// Returns what the server remembers, as text without leases, and checks it.
    fn paths(&self) -> Result<String, Failure> {
        let Some(server) = &self.server else { return Ok(String::new()) };
        let entries = server.paths(&self.clocks[0]);
        let entries = entries.map_err(|error| Failure::new("the store", error.to_string()))?;
        let least = Span::from_secs_f64(2.0 * self.plan.delay_ms / 1e3);
        let mut text = String::new();
        for entry in entries {
            if entry.path.rtt < least {
                let what = format!("{entry:?}, on a path of at least {least}");
                return Err(Failure::new("remembered RTT", what));
            }
            text.push_str(&format!("{:?} {:?}\n", entry.key, entry.path));
        }
        Ok(text)
    }
}

/// Returns true for an address of which nobody receives anything.
fn is_forged(address: SocketAddr) -> bool {
    matches!(address, SocketAddr::V4(address) if address.ip().octets()[..2] == [10, 9])
}

fn forged_address(number: u64) -> SocketAddr {
    SocketAddr::from(([10, 9, (number >> 8) as u8, number as u8], 5000))
}

/// Returns all planned changes, in the order of time.
fn changes(
    plan: &EpisodePlan,
    kit: &Kit,
    clock: &SkewedClock,
) -> Result<VecDeque<(Time, Change)>, Failure> {
    let at = |seconds: f64| Time::ZERO + Span::from_secs_f64(seconds);
    let mut changes = Vec::new();
    for (time, down) in &plan.restarts {
        changes.push((at(*time), Change::Stop));
        changes.push((at(time + down), Change::Start));
    }
    changes.extend(
        plan.moves
            .iter()
            .map(|(time, client, network)| (at(*time), Change::Move(*client, *network))),
    );
    changes.extend(
        plan.clock_steps
            .iter()
            .map(|(time, of_server, seconds)| (at(*time), Change::Step(*of_server, *seconds))),
    );
    let mut random = Random::new(plan.seed, "endpoints/forged");
    for _ in 0..plan.garbage {
        let length = random.log(1.0, 1500.0) as usize;
        let from = forged_address(random.whole(0, 60_000));
        let datagram = Datagram { from, to: SERVER.into(), data: random.bytes(length) };
        changes.push((at(random.between(0.0, plan.faults_end_s)), Change::Forged(datagram)));
    }
    for number in 0..plan.flood {
        let from = forged_address(number);
        let data = super::flood::first_datagram(kit, clock, number)?;
        let datagram = Datagram { from, to: SERVER.into(), data };
        changes.push((at(random.between(0.0, plan.faults_end_s)), Change::Forged(datagram)));
    }
    changes.sort_by_key(|(time, _)| *time);
    Ok(changes.into())
}
