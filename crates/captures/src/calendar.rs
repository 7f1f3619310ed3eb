//! Points in time as people and programs write them.

/// Returns the seconds since 1970 of a time of ISO 8601 with its date, as in
/// `2009-07-24T19:20:30.45+01:00`. A blank may stand for the `T`; without an offset it counts as
/// UTC.
pub fn seconds_of_iso(text: &str) -> Option<f64> {
    let (date, time) = text.trim().split_once(['T', 't', ' '])?;
    let mut parts = date.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if parts.next().is_some() {
        return None;
    }
    let time = time.trim();
    let end = time.find(['Z', 'z', '+', '-', ' ']).unwrap_or(time.len());
    let seconds = seconds_of_day(&time[..end])?;
    let offset = offset_seconds(time[end..].trim())?;
    Some(days_since_1970(year, month, day)? as f64 * 86_400.0 + seconds - offset)
}

/// Returns the seconds of a time of day, as in `19:20:30.45` or `19:20:30,450`.
pub fn seconds_of_day(text: &str) -> Option<f64> {
    let mut parts = text.split(':');
    let hour = parts.next()?.parse::<u8>().ok().filter(|hour| *hour < 24)?;
    let minute = parts.next()?.parse::<u8>().ok().filter(|minute| *minute < 60)?;
    let second = parts.next().unwrap_or("0");
    let is_number = second.starts_with(|first: char| first.is_ascii_digit());
    let second = second.replace(',', ".").parse::<f64>().ok().filter(|_| is_number)?;
    // A leap second has the number 60.
    if parts.next().is_some() || !(0.0..61.0).contains(&second) {
        return None;
    }
    Some(f64::from(hour) * 3600.0 + f64::from(minute) * 60.0 + second)
}

fn offset_seconds(text: &str) -> Option<f64> {
    if text.is_empty() || ["Z", "z", "UTC", "GMT"].contains(&text) {
        return Some(0.0);
    }
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1.0, digits),
        ("-", digits) => (-1.0, digits),
        _ => return None,
    };
    let digits = digits.replace(':', "");
    let (hours, minutes) = digits.split_at_checked(2)?;
    let minutes = if minutes.is_empty() { "0" } else { minutes };
    let number = |text: &str| text.parse::<u8>().ok().map(f64::from);
    Some(sign * (number(hours)? * 3600.0 + number(minutes)? * 60.0))
}

/// Returns the days from 1 January 1970 to a day of the Gregorian calendar.
fn days_since_1970(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1900..=2200).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years begin in March, so that the leap day is the last.
    let year = year - i64::from(month <= 2);
    let month = (month + 9) % 12;
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let days = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Some(days + day_of_year - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_iso_8601_are_seconds_since_1970() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0.0),
            ("2000-02-29T23:59:59.5Z", 951_868_799.5),
            ("2009-07-24T19:20:30.45+01:00", 1_248_459_630.45),
            ("2026-11-28 19:00:00 UTC", 1_795_892_400.0),
            ("2026-11-28T14:00:00,000-0500", 1_795_892_400.0),
        ] {
            assert_eq!(seconds_of_iso(text), Some(seconds), "{text}");
        }
        for text in [
            "",
            "2026-11-28",
            "2026-13-01T00:00:00",
            "28.11.2026 19:00:00",
            "a b",
            "2026-11-28T25:00:00",
            "2026-11-28T10:00:-1",
            "2026-11-28T10:00:00+é",
        ] {
            assert_eq!(seconds_of_iso(text), None, "{text}");
        }
    }
}
