//! What a file shows over time, as series for plots whose size does not grow with the file.

mod causes;
mod receiving;
mod sending;
mod state;

use crate::account::CapturedTransfer;
use crate::event::{CapturedConnection, Event};
use bentpipe_timeseries::{Series, SeriesLimit};
use bentpipe_units::Time;
use receiving::Receiving;
use sending::Sending;
use state::SenderState;

/// Most changes of the congestion controller's state that are kept: the first ones.
const MAX_STATES: usize = 1000;
/// Longest name of a state, in characters.
const MAX_NAME: usize = 40;

/// The series of a recorded transfer.
#[derive(Debug, Clone, Default)]
pub struct TimeLine {
    /// Data, losses, RTT, windows and the shares of the causes of time, those that the file has.
    /// Times count from the first event of the file.
    pub series: Vec<Series>,
    /// The states of the congestion controller as the file calls them, with their begins.
    pub states: Vec<(Time, String)>,
}

/// Returns the series of a transfer, `recorded`, of the connection `trace`: of that end which the
/// account is of. Each has at most `limit` points; a longer one has the first, lowest, highest and
/// last point of each of its parts.
pub fn time_line(
    trace: &CapturedConnection,
    recorded: &CapturedTransfer,
    limit: SeriesLimit,
) -> TimeLine {
    let mut sending = Sending::new(trace, recorded, limit);
    let mut receiving = Receiving::new(limit);
    let mut state = SenderState::new(limit);
    let mut states: Vec<(Time, String)> = Vec::new();
    for (at, event) in &trace.events {
        match event {
            Event::Sent(packet) => {
                sending.sent(*at, packet);
                receiving.sent(*at, packet);
            }
            Event::Received(packet) => {
                sending.received(*at, packet);
                receiving.received(*at, packet);
            }
            Event::Metrics(metrics) => state.changed(*at, metrics),
            Event::State(name) if states.len() < MAX_STATES => {
                let name: String = name.chars().take(MAX_NAME).collect();
                states.push((*at, name.replace('_', " ")));
            }
            Event::PeerLimits { connection, .. } => sending.limited(*at, *connection),
            _ => {}
        }
    }
    let knows_rtt = state.knows_rtt();
    let knows_flight = state.knows_flight();
    let mut series = state.into_series();
    let of_data = if recorded.is_sender {
        sending.into_series(!knows_rtt, !knows_flight)
    } else {
        let rtt = sending.into_rtt().filter(|_| !knows_rtt);
        let mut of_data = receiving.into_series(&recorded.losses, limit);
        of_data.extend(rtt);
        of_data
    };
    series.extend(of_data);
    series.retain(|one| !one.points.is_empty());
    series.extend(causes::shares(recorded));
    TimeLine { series, states }
}

#[cfg(test)]
mod tests;
