//! Reads the topology and the events of the deep-space workbench (dipt-quic-workbench).
//!
//! The topology has nodes with addresses, and directed links between addresses with a delay and a
//! rate. The events say when a link goes up and down. A link without events is always up; one whose
//! first event is `up` is down before.

use super::ContactError;
use super::plan::{Contact, ContactPlan, FOREVER, MAX_CONTACTS};
use bentpipe_units::{Rate, Span, Time};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, Deserialize)]
struct Topology {
    nodes: Vec<Node>,
    links: Vec<Link>,
}

#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    interfaces: Vec<Interface>,
}

#[derive(Debug, Deserialize)]
struct Interface {
    addresses: Vec<Address>,
}

#[derive(Debug, Deserialize)]
struct Address {
    address: String,
}

#[derive(Debug, Deserialize)]
struct Link {
    id: String,
    source: String,
    target: String,
    delay_ms: u64,
    bandwidth_bps: u64,
}

#[derive(Debug, Deserialize)]
struct Events {
    events: Vec<Event>,
}

#[derive(Debug, Deserialize)]
struct Event {
    relative_time_ms: u64,
    link: Option<LinkEvent>,
}

#[derive(Debug, Deserialize)]
struct LinkEvent {
    id: String,
    status: Status,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Up,
    Down,
}

/// Reads a plan from the text of the topology, and that of the events if there are some.
///
/// # Errors
/// A text is not of the format, names something that the topology lacks, or has events of nodes,
/// which a plan of contacts cannot express.
pub fn parse(topology: &str, events: Option<&str>) -> Result<ContactPlan, ContactError> {
    let topology: Topology = serde_json::from_str(topology)?;
    let events: Events = match events {
        Some(text) => serde_json::from_str(text)?,
        None => Events { events: Vec::new() },
    };
    let mut of_link: BTreeMap<&str, Vec<(u64, Status)>> = BTreeMap::new();
    for event in &events.events {
        let Some(link) = &event.link else {
            return Err(ContactError::File(format!(
                "the event at {} ms is not of a link; allowed: links that go up and down",
                event.relative_time_ms
            )));
        };
        of_link.entry(&link.id).or_default().push((event.relative_time_ms, link.status));
    }
    let nodes = addresses(&topology);
    let mut contacts = Vec::new();
    for link in &topology.links {
        let node = |address: &str| {
            nodes.get(address).map(|name| (*name).to_owned()).ok_or_else(|| {
                ContactError::File(format!(
                    "no interface has the address `{address}` of the link `{}`",
                    link.id
                ))
            })
        };
        let (from, to) = (node(&link.source)?, node(&link.target)?);
        let mut events = of_link.remove(link.id.as_str()).unwrap_or_default();
        events.sort_by_key(|(at, _)| *at);
        for (start, end) in windows(&events)? {
            contacts.push(Contact {
                from: from.clone(),
                to: to.clone(),
                start,
                end,
                rate: Rate::from_bps(link.bandwidth_bps),
                delay: milliseconds(link.delay_ms)?,
            });
        }
        if contacts.len() > MAX_CONTACTS {
            let problem = format!("too many contacts; allowed: {MAX_CONTACTS}");
            return Err(ContactError::File(problem));
        }
    }
    if let Some(id) = of_link.keys().next() {
        let problem = format!("the events name a link `{id}` that the topology lacks");
        return Err(ContactError::File(problem));
    }
    ContactPlan::new(contacts)
}

/// Returns the nodes by their addresses without the length of the network.
fn addresses(topology: &Topology) -> BTreeMap<&str, &str> {
    let interfaces = topology.nodes.iter().flat_map(|node| {
        let addresses = node.interfaces.iter().flat_map(|interface| &interface.addresses);
        addresses.map(|one| (one.address.as_str(), node.id.as_str()))
    });
    interfaces
        .map(|(address, id)| (address.split_once('/').map_or(address, |(host, _)| host), id))
        .collect()
}

/// Returns the times in which a link with these events is up.
fn windows(events: &[(u64, Status)]) -> Result<Vec<(Time, Time)>, ContactError> {
    let mut up_since = match events.first() {
        Some((_, Status::Up)) => None,
        _ => Some(Time::ZERO),
    };
    let mut found = Vec::new();
    for &(at, status) in events {
        let at = Time::ZERO + milliseconds(at)?;
        match (status, up_since) {
            (Status::Up, None) => up_since = Some(at),
            (Status::Down, Some(since)) => {
                if since < at {
                    found.push((since, at));
                }
                up_since = None;
            }
            _ => {}
        }
    }
    found.extend(up_since.map(|since| (since, FOREVER)));
    Ok(found)
}

fn milliseconds(ms: u64) -> Result<Span, ContactError> {
    let nanos = ms.checked_mul(1_000_000).filter(|nanos| *nanos < FOREVER.as_nanos());
    nanos.map(Span::from_nanos).ok_or_else(|| {
        ContactError::File(format!("{ms} ms are too long; allowed: up to 292 years"))
    })
}
