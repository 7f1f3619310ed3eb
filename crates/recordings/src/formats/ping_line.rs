//! A line of ping, as iputils, macOS and BSD, BusyBox, fping and Windows write it, in any language.

use crate::error::Fault;
use crate::table::{millis, nanos, shown};

/// Beginnings of lines without a measurement.
const OTHER: [&str; 13] = [
    "rtt min/avg/max",
    "round-trip min",
    "pipe ",
    "ping: ",
    "ping6: ",
    "From ",
    "Warning: ",
    "^C",
    "Control-",
    "Strg",
    "ICMP ",
    "nohup: ",
    "WARNING: ",
];
/// What stands before a sequence number.
const SEQUENCE: [&str; 5] = ["icmp_seq=", "icmp_seq ", "icmp_req=", " seq=", " : ["];
const WRAP: i64 = 65_536;
const SECOND: i64 = 1_000_000_000;

/// When a line was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stamp {
    /// It does not say it.
    None,
    /// In nanoseconds since 1970.
    Utc(i64),
    /// In nanoseconds since midnight.
    Day(i64),
}

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'t> {
    /// A run of pings begins.
    Begin,
    /// A run of pings begins as on Windows.
    WindowsHead,
    /// A ping was answered. Windows has no sequence numbers.
    Answer { stamp: Stamp, sequence: Option<i64>, rtt: i64, duplicate: bool, target: &'t str },
    /// A ping has no answer yet.
    Unanswered { sequence: Option<i64> },
    /// What follows are statistics.
    Statistics,
    /// Nothing of a ping.
    Other,
}

/// Returns true if a line can only be one of ping.
pub fn is_ping(line: &str) -> bool {
    let (_, rest) = split_stamp(line.trim()).unwrap_or((Stamp::None, line));
    let answer = sequence_text(rest).is_some() && (rtt_text(rest).is_some() || has_ttl(rest));
    let windows = has_ttl(rest) && rtt_text(rest).is_some();
    line.starts_with("PING ") || line.starts_with("Pinging ") || answer || windows
}

/// Reads line number `number`. `windows` says whether lines of Windows may come, whose losses are
/// sentences in the language of the user; `statistics` whether statistics have begun.
pub fn line(text: &str, number: usize, windows: bool, statistics: bool) -> Result<Line<'_>, Fault> {
    let trimmed = text.trim().trim_start_matches("^C");
    if trimmed.is_empty() {
        return Ok(Line::Other);
    }
    if trimmed.starts_with("PING ") || trimmed.starts_with("PING6(") {
        return Ok(Line::Begin);
    }
    if trimmed.starts_with("--- ") {
        return Ok(Line::Statistics);
    }
    let (stamp, rest) = match split_stamp(trimmed) {
        Some(split) => split,
        None if trimmed.starts_with('[') => {
            let stamp = trimmed[1..].split(']').next().unwrap_or_default();
            nanos(stamp, number)?;
            return Err(Fault::at(number, format!("{} has no time stamp", shown(trimmed))));
        }
        None => (Stamp::None, trimmed),
    };
    if let Some(sequence) = sequence_text(rest) {
        return numbered(rest, sequence, stamp, number);
    }
    let indented = text.starts_with([' ', '\t']);
    if !indented
        && (windows || has_ttl(rest))
        && let Some(rtt) = rtt_text(rest)
    {
        let rtt = milliseconds(rtt, number)?;
        return Ok(Line::Answer { stamp, sequence: None, rtt, duplicate: false, target: "" });
    }
    // Windows heads its lines so in every language, and ends sentences with a full stop.
    let head = trimmed.ends_with(':');
    if statistics || head || windows && indented {
        return Ok(if head && !windows { Line::WindowsHead } else { Line::Other });
    }
    let counts = rest.contains(" packets transmitted, ") || rest.contains("xmt/rcv/%loss");
    if counts || OTHER.iter().any(|start| rest.starts_with(start)) {
        return Ok(Line::Other);
    }
    if windows && trimmed.ends_with(['.', '。', '!']) {
        return Ok(Line::Unanswered { sequence: None });
    }
    let problem = format!("{} is no line of ping; allowed: what ping alone writes", shown(trimmed));
    Err(Fault::at(number, problem))
}

/// Reads a line with a sequence number.
fn numbered<'t>(
    rest: &'t str,
    sequence: &str,
    stamp: Stamp,
    number: usize,
) -> Result<Line<'t>, Fault> {
    let parsed = sequence.parse().ok().filter(|sequence| (0..WRAP).contains(sequence));
    let Some(sequence) = parsed else {
        let shown = shown(sequence);
        let problem = format!("{shown} is no sequence number; allowed: 0 to 65535");
        return Err(Fault::at(number, problem));
    };
    let target = rest.split_once(" : [").map_or("", |(target, _)| target.trim());
    let Some(rtt) = rtt_text(rest) else {
        // Answers begin with their size; what tells of a missing one, in any language, with words.
        let sized = target.is_empty() && rest.starts_with(|first: char| first.is_ascii_digit());
        if sized || has_ttl(rest) {
            let problem = "the answer has no RTT; allowed: such as `time=41.0 ms`, which answers \
                to pings of 16 B and more have";
            return Err(Fault::at(number, problem));
        }
        return Ok(Line::Unanswered { sequence: Some(sequence) });
    };
    let rtt = milliseconds(rtt, number)?;
    let duplicate = rest.contains("(DUP!)");
    Ok(Line::Answer { stamp, sequence: Some(sequence), rtt, duplicate, target })
}

/// Reads an RTT; some languages have a comma where English has a point.
fn milliseconds(text: &str, number: usize) -> Result<i64, Fault> {
    millis(&text.replace(',', "."), number, "RTT in ms")
}

fn has_ttl(text: &str) -> bool {
    ["ttl=", "TTL=", "hlim="].iter().any(|key| text.contains(key))
}

/// Returns the sequence number of a line as text.
fn sequence_text(text: &str) -> Option<&str> {
    let start = SEQUENCE.iter().find_map(|key| Some(text.find(key)? + key.len()))?;
    let rest = &text[start..];
    let end = rest.find(|c: char| c.is_whitespace() || "],:".contains(c)).unwrap_or(rest.len());
    Some(&rest[..end])
}

/// Returns the RTT of a line as text: the one number before `ms` that follows `=`, `<` or, in
/// fping's lines, the size. Statistics have several.
fn rtt_text(text: &str) -> Option<&str> {
    let fping = text.contains(" bytes, ");
    let text = if fping { text.split(" (").next().unwrap_or(text) } else { text };
    let mut found = None;
    for (at, _) in text.match_indices("ms") {
        let before = text[..at].trim_end();
        let ends = text[at + 2..].chars().next().is_none_or(|next| !next.is_alphanumeric());
        let start = before.rfind(|c: char| !(c.is_ascii_digit() || c == '.' || c == ','));
        let start =
            start.map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
        let number = before[start..].trim_start_matches(',');
        let led = before[..start].trim_end().ends_with(['=', '<']) || fping;
        if !ends || !led || !number.starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        if found.is_some() {
            return None;
        }
        found = Some(number);
    }
    found
}

/// Splits a line into its time and the rest: `[1700000000.041] `, as `ping -D` and `fping -D` have
/// it, the same without brackets, or the time of day of macOS' `--apple-time`.
fn split_stamp(line: &str) -> Option<(Stamp, &str)> {
    if let Some(content) = line.strip_prefix('[') {
        let (stamp, rest) = content.split_once("] ")?;
        return Some((Stamp::Utc(nanos(stamp, 0).ok()?), rest));
    }
    let (stamp, rest) = line.split_once(' ')?;
    let seconds = stamp.split('.').next().unwrap_or_default();
    if seconds.len() >= 9 && seconds.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some((Stamp::Utc(nanos(stamp, 0).ok()?), rest));
    }
    let mut parts = stamp.split(':');
    let (hours, minutes, secs) = (parts.next()?, parts.next()?, parts.next()?);
    let two = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    if parts.next().is_some() || !two(hours) || !two(minutes) || !two(secs.split('.').next()?) {
        return None;
    }
    let whole = hours.parse::<i64>().ok()? * 3600 + minutes.parse::<i64>().ok()? * 60;
    Some((Stamp::Day(whole * SECOND + nanos(secs, 0).ok()?), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> (Stamp, Option<i64>, f64) {
        match line(text, 1, true, false) {
            Ok(Line::Answer { stamp, sequence, rtt, .. }) => (stamp, sequence, rtt as f64 / 1e6),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn answers_of_every_ping_are_read() {
        let utc = Stamp::Utc(1_700_000_000_041_000_000);
        let day = Stamp::Day(((12 * 60 + 34) * 60 + 56) * SECOND + 500_000_000);
        for (text, expected) in [
            ("64 bytes from a (192.0.2.1): icmp_seq=7 ttl=52 time=41.5 ms", (Stamp::None, 7, 41.5)),
            (
                "[1700000000.041] 64 bytes from 2001:db8::1: icmp_seq=7 ttl=52 time=41.5 ms",
                (utc, 7, 41.5),
            ),
            (
                "1700000000.041 64 bytes from 192.0.2.1: icmp_seq=7 ttl=52 time=41.5 ms",
                (utc, 7, 41.5),
            ),
            ("64 Bytes von 192.0.2.1: icmp_seq=7 ttl=52 Zeit=41,5 ms", (Stamp::None, 7, 41.5)),
            (
                "64 octets de 192.0.2.1 : icmp_seq=7 ttl=52 temps=1041 ms (DUP!)",
                (Stamp::None, 7, 1041.0),
            ),
            ("12:34:56.5 64 bytes from 192.0.2.1: icmp_seq=7 ttl=52 time=41.5 ms", (day, 7, 41.5)),
            ("16 bytes from 2001:db8::1, icmp_seq=7 hlim=57 time=41.5 ms", (Stamp::None, 7, 41.5)),
            ("64 bytes from 192.0.2.1: seq=7 ttl=64 time=41.5 ms", (Stamp::None, 7, 41.5)),
            ("64 bytes from 192.0.2.1: icmp_req=7 ttl=64 time=41.5 ms", (Stamp::None, 7, 41.5)),
            ("192.0.2.1 : [7], 64 bytes, 41.5 ms (40.1 avg, 0% loss)", (Stamp::None, 7, 41.5)),
            (
                "[1700000000.041] 192.0.2.1 : [7], 64 bytes, 41.5 ms (40.1 avg, 0% loss)",
                (utc, 7, 41.5),
            ),
        ] {
            let (stamp, sequence, ms) = answer(text);
            assert_eq!((stamp, sequence, ms), (expected.0, Some(expected.1), expected.2), "{text}");
            assert!(is_ping(text), "{text}");
        }
        for (text, ms) in [
            ("Reply from 192.0.2.1: bytes=32 time=41ms TTL=52", 41.0),
            ("Antwort von 192.0.2.1: Bytes=32 Zeit<1ms TTL=52", 1.0),
            ("Respuesta desde 192.0.2.1: bytes=32 tiempo=41ms TTL=52", 41.0),
            ("Reply from 2001:db8::1: time=41ms ", 41.0),
        ] {
            assert_eq!(answer(text), (Stamp::None, None, ms), "{text}");
        }
    }

    #[test]
    fn what_is_no_answer_is_told() {
        fn kind(text: &str, windows: bool) -> Result<Line<'_>, Fault> {
            line(text, 1, windows, false)
        }
        for (text, sequence) in [
            ("[1.5] no answer yet for icmp_seq=7", 7),
            ("noch keine Antwort auf icmp_seq=7", 7),
            ("Request timeout for icmp_seq 7", 7),
            ("From 192.0.2.254 icmp_seq=7 Destination Host Unreachable", 7),
            ("[1.5] From 192.0.2.254 icmp_seq=7 Time to live exceeded", 7),
            ("192.0.2.1 : [7], timed out (NaN avg, 100% loss)", 7),
        ] {
            assert_eq!(
                kind(text, false),
                Ok(Line::Unanswered { sequence: Some(sequence) }),
                "{text}"
            );
        }
        for text in [
            "Request timed out.",
            "Zeit\u{fffd}berschreitung der Anforderung.",
            "Reply from 192.0.2.254: Destination host unreachable.",
            "要求がタイムアウトしました。",
        ] {
            assert_eq!(kind(text, true), Ok(Line::Unanswered { sequence: None }), "{text}");
            assert!(kind(text, false).is_err(), "{text}");
        }
        for text in [
            "",
            "    Packets: Sent = 4, Received = 3, Lost = 1 (25% loss),",
            "    Minimum = 41ms, Maximum = 42ms, Average = 41ms",
            "Ping statistics for 192.0.2.1:",
            "192.0.2.1 : xmt/rcv/%loss = 5/5/0%, min/avg/max = 7.5/9.8/10.9",
            "ping: sendmsg: Network is unreachable",
        ] {
            assert_eq!(kind(text, true), Ok(Line::Other), "{text}");
        }
        let head = "Ping wird ausgeführt für 192.0.2.1 mit 32 Bytes Daten:";
        assert_eq!(kind(head, false), Ok(Line::WindowsHead));
        assert_eq!(kind("^C--- 192.0.2.1 ping statistics ---", false), Ok(Line::Statistics));
        for text in [
            "16 bytes from 192.0.2.1: icmp_seq=7 ttl=64",
            "64 bytes from 192.0.2.1: icmp_seq=7 ttl=64 time=-3 ms",
            "64 bytes from 192.0.2.1: icmp_seq=x ttl=64 time=3 ms",
            "64 bytes from 192.0.2.1: icmp_seq=70000 ttl=64 time=3 ms",
            "[x] 64 bytes from 192.0.2.1: icmp_seq=7 ttl=64 time=3 ms",
            "$ ping 192.0.2.1",
        ] {
            assert!(kind(text, false).is_err_and(|fault| fault.line == Some(1)), "{text}");
        }
    }
}
