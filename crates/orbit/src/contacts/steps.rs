//! The contacts of a link as steps of its rate and delay, and a plan from a text of any format.

use super::plan::{Contact, ContactPlan};
use super::{ContactError, dipt, hdtn, ion};
use bentpipe_units::{Rate, Span, Time};

/// Reads a plan whose format its text tells. `events` belong to a topology of the workbench.
///
/// # Errors
/// The text is of no format, or has `events` beside it and its contacts in itself.
pub fn read(text: &str, events: Option<&str>) -> Result<ContactPlan, ContactError> {
    let json = text.trim_start().starts_with('{');
    if json && !hdtn::is_plan(text) {
        return dipt::parse(text, events);
    }
    if events.is_some() {
        let reason = "events beside a plan that has its contacts in itself; allowed: events beside \
            a topology of the workbench";
        return Err(ContactError::File(reason.to_owned()));
    }
    if json { hdtn::parse(text) } else { ion::parse(text) }
}

/// Returns when the rate of a link with these contacts changes, the first time being zero: it is
/// zero outside of them.
pub fn rate_steps(contacts: &[Contact]) -> Vec<(Time, Rate)> {
    let mut steps = Vec::new();
    let mut free_from = Time::ZERO;
    for one in contacts {
        if one.start > free_from {
            steps.push((free_from, Rate::ZERO));
        }
        steps.push((one.start, one.rate));
        free_from = one.end;
    }
    if contacts.last().is_some_and(|last| !last.is_open()) {
        steps.push((free_from, Rate::ZERO));
    }
    steps.dedup_by_key(|(_, rate)| *rate);
    steps
}

/// Returns when the delay of a link with these contacts changes, the first time being zero.
pub fn delay_steps(contacts: &[Contact]) -> Vec<(Time, Span)> {
    let mut steps: Vec<_> = contacts.iter().map(|one| (one.start, one.delay)).collect();
    steps.dedup_by_key(|(_, delay)| *delay);
    // Before the first contact nothing leaves.
    if let Some((at, _)) = steps.first_mut() {
        *at = Time::ZERO;
    }
    steps
}

/// Returns a name of a hop that scenarios accept: its number, and what fits of both nodes.
pub fn hop_name(number: usize, from: &str, to: &str) -> String {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let nodes = format!("{from}-{to}").to_ascii_lowercase();
    let nodes: String = nodes.chars().map(|c| if fits(c) { c } else { '-' }).take(56).collect();
    format!("{number}-{nodes}")
}
