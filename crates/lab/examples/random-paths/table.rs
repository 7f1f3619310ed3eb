//! What the study prints.

use crate::draw::{Case, LIMIT_S, SIZES, SLOW_STARTS};
use crate::measure::{Download, Measured};

/// A queue from which on a sender can tell its growth from jitter: the share lost is given for
/// these.
const DEEP_QUEUE: f64 = 0.25;
/// Ratios of times beyond which cases are counted.
const SLOWER: [f64; 3] = [1.02, 1.05, 1.10];
/// How many of the worst cases are printed.
const WORST: usize = 10;

/// One pair of downloads.
struct Pair<'a> {
    case: &'a Case,
    bytes: u64,
    runs: &'a [Download; 2],
}

impl Pair<'_> {
    /// Time with the fast start over that without; a download given up has taken the limit, at
    /// least.
    fn ratio(&self) -> f64 {
        let [standard, auto] = self.runs;
        auto.seconds.unwrap_or(LIMIT_S as f64) / standard.seconds.unwrap_or(LIMIT_S as f64)
    }

    /// Whether the standard start gets it done: otherwise there is nothing to compare with.
    fn counts(&self) -> bool {
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
        "| size | cases | median | worst | over 1.02 | over 1.05 | over 1.10 | left out | auto \
            given up |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for bytes in SIZES {
        let of_size = || pairs.iter().filter(move |pair| pair.bytes == bytes);
        let ratios = sorted(of_size().filter(|pair| pair.counts()).map(Pair::ratio));
        let over = SLOWER
            .map(|limit| ratios.iter().filter(|ratio| **ratio > limit).count().to_string())
            .join(" | ");
        let given_up =
            of_size().filter(|pair| pair.counts() && pair.runs[1].seconds.is_none()).count();
        let left_out = of_size().count() - ratios.len();
        let (median, worst) = (quantile(&ratios, 0.5), quantile(&ratios, 1.0));
        println!(
            "| {} | {} | {median:.3} | {worst:.3} | {over} | {left_out} | {given_up} |",
            size(bytes),
            ratios.len()
        );
    }
    println!("\nLeft out: not done in {LIMIT_S} s with the standard start.\n");
}

fn losses(pairs: &[Pair<'_>]) {
    println!("Packets dropped by queues\n");
    println!(
        "| size | start | first 10 s: mean | p95 | max | whole: mean | p95 | max \
            |\n|---|---|---|---|---|---|---|---|"
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
    println!("Per cent of packets lost, {}, queues of {DEEP_QUEUE} BDP or more\n", size(largest));
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
    let mut order: Vec<&Pair<'_>> = pairs.iter().filter(|pair| pair.counts()).collect();
    order.sort_by(|a, b| b.ratio().total_cmp(&a.ratio()).then(a.case.number.cmp(&b.case.number)));
    println!(
        "The worst; `--seed {}` with `--case N` shows one",
        order.first().map_or(0, |pair| pair.case.study)
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

/// One case in detail: its scenario, and what came of it.
pub fn print_case(case: &Case, measured: &Measured) {
    println!("{}", case.scenario());
    for (bytes, runs) in measured {
        for (start, run) in SLOW_STARTS.iter().zip(runs) {
            let seconds = run
                .seconds
                .map_or_else(|| "not done".to_owned(), |seconds| format!("{seconds:.3} s"));
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

/// The smallest value that so large a share does not exceed; not a number without values.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

/// Mean, 95 % quantile and maximum as cells.
fn spread(values: impl Iterator<Item = f64>, digits: usize) -> String {
    let values = sorted(values);
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let (p95, max) = (quantile(&values, 0.95), quantile(&values, 1.0));
    format!("{mean:.digits$} | {p95:.digits$} | {max:.digits$}")
}
