//! What a file has measured.

use crate::format::Format;

/// Direction of a path, as its user sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the server: the return direction of a scenario.
    Up,
    /// From the server to the client: the forward direction of a scenario.
    Down,
}

impl Direction {
    /// Returns `up` or `down`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }

    /// Returns the other direction.
    pub fn other(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }
}

/// What times count from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    /// 1970, in UTC.
    Utc,
    /// The start of the file.
    Relative,
    /// The start of the file, and no line has one: probes have numbers, and count as a second
    /// apart.
    Numbered,
}

impl Times {
    /// Returns true if times are UTC.
    pub fn is_utc(self) -> bool {
        self == Self::Utc
    }
}

/// A file with what it has measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The format that the file has.
    pub format: Format,
    /// What was measured.
    pub content: Content,
    /// What the times in it count from.
    pub times: Times,
    /// What a person should know of it: counts, and what is not used.
    pub notes: Vec<String>,
}

/// What was measured.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Single packets that were answered, in the order in which they were sent.
    Probes(Vec<Probe>),
    /// Round trips that are too far apart for a series: RTTs in milliseconds, and how many packets
    /// were sent and lost.
    Quantiles {
        /// RTTs in milliseconds, in the order of the file.
        rtts_ms: Vec<f64>,
        /// Packets sent.
        sent: u64,
        /// Packets not answered.
        lost: u64,
    },
    /// Opportunities to send a packet of 1500 bytes, as times in milliseconds.
    Opportunities(Vec<u32>),
    /// One-way delays in milliseconds at fixed steps of so many milliseconds.
    Delays {
        /// Step in milliseconds.
        step_ms: u32,
        /// Delay of each step.
        delays_ms: Vec<f64>,
    },
    /// Rates of IP packets in bins of time, up and down.
    BothRates([Vec<RateBin>; 2]),
    /// Rates of IP packets in bins of time, of one direction.
    Rates {
        /// The bins, in ascending order.
        bins: Vec<RateBin>,
        /// Their direction, if the file says it.
        direction: Option<Direction>,
        /// Lowest one-way delay in each bin in milliseconds, if packets were stamped at both ends.
        delays_ms: Vec<Option<f64>>,
    },
}

/// A probe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probe {
    /// Time at which it was sent, in nanoseconds.
    pub sent: i64,
    /// RTT in nanoseconds; `None` if it was not measured.
    pub rtt: Option<i64>,
    /// One-way delays up and down in nanoseconds, if both ends stamped it; they count from an
    /// unknown origin.
    pub one_way: Option<(i64, i64)>,
    /// Probability that it was lost: 0 or 1 for one packet, a ratio for several.
    pub loss: f64,
    /// Direction in which it was lost, if it is known.
    pub lost_in: Option<Direction>,
}

/// The mean rate of a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateBin {
    /// Start in nanoseconds.
    pub start: i64,
    /// End in nanoseconds.
    pub end: i64,
    /// Bits of IP packets per second.
    pub bps: f64,
}
