//! A contact plan: contacts of directed links, sorted and without overlaps.

use super::ContactError;
use bentpipe_units::{Bytes, Rate, Span, Time};
use std::collections::BTreeMap;
use std::ops::Range;

/// Most contacts of a plan: its file is foreign input.
pub const MAX_CONTACTS: usize = 1_000_000;

/// End of a contact that no event of its plan ends: 292 years.
pub(super) const FOREVER: Time = Time::from_nanos(u64::MAX / 2);

/// Longest name of a node.
const MAX_NAME: usize = 100;

/// A time in which one node can send to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contact {
    /// Name of the sending node.
    pub from: String,
    /// Name of the receiving node.
    pub to: String,
    /// First instant at which it can send.
    pub start: Time,
    /// Instant by which the last bit must have left.
    pub end: Time,
    /// Rate of the transmitter.
    pub rate: Rate,
    /// One-way light time.
    pub delay: Span,
}

impl Contact {
    /// Returns true if no event of the plan ends it.
    pub fn is_open(&self) -> bool {
        self.end >= FOREVER
    }

    /// Returns the bytes that the contact can carry.
    pub fn capacity(&self) -> Bytes {
        self.rate.bytes_in(self.end.since(self.start))
    }

    /// Returns when a packet of `bytes` leaves, and when it has arrived, if it is there to send at
    /// `at`. `None`: the contact is too short for it, or over.
    pub(super) fn send(&self, at: Time, bytes: Bytes) -> Option<(Time, Time)> {
        let left = at.max(self.start) + self.rate.time_for(bytes);
        (left <= self.end).then(|| (left, left + self.delay))
    }
}

/// A contact plan. Times count from the reference of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContactPlan {
    /// Sorted by sender, receiver and time.
    contacts: Vec<Contact>,
    nodes: Vec<String>,
    /// The contacts of each directed link.
    links: BTreeMap<(usize, usize), Range<usize>>,
}

impl ContactPlan {
    /// Makes a plan of `contacts` in any order.
    ///
    /// # Errors
    /// There are none or too many, one has no duration or no rate, or two of one link overlap.
    pub fn new(mut contacts: Vec<Contact>) -> Result<Self, ContactError> {
        let file = |reason: String| Err(ContactError::File(reason));
        if contacts.is_empty() {
            return file("the file has no contacts; allowed: at least one".to_owned());
        }
        if contacts.len() > MAX_CONTACTS {
            let count = contacts.len();
            return file(format!("{count} contacts are too many; allowed: {MAX_CONTACTS}"));
        }
        contacts.sort_by(|a, b| (&a.from, &a.to, a.start).cmp(&(&b.from, &b.to, b.start)));
        for contact in &contacts {
            check(contact)?;
        }
        for pair in contacts.windows(2) {
            let one_link = pair[0].from == pair[1].from && pair[0].to == pair[1].to;
            if one_link && pair[1].start < pair[0].end {
                return file(format!(
                    "{} and {} overlap: the rates of a link do not add; allowed: one contact of a \
                        link at a time",
                    shown(&pair[0]),
                    shown(&pair[1])
                ));
            }
        }
        let mut nodes: Vec<String> =
            contacts.iter().flat_map(|one| [one.from.clone(), one.to.clone()]).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let mut plan = Self { contacts, nodes, links: BTreeMap::new() };
        for index in 0..plan.contacts.len() {
            let Contact { from, to, .. } = &plan.contacts[index];
            let link = (plan.node(from)?, plan.node(to)?);
            plan.links.entry(link).or_insert(index..index).end = index + 1;
        }
        Ok(plan)
    }

    /// Returns all contacts, sorted by sender, receiver and time.
    pub fn contacts(&self) -> &[Contact] {
        &self.contacts
    }

    /// Returns the names of all nodes, sorted.
    pub fn nodes(&self) -> &[String] {
        &self.nodes
    }

    /// Returns the contacts from one node to another in the order of time.
    ///
    /// # Errors
    /// A node has another name.
    pub fn link(&self, from: &str, to: &str) -> Result<&[Contact], ContactError> {
        let link = (self.node(from)?, self.node(to)?);
        Ok(self.links.get(&link).map_or(&[], |range| &self.contacts[range.clone()]))
    }

    pub(super) fn node(&self, name: &str) -> Result<usize, ContactError> {
        self.nodes
            .binary_search_by(|node| node.as_str().cmp(name))
            .map_err(|_| ContactError::Node { name: name.to_owned(), nodes: self.nodes.join(", ") })
    }

    /// Returns the links that leave `node`: their receivers and their contacts.
    pub(super) fn leaving(&self, node: usize) -> impl Iterator<Item = (usize, &[Contact])> {
        self.links
            .range((node, 0)..=(node, usize::MAX))
            .map(|(&(_, to), range)| (to, &self.contacts[range.clone()]))
    }
}

/// Describes a contact.
fn shown(contact: &Contact) -> String {
    let Contact { from, to, start, end, .. } = contact;
    let (start, end) = (start.as_secs_f64(), end.as_secs_f64());
    format!("the contact {from} to {to} from {start} to {end} s")
}

fn check(contact: &Contact) -> Result<(), ContactError> {
    let problem = if contact.start >= contact.end {
        "ends before it starts; allowed: an end after the start"
    } else if contact.rate.is_zero() {
        "has no rate; allowed: above 0"
    } else if contact.from == contact.to {
        "is of a node with itself; allowed: two nodes"
    } else if contact.from.len().max(contact.to.len()) > MAX_NAME {
        "has a node with a very long name; allowed: 100 bytes"
    } else {
        return Ok(());
    };
    Err(ContactError::File(format!("{} {problem}", shown(contact))))
}
