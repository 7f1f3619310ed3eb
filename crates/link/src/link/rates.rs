//! What a rate that grows on demand adds to packets and to series.

use super::Link;
use super::frames::Frames;
use crate::Service;
use bentpipe_units::{Rate, Time};

impl<P> Link<P> {
    /// Adds to the service of a packet that was offered at `sent` what follows from the rest, so
    /// that packets inside the link need not carry it.
    #[inline]
    pub(super) fn complete(&self, sent: Time, service: Service) -> Service {
        let growing = self.transmitter.growing(sent, &service);
        Frames::add_wait(&self.frames, sent, Service { growing, ..service })
    }

    /// Starts to record the rate over time for [`Self::take_rates`]. Returns false, without effect,
    /// if the rate does not depend on demand: [`crate::DirectionModel::rate_changes`] knows it.
    pub fn record_rates(&mut self) -> bool {
        self.transmitter.on_demand().map(|demand| demand.start_recording()).is_some()
    }

    /// Returns the rate at each change up to `now`, each once.
    pub fn take_rates(&mut self, now: Time) -> Vec<(Time, Rate)> {
        self.transmitter.on_demand().map(|demand| demand.take_points(now)).unwrap_or_default()
    }
}
