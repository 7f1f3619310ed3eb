//! The streams of a call, audio and video in each direction, and the metrics of the whole call.

use crate::metrics::{Better, CALL, CallMetrics, Metric, Row};
use crate::run::{CallStream, Direction, Flow, Media};
use std::sync::LazyLock;

/// The streams that a call can have, with their names in metrics and in labels.
const STREAMS: [(Media, Direction, &str, &str); 4] = [
    (Media::Audio, Direction::Download, "audio_download", "audio, download"),
    (Media::Audio, Direction::Upload, "audio_upload", "audio, upload"),
    (Media::Video, Direction::Download, "video_download", "video, download"),
    (Media::Video, Direction::Upload, "video_upload", "video, upload"),
];

/// A metric of one stream.
pub(crate) struct StreamMetric {
    /// Its row, such as that of `audio_download.mos`.
    pub row: Row,
    /// Number of the stream, for [`of_stream`].
    pub stream: usize,
    /// The metric.
    pub metric: &'static Metric<CallMetrics>,
}

/// Metrics of each stream. Their names are made once.
pub(crate) static OF_STREAMS: LazyLock<Vec<StreamMetric>> = LazyLock::new(|| {
    let metrics = STREAMS.iter().enumerate().flat_map(|(stream, (_, _, name, label))| {
        CALL.iter().map(move |metric| {
            let row = Row {
                name: String::leak(format!("{name}.{}", metric.row.name)),
                label: String::leak(format!("{}: {label}", metric.row.label)),
                detail: true,
                ..metric.row
            };
            StreamMetric { row, stream, metric }
        })
    });
    metrics.collect()
});

/// Reads a metric of a call: of its streams the worst value, or the sum of what is neither good nor
/// bad.
pub(crate) fn of_call(flow: &Flow, metric: &Metric<CallMetrics>) -> Option<f64> {
    let values = flow.call.iter().filter_map(|stream| (metric.read)(&stream.metrics));
    values.reduce(match metric.row.better {
        Better::Lower => f64::max,
        Better::Higher => f64::min,
        Better::Neither => std::ops::Add::add,
    })
}

/// Reads a metric of stream number `index` of [`STREAMS`].
pub(crate) fn of_stream(flow: &Flow, index: usize, metric: &Metric<CallMetrics>) -> Option<f64> {
    let (media, direction, ..) = STREAMS.get(index)?;
    let is_it = |one: &&CallStream| one.media == *media && one.direction == *direction;
    (metric.read)(&flow.call.iter().find(is_it)?.metrics)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow_metrics::find_metric;

    #[test]
    fn a_call_is_as_good_as_its_worst_stream() {
        let stream = |media: &str, direction: &str, mos: Option<f64>, late: f64| {
            serde_json::json!({
                "media": media, "direction": direction, "mos": mos, "frames": 100,
                "frames_late_percent": late,
            })
        };
        let flow: Flow = serde_json::from_value(serde_json::json!({
            "name": "call", "visit": 1, "workload": "call", "transport": "udp",
            "congestion": "none", "connections": 0, "direction": "download", "bytes": 1,
            "completed": true, "start_s": 0.0, "reverse_bytes": {}, "objects": [], "error": null,
            "call": [
                stream("audio", "download", Some(3.0), 1.0),
                stream("video", "download", None, 2.0),
                stream("audio", "upload", Some(4.0), 3.0),
            ],
        }))
        .unwrap();
        let read = |name: &str| find_metric(name).unwrap().read(&flow);
        assert_eq!(read("mos"), Some(3.0));
        assert_eq!(read("frames_late_percent"), Some(3.0));
        assert_eq!(read("frames"), Some(300.0));
        assert_eq!(read("audio_upload.mos"), Some(4.0));
        assert_eq!(read("video_download.frames_late_percent"), Some(2.0));
        assert_eq!((read("video_download.mos"), read("video_upload.frames")), (None, None));
        let text = serde_json::to_string(&flow).unwrap();
        assert_eq!(serde_json::from_str::<Flow>(&text).unwrap(), flow);
        let other = Flow { call: Vec::new(), ..flow };
        assert!(!serde_json::to_string(&other).unwrap().contains("\"call\":"));
    }
}
