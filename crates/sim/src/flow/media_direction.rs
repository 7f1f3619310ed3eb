//! Media of a call in one direction, for any carrier, and on either clock.

use super::current_visit::VisitStart;
use super::shared::Shared;
use crate::datagram::PathDirection;
use crate::error::SimError;
use crate::outcome::CallStream;
use crate::spec::{CallTraffic, Direction, FlowSpec};
use bentpipe_media::{FeedbackRecorder, MediaKind, Receiver, Sender};
use bentpipe_timeseries::{Series, SeriesLimit};
use bentpipe_units::Time;

/// Media of a call in one direction.
#[derive(Debug)]
pub struct MediaDirection {
    /// The direction.
    pub(crate) toward: PathDirection,
    /// The sending end.
    pub sender: Sender,
    /// The receiving end.
    pub receiver: Receiver,
    /// True if the receiver's end is to send a keyframe request.
    pub(crate) requests_keyframe: bool,
    /// What the receiver's end is to report, if the sender needs that.
    pub(crate) feedback: Option<FeedbackRecorder>,
}

impl MediaDirection {
    /// Returns the direction.
    pub fn direction(&self) -> Direction {
        direction(self.toward)
    }
}

/// Checks that the call of a flow has an end.
///
/// # Errors
/// A visit has no duration.
pub fn check(spec: &FlowSpec) -> Result<(), SimError> {
    if spec.visits.iter().all(|visit| visit.duration.is_some()) {
        return Ok(());
    }
    let name = &spec.name;
    Err(SimError::Spec(format!("call `{name}` has no duration; allowed: visits with one")))
}

/// Returns the directions of a visit of the flow called `flow`, whose media begins with the visit.
pub fn all(
    traffic: &CallTraffic,
    flow: &str,
    start: &VisitStart,
    shared: &Shared,
) -> Vec<MediaDirection> {
    let times = (start.now, start.ends.unwrap_or(start.now));
    between(traffic, (flow, start.number), times, shared.seed, start.series)
}

/// Returns the directions of a call between two times, in visit number `visit` of the flow called
/// `flow`. `seed`, of the scenario and of the run, determines the sizes of frames. With a limit,
/// receivers record time series.
pub fn between(
    traffic: &CallTraffic,
    (flow, visit): (&str, u32),
    times: (Time, Time),
    seed: (u64, u64),
    series: Option<SeriesLimit>,
) -> Vec<MediaDirection> {
    let needs_feedback = traffic.media.adaptation.is_some_and(|one| one.algorithm.needs_feedback());
    let direction = |&one: &Direction| MediaDirection {
        toward: PathDirection::of(one),
        sender: Sender::new(&traffic.media, times, seed, &purpose(flow, one, visit))
            .with_series(series),
        receiver: Receiver::new(&traffic.media, times, series),
        requests_keyframe: false,
        feedback: needs_feedback.then(FeedbackRecorder::default),
    };
    traffic.directions.each().iter().map(direction).collect()
}

/// Returns the purpose of the draws of visit number `visit` of the flow called `flow`.
pub fn purpose(flow: &str, direction: Direction, visit: u32) -> String {
    format!("flow/{flow}/{}/{visit}", direction.name())
}

/// Ends the media, and returns what was measured, with the time series of delays and rates.
pub fn finish(now: Time, media: Vec<MediaDirection>) -> (Vec<CallStream>, Vec<Series>) {
    let (mut call, mut series) = (Vec::new(), Vec::new());
    for MediaDirection { toward, mut sender, receiver, .. } in media {
        let direction = direction(toward);
        if let Some(rates) = sender.take_rates().filter(|rates| !rates.is_empty()) {
            series.push(Series::new(rate_series(direction), "Mbps", rates.into_points()));
        }
        for mut measured in receiver.finish(now, &sender) {
            if let Some(delays) = measured.series.take().filter(|delays| !delays.is_empty()) {
                let name = delay_series(measured.kind, direction);
                series.push(Series::new(name, "ms", delays.into_points()));
            }
            call.push(CallStream { direction, measured });
        }
    }
    (call, series)
}

/// Returns the direction of media in terms of results.
pub fn direction(toward: PathDirection) -> Direction {
    match toward {
        PathDirection::ToClient => Direction::Download,
        PathDirection::ToServer => Direction::Upload,
    }
}

/// Returns the name of the series of the rates of a video that adapts.
fn rate_series(direction: Direction) -> &'static str {
    match direction {
        Direction::Download => "video_download_rate",
        Direction::Upload => "video_upload_rate",
    }
}

/// Returns the name of the series of the delays of frames.
fn delay_series(kind: MediaKind, direction: Direction) -> &'static str {
    match (kind, direction) {
        (MediaKind::Audio, Direction::Download) => "audio_download_delay",
        (MediaKind::Audio, Direction::Upload) => "audio_upload_delay",
        (MediaKind::Video, Direction::Download) => "video_download_delay",
        (MediaKind::Video, Direction::Upload) => "video_upload_delay",
    }
}
