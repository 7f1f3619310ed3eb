//! Tables of the study.

use crate::Times;
use crate::draw::{Case, POPULATIONS};

/// Number of worst cases that are printed.
const WORST: usize = 20;

/// Prints the ratio of times, with over without, by population, and the worst cases.
pub fn print(measured: &[(Case, Times)]) {
    let mut ratios: Vec<(&Case, f64)> = Vec::new();
    let mut incomplete = 0;
    for (case, [without, with]) in measured {
        match without.zip(*with) {
            Some((without, with)) => ratios.push((case, with / without)),
            None => incomplete += 1,
        }
    }
    ratios.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    println!("Completion time with memory, 0-RTT and auto, over that without\n");
    println!("| population | cases | mean | median | p95 | worst |\n|---|---|---|---|---|---|");
    for population in POPULATIONS.into_iter().chain(["all"]) {
        let of: Vec<f64> = ratios
            .iter()
            .filter(|(case, _)| population == "all" || case.population == population)
            .map(|(_, ratio)| *ratio)
            .collect();
        if of.is_empty() {
            continue;
        }
        let quantile = |share: f64| of[((of.len() - 1) as f64 * share).round() as usize];
        println!(
            "| {population} | {} | {:.3} | {:.3} | {:.3} | {:.3} |",
            of.len(),
            of.iter().sum::<f64>() / of.len() as f64,
            quantile(0.5),
            quantile(0.95),
            quantile(1.0)
        );
    }
    println!("\n{incomplete} cases did not complete\n\nWorst:\n");
    for (case, ratio) in ratios.iter().rev().take(WORST) {
        println!("- {ratio:.3}: {case}");
    }
}
