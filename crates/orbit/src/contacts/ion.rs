//! Reads the contact plan of a file of ION node management commands (ionrc).
//!
//! Of its commands, three concern the plan: `a contact START END FROM TO BYTES_PER_S`, one
//! direction; `a range START END A B LIGHT_SECONDS`, both; and `@ TIME`, which sets the reference
//! of relative times. Commands that manage a node are passed over; those that change a plan in
//! execution (`c`, `d`) are refused.

use super::ContactError;
use super::plan::{Contact, ContactPlan, MAX_CONTACTS};
use bentpipe_units::{Rate, Span, Time};
use std::collections::BTreeMap;

/// Commands without an effect on the plan.
const MANAGEMENT: &[&str] =
    &["1", "e", "h", "?", "i", "l", "m", "p", "q", "r", "s", "v", "w", "x", "^"];

/// Longest time in a plan, in seconds: 292 years fit twice into the range of [`Time`].
const MAX_SECONDS: f64 = 9.2e9;

/// Reads a plan. Times count from the reference of the file's relative times; if all are absolute,
/// from the first.
///
/// # Errors
/// A line is no command of the format, a contact has no range, or the plan is not consistent.
pub fn parse(text: &str) -> Result<ContactPlan, ContactError> {
    let mut reading = Reading::default();
    for (index, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        reading.command(&words).map_err(|reason| ContactError::Line { line: index + 1, reason })?;
    }
    reading.plan()
}

/// When light takes a time between two nodes: from, to, and that time, all in seconds.
type LightTime = (f64, f64, f64);

/// A time of the file.
#[derive(Debug, Clone, Copy)]
enum When {
    /// Seconds after the reference.
    After(f64),
    /// Seconds since 1970, UTC without leap seconds.
    Absolute(f64),
}

/// A contact or a range.
#[derive(Debug, Clone)]
struct Entry {
    times: (When, When),
    nodes: (String, String),
    /// Bytes per second, or light seconds.
    value: f64,
}

#[derive(Debug, Default)]
struct Reading {
    contacts: Vec<Entry>,
    ranges: Vec<Entry>,
    /// Reference of relative times, if it is absolute; else seconds after the first reference.
    reference: Option<f64>,
    shift: f64,
}

impl Reading {
    /// Handles one line. Returns what is wrong with it.
    fn command(&mut self, words: &[&str]) -> Result<(), String> {
        let Some(&command) = words.first() else { return Ok(()) };
        match (command, words.get(1).copied().unwrap_or_default()) {
            ("a", "contact") => self.contacts.push(self.entry(&words[2..], "bytes per second")?),
            ("a", "range") => self.ranges.push(self.entry(&words[2..], "light seconds")?),
            ("@", time) => match when(time)? {
                When::Absolute(seconds) => (self.reference, self.shift) = (Some(seconds), 0.0),
                When::After(seconds) => self.shift = seconds,
            },
            ("a" | "c" | "d", what) => {
                return Err(format!(
                    "`{command} {what}` is no part of a fixed plan; allowed: `a contact` and \
                        `a range`"
                ));
            }
            _ if command.starts_with('#') || MANAGEMENT.contains(&command) => {}
            _ => {
                return Err(format!(
                    "`{command}` is no command of an ION file; allowed: `a contact`, `a range`, \
                        `@`, `#` and commands of node management"
                ));
            }
        }
        if self.contacts.len().max(self.ranges.len()) > MAX_CONTACTS {
            return Err(format!("too many contacts; allowed: {MAX_CONTACTS}"));
        }
        Ok(())
    }

    /// Reads `START END A B VALUE`; ION allows a confidence after it.
    fn entry(&self, words: &[&str], unit: &str) -> Result<Entry, String> {
        let &[start, end, a, b, value, ..] = words else {
            return Err(format!(
                "{} words follow; allowed: start, end, two nodes and {unit}",
                words.len()
            ));
        };
        let number = value.parse::<f64>().ok().filter(|n| (0.0..=1e15).contains(n));
        let value =
            number.ok_or_else(|| format!("`{value}` {unit}; allowed: a number from 0 to 1e15"))?;
        let moved = |time: When| match (time, self.reference) {
            (When::After(seconds), Some(reference)) => When::Absolute(reference + seconds),
            (When::After(seconds), None) => When::After(self.shift + seconds),
            (absolute, _) => absolute,
        };
        let times = (moved(when(start)?), moved(when(end)?));
        Ok(Entry { times, nodes: (a.to_owned(), b.to_owned()), value })
    }

    /// Joins contacts and ranges.
    fn plan(self) -> Result<ContactPlan, ContactError> {
        let zero = self.zero()?;
        let at = |when: When| match when {
            When::After(seconds) => seconds,
            When::Absolute(seconds) => seconds - zero,
        };
        let mut ranges: BTreeMap<(String, String), Vec<LightTime>> = BTreeMap::new();
        for range in self.ranges {
            let (a, b) = range.nodes;
            let pair = if a <= b { (a, b) } else { (b, a) };
            let times = (at(range.times.0), at(range.times.1), range.value);
            ranges.entry(pair).or_default().push(times);
        }
        let mut contacts = Vec::new();
        for contact in self.contacts {
            let (from, to) = contact.nodes;
            let pair =
                if from <= to { (from.clone(), to.clone()) } else { (to.clone(), from.clone()) };
            let (start, end) = (at(contact.times.0), at(contact.times.1));
            let known = ranges.get(&pair).map_or(&[][..], Vec::as_slice);
            let pieces = pieces(known, start, end).ok_or_else(|| {
                ContactError::File(format!(
                    "the contact {from} to {to} from {start} to {end} s has no range for all of \
                        its time; allowed: an `a range` of both nodes that covers it"
                ))
            })?;
            if contacts.len() + pieces.len() > MAX_CONTACTS {
                let problem = format!("ranges divide contacts into more than {MAX_CONTACTS}");
                return Err(ContactError::File(problem));
            }
            let time = |seconds: f64| Time::ZERO + Span::from_secs_f64(seconds);
            contacts.extend(pieces.into_iter().map(|(start, end, light)| Contact {
                from: from.clone(),
                to: to.clone(),
                start: time(start),
                end: time(end),
                rate: Rate::from_bps((contact.value * 8.0) as u64),
                delay: Span::from_secs_f64(light),
            }));
        }
        ContactPlan::new(contacts)
    }

    /// Returns the absolute time that counts as zero. Relative and absolute times without a
    /// reference cannot be joined.
    fn zero(&self) -> Result<f64, ContactError> {
        let entries = self.contacts.iter().chain(&self.ranges);
        let times = entries.flat_map(|entry| [entry.times.0, entry.times.1]);
        let (mut first, mut relative) = (None::<f64>, false);
        for time in times {
            match time {
                When::After(_) => relative = true,
                When::Absolute(seconds) => {
                    first = Some(first.map_or(seconds, |first| first.min(seconds)));
                }
            }
        }
        match (first, relative, self.reference) {
            (Some(_), true, _) => Err(ContactError::File(
                "the file has dates and relative times without a reference; allowed: \
                    `@ yyyy/mm/dd-hh:mm:ss` before the first relative time"
                    .to_owned(),
            )),
            (Some(first), false, reference) => Ok(reference.map_or(first, |zero| zero.min(first))),
            (None, _, _) => Ok(0.0),
        }
    }
}

/// Divides the time from `start` to `end` where the range changes. `None` if some of it has none.
fn pieces(ranges: &[LightTime], start: f64, end: f64) -> Option<Vec<LightTime>> {
    if start >= end {
        // Refused by the plan, with its times.
        return Some(vec![(start, end, 0.0)]);
    }
    let mut found = Vec::new();
    let mut at = start;
    while at < end {
        let &(_, until, light) =
            ranges.iter().find(|(from, until, _)| (*from..*until).contains(&at))?;
        let until = until.min(end);
        found.push((at, until, light));
        at = until;
    }
    Some(found)
}

/// Reads `+SECONDS` or `yyyy/mm/dd-hh:mm:ss`.
fn when(text: &str) -> Result<When, String> {
    let allowed = "allowed: +SECONDS up to 292 years, or yyyy/mm/dd-hh:mm:ss";
    let wrong = || format!("`{text}` is no time; {allowed}");
    if let Some(seconds) = text.strip_prefix('+') {
        let seconds = seconds.parse::<f64>().map_err(|_| wrong())?;
        return if (0.0..=MAX_SECONDS).contains(&seconds) {
            Ok(When::After(seconds))
        } else {
            Err(wrong())
        };
    }
    let numbers: Vec<u32> = text
        .split(['/', '-', ':'])
        .map(|part| part.parse().map_err(|_| wrong()))
        .collect::<Result<_, _>>()?;
    let &[year, month, day, hour, minute, second] = numbers.as_slice() else { return Err(wrong()) };
    let valid = (1970..=2200).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    if !valid {
        return Err(wrong());
    }
    let seconds = days(year, month, day) * 86_400 + i64::from(hour * 3600 + minute * 60 + second);
    Ok(When::Absolute(seconds as f64))
}

/// Returns the days from 1970-01-01 to a date of the Gregorian calendar.
fn days(year: u32, month: u32, day: u32) -> i64 {
    // Years begin in March, so that a leap day is the last day of one.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = i64::from(year / 4) - i64::from(year / 100) + i64::from(year / 400);
    let before_month = i64::from((153 * month + 2) / 5);
    i64::from(year) * 365 + leap_days + before_month + i64::from(day) - 1 - 719_468
}
