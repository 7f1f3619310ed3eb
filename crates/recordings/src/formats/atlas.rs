//! Results of RIPE Atlas pings: a few packets every few minutes, too far apart for a series.

use crate::error::Fault;
use crate::format::Format;
use crate::measured::{Content, Measured};
use crate::table::bounded;
use serde::Deserialize;

/// Seconds since the probe's clock was set at which it counts as wrong.
const LATE_CLOCK: i64 = 600;

#[derive(Deserialize)]
struct Measurement {
    #[serde(rename = "type")]
    kind: String,
    result: Vec<Reply>,
    sent: u64,
    #[serde(default)]
    lts: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reply {
    rtt: Option<f64>,
    x: Option<String>,
    error: Option<String>,
    // Fields that say nothing of the path.
    #[serde(rename = "ttl")]
    _ttl: Option<serde_json::Value>,
    #[serde(rename = "dup")]
    dup: Option<serde_json::Value>,
    #[serde(rename = "src_addr")]
    _source: Option<serde_json::Value>,
}

/// Reads a list of results.
///
/// # Errors
/// It is no list of ping results.
pub fn read(text: &str) -> Result<Measured, Fault> {
    let measurements: Vec<Measurement> = serde_json::from_str(text)?;
    let (mut rtts_ms, mut sent, mut lost, mut errors, mut unset) = (Vec::new(), 0, 0, 0u64, 0);
    for measurement in &measurements {
        if measurement.kind != "ping" {
            let problem = format!("a result of type {:?}; allowed: \"ping\"", measurement.kind);
            return Err(Fault::whole(problem));
        }
        unset += usize::from(measurement.lts > LATE_CLOCK);
        sent += measurement.sent;
        for reply in &measurement.result {
            bounded(rtts_ms.len(), 1)?;
            match reply {
                Reply { dup: Some(_), .. } => {}
                Reply { rtt: Some(rtt), .. } if (0.0..3_600_000.0).contains(rtt) => {
                    rtts_ms.push(*rtt);
                }
                Reply { rtt: Some(rtt), .. } => {
                    return Err(Fault::whole(format!("an `rtt` of {rtt}; allowed: 0 to 3600000")));
                }
                Reply { x: Some(_), .. } => lost += 1,
                // A packet that was not sent says nothing of loss.
                Reply { error: Some(_), .. } => errors += 1,
                _ => return Err(Fault::whole("a reply without `rtt`, `x` and `error`")),
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
    Ok(Measured { format: Format::Atlas, content, utc: true, notes })
}
