//! Checks of `light_time`.

use crate::error::Problem;
use crate::light_time::LightTimeSection;
use crate::limits::Check;
use crate::scenario::{Hop, PathSection};
use bentpipe_link::DirectionPatch;
use bentpipe_orbit::light_time::light_time;
use bentpipe_units::Span;
use serde_spanned::Spanned;

/// Checks the bodies and the dates of a path, and that nothing else gives the delay.
pub(crate) fn check(path: &PathSection, limit: Span) -> Check {
    let fixed = [&path.forward, &path.reverse];
    one(path.light_time.as_ref(), path.rtt.as_ref().map(Spanned::span), fixed, limit)?;
    path.hop.iter().try_for_each(|hop| {
        let Hop { light_time, forward, reverse, .. } = hop.get_ref();
        one(light_time.as_ref(), None, [forward, reverse], limit)
    })
}

fn one(
    section: Option<&Spanned<LightTimeSection>>,
    rtt: Option<std::ops::Range<usize>>,
    directions: [&Option<Spanned<DirectionPatch>>; 2],
    limit: Span,
) -> Check {
    let Some(section) = section else { return Ok(()) };
    let delays = directions.into_iter().flatten().find(|patch| patch.get_ref().delay.is_some());
    if let Some(span) = rtt.or_else(|| delays.map(Spanned::span)) {
        let message = "`light_time` sets the delay of both directions, and an `rtt` or a `delay` \
            does too; allowed: one of them, and `extra` for more delay";
        return Err(Problem::new(span, message));
    }
    let keys = section.get_ref();
    let [client, server] = keys.ends()?;
    let start = *keys.at.get_ref();
    for at in [start, start + limit] {
        light_time(client, server, at)
            .map_err(|error| Problem::new(section.span(), error.to_string()))?;
    }
    Ok(())
}
