//! Delays that change during an emulation, such as those of an orbit computed in advance.

use crate::error::EmuError;
use crate::settings::PathSpec;
use bentpipe_units::{LinearDelay, Time};

/// A new delay, and the time from which it applies.
pub type DelayChange = (Time, LinearDelay);

/// The delay changes of one terminal over one hop.
///
/// They replace the delay of the hop's models for that terminal. A packet gets the delay in force
/// when it leaves the transmitter. Packets to one terminal never overtake each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelayChanges {
    /// Index in [`PathSpec::hops`].
    pub hop: usize,
    /// Index of the terminal.
    pub terminal: usize,
    /// Towards the client, in ascending order of time. Before the first change, the hop's own delay
    /// applies.
    pub forward: Vec<DelayChange>,
    /// Towards the server, in the same form.
    pub reverse: Vec<DelayChange>,
}

/// Checks that hops and terminals exist and that times ascend.
pub fn check(changes: &[DelayChanges], spec: &PathSpec, terminals: usize) -> Result<(), EmuError> {
    for change in changes {
        let refused = |what: String, allowed: String| Err(EmuError::Spec { what, allowed });
        let Some(hop) = spec.hops.get(change.hop) else {
            return refused(
                format!("delay changes refer to hop {}, which does not exist", change.hop),
                format!("0 to {}", spec.hops.len() - 1),
            );
        };
        if change.terminal >= terminals {
            return refused(
                format!(
                    "delay changes refer to terminal {}, which does not exist",
                    change.terminal
                ),
                format!("0 to {}", terminals - 1),
            );
        }
        if [&hop.forward, &hop.reverse].iter().any(|model| model.allocation().is_some()) {
            let what =
                format!("delay changes refer to hop `{}`, whose capacity is allocated", hop.name);
            return refused(what, "hops without capacity allocation".to_owned());
        }
        for list in [&change.forward, &change.reverse] {
            if let Some(two) = list.windows(2).find(|two| two[1].0 <= two[0].0) {
                let what = format!(
                    "delay changes of hop `{}`: {} follows {}",
                    hop.name, two[1].0, two[0].0
                );
                return refused(what, "ascending times".to_owned());
            }
        }
    }
    Ok(())
}
