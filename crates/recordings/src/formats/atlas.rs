//! Results of RIPE Atlas pings: a few packets every few minutes, too far apart for a series.

use crate::error::Fault;
use crate::format::Format;
use crate::list::at_most;
use crate::measured::{Content, Measured, Times};
use crate::table::bounded;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeSet;

/// Seconds since the probe's clock was set at which it counts as wrong.
const LATE_CLOCK: i64 = 600;

#[derive(Deserialize)]
struct Measurement {
    #[serde(rename = "type")]
    kind: String,
    #[serde(deserialize_with = "at_most")]
    result: Vec<Reply>,
    sent: u64,
    #[serde(default)]
    lts: i64,
    prb_id: Option<u64>,
    dst_addr: Option<String>,
}

/// What came of a packet. A list may be of millions, so this is less than their text.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "Fields")]
enum Reply {
    Answered(f64),
    Lost,
    Duplicate,
    /// It was not sent, and says nothing of loss.
    NotSent,
}

/// The fields of a reply. Others say nothing of the path.
#[derive(Deserialize)]
struct Fields {
    rtt: Option<f64>,
    x: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
    dup: Option<IgnoredAny>,
}

impl TryFrom<Fields> for Reply {
    type Error = String;

    fn try_from(fields: Fields) -> Result<Self, String> {
        match fields {
            Fields { dup: Some(_), .. } => Ok(Self::Duplicate),
            Fields { rtt: Some(rtt), .. } if (0.0..3_600_000.0).contains(&rtt) => {
                Ok(Self::Answered(rtt))
            }
            Fields { rtt: Some(rtt), .. } => {
                Err(format!("an `rtt` of {rtt}; allowed: 0 to 3600000"))
            }
            Fields { x: Some(_), .. } => Ok(Self::Lost),
            Fields { error: Some(_), .. } => Ok(Self::NotSent),
            _ => Err("a reply without `rtt`, `x` and `error`; allowed: one of them".to_owned()),
        }
    }
}

/// Reads a list of results, or one result on each line.
///
/// # Errors
/// It is no list of ping results, or they are of several paths.
pub fn read(text: &str) -> Result<Measured, Fault> {
    let measurements = measurements(text)?;
    one_path(&measurements)?;
    let (mut rtts_ms, mut sent, mut lost, mut errors, mut unset) = (Vec::new(), 0, 0, 0u64, 0);
    for measurement in &measurements {
        if measurement.kind != "ping" {
            let problem = format!("a result of type {:?}; allowed: \"ping\"", measurement.kind);
            return Err(Fault::whole(problem));
        }
        unset += usize::from(measurement.lts > LATE_CLOCK);
        sent = measurement.sent.saturating_add(sent);
        for reply in &measurement.result {
            bounded(rtts_ms.len(), 1)?;
            match *reply {
                Reply::Answered(rtt_ms) => rtts_ms.push(rtt_ms),
                Reply::Lost => lost += 1,
                Reply::NotSent => errors += 1,
                Reply::Duplicate => {}
            }
        }
    }
    let tried = sent.saturating_sub(errors);
    let mut notes =
        vec![format!("{sent} sent, {} answered, {lost} lost, {errors} not sent", rtts_ms.len())];
    notes.push("results are too far apart for a series: quantiles only".to_owned());
    if unset > 0 {
        notes.push(format!("{unset} results are of a clock that was not synchronous"));
    }
    let content = Content::Quantiles { rtts_ms, sent: tried, lost };
    Ok(Measured { format: Format::Atlas, content, times: Times::Utc, notes })
}

fn measurements(text: &str) -> Result<Vec<Measurement>, Fault> {
    if text.trim_start().starts_with('[') {
        return Ok(serde_json::from_str(text)?);
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let one = |(index, line)| {
        let at = |error| Fault::at(index + 1, Fault::from(error).problem);
        serde_json::from_str(line).map_err(at)
    };
    lines.map(one).collect()
}

/// Checks that all results are of one probe and one target: each pair is a path of its own.
fn one_path(measurements: &[Measurement]) -> Result<(), Fault> {
    let distinct = |of: fn(&Measurement) -> Option<String>| {
        measurements.iter().filter_map(of).collect::<BTreeSet<String>>()
    };
    let probes = distinct(|result| result.prb_id.map(|id| id.to_string()));
    if let (true, Some(first)) = (probes.len() > 1, probes.first()) {
        return Err(Fault::whole(format!(
            "its results are of {} probes, each of which has a path of its own; allowed: those of \
                one, as jq 'map(select(.prb_id == {first}))' leaves them",
            probes.len()
        )));
    }
    let targets = distinct(|result| result.dst_addr.clone());
    if targets.len() > 1 {
        return Err(Fault::whole(format!(
            "its results are of {} addresses (`dst_addr`); allowed: those of one",
            targets.len()
        )));
    }
    Ok(())
}
