//! Tables of pings: time in seconds, sequence number and RTT in ms between tabs (mmsys24), or CSV
//! with `timestamp,rtt` (LENS). An RTT of −1 is a loss, not a delay.

use super::ping::answered;
use crate::error::Fault;
use crate::format::Format;
use crate::measured::{Content, Measured, Probe, Times};
use crate::table::{bounded, millis, nanos, shown};

/// Returns true if a file may begin with this line.
pub fn is_first(line: &str) -> bool {
    let fields: Vec<&str> = line.split(['\t', ',']).map(str::trim).collect();
    let number = |text: &&str| text.parse::<f64>().is_ok();
    is_header(line) || (fields.len() == 3 && line.contains('\t') && fields.iter().all(number))
}

fn is_header(line: &str) -> bool {
    line.starts_with("timestamp,rtt")
}

/// Reads a table of pings.
///
/// # Errors
/// A line has other fields, or times that fall.
pub fn read(text: &str) -> Result<Measured, Fault> {
    let mut probes: Vec<Probe> = Vec::new();
    let mut lost = 0;
    // A table without a header stamps answers; LENS stamps what is sent.
    let mut header = false;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if index == 0 && is_header(line) {
            header = true;
            continue;
        }
        bounded(probes.len(), number)?;
        let fields: Vec<&str> = line.split(['\t', ',']).map(str::trim).collect();
        let (stamp, rtt) = match (header, fields.as_slice()) {
            (true, [stamp, rtt, ..]) => (*stamp, *rtt),
            (false, [stamp, sequence, rtt]) => {
                if sequence.parse::<u64>().is_err() {
                    let shown = shown(sequence);
                    return Err(Fault::at(number, format!("{shown} is no sequence number")));
                }
                (*stamp, *rtt)
            }
            _ => {
                let problem = format!(
                    "the line has {} fields; allowed: time, sequence number and RTT in ms",
                    fields.len()
                );
                return Err(Fault::at(number, problem));
            }
        };
        let at = stamp_of(stamp, number)?;
        let probe = if rtt.parse() == Ok(-1.0) {
            lost += 1;
            Probe { sent: at, rtt: None, one_way: None, loss: 1.0, lost_in: None }
        } else {
            let rtt = millis(rtt, number, "RTT in ms (−1 for a loss)")?;
            answered(if header { at } else { at - rtt }, rtt)
        };
        if let Some(last) = probes.last().filter(|last| last.sent > probe.sent) {
            // A lost probe is stamped when the sender gave up; the next one may look earlier.
            if last.loss == 0.0 && header {
                return Err(Fault::at(number, "the time is before that of the line above"));
            }
        }
        probes.push(probe);
    }
    if probes.is_empty() {
        return Err(Fault::whole("there is no ping in it"));
    }
    probes.sort_by_key(|probe| probe.sent);
    let notes = vec![format!("{} sent, {lost} lost", probes.len())];
    Ok(Measured {
        format: Format::PingTable,
        content: Content::Probes(probes),
        times: Times::Utc,
        notes,
    })
}

/// Reads a time in seconds or, without a point and with many digits, in nanoseconds.
fn stamp_of(text: &str, line: usize) -> Result<i64, Fault> {
    if text.len() >= 18 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().map_err(|_| Fault::at(line, format!("{} is no time", shown(text))));
    }
    nanos(text, line)
}
