//! A direction as the clock of its path replays its recordings.

use super::clock::ReplayClock;
use super::columns::rate;
use super::source::RecordedSource;
use crate::model::DirectionModel;
use crate::rate::model::RateModel;
use std::sync::Arc;

impl DirectionModel {
    /// Returns the recordings and the rate trace that the direction replays.
    pub fn recorded_sources(&self) -> &[RecordedSource] {
        self.recorded.as_deref().map_or(&[], |recorded| &recorded.sources)
    }

    /// Returns the direction as `clock` replays its recordings and its rate trace.
    ///
    /// Until then, each recording begins at its own start and repeats with its own length.
    pub fn replayed(&self, clock: &ReplayClock) -> Self {
        let Some(recorded) = &self.recorded else { return self.clone() };
        let mut model = self.clone();
        if let Some(trace) = &recorded.trace {
            model.rate = RateModel::Trace(Arc::new(trace.replayed(clock)));
        }
        if let Some((file, scale)) = &recorded.rate
            && let Some(column) = &file.rate
        {
            model.rate = rate(column, *scale, clock);
        }
        if let Some(delay) = &recorded.delay
            && let Some(column) = &delay.file.delay
        {
            model.delay = delay.replayed(column, clock);
        }
        let losses = self.losses.iter().take(recorded.losses);
        model.losses = losses.map(|loss| loss.replayed(clock)).collect();
        if let Some(fade) = &recorded.fade {
            let (rate, loss) = fade.replayed(clock);
            model.rate = rate;
            model.losses.extend(loss);
        }
        model
    }
}
