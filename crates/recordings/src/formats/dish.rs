//! Telemetry of a Starlink dish as starlink-grpc-tools writes it: CSV of `bulk_history`, or JSON of
//! `get_history`. Latency and loss are those of the dish's own ping to the point of presence.

use crate::error::Fault;
use crate::format::Format;
use crate::list::at_most;
use crate::measured::{Content, Measured, Probe, Times};
use crate::table::{bounded, iso, millis, number};
use serde::Deserialize;
use serde::de::{Deserializer, Error, Unexpected, Visitor};
use std::fmt;

const TIME: &str = "datetimestamp_utc";
const LOSS: &str = "pop_ping_drop_rate";
const RTT: &str = "pop_ping_latency_ms";
const SECOND: i64 = 1_000_000_000;

/// Returns true if a line is the header of the CSV.
pub fn is_header(line: &str) -> bool {
    line.starts_with(TIME)
}

/// Reads telemetry.
///
/// # Errors
/// A column is missing, or a line has other fields than the header, no time, or no number.
pub fn read(text: &str) -> Result<Measured, Fault> {
    let json = text.trim_start().starts_with('{');
    let (probes, times) =
        if json { (history(text)?, Times::Relative) } else { (table(text)?, Times::Utc) };
    if probes.is_empty() {
        return Err(Fault::whole("there is no row in it"));
    }
    let dropped = probes.iter().filter(|probe| probe.loss > 0.0).count();
    let mean = probes.iter().map(|probe| probe.loss).sum::<f64>() / probes.len() as f64;
    let whole = probes.iter().filter(|probe| probe.loss >= 1.0).count();
    let notes = vec![
        format!(
            "{} rows, {:.3} % lost in {dropped} of them, {whole} without any answer",
            probes.len(),
            100.0 * mean
        ),
        "throughput of telemetry is use, not capacity: not used".to_owned(),
    ];
    Ok(Measured { format: Format::Dish, content: Content::Probes(probes), times, notes })
}

fn table(text: &str) -> Result<Vec<Probe>, Fault> {
    let mut lines = text.lines().enumerate();
    let header: Vec<&str> = match lines.next() {
        Some((_, line)) => line.trim().split(',').map(str::trim).collect(),
        None => return Err(Fault::whole("it is empty")),
    };
    let column = |name: &str| {
        let found = header.iter().position(|own| *own == name);
        found.ok_or_else(|| Fault::at(1, format!("there is no column `{name}`")))
    };
    let (time, loss, rtt) = (column(TIME)?, column(LOSS)?, column(RTT)?);
    let mut probes: Vec<Probe> = Vec::new();
    for (index, line) in lines {
        let line_number = index + 1;
        if line.trim().is_empty() {
            continue;
        }
        bounded(probes.len(), line_number)?;
        let fields: Vec<&str> = line.trim_end().split(',').map(str::trim).collect();
        if fields.len() != header.len() {
            let problem =
                format!("the line has {} fields; allowed: {}", fields.len(), header.len());
            return Err(Fault::at(line_number, problem));
        }
        let sent = iso(fields[time], line_number)?;
        if probes.last().is_some_and(|last| sent <= last.sent) {
            let problem = "the time is not after that of the line above";
            return Err(Fault::at(line_number, problem));
        }
        let loss = number(fields[loss], line_number, "ratio of lost pings", (0.0, 1.0))?;
        let rtt = match fields[rtt] {
            "" => None,
            text => Some(millis(text, line_number, "latency in ms")?),
        };
        probes.push(probe(sent, rtt, loss));
    }
    Ok(probes)
}

/// A latency at complete loss is that of an earlier second.
fn probe(sent: i64, rtt: Option<i64>, loss: f64) -> Probe {
    Probe { sent, rtt: rtt.filter(|_| loss < 1.0), one_way: None, loss, lost_in: None }
}

#[derive(Deserialize)]
struct Document {
    #[serde(rename = "dishGetHistory")]
    history: History,
}

/// A ring of one value each second.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct History {
    /// Number of values that were ever written.
    #[serde(deserialize_with = "count")]
    current: u64,
    #[serde(deserialize_with = "at_most")]
    pop_ping_drop_rate: Vec<f64>,
    #[serde(deserialize_with = "at_most")]
    pop_ping_latency_ms: Vec<f64>,
}

/// Reads a count of 64 bits, which protobuf's JSON writes as text.
fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    struct Count;
    impl Visitor<'_> for Count {
        type Value = u64;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a whole number in `current`")
        }

        fn visit_u64<E>(self, count: u64) -> Result<u64, E> {
            Ok(count)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
            text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
        }
    }
    deserializer.deserialize_any(Count)
}

fn history(text: &str) -> Result<Vec<Probe>, Fault> {
    let History { current, pop_ping_drop_rate, pop_ping_latency_ms } =
        serde_json::from_str::<Document>(text)?.history;
    let size = pop_ping_drop_rate.len();
    if size == 0 || pop_ping_latency_ms.len() != size {
        let problem = format!(
            "the ring has {size} ratios of loss and {} latencies; allowed: as many of each",
            pop_ping_latency_ms.len()
        );
        return Err(Fault::whole(problem));
    }
    // Of a ring that is not full yet, only the beginning was written.
    let seen = usize::try_from(current).unwrap_or(usize::MAX).min(size);
    let first = if seen < size { 0 } else { (current % size as u64) as usize };
    let mut probes = Vec::new();
    for (second, place) in (first..first + seen).map(|place| place % size).enumerate() {
        let (loss, rtt) = (pop_ping_drop_rate[place], pop_ping_latency_ms[place]);
        if !(0.0..=1.0).contains(&loss) || !(0.0..3_600_000.0).contains(&rtt) {
            let problem = format!("place {place} of the ring has a loss of {loss} and {rtt} ms");
            return Err(Fault::whole(problem));
        }
        let rtt = Some((rtt * 1e6).round() as i64);
        probes.push(probe(second as i64 * SECOND, rtt, loss));
    }
    Ok(probes)
}
