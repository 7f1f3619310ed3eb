//! What a seed draws for a scenario: a registry of dimensions, one row and one file each.
//!
//! Every dimension has random streams of its own, so that leaving one out, or adding one, does not
//! move what the others draw. Shrinking a failure depends on it.

mod ack;
mod capacity;
mod congestion;
mod connection_probe;
mod constellation;
mod cross_traffic;
mod delay;
mod distance;
mod draft;
mod fade;
mod flow_control;
mod flows;
mod frame;
mod hops;
mod loss;
mod marks;
mod memory;
mod outage;
mod output;
mod page;
mod pep;
mod policer;
mod queue;
mod quic;
mod random;
mod rates;
mod reconfiguration;
mod recording;
mod start;
mod tcp;
mod terminals;
mod transport;
mod users;
mod variants;
mod workload;

pub use draft::{Direction, Draft, Queue, Stack};
pub use random::Random;

use std::collections::BTreeSet;

/// Something that a seed may draw.
pub struct Dimension {
    /// Name, for `--without` and reports.
    pub name: &'static str,
    /// Share of seeds that have it. Each seed lacks some dimensions, because faults hide where
    /// everything happens at once (Groce et al., "Swarm Testing", ISSTA 2012).
    pub chance: f64,
    /// Changes the draft.
    pub draw: fn(&mut Draft, &mut Random),
}

const fn row(name: &'static str, chance: f64, draw: fn(&mut Draft, &mut Random)) -> Dimension {
    Dimension { name, chance, draw }
}

/// All dimensions, in the order in which they are drawn: a later one sees what earlier ones have
/// drawn.
pub const DIMENSIONS: &[Dimension] = &[
    row("distance", 0.95, distance::draw),
    row("rates", 0.95, rates::draw),
    row("constellation", 0.1, constellation::draw),
    row("hops", 0.25, hops::draw),
    row("delay", 0.35, delay::draw),
    row("queue", 0.6, queue::draw),
    row("loss", 0.55, loss::draw),
    row("outage", 0.35, outage::draw),
    row("fade", 0.15, fade::draw),
    row("policer", 0.15, policer::draw),
    row("frame", 0.2, frame::draw),
    row("terminals", 0.25, terminals::draw),
    row("capacity", 0.15, capacity::draw),
    row("recording", 0.3, recording::draw),
    row("reconfiguration", 0.3, reconfiguration::draw),
    row("flows", 0.45, flows::draw),
    row("transport", 0.9, transport::draw),
    row("workload", 0.9, workload::draw),
    row("page", 0.12, page::draw),
    row("memory", 0.35, memory::draw),
    row("congestion", 0.7, congestion::draw),
    row("ack", 0.4, ack::draw),
    row("flow-control", 0.3, flow_control::draw),
    row("quic", 0.35, quic::draw),
    row("tcp", 0.4, tcp::draw),
    row("pep", 0.3, pep::draw),
    row("start", 0.4, start::draw),
    row("users", 0.15, users::draw),
    row("cross-traffic", 0.3, cross_traffic::draw),
    row("marks", 0.25, marks::draw),
    row("variants", 0.4, variants::draw),
    row("connection-probe", 0.25, connection_probe::draw),
    row("output", 0.3, output::draw),
];

/// Draws the scenario of `seed`, without the dimensions named in `without`. Returns it with the
/// names of the dimensions that it has.
pub fn draw(seed: u64, without: &BTreeSet<String>) -> (Draft, Vec<&'static str>) {
    let mut draft = Draft::new(seed, &mut Random::new(seed, "faults"));
    let mut drawn = Vec::new();
    for dimension in DIMENSIONS {
        let chosen = Random::new(seed, &format!("{}/chosen", dimension.name));
        if chosen.draws_once(dimension.chance) && !without.contains(dimension.name) {
            (dimension.draw)(&mut draft, &mut Random::new(seed, dimension.name));
            drawn.push(dimension.name);
        }
    }
    (draft, drawn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_draw_is_a_valid_scenario_and_no_dimension_is_without_effect() {
        let none = BTreeSet::new();
        let mut effective = BTreeSet::new();
        for seed in 0..400 {
            let (draft, drawn) = draw(seed, &none);
            let text = draft.scenario();
            let plan = draft.plan(&text);
            plan.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
            for name in drawn {
                let less = BTreeSet::from([name.to_owned()]);
                if draw(seed, &less).0.scenario() != text {
                    effective.insert(name);
                }
            }
        }
        let all: BTreeSet<_> = DIMENSIONS.iter().map(|dimension| dimension.name).collect();
        assert_eq!(effective, all);
    }

    #[test]
    fn what_is_left_out_does_not_move_the_rest() {
        let less = BTreeSet::from(["loss".to_owned(), "output".to_owned()]);
        for seed in 0..50 {
            let (whole, drawn) = draw(seed, &BTreeSet::new());
            let (reduced, rest) = draw(seed, &less);
            let kept: Vec<_> = drawn.into_iter().filter(|name| !less.contains(*name)).collect();
            assert_eq!(rest, kept);
            assert_eq!(whole.satellite.forward.rate, reduced.satellite.forward.rate);
            assert_eq!(whole.flows.len(), reduced.flows.len());
        }
    }
}
