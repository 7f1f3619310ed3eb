//! The recordings of a path: whether they go together, and the clock that reads them.

use super::path::ResolvedPath;
use super::repeat::last_end;
use super::replay::{Replay, replay};
use bentpipe_link::{
    AtEnd, DelayConfig, DirectionConfig, DirectionModel, RecordedSource, ReplayClock,
};
use bentpipe_scenario::profiles::idle_delay;
use bentpipe_scenario::{Begin, Fill, Problem, RecordingSection, Scenario};
use bentpipe_units::Span;
use serde_spanned::Spanned;
use std::ops::Range;

/// Share of a recording that may be cut without a note.
const CUT_WITHOUT_NOTE: f64 = 0.01;

impl ResolvedPath {
    /// Sets the clock of the path's recordings, if it has any, and adds their delays to the RTT.
    ///
    /// # Errors
    /// The recordings do not go together, have a gap, or are too short for the scenario.
    pub(super) fn add_recordings(&mut self, scenario: &Scenario) -> Result<(), Problem> {
        let given = scenario.path.get_ref().recording.as_ref();
        let span = given.map_or_else(|| scenario.path.span(), Spanned::span);
        let sources = self.sources();
        if sources.iter().all(|source| source.is_trace) && (given.is_none() || sources.is_empty()) {
            return match given {
                None => Ok(()),
                Some(_) => Err(Problem::new(
                    span,
                    "`path.recording` has no effect on a path without recordings; allowed: \
                        `recording` or a rate trace in a direction",
                )),
            };
        }
        let section = given.map(Spanned::get_ref);
        same_start(&sources, &span)?;
        if section.is_none_or(|section| section.fill != Some(Fill::Hold)) {
            no_gap(&sources, &span)?;
        }
        let clock = clock(&sources, section, &span)?;
        let drawn = drawn_step(section, &clock);
        if clock.at_end == AtEnd::End {
            long_enough(scenario, &clock, drawn.is_some(), &span)?;
        }
        self.notes.extend(notes(&sources, &clock, drawn.is_some()));
        replay(&mut self.hops, &clock);
        for (hop, (forward, reverse)) in self.hops.iter().zip(&self.configs) {
            for (direction, config) in [(&hop.forward, forward), (&hop.reverse, reverse)] {
                self.rtt += idle(config, direction).saturating_sub(idle_delay(config));
                if direction.nominal_rate().is_zero() {
                    let message = format!(
                        "hop `{}` sends nothing in the {} of its recording that are used; \
                            allowed: recordings with a rate above zero",
                        hop.name, clock.length
                    );
                    return Err(Problem::new(span, message));
                }
            }
        }
        let change = section.and_then(|section| section.change.as_ref());
        self.replay = Some(Replay { clock, drawn, change: change.map(|change| *change.get_ref()) });
        Ok(())
    }

    fn sources(&self) -> Vec<RecordedSource> {
        let directions = self.hops.iter().flat_map(|hop| [&hop.forward, &hop.reverse]);
        directions.flat_map(|direction| direction.recorded_sources()).cloned().collect()
    }
}

/// Checks that all recordings begin at the same time, if they say when.
fn same_start(sources: &[RecordedSource], span: &Range<usize>) -> Result<(), Problem> {
    let mut known = sources.iter().filter_map(|source| Some((source, source.start?)));
    let Some((first, start)) = known.next() else { return Ok(()) };
    match known.find(|(_, other)| *other != start) {
        None => Ok(()),
        Some((other, at)) => {
            let message = format!(
                "{} begins at {start} and {} at {at}, and one clock reads both; allowed: \
                    recordings that begin at the same time, as `bentpipe import` writes them",
                first.file.display(),
                other.file.display()
            );
            Err(Problem::new(span.clone(), message))
        }
    }
}

/// Checks that something was measured at all times.
fn no_gap(sources: &[RecordedSource], span: &Range<usize>) -> Result<(), Problem> {
    let mut gaps = sources.iter().filter_map(|source| Some((source, source.gap?)));
    let Some((source, gap)) = gaps.next() else { return Ok(()) };
    let message = format!(
        "{}, line {}: nothing was measured for {} from {} on; allowed: up to {}, or `fill = \
            \"hold\"` in [path.recording]",
        source.file.display(),
        gap.line,
        gap.length,
        gap.at,
        gap.held
    );
    Err(Problem::new(span.clone(), message))
}

/// Returns the clock of runs that begin at the earliest time.
fn clock(
    sources: &[RecordedSource],
    section: Option<&RecordingSection>,
    span: &Range<usize>,
) -> Result<ReplayClock, Problem> {
    let shortest = sources.iter().map(|source| source.length).min().unwrap_or_default();
    let period = section.and_then(|section| section.period.as_ref());
    let step = period.map_or(Span::from_millis(1), |period| *period.get_ref());
    let length = step * (shortest.as_nanos() / step.as_nanos());
    // Traces count in milliseconds.
    let length = Span::from_millis(length.as_nanos() / 1_000_000);
    if length.is_zero() {
        let message = format!(
            "the shortest recording has {shortest}, less than the `period` of {step}; allowed: up \
                to its length"
        );
        return Err(Problem::new(period.map_or(span.clone(), Spanned::span), message));
    }
    let at_end = section.and_then(|section| section.at_end.as_ref());
    if let Some(at_end) = at_end.filter(|at_end| *at_end.get_ref() == AtEnd::Hold)
        && let Some(trace) = sources.iter().find(|source| source.is_trace)
    {
        let message = format!(
            "{} has opportunities and no last rate that could stay; allowed: `loop = \"cut\"` or \
                \"end\"",
            trace.file.display()
        );
        return Err(Problem::new(at_end.span(), message));
    }
    let start = section.and_then(|section| section.start.as_ref());
    let at = match start.map(Spanned::get_ref) {
        Some(Begin::At(at)) => *at,
        Some(Begin::Random) | None => Span::ZERO,
    };
    if let Some(start) = start.filter(|_| at >= length) {
        let message =
            format!("`start` of {at} is beyond the end of the recordings; allowed: below {length}");
        return Err(Problem::new(start.span(), message));
    }
    Ok(ReplayClock {
        start: at,
        length,
        at_end: at_end.map(|at_end| *at_end.get_ref()).unwrap_or_default(),
        period: period.map(|period| *period.get_ref()),
    })
}

/// Returns the step in which the start of each run is drawn; `None` for a fixed start.
fn drawn_step(section: Option<&RecordingSection>, clock: &ReplayClock) -> Option<Span> {
    let start = section.and_then(|section| section.start.as_ref())?;
    (*start.get_ref() == Begin::Random).then(|| clock.period.unwrap_or(Span::from_millis(1)))
}

/// Checks that no run lasts longer than the recordings.
fn long_enough(
    scenario: &Scenario,
    clock: &ReplayClock,
    drawn: bool,
    span: &Range<usize>,
) -> Result<(), Problem> {
    let run = last_end(scenario).unwrap_or(*scenario.time_limit.get_ref());
    let left = clock.length.saturating_sub(clock.start);
    if !drawn && run <= left {
        return Ok(());
    }
    let message = if drawn {
        "`loop = \"end\"` needs a `start` that is the same for all runs; allowed: a span, or \
            `loop = \"cut\"`"
            .to_owned()
    } else {
        format!(
            "runs may last {run}, and {left} of the recordings are left; allowed: a shorter \
                `duration` or `time_limit`, or `loop = \"cut\"`"
        )
    };
    Err(Problem::new(span.clone(), message))
}

/// Returns what the reader of the results must know.
fn notes(sources: &[RecordedSource], clock: &ReplayClock, drawn: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let longest = sources.iter().max_by_key(|source| source.length);
    if let Some(source) = longest {
        let lost = source.length.saturating_sub(clock.length);
        if lost.as_secs_f64() > CUT_WITHOUT_NOTE * source.length.as_secs_f64() {
            notes.push(format!(
                "{} has {} more than the {} that all recordings have: the rest is not used",
                source.file.display(),
                lost,
                clock.length
            ));
        }
    }
    match clock.period {
        Some(period) if drawn => {
            let starts = clock.length.as_nanos() / period.as_nanos();
            notes.push(format!(
                "the recordings have {starts} periods of {period}: runs have at most {starts} \
                    independent starts, whatever `repeat` is"
            ));
        }
        _ => {}
    }
    if !drawn {
        notes.push(
            "all runs begin at the same place of the recordings; `path.recording.start = \
                \"random\"` draws one for each"
                .to_owned(),
        );
    }
    notes
}

/// Returns the mean delay of an idle direction: that of its configuration or, of a recording, the
/// median.
pub(super) fn idle(config: &DirectionConfig, model: &DirectionModel) -> Span {
    let recorded = matches!(config.delay, DelayConfig::Recording(_));
    let delay = if recorded { model.base_delay() } else { Span::ZERO };
    idle_delay(config) + delay
}
