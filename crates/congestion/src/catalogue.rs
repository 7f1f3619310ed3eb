//! All controllers, slow starts and resume modes, by the names that scenarios use.

use crate::algorithms::bbr::{v1, v3};
use crate::algorithms::{
    copa, cubic, cubic_linux, fixed_rate, geo_reno, hybla, ledbat_plus_plus, newreno, prague, vegas,
};
use crate::controller::{Controller, ControllerConfig};
use crate::loss_filter::{self, LossFilter};
use crate::parameters::{Parameter, ParameterValues};
use crate::resume::{self, ResumeMode};
use crate::slow_start::{
    SlowStart, hystart, hystart_plus_plus, long_path, rapid_start, search, suss,
};
use std::sync::{PoisonError, RwLock};
use thiserror::Error;

/// A component that can be chosen by name.
pub struct Registration<T: 'static> {
    /// Name in scenarios.
    pub name: &'static str,
    /// Description in one line.
    pub about: &'static str,
    /// Specification.
    pub source: &'static str,
    /// Parameters.
    pub parameters: &'static [Parameter],
    /// Creates an instance.
    pub make: &'static Make<T>,
}

/// Creates an instance of a component.
pub type Make<T> = dyn Fn(&ControllerConfig, &ParameterValues) -> T + Send + Sync;

impl<T> std::fmt::Debug for Registration<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registration").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<T> PartialEq for Registration<T> {
    /// Compares names, which are unique within a list.
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Controllers that programs have registered, each once. They live as long as the process.
static REGISTERED: RwLock<Vec<&'static Registration<Box<dyn Controller>>>> =
    RwLock::new(Vec::new());

/// A name that cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RegistrationError {
    /// Scenarios could not write it.
    #[error("`{0}` is not a valid name; allowed: lower-case letters, digits, `-` and `+`")]
    Name(String),
    /// Another component has it.
    #[error("`{0}` is the name of another component")]
    Taken(String),
    /// There is nothing to replace.
    #[error("no program has registered a controller `{0}`")]
    Unknown(String),
}

/// Registers a congestion controller, so that scenarios and [`ControllerName`] accept its name in
/// this process from now on.
///
/// The registry is one for the process because names are parsed wherever scenarios are read. A
/// registration cannot be taken back.
///
/// # Errors
/// The name is empty, has other characters than lower-case letters, digits, `-` and `+`, or is
/// taken.
///
/// [`ControllerName`]: crate::ControllerName
pub fn register(registration: Registration<Box<dyn Controller>>) -> Result<(), RegistrationError> {
    let name = registration.name;
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-+".contains(c);
    if name.is_empty() || !name.chars().all(fits) {
        return Err(RegistrationError::Name(name.to_owned()));
    }
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    let slow_starts = SLOW_STARTS.iter().map(|registration| registration.name);
    let resumptions = RESUMPTIONS.iter().map(|registration| registration.name);
    let controllers = CONTROLLERS.iter().map(|registration| registration.name);
    let filters = LOSS_FILTERS.iter().map(|registration| registration.name);
    let own = registered.iter().map(|registration| registration.name);
    let mut taken = slow_starts.chain(resumptions).chain(controllers).chain(filters).chain(own);
    if taken.any(|other| other == name) || name == "auto" || name == "standard" {
        return Err(RegistrationError::Taken(name.to_owned()));
    }
    registered.push(Box::leak(Box::new(registration)));
    Ok(())
}

/// Registers a controller in place of the one that a program registered under its name earlier, for
/// scenarios that are read from now on.
///
/// # Errors
/// No program has registered a controller of this name.
pub fn replace(registration: Registration<Box<dyn Controller>>) -> Result<(), RegistrationError> {
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    let name = registration.name;
    let Some(entry) = registered.iter_mut().find(|entry| entry.name == name) else {
        return Err(RegistrationError::Unknown(name.to_owned()));
    };
    *entry = Box::leak(Box::new(registration));
    Ok(())
}

/// All controllers: those of the catalogue, then registered ones.
pub fn controllers() -> Vec<&'static Registration<Box<dyn Controller>>> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    CONTROLLERS.iter().chain(registered.iter().copied()).collect()
}

/// Congestion controllers of the catalogue.
pub const CONTROLLERS: &[Registration<Box<dyn Controller>>] = &[
    Registration {
        name: "newreno",
        about: "halves the window on loss, adds a packet per RTT",
        source: "RFC 9002 §7",
        parameters: newreno::Parameters::TABLE,
        make: &|config, values| Box::new(newreno::NewReno::new(config, &values.into())),
    },
    Registration {
        name: "cubic",
        about: "grows by the time since the last loss, independent of the RTT",
        source: "RFC 9438",
        parameters: cubic::Parameters::TABLE,
        make: &|config, values| Box::new(cubic::Cubic::new(config, &values.into())),
    },
    Registration {
        name: "cubic-linux",
        about: "CUBIC with the integer arithmetic of the Linux kernel",
        source: "Linux 6.18, tcp_cubic.c",
        parameters: cubic_linux::Parameters::TABLE,
        make: &|config, values| Box::new(cubic_linux::CubicLinux::new(config, &values.into())),
    },
    Registration {
        name: "vegas",
        about: "keeps a few of its packets in the bottleneck's queue",
        source: "Brakmo and Peterson, IEEE JSAC 13(8), 1995",
        parameters: vegas::Parameters::TABLE,
        make: &|config, values| Box::new(vegas::Vegas::new(config, &values.into())),
    },
    Registration {
        name: "hybla",
        about: "grows on a long path as fast in time as NewReno with an RTT of 25 ms",
        source: "Caini and Firrincieli, IJSCN 22, 2004",
        parameters: hybla::Parameters::TABLE,
        make: &|config, values| Box::new(hybla::Hybla::new(config, &values.into())),
    },
    Registration {
        name: "geo-reno",
        about: "NewReno whose growth is proportional to the distance between the endpoints",
        source: "rule published with Hypatia experiments; alpha is our reading",
        parameters: geo_reno::Parameters::TABLE,
        make: &|config, values| Box::new(geo_reno::GeoReno::new(config, &values.into())),
    },
    Registration {
        name: "copa",
        about: "derives a target rate from the queueing delay; competes if others fill the queue",
        source: "Arun and Balakrishnan, NSDI 2018",
        parameters: copa::Parameters::TABLE,
        make: &|config, values| Box::new(copa::Copa::new(config, &values.into())),
    },
    Registration {
        name: ledbat_plus_plus::NAME,
        about: "keeps 60 ms of queue and gives way to others, for transfers in the background",
        source: "draft-irtf-iccrg-ledbat-plus-plus",
        parameters: ledbat_plus_plus::Parameters::TABLE,
        make: &|config, values| {
            Box::new(ledbat_plus_plus::LedbatPlusPlus::new(config, &values.into()))
        },
    },
    Registration {
        name: prague::NAME,
        about: "reduces by the fraction of marked packets (L4S); for short paths",
        source: "draft-briscoe-iccrg-prague-congestion-control, udp_prague",
        parameters: prague::Parameters::TABLE,
        make: &|config, values| Box::new(prague::Prague::new(config, &values.into())),
    },
    Registration {
        name: "bbr1",
        about: "models the path's rate and RTT; hardly responds to loss",
        source: "draft-cardwell-iccrg-bbr-congestion-control-00",
        parameters: v1::Parameters::TABLE,
        make: &|config, values| Box::new(v1::Bbr1::new(config, &values.into())),
    },
    Registration {
        name: "bbr3",
        about: "models the path's rate and RTT; tolerates losses of up to 2 % while it probes",
        source: "draft-ietf-ccwg-bbr",
        parameters: v3::Parameters::TABLE,
        make: &|config, values| Box::new(v3::Bbr3::new(config, &values.into())),
    },
    Registration {
        name: fixed_rate::NAME,
        about: "unsafe on shared paths: a configured rate, whatever is lost",
        source: "practice of proxies on links whose rate they know; RFC 3135 §3.1",
        parameters: fixed_rate::Parameters::TABLE,
        make: &|config, values| Box::new(fixed_rate::FixedRate::new(config, &values.into())),
    },
];

/// All slow starts that replace the controller's own, which scenarios call `standard`.
pub const SLOW_STARTS: &[Registration<Box<dyn SlowStart>>] = &[
    Registration {
        name: "hystart++",
        about: "slow start that ends when the RTT stays increased",
        source: "RFC 9406",
        parameters: hystart_plus_plus::Parameters::TABLE,
        make: &|config, values| {
            Box::new(hystart_plus_plus::HyStartPlusPlus::new(config, &values.into()))
        },
    },
    Registration {
        name: "hystart",
        about: "slow start that ends at the first sign of a queue, as in Linux's CUBIC",
        source: "Ha, Rhee, Computer Networks 55 (2011); Linux 6.18, tcp_cubic.c",
        parameters: hystart::Parameters::TABLE,
        make: &|config, values| Box::new(hystart::HyStart::new(config, &values.into())),
    },
    Registration {
        name: "search",
        about: "slow start that ends when deliveries fall behind sending",
        source: "draft-chung-ccwg-search",
        parameters: search::Parameters::TABLE,
        make: &|config, values| Box::new(search::Search::new(config, &values.into())),
    },
    Registration {
        name: "rapid-start",
        about: "slow start that triples the window while no queue builds up, and keeps what the \
            path delivers",
        source: "draft-kazuho-ccwg-rapid-start",
        parameters: rapid_start::Parameters::TABLE,
        make: &|config, values| Box::new(rapid_start::RapidStart::new(config, &values.into())),
    },
    Registration {
        name: "suss",
        about: "HyStart whose first rounds quadruple the window if trains of ACKs show room",
        source: "Arghavani and others, SIGCOMM 2024; their change to Linux 6.8, tcp_cubic.c",
        parameters: suss::Parameters::TABLE,
        make: &|config, values| Box::new(suss::Suss::new(config, &values.into())),
    },
    Registration {
        name: "long-path",
        about: "bursts of the proven volume at several times the proven rate, on round trips of \
            satellites",
        source: "ours: docs/decisions/0005-long-path-start.md",
        parameters: long_path::Parameters::TABLE,
        make: &|config, values| Box::new(long_path::LongPath::new(config, &values.into())),
    },
];

/// All filters that decide which losses a window-based controller learns of.
pub const LOSS_FILTERS: &[Registration<LossFilter>] = &[Registration {
    name: "chance",
    about: "spares the window for losses that no queue explains",
    source: "ours: docs/decisions/0082-losses-by-chance.md",
    parameters: loss_filter::Parameters::TABLE,
    make: &|_, values| LossFilter::Chance(values.into()),
}];

/// All uses of saved path parameters.
pub const RESUMPTIONS: &[Registration<ResumeMode>] = &[
    Registration {
        name: "none",
        about: "only measures the path",
        source: "RFC 9959 §3.1",
        parameters: resume::Parameters::TABLE,
        make: &|_, _| ResumeMode::Observe,
    },
    Registration {
        name: "careful",
        about: "half of the saved window once the path is confirmed, withdrawn if it is not \
            validated",
        source: "RFC 9959",
        parameters: resume::Parameters::TABLE,
        make: &|_, _| ResumeMode::Careful,
    },
    Registration {
        name: "jump",
        about: "unsafe: the whole saved window from the first flight on, for comparison",
        source: "RFC 9959 §4.3 warns against it",
        parameters: resume::Parameters::TABLE,
        make: &|_, _| ResumeMode::Jump,
    },
];

/// Returns the component of that name.
pub fn find<T>(
    registrations: &'static [Registration<T>],
    name: &str,
) -> Option<&'static Registration<T>> {
    registrations.iter().find(|registration| registration.name == name)
}
