//! Every controller and every start by the name that scenarios use.

use crate::bbr1;
use crate::bbr3;
use crate::controller::{Controller, Setup};
use crate::copa;
use crate::cubic;
use crate::fixed_rate;
use crate::geo_reno;
use crate::hybla;
use crate::newreno;
use crate::parameter::{Parameter, Values};
use crate::resume::{self, Mode};
use crate::start::{Start, hystart, hystart_plus_plus, long_path, search};
use crate::vegas;

/// A part that can be chosen by name.
#[derive(Debug)]
pub struct Part<T: 'static> {
    /// Its name in scenarios.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// Where it is specified.
    pub source: &'static str,
    /// What can be set.
    pub parameters: &'static [Parameter],
    /// Makes one.
    pub make: fn(&Setup, &Values) -> T,
}

impl<T> PartialEq for Part<T> {
    /// Parts are the same where their names are: each stands once in its list.
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Every congestion controller.
pub const CONTROLLERS: &[Part<Box<dyn Controller>>] = &[
    Part {
        name: "newreno",
        about: "half the window at a loss, a packet more each round trip",
        source: "RFC 9002 §7",
        parameters: newreno::PARAMETERS,
        make: |setup, values| Box::new(newreno::NewReno::new(setup, values)),
    },
    Part {
        name: "cubic",
        about: "growth by the time since the last loss instead of round trips",
        source: "RFC 9438",
        parameters: cubic::PARAMETERS,
        make: |setup, values| Box::new(cubic::Cubic::new(setup, values)),
    },
    Part {
        name: "vegas",
        about: "a few packets of its own in the bottleneck's queue",
        source: "Brakmo and Peterson, IEEE JSAC 13(8), 1995",
        parameters: vegas::PARAMETERS,
        make: |setup, values| Box::new(vegas::Vegas::new(setup, values)),
    },
    Part {
        name: "hybla",
        about: "as fast in time on a long path as NewReno on one of 25 ms",
        source: "Caini and Firrincieli, IJSCN 22, 2004",
        parameters: hybla::PARAMETERS,
        make: |setup, values| Box::new(hybla::Hybla::new(setup, values)),
    },
    Part {
        name: "geo-reno",
        about: "NewReno with growth in proportion to the distance between the endpoints",
        source: "rule published with Hypatia experiments; alpha is our reading",
        parameters: geo_reno::PARAMETERS,
        make: |setup, values| Box::new(geo_reno::GeoReno::new(setup, values)),
    },
    Part {
        name: "copa",
        about: "a target rate from the queueing delay; competes where others fill the queue",
        source: "Arun and Balakrishnan, NSDI 2018",
        parameters: copa::PARAMETERS,
        make: |setup, values| Box::new(copa::Copa::new(setup, values)),
    },
    Part {
        name: "bbr1",
        about: "models the path's rate and round trip; losses change next to nothing",
        source: "draft-cardwell-iccrg-bbr-congestion-control-00",
        parameters: bbr1::PARAMETERS,
        make: |setup, values| Box::new(bbr1::Bbr1::new(setup, values)),
    },
    Part {
        name: "bbr3",
        about: "models the path's rate and round trip; bears losses of up to 2 % while it probes",
        source: "draft-ietf-ccwg-bbr",
        parameters: bbr3::PARAMETERS,
        make: |setup, values| Box::new(bbr3::Bbr3::new(setup, values)),
    },
    Part {
        name: "fixed-rate",
        about: "unsafe where others share the path: a rate that was told, whatever is lost",
        source: "what proxies do on links whose rate they know; RFC 3135 §3.1",
        parameters: fixed_rate::PARAMETERS,
        make: |setup, values| Box::new(fixed_rate::FixedRate::new(setup, values)),
    },
];

/// Every start that stands in front of a controller; `standard` is the controller's own.
pub const STARTS: &[Part<Box<dyn Start>>] = &[
    Part {
        name: "hystart++",
        about: "slow start that ends when the round trip stays grown",
        source: "RFC 9406",
        parameters: hystart_plus_plus::PARAMETERS,
        make: |setup, values| Box::new(hystart_plus_plus::HyStartPlusPlus::new(setup, values)),
    },
    Part {
        name: "hystart",
        about: "slow start that ends at the first sign of a queue, as Linux's CUBIC has it",
        source: "Ha, Rhee, Computer Networks 55 (2011); Linux 6.18, tcp_cubic.c",
        parameters: hystart::PARAMETERS,
        make: |setup, values| Box::new(hystart::HyStart::new(setup, values)),
    },
    Part {
        name: "search",
        about: "slow start that ends when deliveries fall behind what was sent",
        source: "draft-chung-ccwg-search",
        parameters: search::PARAMETERS,
        make: |setup, values| Box::new(search::Search::new(setup, values)),
    },
    Part {
        name: "long-path",
        about: "bursts of the proven volume at several times the proven rate, on round trips of satellites",
        source: "ours: docs/decisions/0005-long-path-start.md",
        parameters: long_path::PARAMETERS,
        make: |setup, values| Box::new(long_path::LongPath::new(setup, values)),
    },
];

/// What a connection can do with what its path carried before.
pub const RESUMPTIONS: &[Part<Mode>] = &[
    Part {
        name: "none",
        about: "the path is only measured",
        source: "RFC 9959 §3.1",
        parameters: resume::PARAMETERS,
        make: |_, _| Mode::Observe,
    },
    Part {
        name: "careful",
        about: "half of the saved window once the path is confirmed, given back where it is not validated",
        source: "RFC 9959",
        parameters: resume::PARAMETERS,
        make: |_, _| Mode::Careful,
    },
    Part {
        name: "jump",
        about: "unsafe: the whole saved window from the first flight on, to compare with",
        source: "what RFC 9959 §4.3 warns of",
        parameters: resume::PARAMETERS,
        make: |_, _| Mode::Jump,
    },
];

/// The part of that name.
pub fn find<T>(parts: &'static [Part<T>], name: &str) -> Option<&'static Part<T>> {
    parts.iter().find(|part| part.name == name)
}
