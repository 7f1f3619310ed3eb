//! Two-line element sets (Spacetrack Report #3; CelesTrak, "Two-Line Element Set Format").
//!
//! The propagator's parser reads the fields. Length, characters and checksums are checked first,
//! because its errors would be unclear or it would panic.

use super::element_set::{Elements, MAX_SATELLITES, name_of, refuse, too_many};
use crate::OrbitError;
use std::ops::Range;

/// Columns of a line, including the checksum.
const COLUMNS: usize = 69;

/// Fields that the parser requires and SGP4 does not use, as ranges of bytes, with what stands for
/// blanks. Sources leave them blank: the set 11801 of the test cases of Vallado et al. 2006 has no
/// ephemeris type. No default changes a checksum.
const INCIDENTAL_1: [(Range<usize>, &str); 5] =
    [(7..8, "U"), (33..43, " .00000000"), (44..52, " 00000+0"), (62..63, "0"), (64..68, "   0")];
const INCIDENTAL_2: [(Range<usize>, &str); 1] = [(63..68, "    0")];

/// A line of text with its number, from 1.
#[derive(Clone, Copy)]
struct Line<'a> {
    number: usize,
    text: &'a str,
}

pub(super) fn read(text: &str) -> Result<Vec<Elements>, OrbitError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(index, text)| Line { number: index + 1, text: text.trim_end() })
        .filter(|line| !line.text.is_empty() && !line.text.starts_with('#'));
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        let (name, first) = if is(line, '1') {
            (None, line)
        } else if is(line, '2') {
            return Err(refuse(
                line.number,
                "the second line of a set without its first; add the line that begins with `1 `",
            ));
        } else {
            let name = line.text.strip_prefix("0 ").unwrap_or(line.text);
            match lines.next() {
                Some(next) if is(next, '1') => (Some(name), next),
                next => return Err(not_a_set(line, next)),
            }
        };
        let Some(second) = lines.next().filter(|second| is(*second, '2')) else {
            return Err(refuse(
                first.number,
                "the first line of a set without its second; the next line must begin with `2 `",
            ));
        };
        if found.len() == MAX_SATELLITES {
            return Err(too_many(first.number));
        }
        check(first)?;
        check(second)?;
        let [one, two] = [filled(first.text, &INCIDENTAL_1), filled(second.text, &INCIDENTAL_2)];
        let elements = sgp4::Elements::from_tle(None, one.as_bytes(), two.as_bytes())
            .map_err(|e| explain(&e, first, second))?;
        found.push(Elements {
            name: name_of(name, elements.norad_id),
            line: first.number,
            elements,
        });
    }
    Ok(found)
}

/// Returns true if the line looks like line `which` of a set.
fn is(line: Line<'_>, which: char) -> bool {
    line.text.strip_prefix(which).is_some_and(|rest| rest.starts_with(' '))
}

/// Returns the error of a line that belongs to no set. Without the line, because the file may be
/// another one, such as one of passwords.
fn not_a_set(line: Line<'_>, next: Option<Line<'_>>) -> OrbitError {
    let after = match next {
        Some(next) => format!("line {} does not begin with `1 `", next.number),
        None => "no lines of elements follow".into(),
    };
    refuse(line.number, format!("neither a line of elements nor a satellite's name: {after}"))
}

/// Checks length, characters and checksum.
fn check(line: Line<'_>) -> Result<(), OrbitError> {
    if let Some(odd) = line.text.chars().find(|c| !(' '..='~').contains(c)) {
        return Err(refuse(
            line.number,
            format!("the character {odd:?}; lines of elements are plain ASCII without tabs"),
        ));
    }
    let length = line.text.len();
    if length != COLUMNS {
        return Err(refuse(
            line.number,
            format!(
                "{length} characters instead of {COLUMNS}; copy the line whole, with its spaces \
                    and its checksum"
            ),
        ));
    }
    let (body, last) = line.text.split_at(COLUMNS - 1);
    let computed = checksum(body);
    if last.parse() != Ok(computed) {
        return Err(refuse(
            line.number,
            format!(
                "the checksum is `{last}` instead of {computed}; copy the line again, since one of \
                 its characters was changed"
            ),
        ));
    }
    Ok(())
}

/// Returns a checked line with the blank ones of `fields` replaced by their defaults.
fn filled(line: &str, fields: &[(Range<usize>, &str)]) -> String {
    let mut text = line.to_owned();
    for (range, default) in fields {
        if text[range.clone()].trim().is_empty() {
            text.replace_range(range.clone(), default);
        }
    }
    text
}

/// Returns the sum of all digits, plus one per minus sign, modulo 10.
pub(super) fn checksum(body: &str) -> u32 {
    body.chars().map(|c| if c == '-' { 1 } else { c.to_digit(10).unwrap_or(0) }).sum::<u32>() % 10
}

/// Translates an error of the parser, with the columns (from 1) and their content.
fn explain(error: &sgp4::TleError, first: Line<'_>, second: Line<'_>) -> OrbitError {
    let message = error.to_string();
    let numbers: Vec<usize> = message.split(' ').filter_map(|word| word.parse().ok()).collect();
    let line = if message.contains("on TLE line 2") { second } else { first };
    let columns = match numbers[..] {
        [.., start, end] => line.text.get(start..end).map(|shown| (start, end, shown)),
        _ => None,
    };
    let what = if message.contains("NORAD mismatch") {
        let other = second.text.get(2..7).unwrap_or_default();
        format!(
            "lines {} and {} are of different satellites (`{other}` in the second)",
            first.number, second.number
        )
    } else if message.contains("space") {
        "expected a space".into()
    } else if message.contains("Alpha-5") {
        "expected a catalogue number: five digits, or a letter (not I or O) and four digits".into()
    } else if message.contains("classification") {
        "expected `U`, `C` or `S`".into()
    } else if message.contains("Date") {
        "not a date: year as two digits, day of the year from 1 with its fraction".into()
    } else {
        "not a number in the format of this field".into()
    };
    match columns {
        Some((start, end, shown)) => refuse(
            line.number,
            format!("columns {} to {end}, `{shown}`: {what}; copy the line again", start + 1),
        ),
        None => refuse(line.number, format!("{what}; copy the line again")),
    }
}
