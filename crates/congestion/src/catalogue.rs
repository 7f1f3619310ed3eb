//! Every controller and every start by the name that scenarios use.

use crate::bbr3;
use crate::controller::{Controller, Setup};
use crate::newreno;
use crate::parameter::{Parameter, Values};
use crate::start::Start;

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
        name: "bbr3",
        about: "models the path's rate and round trip; bears losses of up to 2 % while it probes",
        source: "draft-ietf-ccwg-bbr",
        parameters: bbr3::PARAMETERS,
        make: |setup, values| Box::new(bbr3::Bbr3::new(setup, values)),
    },
];

/// Every start that stands in front of a controller; `standard` is the controller's own.
pub const STARTS: &[Part<Box<dyn Start>>] = &[];

/// The part of that name.
pub fn find<T>(parts: &'static [Part<T>], name: &str) -> Option<&'static Part<T>> {
    parts.iter().find(|part| part.name == name)
}
