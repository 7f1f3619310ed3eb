//! Checks that rate and delay schedules share.

use crate::ConfigError;
use bentpipe_units::Span;

/// Refuses a schedule that is empty, does not begin at zero, does not rise, or repeats before its last step began.
pub(super) fn check_starts(
    what: &str,
    starts: impl Iterator<Item = Span>,
    repeat: Option<Span>,
) -> Result<(), ConfigError> {
    let mut last: Option<Span> = None;
    for at in starts {
        match last {
            None if !at.is_zero() => {
                let allowed = "a first step at = \"0 s\", so that the link is defined from the start";
                return Err(ConfigError::refused(
                    format!("at = {at}"),
                    format!("is the first step of a {what} schedule"),
                    allowed,
                ));
            }
            Some(last) if at <= last => {
                let problem = format!("does not come after the step before it in a {what} schedule");
                return Err(ConfigError::refused(
                    format!("at = {at}"),
                    problem,
                    format!("times above {last}, rising from step to step"),
                ));
            }
            _ => last = Some(at),
        }
    }
    let Some(last) = last else {
        return Err(ConfigError::refused("schedule = []", format!("holds no {what}"), "at least one step"));
    };
    match repeat {
        Some(period) if period <= last => {
            let problem = format!("ends before the last step of the {what} schedule begins");
            Err(ConfigError::refused(format!("repeat = {period}"), problem, format!("above {last}")))
        }
        _ => Ok(()),
    }
}
