//! `ping -D` of iputils: a line per answer, stamped when it came.

use crate::error::Fault;
use crate::format::Format;
use crate::measured::{Content, Measured, Probe};
use crate::table::{bounded, millis, nanos, shown};
use std::collections::BTreeMap;

/// Beginnings of lines without a measurement.
const OTHER: [&str; 8] =
    ["PING ", "--- ", "rtt min/avg/max", "round-trip min", "ping: ", "From ", "Warning: ", "^C"];
/// Half of the range of sequence numbers, which wrap at 65,536.
const HALF: i64 = 32_768;
const WRAP: i64 = 65_536;

/// Returns true if a line is one of `ping -D`.
pub fn is_line(line: &str) -> bool {
    line.starts_with('[') && line.contains("] ") && line.contains("icmp_seq")
}

/// Returns true if the text is one of ping.
pub fn is_format(look: &str) -> bool {
    look.starts_with("PING ") || look.contains("icmp_seq=")
}

/// An answer: when it came, and the RTT, in nanoseconds.
#[derive(Clone, Copy)]
struct Answer {
    came: i64,
    rtt: i64,
}

/// Reads the output of `ping -D`.
///
/// # Errors
/// A line is none of ping, or has no time stamp.
pub fn read(text: &str) -> Result<Measured, Fault> {
    let mut answers: BTreeMap<i64, Answer> = BTreeMap::new();
    let (mut highest, mut duplicates, mut late) = (None::<i64>, 0, 0);
    let mut lowest = None::<i64>;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let line = line.trim();
        let Some(content) = line.strip_prefix('[') else {
            unstamped(line, number)?;
            continue;
        };
        bounded(answers.len(), number)?;
        let Some((stamp, rest)) = content.split_once("] ") else {
            return Err(Fault::at(number, format!("{} has no time stamp", shown(line))));
        };
        let came = nanos(stamp, number)?;
        let sequence = sequence(rest, number)?;
        let sequence = unwrapped(sequence, highest.unwrap_or(sequence));
        let newest = highest.is_none_or(|highest| sequence > highest);
        lowest = Some(lowest.map_or(sequence, |lowest: i64| lowest.min(sequence)));
        highest = highest.max(Some(sequence));
        if rest.starts_with("no answer yet") || rest.contains("Unreachable") {
            continue;
        }
        let rtt = millis(field(rest, "time=", number)?, number, "RTT in ms")?;
        if rest.contains("(DUP!)") || answers.contains_key(&sequence) {
            duplicates += 1;
            continue;
        }
        late += usize::from(!newest);
        answers.insert(sequence, Answer { came, rtt });
    }
    let (Some(first), Some(last)) = (lowest, highest) else {
        let problem = "there is no answer with a time stamp; allowed: the output of `ping -D`";
        return Err(Fault::whole(problem));
    };
    let probes = probes(&answers, first, last)?;
    let lost = probes.iter().filter(|probe| probe.loss > 0.0).count();
    let notes = vec![format!(
        "{} sent, {lost} lost, {duplicates} duplicates, {late} out of order",
        probes.len()
    )];
    Ok(Measured { format: Format::Ping, content: Content::Probes(probes), utc: true, notes })
}

/// Checks a line without a time stamp.
fn unstamped(line: &str, number: usize) -> Result<(), Fault> {
    let statistics = line.contains(" packets transmitted, ") || line.starts_with("pipe ");
    if line.is_empty() || statistics || OTHER.iter().any(|start| line.starts_with(start)) {
        return Ok(());
    }
    if line.contains("icmp_seq") {
        let problem = "the answer has no time stamp; allowed: the output of `ping -D`";
        return Err(Fault::at(number, problem));
    }
    Err(Fault::at(number, format!("{} is no line of ping", shown(line))))
}

fn sequence(text: &str, line: usize) -> Result<i64, Fault> {
    let field = field(text, "icmp_seq=", line)?;
    field.parse().ok().filter(|sequence| (0..WRAP).contains(sequence)).ok_or_else(|| {
        Fault::at(line, format!("{} is no sequence number; allowed: 0 to 65535", shown(field)))
    })
}

/// Returns the word that follows `key`.
fn field<'t>(text: &'t str, key: &str, line: usize) -> Result<&'t str, Fault> {
    let start = text.find(key).map(|at| at + key.len());
    let word = start.and_then(|start| text[start..].split_whitespace().next());
    word.ok_or_else(|| Fault::at(line, format!("the line has no `{key}`")))
}

/// Returns the sequence number nearest to `near` that ends in these 16 bits.
fn unwrapped(sequence: i64, near: i64) -> i64 {
    let base = near - near.rem_euclid(WRAP) + sequence;
    let candidates = [base - WRAP, base, base + WRAP];
    let nearest = candidates.into_iter().min_by_key(|candidate| (candidate - near).abs());
    nearest.unwrap_or(base)
}

/// Returns a probe for each sequence number. A lost one was sent in the middle of its neighbours.
fn probes(answers: &BTreeMap<i64, Answer>, first: i64, last: i64) -> Result<Vec<Probe>, Fault> {
    if last - first > answers.len() as i64 * 100 + HALF {
        return Err(Fault::whole("more than 99 of 100 pings have no answer; allowed: fewer"));
    }
    // A stamp is that of the answer.
    let sent: Vec<(i64, i64)> =
        answers.iter().map(|(sequence, answer)| (*sequence, answer.came - answer.rtt)).collect();
    let (Some(start), Some(end)) = (sent.first(), sent.last()) else {
        return Err(Fault::whole("no ping was answered; allowed: at least one"));
    };
    let step = if end.0 > start.0 { (end.1 - start.1) / (end.0 - start.0) } else { 1_000_000_000 };
    let mut probes = Vec::new();
    for sequence in first..=last {
        let next = sent.partition_point(|(own, _)| *own < sequence);
        let probe = match answers.get(&sequence) {
            Some(answer) => answered(answer.came - answer.rtt, answer.rtt),
            None => {
                let at = match (next.checked_sub(1).and_then(|at| sent.get(at)), sent.get(next)) {
                    (Some((a, from)), Some((b, to))) => {
                        from + (to - from) * (sequence - a) / (b - a)
                    }
                    (Some((a, from)), None) => from + step * (sequence - a),
                    (None, Some((b, to))) => to - step * (b - sequence),
                    (None, None) => 0,
                };
                Probe { sent: at, rtt: None, one_way: None, loss: 1.0, lost_in: None }
            }
        };
        probes.push(probe);
    }
    probes.sort_by_key(|probe| probe.sent);
    Ok(probes)
}

/// Returns an answered probe.
pub fn answered(sent: i64, rtt: i64) -> Probe {
    Probe { sent, rtt: Some(rtt), one_way: None, loss: 0.0, lost_in: None }
}
