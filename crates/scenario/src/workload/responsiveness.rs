//! `responsiveness`: round trips per minute of small requests, idle and beside a load of its own.

use super::clocks::Clocks;
use super::kind::Kind;
use super::transfer::Transfer;
use crate::error::Problem;
use crate::limits::{self, Check};
use bentpipe_results::Direction;
use bentpipe_units::Span;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_spanned::Spanned;

/// Time before the load, by default.
const IDLE: Span = Span::from_secs(10);
/// Time between two probes of a kind, by default.
const INTERVAL: Span = Span::from_millis(100);
/// Most connections of the load (draft-ietf-ippm-responsiveness-09), by default.
const CONNECTIONS: u64 = 16;
/// Shortest time with the load: a connection in the first 5 s, and four intervals that count.
const LOADED: Span = Span::from_secs(25);
/// Most probes of a kind. Our choice.
const MOST: u64 = 10_000;

/// A test of responsiveness under working conditions (draft-ietf-ippm-responsiveness-09) over QUIC.
/// Its load begins with a connection, and one more joins every 5 s until the goodput is stable.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Responsiveness {
    /// Length of the test.
    #[schemars(with = "Span")]
    pub duration: Spanned<Span>,
    /// Direction of the load; download by default.
    pub direction: Option<Direction>,
    /// Time before the load, in which the path is idle; 10 s by default.
    #[schemars(with = "Option<Span>")]
    pub idle: Option<Spanned<Span>>,
    /// Time between two probes of each kind; 100 ms by default.
    #[schemars(with = "Option<Span>")]
    pub interval: Option<Spanned<Span>>,
    /// Most connections of the load; 16 by default. With 0 there is none, and other flows may be
    /// the load.
    #[schemars(with = "Option<u64>", range(min = 0, max = 16))]
    pub connections: Option<Spanned<u64>>,
}

impl Responsiveness {
    /// The clocks that can run it.
    pub(super) const CLOCKS: Clocks = Clocks::VirtualQuic;

    pub(super) fn check(&self, limit: Span) -> Check {
        super::transfer::duration(&self.duration, limit)?;
        if let Some(connections) = &self.connections {
            limits::between("connections", connections, 0, CONNECTIONS)?;
        }
        let shortest = self.idle() + LOADED;
        if *self.duration.get_ref() < shortest {
            let message = format!(
                "`duration` of {} is too short for {} of idle path and {LOADED} of load; allowed: \
                 {shortest} or more, or a shorter `idle`",
                self.duration,
                self.idle()
            );
            return Err(Problem::new(self.duration.span(), message));
        }
        let Some(interval) = &self.interval else { return Ok(()) };
        limits::above_zero("interval", interval)?;
        let least = *self.duration.get_ref() / MOST;
        if *interval.get_ref() < least {
            let message = format!(
                "`interval` of {interval} makes more than {MOST} probes of a kind; allowed: \
                 {least} or more"
            );
            return Err(Problem::new(interval.span(), message));
        }
        Ok(())
    }

    /// Returns the time before the load.
    pub fn idle(&self) -> Span {
        self.idle.as_ref().map_or(IDLE, |idle| *idle.get_ref())
    }

    /// Returns the time between two probes of a kind.
    pub fn interval(&self) -> Span {
        self.interval.as_ref().map_or(INTERVAL, |interval| *interval.get_ref())
    }

    /// Returns the most connections of the load.
    pub fn connections(&self) -> u32 {
        self.connections.as_ref().map_or(CONNECTIONS, |most| *most.get_ref()) as u32
    }
}

impl Kind for Responsiveness {
    fn key(&self) -> &'static str {
        "responsiveness"
    }

    fn clocks(&self) -> Clocks {
        Self::CLOCKS
    }

    fn transfer(&self, _seed: u64) -> Transfer {
        let direction = self.direction.unwrap_or(Direction::Download);
        Transfer { direction, objects: Vec::new(), duration: Some(*self.duration.get_ref()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<Responsiveness, String> {
        let test: Responsiveness = toml::from_str(text).map_err(|error| error.to_string())?;
        test.check(Span::from_secs(120)).map_err(|problem| problem.message)?;
        Ok(test)
    }

    #[test]
    fn values_out_of_range_name_what_is_allowed() {
        let test = check("duration = \"40 s\"").unwrap();
        assert_eq!((test.idle(), test.interval(), test.connections()), (IDLE, INTERVAL, 16));
        let cases = [
            ("duration = \"30 s\"", "35 s or more"),
            ("duration = \"200 s\"", "time_limit"),
            ("duration = \"40 s\"\nconnections = 17", "0 to 16"),
            ("duration = \"40 s\"\ninterval = \"1 ms\"", "4 ms or more"),
            ("duration = \"40 s\"\ninterval = \"0 s\"", "above"),
        ];
        for (keys, allowed) in cases {
            let error = check(keys).unwrap_err();
            assert!(error.contains(allowed), "{keys}: {error}");
        }
    }
}
