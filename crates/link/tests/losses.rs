//! Loss processes show the loss, transitions and bursts that they promise. Seeds are fixed;
//! tolerances are about five standard errors of the sample.

mod common;

use bentpipe_link::{DirectionConfig, DropCause, Ecn, LossPreset, loss_presets};
use bentpipe_units::{Span, Time};
use common::{PacketOutcome, direction, link, run, steady};
use std::collections::BTreeMap;

/// What a measurement of a loss process shows.
#[derive(Debug)]
struct Measured {
    loss: f64,
    /// P(b|g): lost after received.
    p_bg: f64,
    /// P(b|b): lost after lost.
    p_bb: f64,
    mean_burst: f64,
    max_burst: u64,
}

fn config(loss: &str) -> DirectionConfig {
    direction(&format!("rate = \"12 Mbps\"\ndelay = \"0 s\"\nloss = {loss}"))
}

/// The fates of `count` packets, a millisecond apart, on a link that is never full.
fn fates(loss: &str, seed: u64, count: u64) -> Vec<bool> {
    let mut fates: Vec<PacketOutcome> = run(
        &mut link(&config(loss), seed, 1),
        &steady(count, Span::from_millis(1), Ecn::NotEct),
        |_| (),
    );
    fates.sort_by_key(|fate| fate.packet);
    fates.iter().map(|fate| fate.lost.is_some()).collect()
}

fn bursts(fates: &[bool]) -> BTreeMap<u64, u64> {
    let mut lengths = BTreeMap::new();
    for burst in fates.split(|lost| !lost).filter(|burst| !burst.is_empty()) {
        *lengths.entry(burst.len() as u64).or_insert(0) += 1;
    }
    lengths
}

fn measure(fates: &[bool]) -> Measured {
    let lost = fates.iter().filter(|lost| **lost).count() as f64;
    let mut after = [[0.0; 2]; 2];
    for pair in fates.windows(2) {
        after[usize::from(pair[0])][usize::from(pair[1])] += 1.0;
    }
    let bursts = bursts(fates);
    Measured {
        loss: lost / fates.len() as f64,
        p_bg: after[0][1] / (after[0][0] + after[0][1]),
        p_bb: after[1][1] / (after[1][0] + after[1][1]).max(1.0),
        mean_burst: lost / bursts.values().sum::<u64>().max(1) as f64,
        max_burst: bursts.keys().last().copied().unwrap_or(0),
    }
}

fn assert_near(what: &str, measured: f64, wanted: f64, tolerance: f64) {
    assert!(
        (measured - wanted).abs() <= tolerance,
        "{what}: {measured}, not {wanted} ± {tolerance}"
    );
}

/// What the source prints: loss, P(b|g), P(b|b), longest burst.
const PRINTED: [(&str, f64, f64, f64, u64); 2] =
    [("wired", 0.017, 0.017, 0.065, 15), ("wifi", 0.028, 0.018, 0.355, 47)];

#[test]
fn presets_give_every_printed_figure_by_their_parameters() {
    for (name, loss, p_bg, p_bb, _) in PRINTED {
        for preset in [name.to_owned(), format!("{name}-long")] {
            let preset = LossPreset::find(&preset).unwrap();
            let rounded = |value: f64| (value * 1000.0).round() / 1000.0;
            assert_eq!(rounded(preset.loss()), loss, "{preset}");
            assert_eq!(rounded(preset.p), p_bg, "{preset}");
            assert_eq!(rounded(1.0 - preset.r), p_bb, "{preset}");
        }
    }
}

#[test]
fn presets_show_the_printed_figures_in_a_million_packets() {
    for (name, loss, p_bg, p_bb, _) in PRINTED {
        for suffix in ["", "-long"] {
            let measured = measure(&fates(&format!("\"{name}{suffix}\""), 11, 1_000_000));
            // Half a unit of the last printed digit for what rounding hides, and the sampling
            // error.
            assert_near("loss", measured.loss, loss, 0.0005 + 0.0008);
            assert_near("P(b|g)", measured.p_bg, p_bg, 0.0005 + 0.0007);
            assert_near("P(b|b)", measured.p_bb, p_bb, 0.0005 + 0.018);
            assert_near("mean burst", measured.mean_burst, 1.0 / (1.0 - p_bb), 0.05);
        }
    }
}

#[test]
fn long_presets_reach_the_printed_burst_in_half_of_all_measurements_and_short_ones_never() {
    for (name, _, _, _, longest) in PRINTED {
        let runs = 40;
        let reach = |preset: &str| {
            let text = format!("\"{preset}\"");
            (0..runs)
                .filter(|seed| measure(&fates(&text, *seed, 250_000)).max_burst >= longest)
                .count() as f64
                / runs as f64
        };
        assert_eq!(reach(name), 0.0, "{name}");
        // A quarter of a million packets: 1 - 2^(-1/4) = 0.16 of them reach it, and 0.5 of a
        // million.
        let share = reach(&format!("{name}-long"));
        assert!((0.02..=0.42).contains(&share), "{name}-long: {share}");
    }
}

#[test]
fn every_preset_names_its_source() {
    for preset in loss_presets() {
        assert!(!preset.source.is_empty() && !preset.about.is_empty());
        assert_eq!(LossPreset::find(preset.name), Some(preset));
    }
}

#[test]
fn windows_bound_a_process_in_time() {
    // Packets leave the transmitter 1 ms after they come, a millisecond apart: packet n at n + 1
    // ms.
    let lost = |windows: &str| -> Vec<usize> {
        let text = format!("{{ model = \"bernoulli\", ratio = 1, {windows} }}");
        fates(&text, 1, 60)
            .iter()
            .enumerate()
            .filter(|(_, lost)| **lost)
            .map(|(number, _)| number)
            .collect()
    };
    let once =
        "active = [{ from = \"10 ms\", to = \"12 ms\" }, { from = \"20 ms\", to = \"21 ms\" }]";
    assert_eq!(lost(once), [9, 10, 19]);
    assert_eq!(lost(&format!("{once}, repeat = \"25 ms\"")), [9, 10, 19, 34, 35, 44, 59]);
}

#[test]
fn several_processes_are_told_apart_and_leave_each_other_alone() {
    let two = "[0.02, { model = \"periodic\", every = 10 }]";
    let mut link = link(&config(two), 5, 1);
    let count = 20_000;
    let fates_of_two = run(&mut link, &steady(count, Span::from_millis(1), Ecn::NotEct), |_| ());
    let by = |index| {
        fates_of_two.iter().filter(|fate| fate.lost == Some(DropCause::Loss(index))).count() as u64
    };
    let tallies: Vec<u64> = link.loss_tallies().map(|tally| tally.packets).collect();
    assert_eq!(tallies, [by(0), by(1)]);
    assert_eq!(link.counters().dropped_loss.packets, by(0) + by(1));
    // The first process, alone, loses the same packets.
    let alone = fates("0.02", 5, count);
    for fate in &fates_of_two {
        assert_eq!(fate.lost == Some(DropCause::Loss(0)), alone[fate.packet]);
    }
}

#[test]
fn a_lost_packet_has_used_the_link_and_goes_as_it_leaves_the_transmitter() {
    let mut link = link(&config("1"), 1, 1);
    let fates = run(&mut link, &steady(3, Span::ZERO, Ecn::NotEct), |_| ());
    assert_eq!(
        fates.iter().map(|fate| fate.at).collect::<Vec<_>>(),
        [1, 2, 3].map(Time::from_millis)
    );
    assert_eq!(link.counters().busy, Span::from_millis(3));
}
