//! Careful Resume over paths that lose packets at random: memory of a path costs no time there,
//! since a loss that no queue explains is no sign that the remembered window is too large.

use crate::lean;

use bentpipe_congestion::Controller;
use bentpipe_congestion::resume::{CarefulResume, ResumeHandle};
use bentpipe_units::{Span, Time};
use lean::{Path, Transfer, alone, cubic, filtered, remembering, run};

const SEEDS: u64 = 12;
const SIZE: u64 = 10_000_000;

/// Returns CUBIC with long-path slow start and memory of `path`.
fn long_path(path: &Path, remembered_ms: u64) -> (CarefulResume, ResumeHandle) {
    remembering(cubic("long-path", &[]), path, Span::from_millis(remembered_ms))
}

/// A transfer of 10 MB with CUBIC and long-path slow start, over an RTT of 650 ms.
struct Case {
    mbps: f64,
    /// Random loss.
    loss: f64,
    /// The remembered RTT.
    remembered_ms: u64,
}

impl Case {
    fn new(mbps: f64, loss: f64) -> Self {
        Self { mbps, loss, remembered_ms: 650 }
    }

    /// Returns the time with memory over that without, and whether there was a retreat.
    fn run(&self, seed: u64) -> (f64, bool) {
        let path = Path::new(self.mbps, 10.0, 650).loss(self.loss);
        let plain = alone(&path, SIZE, cubic("long-path", &[]), seed).seconds();
        let (resume, handle) = long_path(&path, self.remembered_ms);
        let careful = alone(&path, SIZE, Box::new(resume), seed).seconds();
        (careful / plain, handle.retreated())
    }

    /// Returns the mean and the largest ratio over all seeds, and the number of retreats.
    fn ratios(&self) -> (f64, f64, usize) {
        let runs: Vec<_> = (1..=SEEDS).map(|seed| self.run(seed)).collect();
        let mean = runs.iter().map(|(ratio, _)| ratio).sum::<f64>() / SEEDS as f64;
        let worst = runs.iter().map(|(ratio, _)| *ratio).fold(0.0, f64::max);
        (mean, worst, runs.iter().filter(|(_, retreated)| *retreated).count())
    }
}

#[test]
fn chance_losses_cost_a_remembered_path_no_time() {
    for loss in [0.0, 0.0003, 0.001, 0.003, 0.01, 0.03] {
        let (mean, worst, retreats) = Case::new(50.0, loss).ratios();
        // Losses of a tail are repeated at other times, so single runs differ by RTTs.
        assert!(mean <= 1.03 && worst <= 1.5, "{loss}: {mean}, at most {worst}");
        assert_eq!(retreats, 0, "{loss}");
    }
}

#[test]
fn behind_a_queue_a_single_loss_of_the_jump_is_congestion() {
    // The RTT is 50 ms above the remembered one, as behind a flow that keeps a queue full.
    let case = Case { remembered_ms: 600, ..Case::new(50.0, 0.003) };
    let (_, _, retreats) = case.ratios();
    assert!(retreats as u64 > SEEDS / 2, "{retreats}");
}

#[test]
fn if_chance_explains_all_losses_of_a_retreat_the_long_path_start_continues() {
    // The path has become 50 ms longer. Without memory, its losses end no slow start.
    let case = Case { remembered_ms: 600, ..Case::new(50.0, 0.003) };
    let (mean, worst, _) = case.ratios();
    assert!(mean <= 1.2 && worst <= 1.6, "{mean}, at most {worst}");
}

#[test]
fn if_chance_explains_all_losses_of_a_retreat_a_start_over_a_short_path_continues() {
    // The path has become 15 ms longer. Without memory, few losses end no slow start.
    for loss in [0.0003, 0.001, 0.003] {
        let path = Path::new(100.0, 20.0, 55).loss(loss);
        let times = |make: &dyn Fn() -> Box<dyn Controller>| -> Vec<f64> {
            (1..=3 * SEEDS).map(|seed| alone(&path, SIZE, make(), seed).seconds()).collect()
        };
        let remembered = Span::from_millis(40);
        let [plain, careful] =
            [times(&filtered), times(&|| Box::new(remembering(filtered(), &path, remembered).0))];
        let [mean, careful_mean] =
            [&plain, &careful].map(|times| times.iter().sum::<f64>() / times.len() as f64);
        let [worst, careful_worst] =
            [plain, careful].map(|times| times.into_iter().fold(0.0, f64::max));
        assert!(careful_mean <= mean, "{loss}: {careful_mean} for {mean}");
        assert!(careful_worst <= 1.5 * worst, "{loss}: at most {careful_worst} for {worst}");
    }
}

#[test]
fn behind_a_long_queue_a_start_that_measures_the_path_goes_without_a_jump() {
    // The RTT is 100 ms above the remembered one: more than frames explain.
    let case = Case { remembered_ms: 550, ..Case::new(50.0, 0.003) };
    let (mean, worst, retreats) = case.ratios();
    assert!(mean <= 1.01 && worst <= 1.1, "{mean}, at most {worst}");
    assert_eq!(retreats, 0);
}

#[test]
fn a_jump_does_not_hold_back_a_start_that_measures_more() {
    for mbps in [5.0, 10.0, 20.0, 50.0] {
        let (ratio, retreated) = Case::new(mbps, 0.0).run(1);
        assert!(ratio <= 1.02 && !retreated, "{mbps} Mbps: {ratio}");
    }
}

/// Returns the times of 10 MB without memory and with it, beside a CUBIC flow that keeps a short
/// queue full.
fn beside_cubic(start: Time) -> (f64, f64) {
    let path = Path::new(50.0, 10.0, 650).queue(0.25);
    let ours = |controller| {
        let incumbent = Transfer::of(300_000_000);
        let transfer = Transfer { at: start, ..Transfer::of(SIZE) };
        let transfers = vec![(incumbent, cubic("standard", &[])), (transfer, controller)];
        run(&path, transfers, 1, Span::from_secs(300)).remove(1).seconds()
    };
    (ours(cubic("long-path", &[])), ours(Box::new(long_path(&path, 650).0)))
}

#[test]
fn beside_a_flow_that_fills_a_short_queue_memory_costs_no_time() {
    let starts = (0..16).map(|eighth| Time::from_millis(40_000 + 125 * eighth));
    let times: Vec<(f64, f64)> = starts.map(beside_cubic).collect();
    let plain: f64 = times.iter().map(|(plain, _)| plain).sum();
    let careful: f64 = times.iter().map(|(_, careful)| careful).sum();
    assert!(careful <= 1.03 * plain, "{careful} for {plain}: {times:?}");
}
