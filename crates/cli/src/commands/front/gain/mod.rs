//! `bentpipe front --gain`: what the starts and the memory gained, from access logs with groups.

mod estimate;

use crate::output;
use crate::status::{NOT_MET, OK};
use bentpipe_lab::LabError;
use bentpipe_net::serve::{DeliveryClass, Group};
use bentpipe_quic::path_memory::{IpPrefix, Prefixes};
use bentpipe_units::Span;
use estimate::{Count, Gain, MIN_NETWORKS, Visits};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Longest line that is read, bytes. Our choice: lines of the access log have at most 16 kB.
const MAX_LINE: u64 = 64 * 1024;
/// Most networks. Our choice: several hundred megabytes. Those that come later do not count.
const MAX_NETWORKS: usize = 1_000_000;

/// What of a line of the access log counts.
#[derive(Debug, Deserialize)]
struct Line {
    client: IpAddr,
    status: u16,
    bytes: u64,
    complete: bool,
    group: String,
    rtt_s: f64,
    delivered_s: f64,
}

/// What logs say of deliveries.
#[derive(Debug, Default)]
pub struct Deliveries {
    visits: Visits<IpPrefix, DeliveryClass>,
    /// Lines that do not count: without a group, incomplete, or of an error.
    skipped: u64,
    /// Lines of networks beyond the most that count.
    beyond: u64,
}

/// Reads the access logs, and prints the gain. Returns the exit status: 1 if there are too few
/// networks to tell.
pub fn run(logs: &[PathBuf], as_json: bool) -> Result<u8, LabError> {
    let mut deliveries = Deliveries::default();
    for log in logs {
        deliveries.read(log).map_err(|error| LabError::read(log, error))?;
    }
    let text = if as_json { format!("{:#}\n", deliveries.json()) } else { deliveries.text() };
    output::print(&text)?;
    Ok(if deliveries.visits.gain(None).is_some() { OK } else { NOT_MET })
}

impl Deliveries {
    fn read(&mut self, log: &Path) -> io::Result<()> {
        if log == Path::new("-") {
            return self.lines(io::stdin().lock());
        }
        self.lines(BufReader::new(File::open(log)?))
    }

    /// Reads lines; what is longer than a line may be is no line of the log.
    fn lines(&mut self, mut lines: impl BufRead) -> io::Result<()> {
        let mut line = Vec::new();
        loop {
            line.clear();
            if lines.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            match serde_json::from_slice(&line) {
                Ok(line) => self.add(&line),
                Err(_) => self.skipped += 1,
            }
        }
    }

    fn add(&mut self, line: &Line) {
        let held = line.group == Group::Holdback.name();
        let of_group = held || line.group == Group::Treatment.name();
        let whole = line.complete && matches!(line.status, 200 | 206);
        if !(of_group && whole) {
            return self.skipped += 1;
        }
        let network = Prefixes::default().of(line.client);
        if self.visits.networks() >= MAX_NETWORKS && !self.visits.has(&network) {
            return self.beyond += 1;
        }
        let class = DeliveryClass::of(line.bytes, Span::from_secs_f64(line.rtt_s));
        self.visits.add(network, held, class, line.delivered_s);
    }

    fn text(&self) -> String {
        let all = self.visits.count(None);
        let mut text = String::new();
        let row = |text: &mut String, name: &str, count: Count, gain: Option<Gain>| {
            let gain = match gain {
                Some(Gain { gain, ci95: (low, high) }) => {
                    format!("{:6.1} % ({:.1} to {:.1})", gain * 100.0, low * 100.0, high * 100.0)
                }
                None => format!("fewer than {MIN_NETWORKS} networks in a group"),
            };
            let Count { held, treated, visits } = count;
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{name:18} {visits:9} {treated:9} {held:9}  {gain}");
        };
        let _ =
            writeln!(text, "RTT      size         visits treatment  holdback  less time (95 %)");
        for class in self.visits.classes() {
            let name = format!("{:8} {}", class.rtt(), class.size());
            row(&mut text, &name, self.visits.count(Some(&class)), self.visits.gain(Some(&class)));
        }
        let gain = self.visits.gain(None);
        row(&mut text, "all", all, gain);
        let verdict = match gain {
            None => "It is too early to tell.",
            Some(gain) if !gain.is_found() => "No difference is found.",
            Some(gain) if gain.gain > 0.0 => "The starts and the memory of paths save time.",
            Some(_) => "The starts and the memory of paths cost time.",
        };
        let _ = writeln!(text, "\n{verdict}");
        if self.skipped > 0 {
            let _ = writeln!(text, "{} lines do not count: no group, no delivery", self.skipped);
        }
        if self.beyond > 0 {
            let _ = writeln!(text, "{} lines of networks beyond {MAX_NETWORKS}", self.beyond);
        }
        text
    }

    fn json(&self) -> Value {
        let row = |count: Count, gain: Option<Gain>| {
            json!({
                "visits": count.visits,
                "treatment_networks": count.treated,
                "holdback_networks": count.held,
                "gain": gain.map(|gain| gain.gain),
                "gain_ci95": gain.map(|gain| [gain.ci95.0, gain.ci95.1]),
                "found": gain.is_some_and(|gain| gain.is_found()),
            })
        };
        let classes = self.visits.classes().into_iter().map(|class| {
            let found = self.visits.gain(Some(&class));
            let mut one = row(self.visits.count(Some(&class)), found);
            one["rtt"] = class.rtt().into();
            one["size"] = class.size().into();
            one
        });
        let mut all = row(self.visits.count(None), self.visits.gain(None));
        all["classes"] = classes.collect::<Vec<_>>().into();
        all["lines_skipped"] = self.skipped.into();
        all["lines_beyond"] = self.beyond.into();
        all
    }
}
