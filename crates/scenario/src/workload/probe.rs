//! `probe`: a small request at regular times, whose answers show how long a request takes now.

use super::clocks::Clocks;
use super::kind::Kind;
use super::transfer::{PlannedObject, Transfer};
use crate::error::Problem;
use bentpipe_results::Direction;
use bentpipe_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_spanned::Spanned;

/// Size of an answer: a line of text, one packet with any headers.
const SIZE: Bytes = Bytes::new(100);
/// Most requests of a visit. Each is an object of the results.
const MOST: u64 = 3_000;

/// Small requests on one connection, at equal intervals, whether or not earlier ones are answered.
/// The first one opens the connection, or is made when that of `on` opens; the others count from
/// its answer.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// Time between two requests.
    #[schemars(with = "Span")]
    pub interval: Spanned<Span>,
    /// Time from the answer to the first request to the last request.
    #[schemars(with = "Span")]
    pub duration: Spanned<Span>,
    /// Size of an answer; 100 B by default.
    #[schemars(with = "Option<Bytes>")]
    pub size: Option<Spanned<Bytes>>,
    /// Name of the flow on whose connection the requests are made, as long as that lasts; a
    /// connection of its own by default.
    #[schemars(with = "Option<String>")]
    pub on: Option<Spanned<String>>,
    /// True if requests are as large as answers, one after the other on a byte stream over TCP,
    /// without TLS and HTTP: keystrokes of a remote shell and their echoes, as SSH has them.
    #[schemars(with = "Option<bool>")]
    pub echo: Option<Spanned<bool>>,
}

impl Probe {
    /// The clocks that can run it.
    pub(super) const CLOCKS: Clocks = Clocks::RealTcp;

    pub(super) fn check(&self, limit: Span) -> Result<(), Problem> {
        super::transfer::duration(&self.duration, limit)?;
        crate::limits::above_zero("interval", &self.interval)?;
        self.size.as_ref().map_or(Ok(()), super::transfer::above_zero)?;
        if let (Some(on), true) = (&self.on, self.is_echo()) {
            let message = "keystrokes have a connection of their own; allowed: one of `on` and \
                `echo = true`";
            return Err(Problem::new(on.span(), message));
        }
        let shortest = *self.duration.get_ref() / MOST;
        if self.requests() <= MOST {
            return Ok(());
        }
        let message = format!(
            "{} requests every {} are more than {MOST}; allowed: an `interval` of {shortest} or \
             more for this `duration`",
            self.requests(),
            self.interval,
        );
        Err(Problem::new(self.interval.span(), message))
    }

    /// Returns true if requests are keystrokes, and answers their echoes.
    pub fn is_echo(&self) -> bool {
        self.echo.as_ref().is_some_and(|echo| *echo.get_ref())
    }

    /// Returns the number of requests after the first one.
    fn requests(&self) -> u64 {
        self.duration.get_ref().as_nanos() / self.interval.get_ref().as_nanos().max(1)
    }
}

impl Kind for Probe {
    fn key(&self) -> &'static str {
        "probe"
    }

    fn clocks(&self) -> Clocks {
        if self.is_echo() { Clocks::Virtual } else { Self::CLOCKS }
    }

    fn transfer(&self, _seed: u64) -> Transfer {
        let size = self.size.as_ref().map_or(SIZE, |size| *size.get_ref());
        let first = PlannedObject::new("first", size);
        let later = (1..=self.requests()).map(|number| PlannedObject {
            after: vec![0],
            delay: *self.interval.get_ref() * number,
            ..PlannedObject::new(&format!("probe-{number}"), size)
        });
        let objects = std::iter::once(first).chain(later).collect();
        Transfer { direction: Direction::Download, objects, duration: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(text: &str) -> Probe {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn requests_come_at_equal_intervals_after_the_first_answer() {
        let probe = probe("interval = \"100 ms\"\nduration = \"300 ms\"\n");
        assert!(probe.check(Span::from_secs(1)).is_ok());
        let objects = probe.transfer(1).objects;
        let delays: Vec<_> = objects.iter().map(|object| object.delay).collect();
        assert_eq!(delays, [0, 100, 200, 300].map(Span::from_millis));
        assert!(objects[0].after.is_empty() && objects[1..].iter().all(|o| o.after == [0]));
    }

    #[test]
    fn more_requests_than_results_can_hold_are_refused_with_the_shortest_interval() {
        let probe = probe("interval = \"1 ms\"\nduration = \"6 s\"\n");
        let problem = probe.check(Span::from_secs(30)).unwrap_err();
        assert!(problem.message.contains("an `interval` of 2 ms"), "{}", problem.message);
    }
}
