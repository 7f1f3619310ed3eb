//! What hops and drawn profiles add to the extremes of a path, and the rates of its links by them.

use super::path::ResolvedPath;
use super::recording::idle;
use bentpipe_link::DirectionModel;
use bentpipe_units::{Rate, Span};

impl ResolvedPath {
    /// Adds the RTT and the gaps of the hops to the extremes of the path. Routes have added theirs.
    pub(super) fn add_hop_extremes(&mut self) {
        let mut extremes = self.extremes;
        for (hop, (forward, reverse)) in self.hops.iter().zip(&self.configs) {
            for (model, config) in [(&hop.forward, forward), (&hop.reverse, reverse)] {
                let later = model.longest_delay().saturating_sub(model.base_delay());
                extremes.rtt += idle(config, model) + later;
            }
            extremes.gap += hop.forward.longest_gap().max(hop.reverse.longest_gap());
        }
        for drawn in &self.drawn {
            let change = drawn.profile.reconfiguration.as_ref();
            extremes.rtt += change.map_or(Span::ZERO, |change| change.rtt_step);
        }
        if let Some(orbit) = &self.orbit {
            let gaps = orbit.kinds.used().map(|kind| kind.model.longest_gap());
            extremes.gap += gaps.max().unwrap_or_default();
        }
        self.extremes = extremes;
    }

    /// Returns the lowest rate above zero and the highest rate over an RTT of `link`, which is in
    /// hop number `hop`, or in none of an orbit.
    pub(super) fn rates(&self, hop: Option<usize>, link: &DirectionModel) -> (Rate, Rate) {
        let drawn = self.drawn.iter().find(|drawn| Some(drawn.index) == hop);
        let change = drawn.and_then(|drawn| drawn.profile.reconfiguration.as_ref());
        let (least, most) = change.map_or((1.0, 1.0), |change| change.rate_factor);
        let peak = link.peak_rate(self.extremes.rtt).mul_f64(most.max(1.0));
        (link.least_rate().mul_f64(least.min(1.0)), peak)
    }
}
