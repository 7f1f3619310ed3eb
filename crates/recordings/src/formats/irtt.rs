//! irtt's JSON: packets at a fixed interval, stamped at both ends.

use crate::error::Fault;
use crate::format::Format;
use crate::list::at_most;
use crate::measured::{Content, Direction, Measured, Probe, Times};
use crate::table::{LATEST, NANOS};
use serde::Deserialize;

#[derive(Deserialize)]
struct Document {
    config: Config,
    #[serde(deserialize_with = "at_most")]
    round_trips: Vec<RoundTrip>,
}

#[derive(Deserialize)]
struct Config {
    params: Params,
}

#[derive(Deserialize)]
struct Params {
    interval: i64,
}

#[derive(Deserialize)]
struct RoundTrip {
    seqno: u64,
    lost: Lost,
    timestamps: Timestamps,
    #[serde(default)]
    delay: Delay,
}

/// Whether a packet was lost, and where.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Lost {
    False,
    True,
    TrueUp,
    TrueDown,
}

#[derive(Deserialize)]
struct Timestamps {
    client: Ends,
}

#[derive(Deserialize)]
struct Ends {
    send: Stamp,
}

#[derive(Deserialize)]
struct Stamp {
    #[serde(default)]
    wall: Option<i64>,
    #[serde(default)]
    monotonic: Option<i64>,
}

/// Delays in nanoseconds; of one-way ones the clocks of both ends are a part.
#[derive(Deserialize, Default)]
struct Delay {
    receive: Option<i64>,
    rtt: Option<i64>,
    send: Option<i64>,
}

/// Reads the JSON of irtt.
///
/// # Errors
/// It is not what irtt writes.
pub fn read(text: &str) -> Result<Measured, Fault> {
    let document: Document = serde_json::from_str(text)?;
    let interval = document.config.params.interval;
    if interval <= 0 {
        return Err(Fault::whole("`config.params.interval` is not above 0"));
    }
    let wall = document.round_trips.iter().all(|trip| trip.timestamps.client.send.wall.is_some());
    let mut probes = Vec::new();
    let mut lost = [0u64; 3];
    for trip in &document.round_trips {
        let send = &trip.timestamps.client.send;
        let Some(sent) = (if wall { send.wall } else { send.monotonic }) else {
            let problem = format!(
                "round trip {} has no `timestamps.client.send`; \
                allowed: a test with time stamps (`--tstamp=both`)",
                trip.seqno
            );
            return Err(Fault::whole(problem));
        };
        let lost_in = match trip.lost {
            Lost::TrueUp => Some(Direction::Up),
            Lost::TrueDown => Some(Direction::Down),
            Lost::False | Lost::True => None,
        };
        let is_lost = trip.lost != Lost::False;
        if is_lost {
            lost[lost_in.map_or(2, |direction| usize::from(direction == Direction::Down))] += 1;
        }
        let rtt = trip.delay.rtt.filter(|rtt| !is_lost && (0..3_600_000_000_000).contains(rtt));
        if !is_lost && rtt.is_none() {
            let problem = format!("round trip {} is not lost and has no `delay.rtt`", trip.seqno);
            return Err(Fault::whole(problem));
        }
        probes.push(Probe {
            sent,
            rtt,
            one_way: trip.delay.send.zip(trip.delay.receive).filter(|_| rtt.is_some()),
            loss: f64::from(u8::from(is_lost)),
            lost_in,
        });
    }
    if probes.is_empty() {
        return Err(Fault::whole("`round_trips` is empty"));
    }
    probes.sort_by_key(|probe| probe.sent);
    let times = if wall { Times::Utc } else { Times::Relative };
    let first = probes[0].sent;
    if wall && !(0..=LATEST * NANOS).contains(&first) {
        let problem = format!("a `wall` of {first}; allowed: nanoseconds since 1970, up to 2200");
        return Err(Fault::whole(problem));
    } else if !wall {
        // Such a clock counts from anywhere.
        probes.iter_mut().for_each(|probe| probe.sent = probe.sent.saturating_sub(first));
    }
    let notes = vec![format!(
        "{} sent, {} answered, lost up {}, down {}, unknown {}",
        probes.len(),
        probes.iter().filter(|probe| probe.rtt.is_some()).count(),
        lost[0],
        lost[1],
        lost[2]
    )];
    Ok(Measured { format: Format::Irtt, content: Content::Probes(probes), times, notes })
}
