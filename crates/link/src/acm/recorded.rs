//! A carrier over a recorded fade, as the clock of its path replays it.

use super::config::AcmConfig;
use crate::loss::process::LoadedLoss;
use crate::rate::model::RateModel;
use crate::recorded::clock::ReplayClock;
use crate::recorded::column::Column;

/// A carrier with adaptive coding over a recorded fade.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecordedFade {
    pub attenuation: Column<f64>,
    pub acm: AcmConfig,
}

impl RecordedFade {
    /// Returns the rates and the losses as `clock` replays the recording. The rate with the least
    /// attenuation sizes the link: the same for all runs, which begin at different times.
    pub fn replayed(&self, clock: &ReplayClock) -> (RateModel, Option<LoadedLoss>) {
        let curve = self.attenuation.curve(clock);
        let best = self.acm.chosen(self.acm.clear_sky.get() - curve.lowest());
        let timeline = self.acm.over(&curve);
        let loss = timeline.loss(self.acm.loss);
        (timeline.rate(self.acm.rate_of(best)), loss)
    }
}
