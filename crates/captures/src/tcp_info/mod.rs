//! Logs of `ss -tin`: what Linux says of its TCP sockets (`struct tcp_info`), again and again. They
//! have no packets, but say what held a sender back.

mod sample;
mod socket;
mod summary;
#[cfg(test)]
mod tests;
mod time_line;

use crate::error::CaptureError;
use bentpipe_units::{Span, Time};
use std::collections::BTreeMap;
use time_line::split_time;

pub use sample::TcpInfoSample;
pub use socket::TcpInfoSocket;
pub use summary::TcpInfoSummary;

/// Most sockets of a log and most samples of all of them. Tests need not write so many.
const MAX_SOCKETS: usize = 10_000;
const MAX_SAMPLES: usize = if cfg!(test) { 1_000 } else { 500_000 };
/// Longest line that is read, in bytes.
const MAX_LINE: usize = 16 * 1024;
/// Longest log, in seconds.
const MAX_SECONDS: f64 = 1e8;
/// States that `ss` prints (`man ss`).
const STATES: [&str; 11] = [
    "ESTAB",
    "SYN-SENT",
    "SYN-RECV",
    "FIN-WAIT-1",
    "FIN-WAIT-2",
    "TIME-WAIT",
    "UNCONN",
    "CLOSE-WAIT",
    "LAST-ACK",
    "LISTEN",
    "CLOSING",
];

/// A log of `ss -tin`.
#[derive(Debug, Clone, PartialEq)]
pub struct TcpInfoLog {
    /// The sockets in the order in which they appear.
    pub sockets: Vec<TcpInfoSocket>,
    /// What the file does not show, each a sentence.
    pub notes: Vec<String>,
}

impl TcpInfoLog {
    /// Returns true for text that has lines of `ss -tin` at its start.
    pub fn is_log(bytes: &[u8]) -> bool {
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(64 * 1024)]);
        start.lines().any(|line| line.contains(" cwnd:") && line.contains(" rto:"))
    }

    /// Reads the output of `ss -tin`, once or repeated, with `-O`, `-o`, `-e` or without. A line
    /// with a time before the output of each time, as `date` writes it, or such a time before each
    /// line, as `ts` of moreutils does, says when it was made.
    ///
    /// # Errors
    /// It has no socket of TCP.
    pub fn parse(bytes: &[u8]) -> Result<Self, CaptureError> {
        let mut reader = Reader::default();
        for line in bytes.split(|&byte| byte == b'\n').filter(|line| line.len() <= MAX_LINE) {
            reader.line(&String::from_utf8_lossy(line));
        }
        reader.finish()
    }
}

/// A log that is being read.
#[derive(Debug, Default)]
struct Reader {
    sockets: Vec<TcpInfoSocket>,
    by_ends: BTreeMap<(String, String), usize>,
    /// Times of the samples in seconds, in the order of `added`.
    times: Vec<(usize, usize, f64)>,
    now: Option<f64>,
    /// The socket whose line was read last, and its state and queue.
    current: Option<(usize, String, u64)>,
    samples: usize,
    is_full: bool,
}

impl Reader {
    fn line(&mut self, line: &str) {
        let (time, rest) = split_time(line);
        if let Some(time) = time {
            self.now = Some(time.after(self.now));
        }
        let mut words: Vec<&str> = rest.split_whitespace().collect();
        if let Some((state, queue, local, peer, rest)) = socket_words(&words) {
            self.begin(state, queue, local, peer);
            words = rest.to_vec();
        }
        if !words.iter().any(|word| word.starts_with("cwnd:")) {
            return;
        }
        // The line of a socket names it once; what follows without one is of nobody.
        let Some((index, state, queue)) = self.current.take() else { return };
        if self.samples >= MAX_SAMPLES {
            self.is_full = true;
            return;
        }
        let Some(socket) = self.sockets.get_mut(index) else { return };
        self.times.extend(self.now.map(|now| (index, socket.samples.len(), now)));
        socket.samples.push(TcpInfoSample::of(state, queue, &words));
        self.samples += 1;
    }

    fn begin(&mut self, state: &str, queue: u64, local: &str, peer: &str) {
        self.current = None;
        if state == "LISTEN" {
            return;
        }
        let ends = (local.to_owned(), peer.to_owned());
        let index = match self.by_ends.get(&ends) {
            Some(index) => *index,
            None if self.sockets.len() < MAX_SOCKETS => {
                self.by_ends.insert(ends, self.sockets.len());
                let (local, peer) = (local.to_owned(), peer.to_owned());
                self.sockets.push(TcpInfoSocket { local, peer, samples: Vec::new() });
                self.sockets.len() - 1
            }
            None => {
                self.is_full = true;
                return;
            }
        };
        self.current = Some((index, state.to_owned(), queue));
    }

    fn finish(mut self) -> Result<TcpInfoLog, CaptureError> {
        let first = self.times.iter().map(|(_, _, at)| *at).reduce(f64::min).unwrap_or_default();
        for (socket, sample, at) in self.times {
            let sample =
                self.sockets.get_mut(socket).and_then(|socket| socket.samples.get_mut(sample));
            if let Some(sample) = sample {
                let since = (at - first).clamp(0.0, MAX_SECONDS);
                sample.at = Some(Time::ZERO + Span::from_secs_f64(since));
            }
        }
        self.sockets.retain(|socket| !socket.samples.is_empty());
        if self.sockets.is_empty() {
            return Err(CaptureError::NotTcpInfo("it has no socket with a `cwnd`".to_owned()));
        }
        let samples = || self.sockets.iter().flat_map(|socket| &socket.samples);
        let mut notes = Vec::new();
        if samples().any(|sample| sample.at.is_none()) {
            notes.push(
                "the file does not say when its samples were made: rates over time and the time \
                 that a socket was idle are not known; run `date +%s.%N` before each `ss`"
                    .to_owned(),
            );
        }
        if samples().all(|sample| sample.busy.is_none()) {
            notes.push(
                "no socket says how long it was busy: they sent nothing, or the kernel is older \
                 than Linux 4.9"
                    .to_owned(),
            );
        }
        if self.is_full {
            notes.push(format!(
                "the file has more than {MAX_SAMPLES} samples or {MAX_SOCKETS} sockets: the rest \
                 was not read"
            ));
        }
        Ok(TcpInfoLog { sockets: self.sockets, notes })
    }
}

/// The state, send queue, and ends of the socket that a line begins with, and its other words.
type SocketWords<'a, 'b> = (&'a str, u64, &'a str, &'a str, &'b [&'a str]);

/// Returns the socket that a line begins with. `ss state established` leaves the state out.
fn socket_words<'a, 'b>(words: &'b [&'a str]) -> Option<SocketWords<'a, 'b>> {
    let has_state = STATES.contains(words.first()?);
    let (state, words) = if has_state { words.split_first()? } else { (&"ESTAB", words) };
    let [receive, send, local, peer, rest @ ..] = words else { return None };
    receive.parse::<u64>().ok()?;
    let queue = send.parse().ok()?;
    (local.contains(':') && peer.contains(':')).then_some((*state, queue, *local, *peer, rest))
}
