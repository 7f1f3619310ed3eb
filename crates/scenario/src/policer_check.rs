//! Checks of policers.

use crate::error::Problem;
use crate::limits::Check;
use crate::scenario::PathSection;
use bentpipe_link::DirectionPatch;
use serde_spanned::Spanned;

/// Checks that full packets pass the policers of a path.
pub(crate) fn check(path: &PathSection) -> Check {
    let hops = path.hop.iter().map(|hop| hop.get_ref());
    let hops = hops.flat_map(|hop| [&hop.forward, &hop.reverse]);
    let orbit = path.orbit.iter().flat_map(|orbit| orbit.get_ref().links.directions());
    let directions = [&path.forward, &path.reverse].into_iter().chain(hops).flatten().chain(orbit);
    directions.into_iter().try_for_each(|direction| one(path, direction))
}

fn one(path: &PathSection, direction: &Spanned<DirectionPatch>) -> Check {
    let mtu = *path.mtu.get_ref();
    let Some(burst) = direction.get_ref().policer.and_then(|policer| policer.below(mtu)) else {
        return Ok(());
    };
    let message = format!(
        "`policer.burst` of {burst} never lets a full packet of {mtu} pass; allowed: {mtu} \
            (path.mtu) or more"
    );
    Err(Problem::new(direction.span(), message))
}
