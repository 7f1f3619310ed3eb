//! Instants at which a path reconfigures, found in the RTTs and losses of probes.

use crate::measured::Probe;
use crate::statistics::{median, quantile, sorted};

const MILLI: i64 = 1_000_000;
/// Width of the bins of which the lowest quarter ends at a level: queues and a busy machine raise
/// the rest.
const BIN: i64 = 250 * MILLI;
const LOW: f64 = 0.25;
/// Bins on each side of a step.
const SIDE: usize = 8;
/// Least step of an RTT, and how much larger than the usual difference it is.
const LEAST_STEP_MS: f64 = 1.0;
const ABOVE_NOISE: f64 = 6.0;
/// Part of the highest difference that belongs to its plateau.
const PLATEAU: f64 = 0.9;
/// An outage: so many probes in a row that are lost or later than the others by so much.
const IN_A_ROW: usize = 3;
const LATE_MS: f64 = 25.0;
/// Events closer than this are one.
const APART: i64 = 1_000 * MILLI;
/// Distance from a multiple of the period at which an event agrees with it: two bins, and what the
/// period itself is off.
const AGREES: i64 = 600 * MILLI;
/// Periods that are looked for.
const SHORTEST: i64 = 5_000 * MILLI;
const LONGEST: i64 = 60_000 * MILLI;
/// Longest time between two events of which a period is a part.
const PARTS: i64 = 4;
/// Fewest events that make a period.
const FEWEST: usize = 3;
/// Most events that are looked at, the first ones: the time to find a period grows with their
/// square. Measurements of ten minutes over paths that reconfigure every 15 s have 40.
const MOST: usize = 256;

/// A period of instants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// Time of one of them, in nanoseconds.
    pub at: i64,
    /// Time between two of them, in nanoseconds.
    pub length: i64,
    /// Number of events that agree with it.
    pub agree: usize,
}

/// What happened to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// Probes were lost in a row.
    Lost,
    /// The RTT stepped to another level.
    Step,
    /// Probes were late in a row, as in an outage in which packets wait, or because one of the
    /// ends was busy.
    Late,
}

/// Returns the period of a path's instants: of its steps and losses or, if they have none, also of
/// the times at which probes were late.
pub fn find(probes: &[Probe]) -> Option<Period> {
    let ends = (probes.first()?.sent, probes.last()?.sent);
    let all = events(probes);
    let times = |late: bool| -> Vec<i64> {
        let used = all.iter().filter(|(_, kind)| late || *kind != Kind::Late);
        used.map(|(at, _)| *at).collect()
    };
    period(&times(false), ends).or_else(|| period(&times(true), ends))
}

/// Returns events and their times in nanoseconds, in ascending order. Of those that are close to
/// each other the one stays whose time is known best.
fn events(probes: &[Probe]) -> Vec<(i64, Kind)> {
    let mut all: Vec<(i64, Kind)> = outages(probes).into_iter().chain(steps(probes)).collect();
    all.sort_unstable();
    let mut events: Vec<(i64, Kind)> = Vec::new();
    for (at, kind) in all {
        match events.last_mut() {
            Some(last) if at - last.0 < APART => {
                if kind < last.1 {
                    *last = (at, kind);
                }
            }
            _ => events.push((at, kind)),
        }
    }
    events
}

/// Returns the period of `events` between `from` and `to`, if at least three agree, and most of
/// them and of the instants. Of more than [`MOST`] events, the time ends with the last of them.
fn period(events: &[i64], (from, to): (i64, i64)) -> Option<Period> {
    let to = events.get(MOST).map_or(to, |after| to.min(*after));
    let events = &events[..events.len().min(MOST)];
    let pairs = events.iter().enumerate().flat_map(|(index, first)| {
        let after = events[index + 1..].iter().map(move |second| second - first);
        after
            .take_while(|apart| *apart <= PARTS * LONGEST)
            .flat_map(move |apart| (1..=PARTS).map(move |number| (*first, apart / number)))
    });
    let fits = |(at, length): (i64, i64)| {
        if !(SHORTEST..=LONGEST).contains(&length) {
            return None;
        }
        let off = |event: &i64| {
            let rest = (event - at).rem_euclid(length);
            rest.min(length - rest)
        };
        let near = || events.iter().map(off).filter(|off| *off <= AGREES);
        let agree = near().count();
        let instants = ((to - at).div_euclid(length) - (from - at).div_euclid(length)).max(1);
        let instants = usize::try_from(instants).unwrap_or(usize::MAX);
        // Of instants without a step, few are allowed; of events for other reasons, some.
        // Three of six agree by chance.
        let most = if agree > FEWEST { 2 * agree } else { 5 * agree / 3 } >= events.len();
        let enough = agree >= FEWEST && 4 * agree >= 3 * instants && most;
        let found = Period { at, length, agree };
        enough.then(|| (agree, std::cmp::Reverse(near().sum::<i64>()), found))
    };
    let best = pairs.filter_map(fits).max_by_key(|(agree, off, _)| (*agree, *off));
    best.map(|(_, _, period)| period)
}

/// Returns the beginnings of outages.
fn outages(probes: &[Probe]) -> Vec<(i64, Kind)> {
    let rtts: Vec<f64> = probes.iter().filter_map(rtt_ms).collect();
    let usual = median(rtts);
    let mut found = Vec::new();
    for kind in [Kind::Lost, Kind::Late] {
        let mut run: Option<(i64, usize)> = None;
        for probe in probes {
            let out = match rtt_ms(probe) {
                None => kind == Kind::Lost,
                Some(rtt) => kind == Kind::Late && rtt > usual + LATE_MS,
            };
            run = match run {
                Some((at, count)) if out => Some((at, count + 1)),
                None if out => Some((probe.sent, 1)),
                _ => None,
            };
            if let Some((at, IN_A_ROW)) = run {
                found.push((at, kind));
            }
        }
    }
    found
}

/// Returns the times of steps.
fn steps(probes: &[Probe]) -> Vec<(i64, Kind)> {
    let Some(first) = probes.first().map(|probe| probe.sent) else { return Vec::new() };
    let mut bins: Vec<Vec<f64>> = Vec::new();
    for probe in probes {
        // Probes are in order, and a measurement lasts minutes.
        let Ok(bin) = usize::try_from((probe.sent - first) / BIN) else { continue };
        if bin > 100_000 {
            break;
        }
        bins.resize(bins.len().max(bin + 1), Vec::new());
        bins[bin].extend(rtt_ms(probe));
    }
    let low = |bin: Vec<f64>| (!bin.is_empty()).then(|| quantile(&sorted(bin), LOW));
    let levels: Vec<Option<f64>> = bins.into_iter().map(low).collect();
    let level = |bins: &[Option<f64>]| -> Option<f64> {
        let known: Vec<f64> = bins.iter().flatten().copied().collect();
        (known.len() * 2 >= bins.len() && !known.is_empty()).then(|| median(known))
    };
    let difference = |index: usize| {
        let (before, after) = (&levels[index - SIDE..index], &levels[index..index + SIDE]);
        Some((level(before)? - level(after)?).abs())
    };
    let last = levels.len().saturating_sub(SIDE);
    let differences: Vec<f64> =
        (SIDE..last.max(SIDE)).map(|index| difference(index).unwrap_or(0.0)).collect();
    if differences.is_empty() {
        return Vec::new();
    }
    let least = LEAST_STEP_MS.max(ABOVE_NOISE * median(differences.clone()));
    // Medians make a step a plateau of differences, whose middle is its time.
    let mut found = Vec::new();
    let mut index = 0;
    while index < differences.len() {
        let run = differences[index..].iter().take_while(|one| **one >= least).count();
        let plateau = &differences[index..index + run];
        let highest = plateau.iter().copied().fold(0.0, f64::max);
        let high = |one: &f64| *one >= PLATEAU * highest;
        if let (Some(from), Some(to)) =
            (plateau.iter().position(high), plateau.iter().rposition(high))
        {
            let middle = (index + SIDE) as i64 * 2 + (from + to) as i64;
            found.push((first + middle * BIN / 2, Kind::Step));
        }
        index += run.max(1);
    }
    found
}

fn rtt_ms(probe: &Probe) -> Option<f64> {
    probe.rtt.map(|rtt| rtt as f64 / MILLI as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Probes each 10 ms for 62 s, with an RTT by time in milliseconds; `None` is lost.
    fn probes(rtt: impl Fn(i64) -> Option<f64>) -> Vec<Probe> {
        (0..6200)
            .map(|number| {
                let ms = 10 * number;
                let rtt = rtt(ms).map(|rtt| (rtt * MILLI as f64) as i64);
                let loss = f64::from(u8::from(rtt.is_none()));
                Probe { sent: ms * MILLI, rtt, one_way: None, loss, lost_in: None }
            })
            .collect()
    }
    /// A little noise that no random numbers are needed for.
    fn noise(ms: i64) -> f64 {
        (ms / 10 * 7919 % 100) as f64 / 200.0
    }

    #[test]
    fn steps_and_outages_every_15_s_are_a_period() {
        let levels = [30.0, 34.0, 27.0, 29.0, 41.0];
        let slot = |ms: i64| ((ms - 4200).div_euclid(15_000) + 1) as usize;
        let stepped = probes(|ms| Some(levels[slot(ms)] + noise(ms)));
        let period = find(&stepped).expect("steps");
        assert!((period.length - 15_000 * MILLI).abs() <= 250 * MILLI, "{period:?}");
        assert!(
            ((period.at / MILLI - 4200).rem_euclid(15_000) + 250) % 15_000 <= 500,
            "{period:?}"
        );
        assert_eq!(period.agree, 4);
        // Outages without steps, to the probe.
        let out = probes(|ms| {
            let into = (ms - 4200).rem_euclid(15_000);
            (into >= 80).then_some(30.0 + noise(ms))
        });
        let period = find(&out).expect("outages");
        assert_eq!((period.length, period.at % (15_000 * MILLI)), (15_000 * MILLI, 4200 * MILLI));
    }

    #[test]
    fn a_level_path_and_single_events_have_no_period() {
        assert_eq!(find(&probes(|ms| Some(600.0 + noise(ms)))), None);
        let once = probes(|ms| Some(if ms < 20_000 { 30.0 } else { 40.0 } + noise(ms)));
        assert_eq!(events(&once), [(20_000 * MILLI, Kind::Step)]);
        assert_eq!(find(&once), None);
        // Outages in which packets wait, as a busy end makes them too.
        let waits = probes(|ms| {
            let into = (ms - 4200).rem_euclid(15_000);
            Some(30.0 + noise(ms) + if into < 80 { 80.0 - into as f64 + 30.0 } else { 0.0 })
        });
        assert_eq!(find(&waits).map(|period| period.length), Some(15_000 * MILLI));
        // Events without a pattern.
        let times = [3_000, 11_000, 14_500, 31_000, 36_000, 52_500];
        let scattered = probes(|ms| {
            (!times.iter().any(|at| (*at..at + 60).contains(&ms))).then_some(30.0 + noise(ms))
        });
        assert_eq!(events(&scattered).len(), times.len());
        assert_eq!(find(&scattered), None);
        assert_eq!(find(&[]), None);
    }

    #[test]
    fn many_events_take_no_longer_than_some() {
        // Two hours with an event every 1.1 s, or every 15 s.
        let times = |apart: i64| -> Vec<i64> {
            (0..7_200_000 / apart).map(|number| number * apart * MILLI).collect()
        };
        let ends = (0, 7_200_000 * MILLI);
        assert_eq!(period(&times(15_000), ends).map(|one| one.length), Some(15_000 * MILLI));
        let looked_at = period(&times(1_100), ends).map_or(0, |one| one.agree);
        assert!(looked_at <= MOST, "{looked_at}");
    }
}
