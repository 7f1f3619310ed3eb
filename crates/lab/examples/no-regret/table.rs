//! Tables of the study.

use crate::Times;
use crate::draw::{Case, POPULATIONS, WIDE};

/// Number of worst cases that are printed.
const WORST: usize = 20;

/// What is compared: what it is, and the places of both times in [`Times`].
const COMPARED: [(&str, usize, usize); 3] = [
    ("memory, 0-RTT and `auto`, over none of them", 2, 0),
    ("memory and 0-RTT, over `auto` alone", 2, 1),
    ("`auto`, over the standard start", 1, 0),
];

/// Prints the ratios of times by population, and the worst cases, for each comparison.
pub fn print(measured: &[(Case, Times)]) {
    let incomplete = measured.iter().filter(|(_, times)| times.contains(&None)).count();
    println!("{incomplete} cases did not complete in each variant\n");
    for (what, over, under) in COMPARED {
        let mut ratios: Vec<(&Case, f64)> = measured
            .iter()
            .filter_map(|(case, times)| Some((case, times[over]? / times[under]?)))
            .collect();
        ratios.sort_by(|(_, a), (_, b)| a.total_cmp(b));
        println!("Completion time with {what}\n");
        compare(&ratios);
    }
}

/// Prints one comparison, with ratios in ascending order.
fn compare(ratios: &[(&Case, f64)]) {
    println!("| population | cases | mean | median | p95 | worst |\n|---|---|---|---|---|---|");
    for population in POPULATIONS.into_iter().chain([WIDE, "all"]) {
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
    println!("\nWorst:\n");
    for (case, ratio) in ratios.iter().rev().take(WORST) {
        println!("- {ratio:.3}: {case}");
    }
    println!();
}
