//! What can be set.

use crate::parameter::{Parameter, Values};
use bentpipe_units::Span;

/// Parameters of [`LongPath`](super::LongPath). The defaults were measured: decision 5.
pub const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "threshold",
        default: 160.0,
        range: (100.0, 10_000.0),
        unit: "ms",
        about: "round trip from which on a path is long; below it the controller's own slow start is left alone",
    },
    Parameter {
        name: "first_flight",
        default: 130.0,
        range: (10.0, 1000.0),
        unit: "packets",
        about: "most packets of the first burst: ten for each 50 ms of round trip, what a path of 50 ms gets in the time",
    },
    Parameter {
        name: "gain",
        default: 3.0,
        range: (1.25, 16.0),
        unit: "",
        about: "rate of the bursts against the proven one",
    },
    Parameter {
        name: "excess",
        default: 0.1,
        range: (0.0, 2.0),
        unit: "",
        about: "volume in flight beyond what the proven rate delivers in a round trip",
    },
    Parameter {
        name: "most_growth",
        default: 16.0,
        range: (2.0, 64.0),
        unit: "",
        about: "most by which the window grows in a round",
    },
    Parameter {
        name: "clump",
        default: 30.0,
        range: (0.0, 200.0),
        unit: "ms",
        about: "time for which a path may gather acknowledgements: a return frame of DVB-RCS2 and a little (26.5 ms)",
    },
    Parameter {
        name: "rise",
        default: 45.0,
        range: (1.0, 1000.0),
        unit: "ms",
        about: "smallest rise of the round trip that is a queue",
    },
    Parameter {
        name: "margin",
        default: 1.1,
        range: (1.0, 2.0),
        unit: "",
        about: "window after the start, against what the proven rate delivers in a round trip",
    },
    Parameter {
        name: "return_doubt",
        default: 0.4,
        range: (0.0, 1000.0),
        unit: "Mbps",
        about: "acknowledgements at this rate may be all that a return link carries: a longer round trip proves nothing then",
    },
    Parameter {
        name: "creep",
        default: 1.5,
        range: (0.0, 100.0),
        unit: "MB",
        about: "most by which the window grows in a round while it cannot be told which way is full",
    },
];

/// The parameters' values.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) threshold: Span,
    pub(super) first_flight: f64,
    pub(super) gain: f64,
    pub(super) excess: f64,
    pub(super) most_growth: f64,
    pub(super) clump: Span,
    pub(super) rise: Span,
    pub(super) margin: f64,
    /// Bits a second.
    pub(super) return_doubt: f64,
    /// Bytes.
    pub(super) creep: f64,
}

impl Settings {
    pub(super) fn new(values: &Values) -> Self {
        let span = |name| Span::from_secs_f64(values.get(name) / 1e3);
        Self {
            threshold: span("threshold"),
            first_flight: values.get("first_flight"),
            gain: values.get("gain"),
            excess: values.get("excess"),
            most_growth: values.get("most_growth"),
            clump: span("clump"),
            rise: span("rise"),
            margin: values.get("margin"),
            return_doubt: 1e6 * values.get("return_doubt"),
            creep: 1e6 * values.get("creep"),
        }
    }
}
