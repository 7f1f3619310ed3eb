//! Times as `date` and `ts` write them, alone or before other words.

use crate::calendar::{seconds_of_day, seconds_of_iso};

/// Seconds of a day.
const DAY: f64 = 86_400.0;
/// Names of the months as `date` writes them, with the days before each in a leap year.
const MONTHS: [(&str, u16); 12] = [
    ("Jan", 0),
    ("Feb", 31),
    ("Mar", 60),
    ("Apr", 91),
    ("May", 121),
    ("Jun", 152),
    ("Jul", 182),
    ("Aug", 213),
    ("Sep", 244),
    ("Oct", 274),
    ("Nov", 305),
    ("Dec", 335),
];
/// Most words of a time.
const MAX_WORDS: usize = 7;
/// Least number that is a time since 1970, in seconds: 2001.
const LEAST_EPOCH: f64 = 1e9;

/// A time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TimeStamp {
    /// Seconds since a point that does not matter.
    Seconds(f64),
    /// Seconds since midnight, of a day that it does not say.
    OfDay(f64),
}

impl TimeStamp {
    /// Returns its seconds, with the time of the stamp before it.
    pub fn after(self, before: Option<f64>) -> f64 {
        match (self, before) {
            (Self::Seconds(seconds), _) | (Self::OfDay(seconds), None) => seconds,
            (Self::OfDay(seconds), Some(before)) => {
                // Half a day back is midnight.
                let days = ((before - seconds) / DAY).round();
                seconds + days.max(0.0) * DAY
            }
        }
    }
}

/// Splits a line into a time at its start, or one that it is, and the rest.
pub fn split_time(line: &str) -> (Option<TimeStamp>, &str) {
    let start = line.trim_start_matches(|char: char| "=-#*[( \t\r".contains(char));
    // The ends of the first words.
    let mut ends = Vec::new();
    let mut at = 0;
    for word in start.split(' ').take(MAX_WORDS + 2) {
        at += word.len();
        if !word.is_empty() {
            ends.push(at.min(start.len()));
        }
        at += 1;
    }
    // The longest time counts: a date that is followed by a time of day.
    for end in ends.into_iter().take(MAX_WORDS).rev() {
        let words = start[..end].trim_end_matches(|char: char| "=-#*]):, \t\r".contains(char));
        if let Some(time) = time(words) {
            return (Some(time), &start[end..]);
        }
    }
    (None, line)
}

fn time(text: &str) -> Option<TimeStamp> {
    if let Some(seconds) = seconds_of_iso(text) {
        return Some(TimeStamp::Seconds(seconds));
    }
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let half = words.iter().position(|word| ["AM", "PM"].contains(word));
    let is_afternoon = half.map(|half| words.remove(half) == "PM");
    let half_day = |seconds: f64| match is_afternoon {
        // Twelve hours with the number 12 for the first.
        Some(is_afternoon) => {
            let first = if seconds % DAY >= DAY / 2.0 { seconds - DAY / 2.0 } else { seconds };
            if is_afternoon { first + DAY / 2.0 } else { first }
        }
        None => seconds,
    };
    Some(match time_of(&words)? {
        TimeStamp::Seconds(seconds) => TimeStamp::Seconds(half_day(seconds)),
        TimeStamp::OfDay(seconds) => TimeStamp::OfDay(half_day(seconds)),
    })
}

fn time_of(words: &[&str]) -> Option<TimeStamp> {
    match *words {
        [number] if number.starts_with(|first: char| first.is_ascii_digit()) => {
            if let Some(seconds) = seconds_of_day(number).filter(|_| number.contains(':')) {
                return Some(TimeStamp::OfDay(seconds));
            }
            let seconds = number.replace(',', ".").parse::<f64>().ok()?;
            (LEAST_EPOCH..1e10).contains(&seconds).then_some(TimeStamp::Seconds(seconds))
        }
        // `Nov 28 19:30:23`, as `ts` writes it.
        [month, day, time] => of_year(month, day, time),
        // `Sat Nov 28 19:30:23 UTC 2026`, as `date` does; others have the year before the zone, or
        // the day before the month.
        [_, month, day, time, _, _] => {
            of_year(month, day, time).or_else(|| of_year(day, month, time))
        }
        [_, month, day, time, year] if year.parse::<u16>().is_ok() => of_year(month, day, time),
        _ => None,
    }
}

/// Returns the seconds since the start of a year. The year does not matter for times between.
fn of_year(month: &str, day: &str, time: &str) -> Option<TimeStamp> {
    let (_, days) = MONTHS.iter().find(|(name, _)| *name == month)?;
    let day = day.parse::<u16>().ok().filter(|day| (1..=31).contains(day))?;
    let seconds = seconds_of_day(time)?;
    Some(TimeStamp::Seconds(f64::from(days + day - 1) * DAY + seconds))
}
