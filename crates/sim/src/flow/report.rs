//! What a transport reports about a visit that ends, and what remains of a flow's visits.

use crate::outcome::{
    Acknowledgements, CallStream, FlowOutcome, PathOutcome, PepOutcome, QlogFile,
};
use bentpipe_media::responsiveness;
use bentpipe_quic::FlowControlReport;
use bentpipe_quic::congestion::SenderMetrics;
use bentpipe_quic::observer::Layers;
use bentpipe_timeseries::{Series, VisitSeries};
use bentpipe_units::Time;

/// What only the transport knows about a visit that ends.
pub struct VisitReport {
    /// Number of connections.
    pub connections: usize,
    /// Time at which the client completed the handshake.
    pub handshake: Option<Time>,
    /// Combined records of the data's senders.
    pub metrics: SenderMetrics,
    /// Bytes of packets of data that arrived for the second time.
    pub duplicate_bytes: u64,
    /// Knowledge about the path.
    pub path: PathOutcome,
    /// Counters of the proxies.
    pub pep: Option<PepOutcome>,
    /// ACK statistics of the data's receiver.
    pub reverse: ReverseReport,
    /// Flow-control record of the data's receiver.
    pub flow_control: Option<FlowControlReport>,
    /// Its qlog.
    pub qlog: Vec<QlogFile>,
    /// Streams of a call.
    pub call: Vec<CallStream>,
    /// What a test of responsiveness has measured.
    pub test: Option<responsiveness::Outcome>,
}

impl VisitReport {
    /// Creates the report of a visit without connections, of which `metrics` alone are known.
    pub fn new(metrics: SenderMetrics) -> Self {
        Self {
            connections: 0,
            handshake: None,
            metrics,
            duplicate_bytes: 0,
            path: PathOutcome::default(),
            pep: None,
            reverse: ReverseReport::default(),
            flow_control: None,
            qlog: Vec::new(),
            call: Vec::new(),
            test: None,
        }
    }
}

/// Statistics of the transport about the reverse direction.
#[derive(Default)]
pub struct ReverseReport {
    /// ACK statistics of the data's receiver.
    pub acknowledgements: Option<Acknowledgements>,
    /// Contents of its QUIC packets by layer.
    pub layers: Option<Layers>,
    /// Its time series, if recorded.
    pub series: Vec<Series>,
}

/// Results of a flow's finished visits.
#[derive(Default)]
pub struct FlowResults {
    /// Outcomes of measured visits.
    pub outcomes: Vec<FlowOutcome>,
    /// Outcomes of the probes on their connections.
    pub probes: Vec<FlowOutcome>,
    /// Their time series.
    pub traces: Vec<VisitSeries>,
    /// Their qlog.
    pub qlog: Vec<QlogFile>,
}
