//! Checks of `[path.contacts]`.

use crate::error::Problem;
use crate::limits::Check;
use crate::scenario::PathSection;
use serde_spanned::Spanned;

/// Checks that the path has no other hops beside those of a plan.
pub(crate) fn check(path: &PathSection) -> Check {
    if path.contacts.is_none() {
        return Ok(());
    }
    let beside = [
        ("profile", path.profile.as_ref().map(Spanned::span)),
        ("hop", path.hop.first().map(Spanned::span)),
        ("orbit", path.orbit.as_ref().map(Spanned::span)),
        ("forward", path.forward.as_ref().map(Spanned::span)),
        ("return", path.reverse.as_ref().map(Spanned::span)),
        ("rtt", path.rtt.as_ref().map(Spanned::span)),
        ("light_time", path.light_time.as_ref().map(Spanned::span)),
        ("reconfiguration", path.reconfiguration.as_ref().map(Spanned::span)),
        ("recording", path.recording.as_ref().map(Spanned::span)),
    ];
    match beside.into_iter().find_map(|(key, span)| Some((key, span?))) {
        Some((key, span)) => Err(Problem::new(
            span,
            format!(
                "`path.{key}` and [path.contacts] exclude each other; allowed: either, or the \
                    hops that `bentpipe contacts --path` prints"
            ),
        )),
        None => Ok(()),
    }
}
