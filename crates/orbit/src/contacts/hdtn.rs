//! Reads contact plans of HDTN, NASA's High-rate Delay Tolerant Network: a JSON object with an
//! array `contacts`. Nodes are numbers, times and light times seconds, and the rate is in bits per
//! second (in files of older versions `rate`, in megabits per second).

use super::ContactError;
use super::plan::{Contact, ContactPlan, FOREVER};
use bentpipe_units::{Rate, Span, Time};
use serde::Deserialize;

/// End of the times that a plan can have, in seconds: 292 years.
const END_S: f64 = FOREVER.as_nanos() as f64 / 1e9;

#[derive(Debug, Deserialize)]
struct Plan {
    contacts: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    source: u64,
    dest: u64,
    start_time: f64,
    end_time: f64,
    rate_bits_per_sec: Option<f64>,
    rate: Option<f64>,
    owlt: f64,
}

/// Returns true if `text` looks like a plan of HDTN rather than another JSON file.
pub fn is_plan(text: &str) -> bool {
    text.contains("\"contacts\"")
}

/// Reads a plan.
///
/// # Errors
/// The text is not of the format, or a contact has no rate, or a time that is negative or above 292
/// years.
pub fn parse(text: &str) -> Result<ContactPlan, ContactError> {
    let plan: Plan = serde_json::from_str(text)?;
    let contacts: Result<_, _> = plan.contacts.iter().enumerate().map(contact).collect();
    ContactPlan::new(contacts?)
}

fn contact((index, entry): (usize, &Entry)) -> Result<Contact, ContactError> {
    let refused = |what: &str, value: f64, allowed: &str| {
        ContactError::File(format!("contact {index}: {what} of {value}; allowed: {allowed}"))
    };
    let seconds = |what, value: f64| match (0.0..=END_S).contains(&value) {
        true => Ok(Span::from_secs_f64(value)),
        false => Err(refused(what, value, "0 to 292 years, in seconds")),
    };
    let bps = match (entry.rate_bits_per_sec, entry.rate) {
        (Some(bps), _) => bps,
        (None, Some(mbps)) => mbps * 1e6,
        (None, None) => {
            let problem = format!("contact {index} has no `rateBitsPerSec`");
            return Err(ContactError::File(problem));
        }
    };
    if !(1.0..=1e15).contains(&bps) {
        return Err(refused("a rate", bps, "1 bit/s to 1 Pbit/s"));
    }
    Ok(Contact {
        from: entry.source.to_string(),
        to: entry.dest.to_string(),
        start: Time::ZERO + seconds("a start", entry.start_time)?,
        end: Time::ZERO + seconds("an end", entry.end_time)?,
        rate: Rate::from_bps(bps as u64),
        delay: seconds("a light time", entry.owlt)?,
    })
}
