//! One visit under way: its connections, what the network did to its datagrams, and what is known of the path.

use crate::outcome::{FlowTrace, PathOutcome, ReturnBytes, Series};
use crate::progress::Progress;
use crate::spec::Direction;
use bentpipe_quic::congestion::PathNotes;
use bentpipe_quic::qlog::QlogSink;
use bentpipe_quic::token::Verdict;
use bentpipe_quic::{Conn, Probe};
use bentpipe_units::Time;
use std::sync::{Arc, Mutex, PoisonError};

/// The visit under way.
pub struct Running {
    pub number: usize,
    pub conn: Conn,
    pub progress: Progress,
    /// Watches the data's sender.
    pub probe: Probe,
    /// What the data's sender knows of the path, where it keeps notes.
    pub notes: Option<PathNotes>,
    /// What became of the client's token, where tokens are exchanged.
    pub verdict: Option<Verdict>,
    /// The server's connection, once there is one.
    pub server_conn: Arc<Mutex<Option<Conn>>>,
    pub sinks: Option<(QlogSink, QlogSink)>,
    pub start: Time,
    pub gives_up: Time,
    pub counts: Counts,
}

impl Running {
    /// What both ends know of the path now.
    pub fn path(&self, direction: Direction) -> PathOutcome {
        let known = self.notes.as_ref().map(PathNotes::knowledge).unwrap_or_default();
        let receiver = match direction {
            Direction::Download => self.conn.received_view(),
            Direction::Upload => {
                let server = self.server_conn.lock().unwrap_or_else(PoisonError::into_inner);
                server.as_ref().and_then(Conn::received_view)
            }
        };
        PathOutcome {
            saved: known.offered,
            observed: known.observed,
            receiver,
            retreated: known.offered.map(|_| known.retreated),
            token: self.verdict.as_ref().map(Verdict::name),
        }
    }
}

/// Datagrams of the visit under way, as the network sees them.
#[derive(Default)]
pub struct Counts {
    pub data_packets: u64,
    pub lost_policer: u64,
    pub lost_queue: u64,
    pub lost_random: u64,
    pub return_packets: u64,
    pub return_bytes: ReturnBytes,
    pub dropped_policer: Vec<(Time, f64)>,
    pub dropped_queue: Vec<(Time, f64)>,
    pub dropped_loss: Vec<(Time, f64)>,
}

impl Running {
    /// The series of the visit, which ends.
    pub fn trace(&self, name: &str) -> FlowTrace {
        let mut record = self.probe.record();
        let sender = record.series.take().unwrap_or_default();
        let counts = &self.counts;
        let received = self.progress.state().series.take().unwrap_or_default();
        let mut series = Vec::new();
        let mut add = |name, unit, points: Vec<(Time, f64)>| {
            if !points.is_empty() {
                series.push(Series { name, unit, points });
            }
        };
        add("sent", "bytes", sender.sent);
        add("acked", "bytes", sender.acked);
        add("lost", "bytes", sender.lost);
        add("dropped_policer", "bytes", counts.dropped_policer.clone());
        add("dropped_queue", "bytes", counts.dropped_queue.clone());
        add("dropped_loss", "bytes", counts.dropped_loss.clone());
        add("received", "bytes", received);
        add("cwnd", "bytes", sender.cwnd);
        add("ssthresh", "bytes", sender.ssthresh);
        add("bytes_in_flight", "bytes", sender.bytes_in_flight);
        add("pacing_rate", "Mbps", sender.pacing_rate);
        add("rtt", "ms", sender.rtt);
        add("smoothed_rtt", "ms", sender.smoothed_rtt);
        let mut marks = Vec::new();
        if let Some(at) = self.conn.connected_at() {
            marks.push((at, "handshake complete".to_owned()));
        }
        if let Some(at) = self.progress.state().first_byte {
            marks.push((at, "first byte".to_owned()));
        }
        if let Some(at) = self.progress.completion() {
            marks.push((at, "complete".to_owned()));
        }
        FlowTrace { name: name.to_owned(), visit: self.number, start: self.start, series, marks, phases: sender.phases }
    }
}
