//! Whose packets share the links of a flow's data.

use crate::spec::RunSpec;
use bentpipe_timeseries::TimePart;

/// Whose packets the data of a flow may wait behind, apart from its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Nobody's.
    Alone,
    /// Its own acknowledgements: satellites send both directions over one ground link.
    OwnAcks,
    /// Those of other flows.
    OtherFlows,
}

impl Sharing {
    /// Returns whose packets share the links of a run.
    pub fn of(spec: &RunSpec) -> Self {
        let sending = spec.flows.iter().filter(|flow| !flow.visits.is_empty()).count();
        match &spec.mesh {
            _ if sending > 1 => Self::OtherFlows,
            Some(mesh) if mesh.shared_ground => Self::OwnAcks,
            _ => Self::Alone,
        }
    }

    /// Returns the part that a wait behind these packets is; `None` if there are none.
    pub(super) fn part(self) -> Option<TimePart> {
        match self {
            Self::Alone => None,
            Self::OwnAcks => Some(TimePart::Headers),
            Self::OtherFlows => Some(TimePart::OtherFlows),
        }
    }
}
