//! The documents of iperf3: one at the end of a test (`-J`), or a line for each event
//! (`--json-stream`).

use crate::error::Fault;
use crate::list::at_most;
use crate::measured::Direction;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

#[derive(Deserialize)]
pub struct Document {
    pub start: Start,
    #[serde(deserialize_with = "at_most")]
    pub intervals: Vec<Interval>,
    #[serde(default)]
    pub end: End,
    pub error: Option<String>,
    /// What the server wrote (`--get-server-output`).
    pub server_output_json: Option<Box<Document>>,
}

#[derive(Deserialize)]
pub struct Start {
    pub timestamp: Stamp,
    /// Set by `-M`.
    pub tcp_mss: Option<f64>,
    pub tcp_mss_default: Option<f64>,
    pub test_start: Test,
    /// Of a server only.
    pub accepted_connection: Option<IgnoredAny>,
}

#[derive(Deserialize)]
pub struct Stamp {
    pub timesecs: i64,
}

#[derive(Deserialize)]
pub struct Test {
    pub protocol: String,
    #[serde(default)]
    pub reverse: u8,
    pub blksize: f64,
}

#[derive(Deserialize)]
pub struct Interval {
    #[serde(deserialize_with = "at_most")]
    pub streams: Vec<Stream>,
}

#[derive(Deserialize)]
pub struct Stream {
    pub start: f64,
    pub end: f64,
    pub bytes: f64,
    #[serde(default)]
    pub omitted: bool,
    /// Whether this end sends: from version 3.7 on, which has transfers in both directions.
    pub sender: Option<bool>,
    #[serde(default)]
    pub retransmits: u64,
    #[serde(default)]
    pub packets: u64,
    #[serde(default)]
    pub lost_packets: u64,
    pub rtt: Option<f64>,
}

impl Stream {
    /// Returns the direction of a stream of a test that began so.
    pub fn direction(&self, start: &Start) -> Direction {
        let server = start.accepted_connection.is_some();
        let up = match self.sender {
            Some(sender) => sender != server,
            None => start.test_start.reverse == 0,
        };
        if up { Direction::Up } else { Direction::Down }
    }
}

#[derive(Deserialize, Default)]
pub struct End {
    pub sum: Option<Sum>,
}

/// Packets of an upload by UDP, as the server has counted them.
#[derive(Deserialize)]
pub struct Sum {
    #[serde(default)]
    pub packets: f64,
    #[serde(default)]
    pub lost_packets: f64,
}

/// What a test that failed has.
#[derive(Deserialize)]
struct Failure {
    error: Option<String>,
    #[serde(default)]
    intervals: Vec<IgnoredAny>,
}

/// Which event a line has. Its data are read in a second pass, once their type is known: as values
/// of JSON they would take 32 times the memory of their text.
#[derive(Deserialize)]
struct Event {
    event: String,
}

/// The data of an event.
#[derive(Deserialize)]
struct Data<T> {
    data: T,
}

fn data<T: DeserializeOwned>(line: &str) -> serde_json::Result<T> {
    serde_json::from_str::<Data<T>>(line).map(|of| of.data)
}

/// Returns true if a text has a line for each event.
pub fn is_stream(text: &str) -> bool {
    let compact: String = text.chars().take(40).filter(|c| !c.is_whitespace()).collect();
    compact.starts_with("{\"event\":")
}

/// Reads a test.
///
/// # Errors
/// It is not what iperf3 writes, or the test failed before its first interval.
pub fn parse(text: &str) -> Result<Document, Fault> {
    if is_stream(text) {
        return events(text);
    }
    let failure: Failure = serde_json::from_str(text)?;
    if let Some(error) = failure.error.filter(|_| failure.intervals.is_empty()) {
        return Err(failed(&error));
    }
    Ok(serde_json::from_str(text)?)
}

fn failed(error: &str) -> Fault {
    Fault::whole(format!("iperf3 says that the test failed ({error}); allowed: one that ran"))
}

fn events(text: &str) -> Result<Document, Fault> {
    let mut start: Option<Start> = None;
    let (mut intervals, mut end, mut error) = (Vec::new(), End::default(), None);
    let mut server_output_json = None;
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let number = index + 1;
        let at = |fault: serde_json::Error| Fault::at(number, Fault::from(fault).problem);
        let Event { event } = serde_json::from_str(line).map_err(at)?;
        match event.as_str() {
            "start" => start = Some(data(line).map_err(at)?),
            "interval" => intervals.push(data(line).map_err(at)?),
            "end" => end = data(line).map_err(at)?,
            "error" => error = data(line).ok(),
            "server_output_json" => server_output_json = Some(data(line).map_err(at)?),
            _ => {}
        }
    }
    if let Some(error) = error.as_deref().filter(|_| intervals.is_empty()) {
        return Err(failed(error));
    }
    let Some(start) = start else {
        return Err(Fault::whole("there is no event `start` in it; allowed: all lines of a test"));
    };
    Ok(Document { start, intervals, end, error, server_output_json })
}
