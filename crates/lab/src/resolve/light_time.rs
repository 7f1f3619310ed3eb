//! The delays of a path between two bodies of the solar system.

use bentpipe_link::{DelayConfig, DelayStep, DirectionPatch, Distribution};
use bentpipe_orbit::light_time::{Body, light_time};
use bentpipe_scenario::{LightTimeSection, Problem};
use bentpipe_units::Span;
use serde_spanned::Spanned;

/// Least step between two computed light times. Planets accelerate towards each other by up to
/// 0.01 m/s^2, so lines between steps of an hour are wrong by up to 55 us: far less than the
/// ephemeris.
const STEP: Span = Span::from_secs(3600);
/// Most steps of a run.
const MAX_STEPS: u64 = 10_000;

/// Returns the delays towards the client and towards the server over a run of at most `limit`.
///
/// # Errors
/// A body or a time has no light time.
pub(super) fn light_time_delays(
    section: &Spanned<LightTimeSection>,
    limit: Span,
) -> Result<[DirectionPatch; 2], Problem> {
    let [client, server] = section.get_ref().ends()?;
    Ok([delay(section, (server, client), limit)?, delay(section, (client, server), limit)?])
}

fn delay(
    section: &Spanned<LightTimeSection>,
    (from, to): (Body, Body),
    limit: Span,
) -> Result<DirectionPatch, Problem> {
    let keys = section.get_ref();
    let step = STEP.max(limit / MAX_STEPS);
    let count = limit.as_nanos().div_ceil(step.as_nanos());
    let steps = (0..=count).map(|index| {
        let at = step * index;
        let light = light_time(from, to, *keys.at.get_ref() + at.min(limit))
            .map_err(|error| Problem::new(section.span(), error.to_string()))?;
        Ok(DelayStep::new(at, light + keys.extra))
    });
    let schedule = steps.collect::<Result<_, Problem>>()?;
    Ok(DirectionPatch {
        delay: Some(DelayConfig::Schedule {
            schedule,
            interpolate: true,
            repeat: None,
            distribution: Distribution::default(),
            keep_order: true,
        }),
        ..DirectionPatch::default()
    })
}
