//! Carriers with adaptive coding over recorded fades, against the same fades in the scenario and
//! against the definition.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use bentpipe_link::{
    AtEnd, DirectionModel, Ecn, InputFiles, Link, LinkContext, ModcodTable, ReplayClock,
};
use bentpipe_units::{Rate, Span, Time};
use common::{RTT, direction, run, steady};
use proptest::prelude::*;
use std::path::PathBuf;

const CLEAR_DB: f64 = 13.0;
const MARGIN_DB: f64 = 1.0;
const LOOP_S: f64 = 1.5;

/// A carrier of 1 MBd over a fade.
fn carrier(fade: &str) -> String {
    format!(
        "delay = \"10 ms\"\nqueue = \"1 MB\"\n[rate.acm]\nsymbol_rate = \"1 MBd\"\n\
         modcods = \"dvb-s2\"\nclear_sky_esn0 = \"{CLEAR_DB} dB\"\nmargin = \"{MARGIN_DB} dB\"\n\
         loop_delay = \"{LOOP_S} s\"\nframing = 1\nfade = {fade}"
    )
}

fn recorded(csv: &str) -> Result<DirectionModel, String> {
    let files = [(PathBuf::from("rain.csv"), csv.into())];
    let config = direction(&carrier("{ recording = \"rain.csv\" }"));
    config.load(&InputFiles::from_texts(files.into())).map_err(|error| error.to_string())
}

/// A recording with a row each second.
fn rows(db: &[f64]) -> String {
    let rows = db.iter().enumerate().map(|(at, db)| format!("{at},{db}\n"));
    format!("time_s,attenuation_db\n{}", rows.collect::<String>())
}

fn clock(start: Span, seconds: usize, at_end: AtEnd) -> ReplayClock {
    ReplayClock { start, length: Span::from_secs(seconds as u64), at_end, period: None }
}

/// Attenuation by definition: straight lines between the rows, the last held, and all again.
fn attenuation(db: &[f64], at: f64) -> f64 {
    let at = at.rem_euclid(db.len() as f64);
    let index = (at as usize).min(db.len() - 1);
    let next = db.get(index + 1).unwrap_or(&db[index]);
    db[index] + (next - db[index]) * (at - index as f64)
}

/// Rate in bit/s and threshold of the MODCOD that is chosen by an attenuation.
fn chosen(db: f64) -> (f64, f64) {
    let all = ModcodTable::DvbS2.modcods();
    let good = all.iter().filter(|modcod| modcod.threshold + MARGIN_DB <= CLEAR_DB - db);
    let best = good.max_by(|a, b| a.efficiency.total_cmp(&b.efficiency)).unwrap_or(&all[0]);
    (best.efficiency * 1e6, best.threshold)
}

/// Number, time and fate of each of 3,000 packets.
fn packets(model: &DirectionModel) -> Vec<(usize, Time, bool)> {
    let context = LinkContext { rtt: RTT, seed: 1, run: 0, name: "test".into() };
    let arrivals = steady(3000, Span::from_millis(20), Ecn::NotEct);
    let outcomes = run(&mut Link::new(model, &context, 1), &arrivals, |_| ());
    outcomes.iter().map(|outcome| (outcome.packet, outcome.at, outcome.lost.is_some())).collect()
}

/// The code is that of fades in the scenario: packet for packet the same.
#[test]
fn a_recorded_fade_is_the_fade_of_its_points() {
    let db = [0.0, 0.0, 0.0, 1.0, 4.0, 9.0, 20.0, 20.0, 12.0, 5.0, 2.0, 0.5, 0.0];
    let points = db.iter().enumerate();
    let points = points.map(|(at, db)| format!("{{ at = \"{at} s\", attenuation_db = {db:.1} }}"));
    let points: Vec<String> = points.collect();
    let given = common::model(&direction(&carrier(&format!("[{}]", points.join(", ")))));
    let model = recorded(&rows(&db)).unwrap();
    let held = model.replayed(&clock(Span::ZERO, db.len(), AtEnd::Hold));
    let end = Time::from_secs(60);
    let modcods = |model: &DirectionModel| model.modcods(end).collect::<Vec<_>>();
    assert_eq!(modcods(&held), modcods(&given));
    assert!(modcods(&held).len() > 8);
    assert_eq!(packets(&held), packets(&given));
    let lost = packets(&held).iter().filter(|(.., lost)| *lost).count();
    assert!(lost > 100, "{lost}");
    // A link is sized alike, whatever the place at which a run begins.
    let late = model.replayed(&clock(Span::from_secs(6), db.len(), AtEnd::Hold));
    assert_eq!(late.nominal_rate(), given.nominal_rate());
}

#[test]
fn a_recorded_fade_needs_its_column_and_valid_rows() {
    for (csv, words) in [
        ("time_s,loss\n0,0\n1,1\n", "attenuation_db` is no column of this recording"),
        ("time_s,attenuation_db\n0,0\n1,-1\n", "rain.csv, line 3"),
        ("time_s,attenuation_db\n0,0\n1,301\n", "0 to 300 dB"),
        ("time_s,rain\n0,0\n1,1\n", "allowed: time_s and any of rate_bps, delay_ms, loss, att"),
    ] {
        let error = recorded(csv).unwrap_err();
        assert!(error.contains(words), "{csv}: {error}");
    }
    let allocated =
        format!("capacity_allocation = \"dama\"\n{}", carrier("{ recording = \"rain.csv\" }"));
    let files =
        InputFiles::from_texts([(PathBuf::from("rain.csv"), rows(&[1.0; 4]).into())].into());
    let error = direction(&allocated).load(&files).unwrap_err().to_string();
    assert!(error.contains("a recorded fade"), "{error}");
}

#[test]
fn what_was_not_measured_is_named() {
    let model = recorded("time_s,attenuation_db\n0,0\n1,1\n2,\n3,\n4,\n9,2\n10,0\n").unwrap();
    let gap = model.recorded_sources()[0].gap.unwrap();
    assert_eq!((gap.line, gap.at, gap.length), (3, Span::from_secs(1), Span::from_secs(8)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Rate and loss at any time follow from the attenuation at that time and one loop before.
    #[test]
    fn a_recorded_fade_gives_the_modcods_of_its_attenuation(
        db in prop::collection::vec(0.0f64..25.0, 2..30),
        start_ms in 0u64..29_000,
    ) {
        let start = Span::from_millis(start_ms % (db.len() as u64 * 1000));
        let model = recorded(&rows(&db)).unwrap();
        let model = model.replayed(&clock(start, db.len(), AtEnd::Cut));
        let end = Time::from_secs(3 * db.len() as u64);
        let losses: Vec<(Time, Time)> = model.total_losses(end).collect();
        let begun = start.as_secs_f64();
        for step in 0..(20 * db.len() as u64) {
            let at = Time::from_millis(step * 100 + 37);
            let within = begun + at.as_secs_f64();
            // Not where another MODCOD takes over, or decoding begins to fail.
            let near = |back: f64| {
                [-1e-4, 1e-4].map(|by| attenuation(&db, within - back + by))
            };
            let [(rate, threshold), (other, _)] = near(LOOP_S).map(chosen);
            let [one, two] = near(0.0).map(|db| CLEAR_DB - db < threshold);
            if rate != other || one != two {
                continue;
            }
            prop_assert_eq!(model.rate_at(at), Rate::from_bps(rate.round() as u64), "{}", at);
            let lost = losses.iter().any(|(from, to)| *from <= at && at < *to);
            prop_assert_eq!(lost, one, "{}", at);
        }
        let again = Span::from_secs(db.len() as u64);
        for step in 0..50 {
            let at = Time::from_millis(step * 173);
            prop_assert_eq!(model.rate_at(at), model.rate_at(at + again));
        }
    }
}
