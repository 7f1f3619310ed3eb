//! What a seed draws for an episode of endpoints: a registry of dimensions, one row each.

use crate::draw::Random;
use std::collections::BTreeSet;

/// Longest time in which faults happen, in seconds: see the same limit of scenarios.
const LONGEST_FAULTS_S: f64 = 20.0;
/// Bytes of a transfer.
const SIZES: (f64, f64) = (1.0, 600e3);

/// Where a server keeps what it remembers of paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// Nowhere.
    None,
    /// In memory, lost at a restart.
    Memory,
    /// In an SQLite file.
    Sqlite,
    /// In memory, with a file that a thread writes.
    WriteBehind,
}

/// A transfer: the client uploads some bytes and gets others.
#[derive(Debug, Clone, Copy)]
pub struct Transfer {
    /// Bytes of the client's request.
    pub up: u64,
    /// Bytes of the response.
    pub down: u64,
    /// Pause before it, in seconds.
    pub pause_s: f64,
    /// Whether it leaves with the first flight, if there is a ticket.
    pub early: bool,
}

/// What a seed draws.
#[derive(Debug, Clone)]
pub struct EpisodePlan {
    /// The seed.
    pub seed: u64,
    /// Time at which all faults have ended, in seconds.
    pub faults_end_s: f64,
    /// One-way delay and jitter, in milliseconds.
    pub delay_ms: f64,
    pub jitter_ms: f64,
    /// Rates to the server and to the clients, in bits per second.
    pub rates: [f64; 2],
    /// Longest wait in a queue, in milliseconds.
    pub queue_ms: f64,
    /// Shares of datagrams lost in each direction, and of those that arrive twice, during faults.
    pub loss: [f64; 2],
    pub duplicates: f64,
    /// Times without any datagram, in seconds.
    pub outages: Vec<(f64, f64)>,
    /// The server's process ends at these times and starts after a while, in seconds.
    pub restarts: Vec<(f64, f64)>,
    /// Whether its new process has the keys of the one before.
    pub keys_survive: bool,
    /// Clients that get another address: time in seconds, client, and whether the network changes.
    pub moves: Vec<(f64, usize, bool)>,
    /// Steps of the clocks of server and clients, in seconds.
    pub clock_steps: Vec<(f64, bool, f64)>,
    /// The path store, and whether tokens carry what is remembered.
    pub store: Store,
    pub tokens: bool,
    /// Share of connections whose address the server validates by a Retry packet.
    pub retry: f64,
    /// Tokens that the last client forges: bytes changed, of another server, or arbitrary.
    pub forges: bool,
    /// Connections that begin from forged addresses and never answer.
    pub flood: u64,
    /// Datagrams of arbitrary bytes.
    pub garbage: u64,
    /// Share of the clients' datagrams that arrive again, changed or from a forged address.
    pub replays: f64,
    /// Names of controller, slow-start algorithm and resume mode, and the ACK rule.
    pub congestion: [&'static str; 3],
    pub ack: &'static str,
    pub pacing: bool,
    /// Initial window, in datagrams.
    pub initial_window: u32,
    /// Flow-control windows of a stream and a connection, in bytes.
    pub windows: [u64; 2],
    /// Transfers of each client, one after the other.
    pub clients: Vec<Vec<Transfer>>,
}

/// A dimension: its name, the share of seeds that have it, and what it changes.
type Dimension = (&'static str, f64, fn(&mut EpisodePlan, &mut Random));

/// All dimensions of endpoints.
pub const DIMENSIONS: &[Dimension] = &[
    ("clients", 0.9, clients),
    ("path", 0.95, path),
    ("loss", 0.6, loss),
    ("duplicates", 0.4, duplicates),
    ("outage", 0.4, outage),
    ("restarts", 0.4, restarts),
    ("moves", 0.4, moves),
    ("clock-skew", 0.4, clock_skew),
    ("store", 0.8, store),
    ("tokens", 0.5, tokens),
    ("retry", 0.3, retry),
    ("forged-tokens", 0.3, |plan, _| plan.forges = true),
    ("flood", 0.3, |plan, random| plan.flood = random.log(1.0, 300.0) as u64),
    ("garbage", 0.3, |plan, random| plan.garbage = random.log(1.0, 200.0) as u64),
    ("replays", 0.3, |plan, random| plan.replays = random.log(0.01, 0.5)),
    ("congestion", 0.7, congestion),
    ("windows", 0.4, windows),
];

/// Draws the episode of `seed`, without the dimensions named in `without`. Returns it with the
/// names of the dimensions that it has.
pub fn draw(seed: u64, without: &BTreeSet<String>) -> (EpisodePlan, Vec<&'static str>) {
    let mut plan = quiet(seed);
    let mut drawn = Vec::new();
    for (name, chance, draw) in DIMENSIONS {
        let chosen = Random::new(seed, &format!("endpoints/{name}/chosen"));
        if chosen.draws_once(*chance) && !without.contains(*name) {
            draw(&mut plan, &mut Random::new(seed, &format!("endpoints/{name}")));
            drawn.push(*name);
        }
    }
    (plan, drawn)
}

/// One client and a quiet path.
fn quiet(seed: u64) -> EpisodePlan {
    EpisodePlan {
        seed,
        faults_end_s: Random::new(seed, "endpoints/faults").log(1.0, LONGEST_FAULTS_S),
        delay_ms: 20.0,
        jitter_ms: 0.0,
        rates: [2e6, 10e6],
        queue_ms: 500.0,
        loss: [0.0; 2],
        duplicates: 0.0,
        outages: Vec::new(),
        restarts: Vec::new(),
        keys_survive: true,
        moves: Vec::new(),
        clock_steps: Vec::new(),
        store: Store::None,
        tokens: false,
        retry: 0.0,
        forges: false,
        flood: 0,
        garbage: 0,
        replays: 0.0,
        congestion: ["cubic", "auto", "careful"],
        ack: "auto",
        pacing: true,
        initial_window: 10,
        windows: [1_250_000; 2],
        clients: vec![vec![Transfer { up: 10, down: 100_000, pause_s: 0.0, early: false }]],
    }
}

fn clients(plan: &mut EpisodePlan, random: &mut Random) {
    let transfer = |random: &mut Random| {
        let size = |random: &mut Random| random.log(SIZES.0, SIZES.1) as u64;
        let up = if random.chance(0.3) { size(random) } else { random.whole(0, 100) };
        let pause_s = if random.chance(0.5) { 0.0 } else { random.log(0.01, 20.0) };
        Transfer { up, down: size(random), pause_s, early: random.chance(0.5) }
    };
    plan.clients = (0..random.whole(1, 4))
        .map(|_| (0..random.whole(1, 4)).map(|_| transfer(random)).collect())
        .collect();
}

fn path(plan: &mut EpisodePlan, random: &mut Random) {
    plan.delay_ms = random.log(1.0, 330.0);
    plan.jitter_ms = if random.chance(0.4) { plan.delay_ms * random.log(0.01, 0.8) } else { 0.0 };
    plan.rates = [random.log(0.2e6, 20e6), random.log(0.5e6, 60e6)];
    plan.queue_ms = random.log(100.0, 1500.0);
}

fn loss(plan: &mut EpisodePlan, random: &mut Random) {
    plan.loss = [random.log(0.001, 0.4), random.log(0.001, 0.4)];
}

fn duplicates(plan: &mut EpisodePlan, random: &mut Random) {
    plan.duplicates = random.log(0.001, 0.3);
}

fn outage(plan: &mut EpisodePlan, random: &mut Random) {
    plan.outages = (0..random.whole(1, 3)).map(|_| part(plan.faults_end_s, random)).collect();
}

fn restarts(plan: &mut EpisodePlan, random: &mut Random) {
    let times = random.whole(1, 2);
    let each = plan.faults_end_s / times as f64;
    plan.restarts = (0..times)
        .map(|number| {
            let (from, to) = part(each, random);
            (number as f64 * each + from, (to - from).min(3.0))
        })
        .collect();
    plan.keys_survive = random.chance(0.7);
}

fn moves(plan: &mut EpisodePlan, random: &mut Random) {
    let clients = plan.clients.len() as u64;
    let mut moved = || {
        let at = random.between(0.05, 0.95) * plan.faults_end_s;
        (at, random.whole(0, clients - 1) as usize, random.chance(0.5))
    };
    plan.moves = (0..2).map(|_| moved()).collect();
}

fn clock_skew(plan: &mut EpisodePlan, random: &mut Random) {
    // From milliseconds to beyond every lifetime, forwards and backwards.
    let mut step = |at_s: f64| {
        let size = random.log(0.001, 40.0 * 86_400.0);
        let size = if random.chance(0.5) { size } else { -size };
        (at_s, random.chance(0.6), size)
    };
    plan.clock_steps =
        vec![step(0.0), step(plan.faults_end_s * 0.4), step(plan.faults_end_s * 0.8)];
}

fn store(plan: &mut EpisodePlan, random: &mut Random) {
    plan.store = random.pick(&[Store::Memory, Store::Sqlite, Store::WriteBehind]);
}

fn tokens(plan: &mut EpisodePlan, random: &mut Random) {
    plan.tokens = true;
    if random.chance(0.7) {
        plan.store = Store::None;
    }
}

fn retry(plan: &mut EpisodePlan, random: &mut Random) {
    plan.retry = if random.chance(0.5) { 1.0 } else { random.between(0.1, 0.9) };
}

fn congestion(plan: &mut EpisodePlan, random: &mut Random) {
    use bentpipe_quic::congestion::catalogue::{CONTROLLERS, SLOW_STARTS};
    let controllers: Vec<&str> = CONTROLLERS.iter().map(|registered| registered.name).collect();
    let mut starts: Vec<&str> = SLOW_STARTS.iter().map(|registered| registered.name).collect();
    starts.extend(["auto", "standard"]);
    let resume = random.pick(&["careful", "careful", "jump", "none"]);
    plan.congestion = [random.pick(&controllers), random.pick(&starts), resume];
    plan.ack = random.pick(&["auto", "stack", "1:10", "1:2 for 100, then 1:10", "rtt/4"]);
    plan.pacing = random.chance(0.8);
    plan.initial_window = random.log(1.0, 100.0) as u32;
}

fn windows(plan: &mut EpisodePlan, random: &mut Random) {
    plan.windows = [random.log(4e3, 2e6) as u64, random.log(8e3, 4e6) as u64];
}

/// Draws a part of the time from zero to `end_s`.
fn part(end_s: f64, random: &mut Random) -> (f64, f64) {
    let from = random.between(0.0, 0.9) * end_s;
    (from, from + (end_s - from) * random.log(0.02, 1.0))
}
