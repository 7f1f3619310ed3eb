//! Ways that change while they are used: what an orbit does to a hop, computed before the run.

use crate::{EmuError, PathSpec};
use bentpipe_units::{LinearDelay, Time};

/// From a time on, a delay as a straight line over time.
pub type DelayChange = (Time, LinearDelay);

/// How the delays of one terminal over one hop change. They replace the delay of the hop's own models for that terminal; packets get the delay in force when they
/// leave the transmitter, and none overtakes another on the way to the same terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelayChanges {
    /// Which hop of [`PathSpec::hops`].
    pub hop: usize,
    /// Which terminal.
    pub terminal: usize,
    /// Towards the client, in the order of time; before the first, the hop's own delay.
    pub forward: Vec<DelayChange>,
    /// Towards the server.
    pub reverse: Vec<DelayChange>,
}

/// Refuses motions of what is not there, or that cannot be.
pub fn check(motions: &[DelayChanges], spec: &PathSpec, terminals: usize) -> Result<(), EmuError> {
    for motion in motions {
        let refused = |what: String, allowed: String| Err(EmuError::Spec { what, allowed });
        let Some(hop) = spec.hops.get(motion.hop) else {
            return refused(format!("a motion of hop {}", motion.hop), format!("0 to {}", spec.hops.len() - 1));
        };
        if motion.terminal >= terminals {
            return refused(format!("a motion of terminal {}", motion.terminal), format!("0 to {}", terminals - 1));
        }
        if [&hop.forward, &hop.reverse].iter().any(|model| model.allocation().is_some()) {
            let what = format!("a motion of hop `{}`, whose capacity is allocated", hop.name);
            return refused(what, "hops without allocation".to_owned());
        }
        for course in [&motion.forward, &motion.reverse] {
            if let Some(two) = course.windows(2).find(|two| two[1].0 <= two[0].0) {
                let what = format!("a motion of hop `{}` from {} after one from {}", hop.name, two[1].0, two[0].0);
                return refused(what, "times that rise".to_owned());
            }
        }
    }
    Ok(())
}
