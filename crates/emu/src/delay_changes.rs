//! Delays that change during an emulation, such as those of an orbit computed in advance.

use crate::{EmuError, PathSpec};
use bentpipe_units::{LinearDelay, Time};

/// A new delay, and the time from which it holds.
pub type DelayChange = (Time, LinearDelay);

/// The delay changes of one terminal over one hop.
///
/// They replace the delay of the hop's models for that terminal. A packet gets the delay in force
/// when it leaves the transmitter, and packets to one terminal never overtake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelayChanges {
    /// Index in [`PathSpec::hops`].
    pub hop: usize,
    /// Index of the terminal.
    pub terminal: usize,
    /// Towards the client, in ascending time. The hop's own delay holds before the first.
    pub forward: Vec<DelayChange>,
    /// Towards the server, likewise.
    pub reverse: Vec<DelayChange>,
}

/// Checks that hops and terminals exist and that times ascend.
pub fn check(motions: &[DelayChanges], spec: &PathSpec, terminals: usize) -> Result<(), EmuError> {
    for motion in motions {
        let refused = |what: String, allowed: String| Err(EmuError::Spec { what, allowed });
        let Some(hop) = spec.hops.get(motion.hop) else {
            return refused(
                format!("a motion of hop {}", motion.hop),
                format!("0 to {}", spec.hops.len() - 1),
            );
        };
        if motion.terminal >= terminals {
            return refused(
                format!("a motion of terminal {}", motion.terminal),
                format!("0 to {}", terminals - 1),
            );
        }
        if [&hop.forward, &hop.reverse].iter().any(|model| model.allocation().is_some()) {
            let what = format!("a motion of hop `{}`, whose capacity is allocated", hop.name);
            return refused(what, "hops without allocation".to_owned());
        }
        for course in [&motion.forward, &motion.reverse] {
            if let Some(two) = course.windows(2).find(|two| two[1].0 <= two[0].0) {
                let what = format!(
                    "a motion of hop `{}` from {} after one from {}",
                    hop.name, two[1].0, two[0].0
                );
                return refused(what, "times that rise".to_owned());
            }
        }
    }
    Ok(())
}
