//! What hops and drawn profiles add to the extremes of a path, and the rates of its links by them.

use super::path::ResolvedPath;
use super::recording::idle;
use bentpipe_link::DirectionModel;
use bentpipe_units::Rate;

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
            extremes.rtt += drawn.change.most_rtt();
            if drawn.change.outage_loss < 1.0 {
                extremes.gap += drawn.change.outage.1;
            }
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
        let (least, most) = drawn.map_or((1.0, 1.0), |drawn| drawn.change.rate_range());
        let peak = link.peak_rate(self.extremes.rtt).mul_f64(most.max(1.0));
        (link.least_rate().mul_f64(least.min(1.0)), peak)
    }
}
