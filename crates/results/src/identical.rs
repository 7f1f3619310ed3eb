//! Detection of variants with identical results.

use crate::failure::never_completed;
use crate::metrics::{FlowMetrics, PopulationMetrics};
use crate::run::Run;

/// Returns pairs of variants with the same metrics in every run at every point.
///
/// Such variants differ in a key that had no effect, so comparing them is pointless. A variant of
/// which no transfer completed has nothing to compare.
pub fn identical_variants(runs: &[Run]) -> Vec<(String, String)> {
    let mut names: Vec<&str> = Vec::new();
    for run in runs {
        let name = run.variant.as_str();
        if !names.contains(&name) && !never_completed(runs, name) {
            names.push(&run.variant);
        }
    }
    let of = |name: &str| -> Vec<&Run> { runs.iter().filter(|run| run.variant == name).collect() };
    let mut pairs = Vec::new();
    for (index, first) in names.iter().enumerate() {
        let own = of(first);
        for second in &names[index + 1..] {
            if same(&own, &of(second)) {
                pairs.push(((*first).to_owned(), (*second).to_owned()));
            }
        }
    }
    pairs
}

fn figures(run: &Run) -> impl Iterator<Item = (&str, &FlowMetrics)> {
    run.flows.iter().map(|flow| (flow.name.as_str(), &flow.metrics))
}

fn populations(run: &Run) -> impl Iterator<Item = (&str, &PopulationMetrics)> {
    run.populations.iter().map(|population| (population.name.as_str(), &population.metrics))
}

fn same(a: &[&Run], b: &[&Run]) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| {
            a.point == b.point
                && a.run == b.run
                && figures(a).eq(figures(b))
                && populations(a).eq(populations(b))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Flow;

    fn run(variant: &str, number: u64, completion_s: f64) -> Run {
        let flow = Flow {
            name: "main".to_owned(),
            visit: 1,
            transport: "quic".to_owned(),
            congestion: variant.to_owned(),
            connections: 1,
            bytes: 1,
            completed: true,
            metrics: FlowMetrics { completion_s: Some(completion_s), ..Default::default() },
            ..Flow::default()
        };
        Run {
            variant: variant.to_owned(),
            point: Default::default(),
            run: number,
            flows: vec![flow],
            links: Vec::new(),
            fairness: None,
            populations: Vec::new(),
            reconfigurations: Vec::new(),
            emulation: None,
        }
    }

    #[test]
    fn variants_of_which_nothing_completed_are_not_compared() {
        let mut runs = vec![run("a", 0, 1.0), run("b", 0, 1.0)];
        runs.iter_mut().flat_map(|run| &mut run.flows).for_each(|flow| {
            flow.completed = false;
            flow.metrics.completion_s = None;
        });
        assert!(identical_variants(&runs).is_empty());
    }

    #[test]
    fn variants_with_equal_figures_in_every_run_are_found() {
        let mut runs = vec![run("a", 0, 1.0), run("a", 1, 2.0), run("b", 0, 1.0), run("b", 1, 2.0)];
        runs.extend([run("c", 0, 1.0), run("c", 1, 2.5)]);
        assert_eq!(identical_variants(&runs), [("a".to_owned(), "b".to_owned())]);
        assert!(identical_variants(&runs[2..]).is_empty());
    }
}
