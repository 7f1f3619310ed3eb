//! What a scenario will do, before it runs: how long it takes, and what its path offers over time.

use bentpipe_lab::{Estimate, LabError, Plan, outlook};
use serde::Serialize;

/// Answer about a valid scenario. It takes longer than a check, so that it is asked for once the
/// text rests.
#[derive(Debug, Serialize)]
pub struct Outlook {
    /// Number of runs that the result store does not have.
    pub to_run: usize,
    /// About how long those take, in seconds.
    pub seconds: f64,
    /// True if earlier runs tell that; false if the pace of a small download on this machine does.
    pub from_earlier_runs: bool,
    /// Keys of the form that the text lacks and may have.
    pub possible: Vec<&'static str>,
    /// Elements of HTML with the data of a report page that shows capacity, RTT, satellites and
    /// routes over time. `None` if the path never changes.
    pub paths: Option<String>,
}

impl Outlook {
    /// Answers for `plan`, whose runs `estimate` counts, and which may have the keys `possible`.
    ///
    /// # Errors
    /// See [`outlook`].
    pub fn new(
        plan: &Plan,
        estimate: Estimate,
        possible: Vec<&'static str>,
    ) -> Result<Self, LabError> {
        let Estimate { to_run, seconds, from_earlier_runs, .. } = estimate;
        Ok(Self { to_run, seconds, from_earlier_runs, possible, paths: outlook(plan)? })
    }
}
