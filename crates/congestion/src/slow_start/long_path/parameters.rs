//! Parameters of the long-path slow start.

use crate::parameters::parameters;
use bentpipe_units::Span;

parameters! {
    /// Parameters of [`LongPath`](super::LongPath). Decisions 5 and 44 document the measurements
    /// behind the defaults.
    Parameters {
        threshold: 100.0, 50.0 => 10_000.0, "ms",
            "RTT from which on a path counts as long; below it, the controller's own slow start is \
             used";
        first_flight: 130.0, 10.0 => 1000.0, "packets",
            "maximum size of the first burst: ten packets per 50 ms of RTT, as many as a path of \
             50 ms carries in that time";
        gain: 3.0, 1.25 => 16.0, "", "rate of the bursts relative to the proven rate";
        burst: 0.5, 0.0 => 64.0, "",
            "volume of a burst relative to the proven rate times the RTT; the rest of a round \
             follows at `pace`; after a jump at least `1 + excess`, unless others may use the path";
        pace: 1.0, 1.0 => 2.0, "", "rate after a burst relative to the window per RTT";
        calm: 10.0, 1.0 => 1000.0, "ms",
            "RTT increase from which on others may use the path; for the first burst, and where \
             frames aggregate ACKs, at least `max_ack_aggregation`";
        share: 0.0, 0.0 => 2.0, "",
            "rate while packets queue, relative to the highest proven rate, below which others \
             use the path; 0 leaves rates out of account";
        shared_margin: 0.5, 0.1 => 2.0, "", "`settle` and `margin` on a path that others use";
        busy_gain: 1.25, 1.0 => 16.0, "", "`gain` on a path that others may use";
        busy_growth: 2.0, 1.0 => 64.0, "", "`max_growth` on a path that others may use";
        doubt: 0.05, 0.0 => 1.0, "",
            "losses of the bursts, relative to the window, beyond which no more capacity is sought";
        excess: 0.15, 0.0 => 2.0, "",
            "volume in flight beyond the proven rate times the RTT";
        max_growth: 16.0, 2.0 => 64.0, "",
            "maximum growth of the window per round";
        max_ack_aggregation: 30.0, 0.0 => 200.0, "ms",
            "maximum time over which a path aggregates ACKs: slightly more than a DVB-RCS2 return \
             frame (26.5 ms)";
        whole_frames: 1.0, 0.0 => 1.0, "",
            "1: a rate that begins with a frame's last ACK is taken as exact; 0: it is lowered by \
             the time over which ACKs are aggregated, as others are";
        rise: 45.0, 1.0 => 1000.0, "ms", "smallest RTT increase that counts as a queue";
        rise_share: 0.05, 0.01 => 1.0, "",
            "smallest RTT increase that counts as a queue, relative to the RTT";
        max_loss: 0.05, 0.001 => 1.0, "", "losses of a round that end the bursts";
        settle: 1.0, 0.5 => 2.0, "",
            "window between bursts and end of the slow start, relative to the proven rate times \
             the RTT";
        margin: 1.1, 0.5 => 2.0, "",
            "window after slow start, relative to the proven rate times the RTT";
        return_doubt: 0.4, 0.0 => 1000.0, "Mbps",
            "ACK rate that may fill the return link, so that an RTT increase proves nothing about \
             the forward link";
        max_creep: 1.5, 0.0 => 100.0, "MB",
            "maximum growth of the window per round while the full direction is unknown";
    }
}

/// Values of the parameters.
#[derive(Debug, Clone)]
pub(super) struct Tuning {
    pub(super) threshold: Span,
    pub(super) first_flight: f64,
    pub(super) gain: f64,
    pub(super) burst: f64,
    pub(super) pace: f64,
    pub(super) calm: Span,
    pub(super) share: f64,
    pub(super) shared_margin: f64,
    pub(super) busy_gain: f64,
    pub(super) busy_growth: f64,
    pub(super) doubt: f64,
    pub(super) excess: f64,
    pub(super) max_growth: f64,
    pub(super) max_ack_aggregation: Span,
    pub(super) whole_frames: bool,
    pub(super) rise: Span,
    pub(super) rise_share: f64,
    pub(super) max_loss: f64,
    pub(super) settle: f64,
    pub(super) margin: f64,
    /// In bits per second.
    pub(super) return_doubt: f64,
    /// In bytes.
    pub(super) max_creep: f64,
}

impl Tuning {
    pub(super) fn new(parameters: &Parameters) -> Self {
        let span = |value: f64| Span::from_secs_f64(value / 1e3);
        Self {
            threshold: span(parameters.threshold),
            first_flight: parameters.first_flight,
            gain: parameters.gain,
            burst: parameters.burst,
            pace: parameters.pace,
            calm: span(parameters.calm),
            share: parameters.share,
            shared_margin: parameters.shared_margin,
            busy_gain: parameters.busy_gain,
            busy_growth: parameters.busy_growth,
            doubt: parameters.doubt,
            excess: parameters.excess,
            max_growth: parameters.max_growth,
            max_ack_aggregation: span(parameters.max_ack_aggregation),
            whole_frames: parameters.whole_frames >= 0.5,
            rise: span(parameters.rise),
            rise_share: parameters.rise_share,
            max_loss: parameters.max_loss,
            settle: parameters.settle,
            margin: parameters.margin,
            return_doubt: 1e6 * parameters.return_doubt,
            max_creep: 1e6 * parameters.max_creep,
        }
    }
}
