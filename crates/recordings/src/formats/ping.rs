//! Output of ping: a line per answer. Lines with a time give the time of each ping; without, only
//! sequence numbers tell pings apart.

use super::ping_line::{Line, Stamp, is_ping, line};
use crate::bounds::MAX_ROWS;
use crate::error::Fault;
use crate::format::Format;
use crate::measured::{Content, Measured, Probe, Times};
use crate::table::{bounded, shown};
use std::collections::BTreeMap;

/// Half of the range of sequence numbers, which wrap at 65,536.
const HALF: i64 = 32_768;
const WRAP: i64 = 65_536;
const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400 * SECOND;

/// Number of lines that are looked at to tell a text of ping.
const LOOK: usize = 20;

/// Returns true if the text is one of ping.
pub fn is_format(look: &str) -> bool {
    look.lines().take(LOOK).any(is_ping)
}

/// An answer: when it came, and the RTT, in nanoseconds.
#[derive(Clone, Copy)]
struct Answer {
    came: i64,
    rtt: i64,
}

/// The pings of one call of ping.
#[derive(Default)]
struct Run {
    answers: BTreeMap<i64, Answer>,
    lowest: Option<i64>,
    highest: Option<i64>,
}

impl Run {
    /// Returns the full number of a ping, and whether it is the highest so far. Pings without one
    /// are counted.
    fn number(&mut self, sequence: Option<i64>) -> (i64, bool) {
        let number = match (sequence, self.highest) {
            (Some(sequence), highest) => unwrapped(sequence, highest.unwrap_or(sequence)),
            (None, highest) => highest.map_or(0, |highest| highest + 1),
        };
        let newest = self.highest.is_none_or(|highest| number > highest);
        self.lowest = Some(self.lowest.map_or(number, |lowest| lowest.min(number)));
        self.highest = self.highest.max(Some(number));
        (number, newest)
    }
}

/// What the lines of a file have in common.
#[derive(Default)]
struct Reading<'t> {
    runs: Vec<Run>,
    run: Run,
    /// The kind of time that answers have.
    times: Option<Times>,
    /// The time of day of the line before, and nanoseconds of the days before.
    day: (i64, i64),
    target: &'t str,
    duplicates: usize,
    late: usize,
}

/// Reads the output of ping.
///
/// # Errors
/// A line is none of ping, or only some have a time.
pub fn read(text: &str) -> Result<Measured, Fault> {
    let mut reading = Reading::default();
    let (mut windows, mut statistics) = (false, false);
    for (index, text) in text.lines().enumerate() {
        let number = index + 1;
        match line(text, number, windows, statistics)? {
            Line::Begin => {
                (windows, statistics) = (false, false);
                reading.begin(number)?;
            }
            Line::WindowsHead if reading.times.is_some() => {
                let shown = shown(text);
                let problem =
                    format!("{shown} is no line of ping; allowed: what ping alone writes");
                return Err(Fault::at(number, problem));
            }
            Line::WindowsHead => windows = true,
            Line::Statistics => statistics = true,
            Line::Other => {}
            Line::Unanswered { sequence } => {
                reading.run.number(sequence);
            }
            Line::Answer { stamp, sequence, rtt, duplicate, target } => {
                windows |= sequence.is_none();
                reading.of_target(target, number)?;
                let came = reading.time(stamp, number)?;
                bounded(reading.run.answers.len(), number)?;
                reading.answer(sequence, Answer { came, rtt }, duplicate);
            }
        }
    }
    reading.measured()
}

impl<'t> Reading<'t> {
    /// Begins another call of ping, whose numbers begin again.
    fn begin(&mut self, number: usize) -> Result<(), Fault> {
        if self.run.highest.is_none() {
            return Ok(());
        }
        if self.times == Some(Times::Numbered) {
            let problem = "another call of ping begins, and no line has a time; allowed: one call, \
                or `ping -D`";
            return Err(Fault::at(number, problem));
        }
        self.runs.push(std::mem::take(&mut self.run));
        Ok(())
    }

    /// Checks that all pings go to one host: fping can have several.
    fn of_target(&mut self, target: &'t str, number: usize) -> Result<(), Fault> {
        if !self.target.is_empty() && target != self.target {
            let problem = "the ping goes to another host than those above; allowed: one host";
            return Err(Fault::at(number, problem));
        }
        self.target = target;
        Ok(())
    }

    /// Returns the time of an answer, of the kind that the first one has.
    fn time(&mut self, stamp: Stamp, number: usize) -> Result<i64, Fault> {
        let (own, at) = match stamp {
            Stamp::None => (Times::Numbered, 0),
            Stamp::Utc(at) => (Times::Utc, at),
            Stamp::Day(at) => {
                let (before, days) = self.day;
                // Half a day back is the next day; less is a clock that was set.
                let next = if at + DAY / 2 < before { DAY } else { 0 };
                self.day = (at, days.saturating_add(next));
                (Times::Relative, self.day.1.saturating_add(at))
            }
        };
        match self.times {
            Some(first) if first != own => {
                let problem = "only some answers have a time stamp; allowed: all, as those of \
                    `ping -D`, or none";
                Err(Fault::at(number, problem))
            }
            _ => {
                self.times = Some(own);
                Ok(at)
            }
        }
    }

    fn answer(&mut self, sequence: Option<i64>, answer: Answer, duplicate: bool) {
        let (number, newest) = self.run.number(sequence);
        if duplicate || self.run.answers.contains_key(&number) {
            self.duplicates += 1;
            return;
        }
        self.late += usize::from(!newest);
        self.run.answers.insert(number, answer);
    }

    fn measured(mut self) -> Result<Measured, Fault> {
        self.runs.push(std::mem::take(&mut self.run));
        let times = self.times.unwrap_or(Times::Numbered);
        let mut probes = Vec::new();
        for run in &self.runs {
            let (Some(first), Some(last)) = (run.lowest, run.highest) else { continue };
            // Of a call without any answer no time is known.
            if times != Times::Numbered && run.answers.is_empty() && self.runs.len() > 1 {
                continue;
            }
            sparse(&run.answers, first, last, probes.len())?;
            if times == Times::Numbered {
                probes.extend(run.numbered(first, last));
            } else {
                probes.extend(stamped(&run.answers, first, last)?);
            }
        }
        if probes.iter().all(|probe: &Probe| probe.rtt.is_none()) {
            return Err(Fault::whole("there is no answer in it"));
        }
        probes.sort_by_key(|probe| probe.sent);
        if times == Times::Relative {
            let first = probes[0].sent;
            probes.iter_mut().for_each(|probe| probe.sent -= first);
        }
        let lost = probes.iter().filter(|probe| probe.loss > 0.0).count();
        let mut notes = vec![format!(
            "{} sent, {lost} lost, {} duplicates, {} out of order",
            probes.len(),
            self.duplicates,
            self.late
        )];
        if self.runs.len() > 1 {
            notes.push(format!("{} calls of ping; nothing is known between them", self.runs.len()));
        }
        Ok(Measured { format: Format::Ping, content: Content::Probes(probes), times, notes })
    }
}

impl Run {
    /// Returns a probe for each number, a second apart.
    fn numbered(&self, first: i64, last: i64) -> impl Iterator<Item = Probe> {
        (first..=last).map(move |number| {
            let sent = (number - first) * SECOND;
            self.answers.get(&number).map_or_else(|| lost(sent), |own| answered(sent, own.rtt))
        })
    }
}

/// Returns the sequence number nearest to `near` that ends in these 16 bits.
fn unwrapped(sequence: i64, near: i64) -> i64 {
    let base = near - near.rem_euclid(WRAP) + sequence;
    let candidates = [base - WRAP, base, base + WRAP];
    let nearest = candidates.into_iter().min_by_key(|candidate| (candidate - near).abs());
    nearest.unwrap_or(base)
}

/// Checks that numbers do not jump, as each between them becomes a probe beside the `before` of
/// other calls.
fn sparse(
    answers: &BTreeMap<i64, Answer>,
    first: i64,
    last: i64,
    before: usize,
) -> Result<(), Fault> {
    if last - first > answers.len() as i64 * 100 + HALF {
        return Err(Fault::whole("more than 99 of 100 pings have no answer; allowed: fewer"));
    }
    let pings = usize::try_from(last - first + 1).unwrap_or(usize::MAX).saturating_add(before);
    if pings > MAX_ROWS {
        return Err(Fault::whole(format!(
            "its sequence numbers are those of {pings} pings, answered or lost; allowed: up to \
                {MAX_ROWS}, a part of it"
        )));
    }
    Ok(())
}

/// Returns `part` of `whole` parts of a time, in the nearest that 64 bits hold.
fn share(time: i64, part: i64, whole: i64) -> i64 {
    let nanos = i128::from(time) * i128::from(part) / i128::from(whole);
    nanos.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

/// Returns a probe for each sequence number. A lost one was sent in the middle of its neighbours.
fn stamped(answers: &BTreeMap<i64, Answer>, first: i64, last: i64) -> Result<Vec<Probe>, Fault> {
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
                        from + share(to - from, sequence - a, b - a)
                    }
                    (Some((a, from)), None) => from.saturating_add(share(step, sequence - a, 1)),
                    (None, Some((b, to))) => to.saturating_sub(share(step, b - sequence, 1)),
                    (None, None) => 0,
                };
                lost(at)
            }
        };
        probes.push(probe);
    }
    Ok(probes)
}

/// Returns an answered probe.
pub fn answered(sent: i64, rtt: i64) -> Probe {
    Probe { sent, rtt: Some(rtt), one_way: None, loss: 0.0, lost_in: None }
}

/// Returns a lost probe.
fn lost(sent: i64) -> Probe {
    Probe { sent, rtt: None, one_way: None, loss: 1.0, lost_in: None }
}
