//! The presets of the Hypatia study are its networks: RTTs of city pairs beside those of its own
//! generator (`tools/peers/hypatia-vectors`), which shares no code with ours.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]
#![allow(clippy::disallowed_methods, reason = "the test writes the book's table")]

mod city_networks;

use bentpipe_orbit::{Network, Routes, Topology};
use bentpipe_units::Time;
use city_networks::{network, number, rows, stations};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const THEIRS: &str = include_str!("vectors/hypatia.csv");
/// The presets, and the minimum elevation in degrees that the study names and does not apply.
const PRESETS: [(&str, f64); 3] =
    [("kuiper-630", 30.0), ("starlink-550", 25.0), ("telesat-1015", 10.0)];
/// Samples of Kuiper and Starlink in which a satellite is within 1.2 km of the limit of length: it
/// is in range for one of both, and the route is another one.
const AT_THE_LIMIT: [(&str, &str, u64); 3] = [
    ("kuiper-630", "Rio de Janeiro – Saint Petersburg", 150),
    ("kuiper-630", "Rio de Janeiro – Saint Petersburg", 155),
    ("kuiper-630", "Istanbul – Nairobi", 20),
];
/// The other samples: 7.5 km of a path of up to 20,000. The largest difference found is 0.027 ms.
const TOLERANCE_MS: f64 = 0.05;

/// RTTs of a pair in ms, ours beside the study's, by time. `None` if there is no route.
#[derive(Default)]
struct Pair {
    name: String,
    seconds: Vec<u64>,
    samples: Vec<[Option<f64>; 2]>,
}

impl Pair {
    /// Absolute differences where both have a route, largest first.
    fn differences(&self) -> Vec<f64> {
        let both = self.samples.iter().filter_map(|[ours, theirs]| Some((*ours)? - (*theirs)?));
        let mut all: Vec<f64> = both.map(f64::abs).collect();
        all.sort_by(|a, b| b.total_cmp(a));
        all
    }

    /// Times of samples that are not the study's to the tolerance.
    fn unequal(&self) -> Vec<u64> {
        let equal = |sample: &[Option<f64>; 2]| match sample {
            [Some(ours), Some(theirs)] => (ours - theirs).abs() <= TOLERANCE_MS,
            [ours, theirs] => ours.is_none() && theirs.is_none(),
        };
        let timed = self.seconds.iter().zip(&self.samples);
        timed.filter(|(_, sample)| !equal(sample)).map(|(at, _)| *at).collect()
    }

    /// "min / max" of ours (0) or theirs (1), and the samples without a route.
    fn extremes(&self, whose: usize) -> String {
        let all: Vec<f64> = self.samples.iter().filter_map(|sample| sample[whose]).collect();
        let low = all.iter().copied().fold(f64::INFINITY, f64::min);
        let high = all.iter().copied().fold(0.0, f64::max);
        let none = self.samples.len() - all.len();
        let none = if none == 0 { String::new() } else { format!(", {none} without route") };
        format!("{low:.2} / {high:.2}{none}")
    }
}

/// Returns the pairs of a preset; its stations see satellites above `min_elevation_deg`, or by the
/// preset's own rule.
fn pairs(preset: &str, min_elevation_deg: Option<f64>) -> Vec<Pair> {
    let wanted: Vec<_> = rows(THEIRS).filter(|row| row[0] == preset).collect();
    let cities: BTreeSet<&str> = wanted.iter().flat_map(|row| [row[1], row[2]]).collect();
    let network = network(preset, &cities, min_elevation_deg);
    let times: BTreeSet<u64> = wanted.iter().map(|row| number(row[3])).collect();
    let topologies: BTreeMap<u64, Topology> = times
        .into_iter()
        .map(|at| (at, Topology::new(&network, Time::from_secs(at)).unwrap()))
        .collect();
    let mut found: Vec<Pair> = Vec::new();
    for row in wanted {
        let name = format!("{} – {}", row[1], row[2]);
        let at = number(row[3]);
        let ours = rtt_ms(&network, &topologies[&at], row[1], row[2]);
        let theirs = (row[4] != "none").then(|| number(row[4]));
        if !found.iter().any(|pair| pair.name == name) {
            found.push(Pair { name: name.clone(), ..Pair::default() });
        }
        let pair = found.iter_mut().find(|pair| pair.name == name).unwrap();
        pair.seconds.push(at);
        pair.samples.push([ours, theirs]);
    }
    found
}

fn rtt_ms(network: &Network, topology: &Topology, from: &str, to: &str) -> Option<f64> {
    let index = stations(network);
    let [from, to] = [from, to].map(|name| network.station(index[name]));
    let path = Routes::new(network, topology, &[to]).path(from, 0)?;
    Some(2e3 * path.delay.as_secs_f64())
}

#[test]
fn presets_of_the_study_have_its_round_trips() {
    let mut table = "| preset | pair | the study, min / max ms | Bentpipe | largest difference | \
                     samples over 0.05 ms | with the minimum elevation: largest difference |\n\
                     |---|---|---|---|---|---|---|\n"
        .to_owned();
    let mut at_the_limit = Vec::new();
    let mut below_horizon = 0;
    for (preset, elevation_deg) in PRESETS {
        let by_elevation = pairs(preset, Some(elevation_deg));
        for (pair, elevated) in pairs(preset, None).iter().zip(&by_elevation) {
            assert_eq!(pair.samples.len(), 41, "{}", pair.name);
            let unequal = pair.unequal();
            let _ = writeln!(
                table,
                "| `{preset}` | {} | {} | {} | {:.3} | {} | {:.1} |",
                pair.name,
                pair.extremes(1),
                pair.extremes(0),
                pair.differences()[0],
                unequal.len(),
                elevated.differences()[0],
            );
            // Telesat's links of up to 5,845 km reach below the horizon, where ours do not.
            if preset == "telesat-1015" {
                below_horizon += usize::from(!unequal.is_empty());
            } else {
                at_the_limit.extend(unequal.into_iter().map(|at| (preset, pair.name.clone(), at)));
            }
        }
    }
    println!("{table}");
    let known = AT_THE_LIMIT.map(|(preset, pair, at)| (preset, pair.to_owned(), at));
    assert_eq!(at_the_limit, known);
    assert_eq!(below_horizon, 5, "pairs of Telesat that the study routes below the horizon");
    check_book(&table);
}

/// Asserts that the page shows `table`; `BENTPIPE_WRITE_BOOK=1` replaces it.
fn check_book(table: &str) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../research/orbits.md");
    let text = fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once("<!-- Hypatia's RTTs -->\n\n").expect("a marker");
    let (shown, after) = rest.split_once("\n<!-- end -->").expect("the end of the block");
    if shown != table && std::env::var_os("BENTPIPE_WRITE_BOOK").is_some() {
        let text = format!("{before}<!-- Hypatia's RTTs -->\n\n{table}\n<!-- end -->{after}");
        return fs::write(&page, text).unwrap();
    }
    assert!(shown == table, "BENTPIPE_WRITE_BOOK=1 writes what follows\n{table}");
}
