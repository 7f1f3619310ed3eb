//! The JSON document of `bentpipe explain FILE --json`, and its schema.

use super::super::account::AccountDocument;
use bentpipe_captures::{BothEnds, CapturedTransfer, OneWay};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Where the time of a recorded transfer went, what would help, and what else its file has. Times
/// are in seconds since the first packet of the connection, if nothing else is said.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TraceDocument {
    /// Data of the transfer, in bytes.
    pub bytes: u64,
    /// Which end sent the data: `upload` if the client did.
    pub direction: Direction,
    /// Which end of the data recorded the file.
    pub recorded_by: RecordedBy,
    /// What passed between the ends; null if only one recorded it.
    pub both_ends: Option<BothEndsDocument>,
    /// The path, as the file shows it.
    pub path: PathDocument,
    /// Losses of data.
    pub losses: LossesDocument,
    /// Pauses of the application, by end.
    pub pauses: PausesDocument,
    /// The limit of flow control that took the most time; null if none took any.
    pub flow_control: Option<FlowControlDocument>,
    /// The transfer as it was recorded (`recorded`) and, if its path can be simulated, as it goes
    /// with Bentpipe's defaults on the path as it was seen (`bentpipe`).
    pub transfers: Vec<AccountDocument>,
    /// The requests of the connection, in the order in which they were asked.
    pub requests: Vec<RequestDocument>,
    /// The request that `--request` names; null without.
    pub request: Option<RequestAccountDocument>,
    /// What would help against the first cause.
    pub remedies: Vec<RemedyDocument>,
    /// What Bentpipe would take for the same data in one transfer; null if the file leaves too
    /// much open.
    pub prediction: Option<PredictionDocument>,
    /// The same as a sentence, with what it presumes; or why it is not said.
    pub prediction_text: String,
    /// What the file does not show, each a sentence.
    pub notes: Vec<String>,
    /// The connections of the file, those with the most data first; empty if it has one.
    pub connections: Vec<ConnectionDocument>,
}

/// Direction of a transfer.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Direction {
    /// The client sent the data.
    Upload,
    /// The server sent the data.
    Download,
}

/// The end of a transfer that recorded it.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum RecordedBy {
    /// The one that sent the data.
    Sender,
    /// The one that received the data.
    Receiver,
    /// Both, in two files.
    Both,
}

impl RecordedBy {
    pub fn of(recorded: &CapturedTransfer) -> Self {
        match (recorded.both, recorded.is_sender) {
            (Some(_), _) => Self::Both,
            (None, true) => Self::Sender,
            (None, false) => Self::Receiver,
        }
    }
}

/// What passed between the ends of a transfer that recorded it in two files.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct BothEndsDocument {
    /// Packets with data.
    to_receiver: OneWayDocument,
    /// All packets towards the sender of the data.
    to_sender: OneWayDocument,
    /// By how many millionths the receiver's clock runs faster than the sender's.
    drift_ppm: f64,
}

/// What passed in one direction.
#[derive(Debug, Serialize, JsonSchema)]
struct OneWayDocument {
    /// Packets that were sent: segments of TCP as the file of their sender has them.
    packets: usize,
    /// Those of them that did not arrive.
    lost: usize,
    /// For how much longer than the shortest one took, at most.
    longest_wait_ms: f64,
}

impl BothEndsDocument {
    pub fn of(both: &BothEnds) -> Self {
        let BothEnds { to_receiver, to_sender, drift_ppm } = both;
        let one_way = |one: &OneWay| OneWayDocument {
            packets: one.packets,
            lost: one.lost,
            longest_wait_ms: one.longest_wait.as_millis_f64(),
        };
        let (to_receiver, to_sender) = (one_way(to_receiver), one_way(to_sender));
        Self { to_receiver, to_sender, drift_ppm: *drift_ppm }
    }
}

/// A path.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PathDocument {
    /// Smallest RTT.
    pub rtt_ms: f64,
    /// Highest rate towards the receiver of the data at which packets passed.
    pub rate_mbps: f64,
    /// True if the path was never filled: its rate may be higher.
    pub rate_is_least: bool,
    /// Highest rate that was held for a round trip: no link is slower.
    pub proven_rate_mbps: f64,
    /// Longest wait of data in a queue.
    pub queue_ms: f64,
    /// True if data was lost while the queue was about that long.
    pub queue_is_full: bool,
    /// Share of the data packets that were lost while the queue was not full, as a fraction.
    pub loss: f64,
}

/// Losses of data.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct LossesDocument {
    /// Packets that were lost.
    pub packets: usize,
    /// Those of them that came upon a full queue.
    pub at_a_full_queue: usize,
    /// Episodes: losses within a round trip are one.
    pub episodes: usize,
}

/// Pauses of the application.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PausesDocument {
    /// At the end that sends the data.
    pub sender_s: f64,
    /// At the end that receives the data, and asks for it.
    pub receiver_s: f64,
}

/// A limit of the bytes in flight.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FlowControlDocument {
    /// Which limit, and what it holds of the path, in words.
    pub limit: String,
    /// Its size.
    pub bytes: u64,
    /// Time for which it held the transfer up.
    pub time_s: f64,
}

/// A request and its answer, in seconds since the first packet of the connection.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RequestDocument {
    /// Its number, for `--request`.
    pub number: usize,
    /// Its stream in QUIC.
    pub stream: Option<u64>,
    /// When it was sent or, at the end that answers, arrived; null if the file does not have it.
    pub asked_s: Option<f64>,
    /// First byte of the answer.
    pub first_byte_s: f64,
    /// Last byte of the answer.
    pub last_byte_s: f64,
    /// Data of the answer.
    pub bytes: u64,
    /// What most of its time was spent on, but for the time to send the data: a key of
    /// `time_budget`; null if that is all.
    pub cause: Option<&'static str>,
    /// How long that took.
    pub cause_s: Option<f64>,
}

/// What the time of one request was spent on.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RequestAccountDocument {
    /// Its number.
    pub number: usize,
    /// Time from when it was asked to its last byte, at the end that recorded the file.
    pub completion_s: f64,
    /// The parts of that time in seconds, those that have any, by the names of `time_budget`.
    pub time_budget: BTreeMap<&'static str, f64>,
    /// Time in which the link carried data of other requests.
    pub others_s: f64,
    /// All of it in a sentence.
    pub text: String,
}

/// A change that helps.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RemedyDocument {
    /// What it helps against: a key of `time_budget`.
    pub cause: &'static str,
    /// What to change.
    pub setting: String,
    /// At which end.
    pub r#where: String,
    /// To what; empty if no value says it.
    pub value: String,
    /// What that saves; null if it cannot be told from the file.
    pub saves_s: Option<f64>,
    /// What that saves at most, if that is all that is known; else null.
    pub saves_up_to_s: Option<f64>,
}

/// A range of completion times.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PredictionDocument {
    /// Its lower end.
    pub low_s: f64,
    /// Its upper end.
    pub high_s: f64,
}

/// A connection of the file.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ConnectionDocument {
    /// Its number, for `--connection`.
    pub number: usize,
    /// `TCP`, `QUIC` or `UDP`.
    pub protocol: String,
    /// What the file calls it; empty in captures.
    pub title: String,
    /// Address and port of the client; empty if the file does not say.
    pub client: String,
    /// Address and port of the server; empty if the file does not say.
    pub server: String,
    /// Its first packet, in seconds since the first packet of the file.
    pub start_s: f64,
    /// Packets of the client.
    pub packets_to_server: u64,
    /// Packets of the server.
    pub packets_to_client: u64,
    /// Bytes of the client, repeats included.
    pub bytes_to_server: u64,
    /// Bytes of the server, repeats included.
    pub bytes_to_client: u64,
    /// How long its transfer took; null if it is not explained.
    pub completion_s: Option<f64>,
    /// Its first cause: a key of `time_budget`.
    pub cause: Option<&'static str>,
    /// Why it is not explained; null if it is.
    pub not_explained: Option<String>,
}

/// Returns the JSON Schema (draft 2020-12) of the document.
pub(crate) fn json_schema() -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<TraceDocument>();
    let title = "What `bentpipe explain FILE --json` says of a qlog file or a capture";
    schema.insert("title".to_owned(), title.into());
    schema.to_value()
}
