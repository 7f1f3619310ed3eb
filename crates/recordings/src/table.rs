//! Numbers and times in lines of text.

use crate::error::Fault;

/// Largest number of values of a file.
pub const MAX_VALUES: usize = 4_000_000;
/// Latest time: the year 2200, in seconds since 1970.
pub const LATEST: i64 = 7_258_118_400;
pub const NANOS: i64 = 1_000_000_000;

/// Reads a decimal number of seconds, such as `1700000000.041000`, as nanoseconds.
pub fn nanos(text: &str, line: usize) -> Result<i64, Fault> {
    let refused = || {
        let shown = shown(text);
        Fault::at(line, format!("{shown} is no time in seconds; allowed: such as 1700000000.041"))
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 12 || !digits(whole) || !digits(fraction) {
        return Err(refused());
    }
    let secs: i64 = whole.parse().map_err(|_| refused())?;
    let padded = format!("{fraction:0<9}");
    let below: i64 = padded.get(..9).and_then(|nine| nine.parse().ok()).ok_or_else(refused)?;
    if secs > LATEST {
        return Err(refused());
    }
    Ok(secs * NANOS + below)
}

/// Reads a number from `least` to `most`, whose meaning is `what`.
pub fn number(text: &str, line: usize, what: &str, range: (f64, f64)) -> Result<f64, Fault> {
    let (least, most) = range;
    let value: Option<f64> = text.trim().parse().ok();
    value.filter(|value| (least..=most).contains(value)).ok_or_else(|| {
        let allowed = format!("allowed: {least} to {most}");
        Fault::at(line, format!("{} is no {what}; {allowed}", shown(text)))
    })
}

/// Reads milliseconds as nanoseconds.
pub fn millis(text: &str, line: usize, what: &str) -> Result<i64, Fault> {
    // An hour: more is a mistake.
    Ok((number(text, line, what, (0.0, 3_600_000.0))? * 1e6).round() as i64)
}

/// Returns the time of an ISO 8601 text in nanoseconds since 1970.
pub fn iso(text: &str, line: usize) -> Result<i64, Fault> {
    let refused = || {
        let shown = shown(text);
        Fault::at(line, format!("{shown} is no time; allowed: such as 2023-11-14T22:13:20Z"))
    };
    // Digits after the second are read apart: a double has too few for nanoseconds since 1970.
    let (before, after) = match text.split_once('.') {
        None => (text.to_owned(), 0),
        Some((before, rest)) => {
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let padded = format!("{:0<9}", &rest[..end]);
            let nanos = padded.get(..9).and_then(|nine| nine.parse::<i64>().ok());
            (format!("{before}{}", &rest[end..]), nanos.ok_or_else(refused)?)
        }
    };
    let secs = bentpipe_captures::seconds_of_iso(&before).ok_or_else(refused)?;
    if !(0.0..=LATEST as f64).contains(&secs) {
        return Err(refused());
    }
    Ok(secs as i64 * NANOS + after)
}

/// Returns how an error shows a field: shortened, in case the file is another one.
pub fn shown(text: &str) -> String {
    let text = text.trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || "+-., :_".contains(c);
    if text.len() <= 30 && text.chars().all(plain) {
        format!("`{text}`")
    } else {
        "this".to_owned()
    }
}

/// Returns an error if a file has too many values.
pub fn bounded(values: usize, line: usize) -> Result<(), Fault> {
    if values < MAX_VALUES {
        return Ok(());
    }
    let problem = format!("the file has more than {MAX_VALUES} values; allowed: a part of it");
    Err(Fault::at(line, problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_their_nanoseconds() {
        assert_eq!(nanos("1700000000.041000", 1), Ok(1_700_000_000_041_000_000));
        assert_eq!(nanos("0.1234567891", 1), Ok(123_456_789));
        assert_eq!(iso("2023-11-14T22:13:20.000112000Z", 1), Ok(1_700_000_000_000_112_000));
        assert_eq!(iso("2023-11-14T23:13:20.5+01:00", 1), Ok(1_700_000_000_500_000_000));
        for text in ["", "x", "-1", "1e9", "99999999999.0", "1.2.3"] {
            assert!(nanos(text, 7).is_err_and(|fault| fault.line == Some(7)), "{text}");
        }
        for text in ["", "yesterday", "2023-11-14", "2023-11-14T22:13:20.x"] {
            assert!(iso(text, 7).is_err(), "{text}");
        }
    }
}
