//! Measurements of loss processes, for the tests of the models. Seeds are fixed; tolerances are
//! about five standard errors of the sample.

use crate::random::stream;
use crate::{LossProcessConfig, loss::process::LossProcess};
use bentpipe_units::{Span, Time};
use std::collections::BTreeMap;
use std::path::Path;

/// Statistics of the losses of a sequence of packets.
#[derive(Debug)]
pub struct Measured {
    pub loss: f64,
    /// P(b|g): lost after received.
    pub p_bg: f64,
    /// P(b|b): lost after lost.
    pub p_bb: f64,
    pub mean_burst: f64,
    pub max_burst: u64,
}

/// Returns for each of `count` packets, sent at intervals of 1 ms from 1 ms on, whether it is lost.
pub fn outcomes(loss: &str, seed: u64, count: u64) -> Vec<bool> {
    #[derive(serde::Deserialize)]
    struct Key {
        loss: LossProcessConfig,
    }
    let Key { loss } =
        toml::from_str(&format!("loss = {loss}")).unwrap_or_else(|error| panic!("{loss}: {error}"));
    let loaded =
        loss.load(&Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap_or_else(|error| panic!("{error}"));
    let mut process = LossProcess::new(&loaded, stream(seed, 0, "test/loss/0"));
    (1..=count).map(|number| process.loses(Time::ZERO + Span::from_millis(number))).collect()
}

/// Returns the numbers of the lost packets, from 0.
pub fn lost(loss: &str, count: u64) -> Vec<usize> {
    let outcomes = outcomes(loss, 1, count);
    outcomes.iter().enumerate().filter(|(_, lost)| **lost).map(|(number, _)| number).collect()
}

fn bursts(outcomes: &[bool]) -> BTreeMap<u64, u64> {
    let mut lengths = BTreeMap::new();
    for burst in outcomes.split(|lost| !lost).filter(|burst| !burst.is_empty()) {
        *lengths.entry(burst.len() as u64).or_insert(0) += 1;
    }
    lengths
}

pub fn measure(outcomes: &[bool]) -> Measured {
    let lost = outcomes.iter().filter(|lost| **lost).count() as f64;
    let mut after = [[0.0; 2]; 2];
    for pair in outcomes.windows(2) {
        after[usize::from(pair[0])][usize::from(pair[1])] += 1.0;
    }
    let bursts = bursts(outcomes);
    Measured {
        loss: lost / outcomes.len() as f64,
        p_bg: after[0][1] / (after[0][0] + after[0][1]),
        p_bb: after[1][1] / (after[1][0] + after[1][1]).max(1.0),
        mean_burst: lost / bursts.values().sum::<u64>().max(1) as f64,
        max_burst: bursts.keys().last().copied().unwrap_or(0),
    }
}

pub fn assert_near(what: &str, measured: f64, wanted: f64, tolerance: f64) {
    assert!(
        (measured - wanted).abs() <= tolerance,
        "{what}: {measured}, expected {wanted} ± {tolerance}"
    );
}
