//! A scenario in the making: its tables, and what the bound of its completion is derived from.

use super::random::Random;
use bentpipe_lab::{Changes, Plan, PlanInput};
use std::collections::BTreeMap;
use std::path::PathBuf;
use toml::{Table, Value};

/// Longest time in which faults happen, in seconds. The idle timeout of a QUIC connection is 60 s
/// by default; after a silence of 20 s, a sender that has doubled its timeouts tries again within
/// another 20 s, so no connection may end for it.
const LONGEST_FAULTS_S: f64 = 20.0;

/// Transport of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stack {
    /// QUIC.
    Quic,
    /// TCP.
    Tcp,
    /// Datagrams without congestion control.
    Datagrams,
}

/// A queue before a transmitter.
#[derive(Debug, Clone, PartialEq)]
pub enum Queue {
    /// Multiples of the bandwidth-delay product.
    Bdp(f64),
    /// Packets.
    Packets(u64),
    /// Milliseconds at the rate of the link.
    Millis(f64),
}

/// One direction of a hop.
#[derive(Debug, Clone)]
pub struct Direction {
    /// Rate of the link without faults, in bits per second.
    pub rate: f64,
    /// Part of it that is certain once all faults have ended: behind a policer, in the most robust
    /// code, or of one terminal.
    pub assured: f64,
    /// One-way delay, in milliseconds.
    pub delay_ms: f64,
    /// Longest one-way delay, with jitter and steps, in milliseconds.
    pub longest_ms: f64,
    /// The queue.
    pub queue: Queue,
    /// Time that a packet may wait besides, for a frame or an allocation, in seconds.
    pub access_s: f64,
    /// Keys beside `rate`, `delay` and `queue.limit`, or instead of the first two.
    pub keys: Table,
    /// Keys of the queue besides its limit.
    pub queue_keys: Table,
}

/// A hop.
#[derive(Debug, Clone)]
pub struct Hop {
    /// Name of the hop.
    pub name: &'static str,
    /// Towards the client.
    pub forward: Direction,
    /// Towards the server.
    pub reverse: Direction,
}

/// A flow.
#[derive(Debug, Clone)]
pub struct Flow {
    /// Name of the flow.
    pub name: String,
    /// Its transport.
    pub stack: Stack,
    /// HTTP version, if it is not the default of the transport.
    pub http: Option<&'static str>,
    /// Workloads, one after the other, with the keys of a visit.
    pub visits: Vec<Table>,
    /// Transport keys.
    pub keys: Table,
    /// Keys of the `[[flow]]` that are neither workload nor transport.
    pub placement: Table,
}

/// A scenario in the making.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The seed.
    pub seed: u64,
    /// Time at which all faults have ended, in seconds since the start of the run.
    pub faults_end_s: f64,
    /// The satellite hop, or the links of a constellation.
    pub satellite: Hop,
    /// Other hops, from the client's side.
    pub others: Vec<Hop>,
    /// `[path.orbit]` instead of hops.
    pub orbit: Option<Table>,
    /// Further keys of `[path]`.
    pub path: Table,
    /// The flows.
    pub flows: Vec<Flow>,
    /// The variants.
    pub variants: Vec<Table>,
    /// Keys of the top level.
    pub head: Table,
    /// `[output]`.
    pub output: Table,
    /// Files that the scenario names.
    pub files: BTreeMap<PathBuf, String>,
    /// True if a flow may fail: its proxy does.
    pub may_fail: bool,
}

impl Direction {
    fn new(rate: f64, delay_ms: f64) -> Self {
        Self {
            rate,
            assured: rate,
            delay_ms,
            longest_ms: delay_ms,
            queue: Queue::Bdp(1.0),
            access_s: 0.0,
            keys: Table::new(),
            queue_keys: Table::new(),
        }
    }

    fn table(&self, is_link: bool) -> Table {
        let mut table = self.keys.clone();
        table.entry("rate").or_insert_with(|| bps(self.rate));
        if !is_link {
            table.entry("delay").or_insert_with(|| millis(self.delay_ms));
        }
        let limit = Value::from(match &self.queue {
            Queue::Bdp(multiple) => format!("{multiple:.3} BDP"),
            Queue::Packets(packets) => format!("{packets} packets"),
            Queue::Millis(millis) => format!("{millis:.3} ms"),
        });
        let mut queue = self.queue_keys.clone();
        queue.insert("limit".to_owned(), limit);
        table.insert("queue".to_owned(), Value::Table(queue));
        table
    }
}

impl Hop {
    /// Creates a hop with these rates in bits per second and this one-way delay in milliseconds.
    pub fn new(name: &'static str, rates: (f64, f64), delay_ms: f64) -> Self {
        let forward = Direction::new(rates.0, delay_ms);
        Self { name, forward, reverse: Direction::new(rates.1, delay_ms) }
    }

    /// Sets both rates, in bits per second.
    pub fn set_rates(&mut self, forward: f64, reverse: f64) {
        (self.forward.rate, self.forward.assured) = (forward, forward);
        (self.reverse.rate, self.reverse.assured) = (reverse, reverse);
    }

    /// Returns both directions.
    pub fn directions(&mut self) -> [&mut Direction; 2] {
        [&mut self.forward, &mut self.reverse]
    }
}

impl Flow {
    /// Creates a small download over QUIC.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            stack: Stack::Quic,
            http: None,
            visits: vec![Table::from_iter([("download".to_owned(), Value::from("100 kB"))])],
            keys: Table::new(),
            placement: Table::new(),
        }
    }

    fn table(&self) -> Table {
        let mut table = self.placement.clone();
        table.insert("name".to_owned(), Value::from(self.name.clone()));
        table.extend(self.keys.clone());
        match self.stack {
            Stack::Quic => drop(table.insert("transport".to_owned(), Value::from("quic"))),
            Stack::Tcp => drop(table.insert("transport".to_owned(), Value::from("tcp"))),
            Stack::Datagrams => {}
        }
        if let Some(http) = self.http {
            table.insert("http".to_owned(), Value::from(http));
        }
        match self.visits.as_slice() {
            [only] => table.extend(only.clone()),
            several => {
                let visits = several.iter().cloned().map(Value::Table).collect();
                table.insert("visits".to_owned(), Value::Array(visits));
            }
        }
        table
    }
}

impl Draft {
    /// Creates a small download over a quiet path.
    pub fn new(seed: u64, random: &mut Random) -> Self {
        Self {
            seed,
            faults_end_s: random.log(1.0, LONGEST_FAULTS_S),
            satellite: Hop::new("satellite", (10e6, 2e6), 50.0),
            others: Vec::new(),
            orbit: None,
            path: Table::new(),
            flows: vec![Flow::new("main")],
            variants: Vec::new(),
            head: Table::new(),
            output: Table::from_iter([("time_series".to_owned(), Value::from("none"))]),
            files: BTreeMap::new(),
            may_fail: false,
        }
    }

    /// Returns the flows with congestion control.
    pub fn controlled(&mut self) -> impl Iterator<Item = &mut Flow> {
        self.flows.iter_mut().filter(|flow| flow.stack != Stack::Datagrams)
    }

    /// Returns all hops.
    pub fn hops(&self) -> impl Iterator<Item = &Hop> {
        std::iter::once(&self.satellite).chain(&self.others)
    }

    /// Returns the smallest of the assured rates in one direction, in bits per second.
    pub fn slowest(&self, direction: fn(&Hop) -> &Direction) -> f64 {
        self.hops().map(|hop| direction(hop).assured).fold(f64::INFINITY, f64::min)
    }

    /// Reads `text`, the scenario as TOML, with its files.
    ///
    /// # Errors
    /// It is invalid. The swarm draws valid ones only.
    pub fn plan(&self, text: &str) -> Result<Plan, String> {
        let input = PlanInput {
            name: "drawn.toml".to_owned(),
            text: text.to_owned(),
            changes: Changes::default(),
            files: self.files.clone(),
        };
        Plan::from_input(&input).map_err(|error| error.to_string())
    }

    /// Returns the scenario as TOML.
    pub fn scenario(&self) -> String {
        let mut scenario = self.head.clone();
        scenario.insert("name".to_owned(), Value::from(format!("swarm-{}", self.seed)));
        // The reader of a scenario takes integers of 63 bits.
        scenario.insert("seed".to_owned(), Value::from((self.seed >> 1) as i64));
        scenario.insert("path".to_owned(), Value::Table(self.path_table()));
        let flows = self.flows.iter().map(|flow| Value::Table(flow.table())).collect();
        scenario.insert("flow".to_owned(), Value::Array(flows));
        if !self.variants.is_empty() {
            let variants = self.variants.iter().cloned().map(Value::Table).collect();
            scenario.insert("variant".to_owned(), Value::Array(variants));
        }
        scenario.insert("output".to_owned(), Value::Table(self.output.clone()));
        scenario.to_string()
    }

    fn path_table(&self) -> Table {
        let mut path = self.path.clone();
        if let Some(orbit) = &self.orbit {
            let mut orbit = orbit.clone();
            let all = Value::Table(self.satellite.forward.table(true));
            orbit.insert("links".to_owned(), Value::Table(Table::from_iter([("all".into(), all)])));
            path.insert("orbit".to_owned(), Value::Table(orbit));
            return path;
        }
        let directions = |hop: &Hop| {
            [("forward", &hop.forward), ("return", &hop.reverse)]
                .map(|(key, direction)| (key.to_owned(), Value::Table(direction.table(false))))
        };
        if self.others.is_empty() {
            path.extend(directions(&self.satellite));
            return path;
        }
        // Client, first of the others, satellite, the rest, server.
        let mut hops: Vec<&Hop> = self.others.iter().collect();
        hops.insert(1, &self.satellite);
        let tables = hops.into_iter().map(|hop| {
            let mut table = Table::from_iter(directions(hop));
            table.insert("name".to_owned(), Value::from(hop.name));
            Value::Table(table)
        });
        path.insert("hop".to_owned(), Value::Array(tables.collect()));
        path
    }
}

/// Returns a rate in bits per second as it is written.
pub fn bps(rate: f64) -> Value {
    Value::from(format!("{rate:.0} bps"))
}

/// Returns a span in milliseconds as it is written.
pub fn millis(millis: f64) -> Value {
    Value::from(format!("{millis:.3} ms"))
}

/// Returns a size in bytes as it is written.
pub fn bytes(bytes: f64) -> Value {
    Value::from(format!("{bytes:.0} B"))
}

/// Returns a table of these keys.
pub fn table<const N: usize>(keys: [(&str, Value); N]) -> Value {
    Value::Table(keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}
