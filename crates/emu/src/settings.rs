//! The emulated path, and settings of the emulator.

use crate::clock::UtcPhase;
use bentpipe_link::DirectionModel;
use bentpipe_units::{Bytes, Span};

/// A hop of the path, in both directions.
#[derive(Debug, Clone)]
pub struct Hop {
    /// Name, unique on the path.
    pub name: String,
    /// From server to client: the satellite forward link.
    pub forward: DirectionModel,
    /// From client to server: the satellite return link.
    pub reverse: DirectionModel,
    /// True if all terminals share it, false if each has one of its own.
    pub shared: bool,
}

/// A resolved path, in the same form as for a simulation.
#[derive(Debug, Clone)]
pub struct PathSpec {
    /// Hops from the clients to the server.
    pub hops: Vec<Hop>,
    /// RTT of the unloaded path, from which queue sizes in BDP follow.
    pub base_rtt: Span,
    /// Seed of all random streams.
    pub seed: u64,
    /// Number of the run. Together with the seed, it determines the random streams.
    pub run: u64,
    /// Times of day that the path has to meet.
    pub utc: Option<UtcPhase>,
}

/// Settings of the emulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmulatorSettings {
    /// Time before a deadline at which a thread stops sleeping and polls the clock: about the
    /// wake-up latency.
    ///
    /// It costs that much CPU time per packet, up to half a CPU.
    pub busy_poll: Span,
    /// Whether to request real-time priority. Without permission the emulator runs without it and
    /// reports this.
    pub realtime: bool,
    /// Maximum distance between the deadlines of packets of one flow that are delivered together
    /// once due, as by generic receive offload (GRO). Zero delivers each separately.
    pub gro: Span,
    /// Memory limit of the packets inside the links of one direction. Packets beyond it are dropped
    /// and counted.
    pub memory: Bytes,
}

impl Default for EmulatorSettings {
    /// Measured on a virtual machine, see decision 14. Gigabit adapters interrupt up to 20,000
    /// times per second (`InterruptThrottleRate` of Linux's e1000 driver) and merge the packets
    /// that arrived in between.
    fn default() -> Self {
        Self {
            busy_poll: Span::from_micros(40),
            realtime: true,
            gro: Span::from_micros(50),
            memory: Bytes::from_mb(1000),
        }
    }
}
