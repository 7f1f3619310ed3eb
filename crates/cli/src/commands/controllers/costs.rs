//! What each choice of a controller costs its user and others.

use serde::Serialize;

/// What one choice, with the default start and loss filter, costs over paths of all kinds.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Cost {
    /// The choice.
    #[serde(skip)]
    pub controller: &'static str,
    /// Completion time of first visits over that of the fastest choice, at mean.
    pub time_ratio: f64,
    /// The largest of these ratios.
    pub worst_ratio: f64,
    /// Goodput of a plain flow beside it over what that has beside another plain one, at mean.
    pub others_kept: f64,
}

impl Cost {
    /// Returns the cost in a sentence.
    pub fn words(&self) -> String {
        let Self { time_ratio, worst_ratio, others_kept, .. } = self;
        format!(
            "{time_ratio:.2} times the time of the fastest choice at mean, {worst_ratio:.2} at \
             worst; a plain flow beside it keeps {others_kept:.2} of what it has beside its own \
             kind"
        )
    }
}
