//! What can be set.

use crate::parameters::parameters;
use bentpipe_units::Span;

parameters! {
    /// Parameters of [`LongPath`](super::LongPath). The defaults were measured: decision 5.
    Parameters {
        threshold: 160.0, 100.0 => 10_000.0, "ms",
            "round trip from which on a path is long; below it the controller's own slow start is \
             left alone";
        first_flight: 130.0, 10.0 => 1000.0, "packets",
            "most packets of the first burst: ten for each 50 ms of round trip, what a path of 50 \
             ms gets in the time";
        gain: 3.0, 1.25 => 16.0, "", "rate of the bursts against the proven one";
        excess: 0.1, 0.0 => 2.0, "",
            "volume in flight beyond what the proven rate delivers in a round trip";
        max_growth as "most_growth": 16.0, 2.0 => 64.0, "",
            "most by which the window grows in a round";
        max_ack_aggregation as "clump": 30.0, 0.0 => 200.0, "ms",
            "time for which a path may gather acknowledgements: a return frame of DVB-RCS2 and a \
             little (26.5 ms)";
        rise: 45.0, 1.0 => 1000.0, "ms", "smallest rise of the round trip that is a queue";
        margin: 1.1, 1.0 => 2.0, "",
            "window after the start, against what the proven rate delivers in a round trip";
        return_doubt: 0.4, 0.0 => 1000.0, "Mbps",
            "acknowledgements at this rate may be all that a return link carries: a longer round \
             trip proves nothing then";
        max_creep as "creep": 1.5, 0.0 => 100.0, "MB",
            "most by which the window grows in a round while it cannot be told which way is full";
    }
}

/// The parameters' values.
#[derive(Debug, Clone)]
pub(super) struct Tuning {
    pub(super) threshold: Span,
    pub(super) first_flight: f64,
    pub(super) gain: f64,
    pub(super) excess: f64,
    pub(super) max_growth: f64,
    pub(super) max_ack_aggregation: Span,
    pub(super) rise: Span,
    pub(super) margin: f64,
    /// Bits a second.
    pub(super) return_doubt: f64,
    /// Bytes.
    pub(super) max_creep: f64,
}

impl Tuning {
    pub(super) fn new(parameters: &Parameters) -> Self {
        let span = |value: f64| Span::from_secs_f64(value / 1e3);
        Self {
            threshold: span(parameters.threshold),
            first_flight: parameters.first_flight,
            gain: parameters.gain,
            excess: parameters.excess,
            max_growth: parameters.max_growth,
            max_ack_aggregation: span(parameters.max_ack_aggregation),
            rise: span(parameters.rise),
            margin: parameters.margin,
            return_doubt: 1e6 * parameters.return_doubt,
            max_creep: 1e6 * parameters.max_creep,
        }
    }
}
