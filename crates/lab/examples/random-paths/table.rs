//! Tables of the study.

use crate::draw::{Case, LIMIT_S, SIZES, SLOW_STARTS};
use crate::measure::{Download, Measured};

/// Smallest queue, in BDP, whose growth a sender can tell from jitter. The share of lost packets is
/// printed for these queues.
const DEEP_QUEUE: f64 = 0.25;
/// Ratios of completion times above which cases are counted.
const SLOWER: [f64; 3] = [1.02, 1.05, 1.10];
/// Number of worst cases that are printed.
const WORST: usize = 10;

/// The same download with both slow-start algorithms.
struct Pair<'a> {
    case: &'a Case,
    bytes: u64,
    runs: &'a [Download; 2],
}

impl Pair<'_> {
    /// Returns the time with `auto` over the time with `standard`. An incomplete download counts
    /// with the time limit.
    fn ratio(&self) -> f64 {
        let [standard, auto] = self.runs;
        auto.seconds.unwrap_or(LIMIT_S as f64) / standard.seconds.unwrap_or(LIMIT_S as f64)
    }

    /// Returns true if the download with `standard` completed. Others cannot be compared.
    fn is_comparable(&self) -> bool {
        self.runs[0].seconds.is_some()
    }
}

/// Prints the tables.
pub fn print(results: &[(Case, Measured)]) {
    let pairs: Vec<Pair<'_>> = results
        .iter()
        .flat_map(|(case, measured)| {
            measured.iter().map(move |(bytes, runs)| Pair { case, bytes: *bytes, runs })
        })
        .collect();
    times(&pairs);
    losses(&pairs);
    shares(&pairs);
    worst(&pairs);
}

fn times(pairs: &[Pair<'_>]) {
    println!("Time with slow_start = \"auto\" over time with slow_start = \"standard\"\n");
    println!(
        "| size | cases | median | worst | over 1.02 | over 1.05 | over 1.10 | excluded | auto \
            incomplete |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for bytes in SIZES {
        let of_size = || pairs.iter().filter(move |pair| pair.bytes == bytes);
        let ratios = sorted(of_size().filter(|pair| pair.is_comparable()).map(Pair::ratio));
        let over = SLOWER
            .map(|limit| ratios.iter().filter(|ratio| **ratio > limit).count().to_string())
            .join(" | ");
        let incomplete =
            of_size().filter(|pair| pair.is_comparable() && pair.runs[1].seconds.is_none()).count();
        let excluded = of_size().count() - ratios.len();
        let (median, worst) = (quantile(&ratios, 0.5), quantile(&ratios, 1.0));
        println!(
            "| {} | {} | {median:.3} | {worst:.3} | {over} | {excluded} | {incomplete} |",
            size(bytes),
            ratios.len()
        );
    }
    println!("\nExcluded: not complete in {LIMIT_S} s with the standard slow start.\n");
}

fn losses(pairs: &[Pair<'_>]) {
    println!("Packets dropped by queues\n");
    println!(
        "| size | start | first 10 s: mean | p95 | max | whole: mean | p95 | max |\n\
         |---|---|---|---|---|---|---|---|"
    );
    for bytes in SIZES {
        for (index, start) in SLOW_STARTS.iter().enumerate() {
            let runs =
                || pairs.iter().filter(|pair| pair.bytes == bytes).map(|pair| &pair.runs[index]);
            let early = spread(runs().map(|run| run.lost_early as f64), 0);
            let whole = spread(runs().map(|run| run.lost as f64), 0);
            println!("| {} | {start} | {early} | {whole} |", size(bytes));
        }
    }
    println!();
}

fn shares(pairs: &[Pair<'_>]) {
    let largest = SIZES[SIZES.len() - 1];
    println!("Percentage of packets lost, {}, queues of {DEEP_QUEUE} BDP or more\n", size(largest));
    println!("| start | mean | p95 | max |\n|---|---|---|---|");
    for (index, start) in SLOW_STARTS.iter().enumerate() {
        let deep =
            pairs.iter().filter(|pair| pair.bytes == largest && pair.case.queue >= DEEP_QUEUE);
        let shares = deep
            .map(|pair| 100.0 * pair.runs[index].lost as f64 / pair.runs[index].sent.max(1) as f64);
        println!("| {start} | {} |", spread(shares, 3));
    }
    println!();
}

fn worst(pairs: &[Pair<'_>]) {
    let mut order: Vec<&Pair<'_>> = pairs.iter().filter(|pair| pair.is_comparable()).collect();
    order.sort_by(|a, b| b.ratio().total_cmp(&a.ratio()).then(a.case.number.cmp(&b.case.number)));
    println!(
        "Worst cases; print one with `--seed {} --case N`",
        order.first().map_or(0, |pair| pair.case.seed)
    );
    for pair in order.iter().take(WORST) {
        println!(
            "  {:.3} at {} case {}: {}",
            pair.ratio(),
            size(pair.bytes),
            pair.case.number,
            pair.case
        );
    }
}

/// Prints the scenario and the results of one case.
pub fn print_case(case: &Case, measured: &Measured) {
    println!("{}", case.scenario());
    for (bytes, runs) in measured {
        for (start, run) in SLOW_STARTS.iter().zip(runs) {
            let seconds = run
                .seconds
                .map_or_else(|| "incomplete".to_owned(), |seconds| format!("{seconds:.3} s"));
            let Download { lost_early, lost, sent, .. } = run;
            println!(
                "# {} {start}: {seconds}, {sent} sent, {lost_early} dropped in 10 s, {lost} in all",
                size(*bytes)
            );
        }
    }
}

fn size(bytes: u64) -> String {
    format!("{} MB", bytes as f64 / 1e6)
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Returns the smallest value that at least `share` of the values do not exceed, NaN without
/// values.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

/// Returns mean, 95 % quantile and maximum as table cells.
fn spread(values: impl Iterator<Item = f64>, digits: usize) -> String {
    let values = sorted(values);
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let (p95, max) = (quantile(&values, 0.95), quantile(&values, 1.0));
    format!("{mean:.digits$} | {p95:.digits$} | {max:.digits$}")
}
