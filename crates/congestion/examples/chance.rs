//! What the filter of losses by chance gains and costs, in the minimal simulator. It produces
//! figures of `research/decisions/0082-losses-by-chance.md`.
//!
//! ```text
//! cargo run --release -p bentpipe-congestion --example chance -- alone [SEEDS]
//! cargo run --release -p bentpipe-congestion --example chance -- beside [SEEDS]
//! cargo run --release -p bentpipe-congestion --example chance -- short [SEEDS]
//! cargo run --release -p bentpipe-congestion --example chance -- crowd [SEEDS]
//! ```
//!
//! Every `name=value` sets a parameter of the filter; `only=TEXT` chooses rows by their name.

#[path = "../tests/all/lean/mod.rs"]
mod lean;

use bentpipe_congestion::loss_filter::{ChanceFilter, Parameters};
use bentpipe_congestion::{Controller, ParameterValues};
use bentpipe_units::{Span, Time};
use lean::{Draw, Path, Transfer, controller, parallel, run, with_start};

/// Seconds for which bulk beside bulk is measured.
const BULK: f64 = 80.0;

fn make(name: &str, start: &str, parameters: &Parameters) -> Box<dyn Controller> {
    let made = match name.strip_suffix(" filtered") {
        Some(plain) => Box::new(ChanceFilter::new(controller(plain), parameters)),
        None => controller(name),
    };
    with_start(made, start, &[])
}

fn median(mut list: Vec<f64>) -> f64 {
    list.sort_by(f64::total_cmp);
    list[list.len() / 2]
}

/// Paths by name.
type Paths = Vec<(&'static str, Path)>;

fn jittered(mut path: Path, ms: u64) -> Path {
    path.jitter = Span::from_millis(ms);
    path
}

fn alone(seeds: u64, only: &str, parameters: &Parameters) {
    let paths: Paths = vec![
        ("50/10 600 q.5", Path::new(50.0, 10.0, 600).queue(0.5).ack(10)),
        ("50/10 600 q.5 frames5", Path::new(50.0, 10.0, 600).queue(0.5).ack(10).frames(5)),
        ("20/2 600 25p", Path::new(20.0, 2.0, 600).queue(0.025).ack(10)),
        ("50/10 600 q.1", Path::new(50.0, 10.0, 600).queue(0.1).ack(10)),
        ("policed 20 128k", Path::new(50.0, 10.0, 600).policed(20.0, 128, true).ack(10)),
        ("100/20 130 q.5", Path::new(100.0, 20.0, 130).queue(0.5)),
        ("100/20 30 q1", Path::new(100.0, 20.0, 30)),
        ("100/20 60 q.1 jitter", jittered(Path::new(100.0, 20.0, 60).queue(0.1), 5)),
        ("40/10 40 q1 jitter", jittered(Path::new(40.0, 10.0, 40), 3)),
    ];
    let mut jobs = Vec::new();
    for (label, path) in paths {
        for loss in [0.0, 0.0001, 0.0003, 0.001, 0.01, 0.02] {
            let label = format!("{label:24} {:5.2} %", loss * 100.0);
            if label.contains(only) {
                jobs.push((label, path.clone().loss(loss)));
            }
        }
    }
    parallel(&jobs, |(label, path)| {
        let mut text = label.clone();
        for name in ["cubic", "bbr3", "cubic filtered"] {
            let outcomes: Vec<_> = (0..seeds)
                .map(|seed| {
                    let controller = make(name, "long-path", parameters);
                    let transfer = Transfer::of(60_000_000);
                    run(path, vec![(transfer, controller)], 500 + seed, Span::from_secs(600))
                        .remove(0)
                })
                .collect();
            let seconds = median(outcomes.iter().map(lean::Outcome::seconds).collect());
            let dropped = median(outcomes.iter().map(|outcome| outcome.dropped as f64).collect());
            text += &format!(" | {name} {seconds:6.2} s {dropped:5}");
        }
        text
    });
}

fn beside(seeds: u64, only: &str, parameters: &Parameters) {
    let paths: Paths = vec![
        ("20/2 600 25p", Path::new(20.0, 2.0, 600).queue(0.025).ack(10)),
        ("20/2 600 25p frames", Path::new(20.0, 2.0, 600).queue(0.025).ack(10).frames(2)),
        ("40/8 620 q.05", Path::new(40.0, 8.0, 620).queue(0.05).ack(10)),
        ("40/8 620 q.1", Path::new(40.0, 8.0, 620).queue(0.1).ack(10)),
        ("40/8 620 q.1 frames", Path::new(40.0, 8.0, 620).queue(0.1).ack(10).frames(5)),
        ("40/8 620 q.25", Path::new(40.0, 8.0, 620).queue(0.25).ack(10)),
        ("40/8 620 q1", Path::new(40.0, 8.0, 620).queue(1.0).ack(10)),
        ("40/8 620 q1 loss.1", Path::new(40.0, 8.0, 620).queue(1.0).ack(10).loss(0.001)),
        ("40/8 620 q.1 loss.1", Path::new(40.0, 8.0, 620).queue(0.1).ack(10).loss(0.001)),
        ("40/8 620 q.25 loss1", Path::new(40.0, 8.0, 620).queue(0.25).ack(10).loss(0.01)),
        (
            "40/8 620 q.25 frames5 loss.1",
            Path::new(40.0, 8.0, 620).queue(0.25).ack(10).frames(5).loss(0.001),
        ),
        ("policed 20 128k", Path::new(40.0, 8.0, 620).policed(20.0, 128, true).ack(10)),
        ("policed 20 512k", Path::new(40.0, 8.0, 620).policed(20.0, 512, true).ack(10)),
        ("meo policed 25 64k", Path::new(100.0, 20.0, 130).policed(25.0, 64, true)),
        ("meo policed 25 256k", Path::new(100.0, 20.0, 130).policed(25.0, 256, true)),
        ("leo policed 25 64k", Path::new(100.0, 20.0, 40).policed(25.0, 64, true)),
        ("100/20 130 q.1", Path::new(100.0, 20.0, 130).queue(0.1)),
        ("50/20 30 q.25", Path::new(50.0, 20.0, 30).queue(0.25)),
        ("50/20 30 q.25 loss.1", Path::new(50.0, 20.0, 30).queue(0.25).loss(0.001)),
        ("50/20 30 q.1", Path::new(50.0, 20.0, 30).queue(0.1)),
        ("50/20 30 q.02", Path::new(50.0, 20.0, 30).queue(0.02)),
        ("50/20 30 q.1 jitter", jittered(Path::new(50.0, 20.0, 30).queue(0.1), 4)),
    ];
    let paths: Paths = paths.into_iter().filter(|(label, _)| label.contains(only)).collect();
    parallel(&paths, |(label, path)| {
        let mut text = format!("{label:28}");
        let mut base = (1.0, 1.0);
        for name in ["plain", "cubic", "cubic filtered", "bbr3"] {
            let (mut theirs, mut ours) = (Vec::new(), Vec::new());
            for seed in 0..seeds {
                let at = Time::from_millis(15_000 + 137 * seed);
                let controller = match name {
                    "plain" => make("cubic", "standard", parameters),
                    name => make(name, "long-path", parameters),
                };
                let outcomes = run(
                    path,
                    vec![
                        (
                            Transfer { counted_from: at, ..Transfer::of(600_000_000) },
                            make("cubic", "standard", parameters),
                        ),
                        (Transfer { at, ..Transfer::of(600_000_000) }, controller),
                    ],
                    900 + seed,
                    Span::from_secs_f64(15.0 + BULK),
                );
                let mbps = |index: usize| {
                    let outcome: &lean::Outcome = &outcomes[index];
                    outcome.counted.get() as f64 * 8.0 / 1e6 / BULK
                };
                theirs.push(mbps(0));
                ours.push(mbps(1));
            }
            let (theirs, ours) = (median(theirs), median(ours));
            if name == "plain" {
                base = (theirs, ours);
                text += &format!(" | plain {theirs:5.2} {ours:5.2} Mbps");
            } else {
                text += &format!(" | {name} {:.2} / {:.2}", theirs / base.0, ours / base.1);
            }
        }
        text
    });
}

/// Short transfers over paths below the threshold of `long-path`: medians and 95th percentiles.
fn short(seeds: u64, only: &str, parameters: &Parameters) {
    let paths: Paths = vec![
        ("100/40 30 q1", Path::new(100.0, 40.0, 30)),
        ("100/20 60 q.1 jitter", jittered(Path::new(100.0, 20.0, 60).queue(0.1), 5)),
        ("40/10 40 q1 jitter", jittered(Path::new(40.0, 10.0, 40), 3)),
        ("20/10 20 q.02", Path::new(20.0, 10.0, 20).queue(0.02)),
        ("50/20 30 q.1", Path::new(50.0, 20.0, 30).queue(0.1)),
        ("leo policed 25 64k", Path::new(100.0, 20.0, 40).policed(25.0, 64, true)),
        ("leo policed 25 512k", Path::new(100.0, 20.0, 40).policed(25.0, 512, true)),
    ];
    let mut jobs = Vec::new();
    for (label, path) in paths {
        for loss in [0.0, 0.0003, 0.001, 0.003, 0.01] {
            for megabytes in [2, 10] {
                let label = format!("{label:22} {:5.2} % {megabytes:2} MB", loss * 100.0);
                if label.contains(only) {
                    jobs.push((label, path.clone().loss(loss), megabytes));
                }
            }
        }
    }
    parallel(&jobs, |(label, path, megabytes)| {
        let mut text = label.clone();
        for name in ["cubic", "bbr3", "cubic filtered"] {
            let mut dropped = 0;
            let mut seconds: Vec<f64> = (0..seeds)
                .map(|seed| {
                    let transfer = Transfer::of(megabytes * 1_000_000);
                    let controller = make(name, "long-path", parameters);
                    let limit = Span::from_secs(600);
                    let outcome =
                        run(path, vec![(transfer, controller)], 500 + seed, limit).remove(0);
                    dropped += outcome.dropped;
                    outcome.seconds()
                })
                .collect();
            seconds.sort_by(f64::total_cmp);
            let quantile = |share: f64| seconds[((seconds.len() - 1) as f64 * share) as usize];
            let (median, tail) = (quantile(0.5), quantile(0.95));
            text += &format!(" | {name} {median:6.2} {tail:6.2} s {dropped:6}");
        }
        text
    });
}

/// A population: path, load, median size in bytes.
type Crowd = (&'static str, Path, f64, f64);

fn crowd(seeds: u64, only: &str, parameters: &Parameters) {
    let crowds: Vec<Crowd> = vec![
        ("20/10 550 q.02 .8", Path::new(20.0, 10.0, 550).queue(0.02).ack(10), 0.8, 300e3),
        ("20/10 550 q.1 .95", Path::new(20.0, 10.0, 550).queue(0.1).ack(10), 0.95, 600e3),
        ("50/10 650 q.05 .8", Path::new(50.0, 10.0, 650).queue(0.05).ack(10), 0.8, 600e3),
        ("50/10 650 q.25 .95", Path::new(50.0, 10.0, 650).queue(0.25).ack(10), 0.95, 600e3),
        (
            "50/10 650 q.25 .8 l.1",
            Path::new(50.0, 10.0, 650).queue(0.25).ack(10).loss(0.001),
            0.8,
            600e3,
        ),
        ("100/20 130 q.1 .9", Path::new(100.0, 20.0, 130).queue(0.1), 0.9, 600e3),
        ("100/20 40 q.1 .9", Path::new(100.0, 20.0, 40).queue(0.1), 0.9, 600e3),
        ("100/20 40 q.02 .8", Path::new(100.0, 20.0, 40).queue(0.02), 0.8, 600e3),
    ];
    let crowds: Vec<Crowd> = crowds.into_iter().filter(|crowd| crowd.0.contains(only)).collect();
    parallel(&crowds, |(label, path, load, size)| {
        let ways = ["plain", "cubic", "cubic filtered", "bbr3"];
        let mut sums = [[0.0; 2]; 4];
        for seed in 0..seeds {
            let mut draw = Draw(7100 + seed);
            let sizes: Vec<u64> = (0..120)
                .map(|_| (size * libm::exp(1.6 * draw.normal())).clamp(1000.0, 40e6) as u64)
                .collect();
            let wire: u64 = sizes.iter().map(|s| s.div_ceil(lean::PAYLOAD) * lean::PACKET).sum();
            let gap = 8.0 * wire as f64 / (load * path.forward.as_bps() as f64) / 120.0;
            let mut at = 0.0;
            let users: Vec<(Time, u64)> = sizes
                .into_iter()
                .map(|size| {
                    at -= libm::log(1.0 - draw.unit()) * gap;
                    (Time::ZERO + Span::from_secs_f64(at), size)
                })
                .collect();
            for (row, name) in ways.iter().enumerate() {
                let transfers = users.iter().enumerate().map(|(index, &(at, bytes))| {
                    let controller = match (*name, index % 2) {
                        ("plain", _) | (_, 1) => make("cubic", "standard", parameters),
                        (name, _) => make(name, "long-path", parameters),
                    };
                    (Transfer { at, ..Transfer::of(bytes) }, controller)
                });
                let outcomes = run(path, transfers.collect(), seed, Span::from_secs(2000));
                for (index, outcome) in outcomes.iter().enumerate() {
                    sums[row][index % 2] += outcome.seconds();
                }
            }
        }
        let mut text = format!("{label:24}");
        for (row, name) in ways.iter().enumerate().skip(1) {
            let (others, ours) = (sums[row][1] / sums[0][1], sums[row][0] / sums[0][0]);
            text += &format!(" | {name}: others {others:.3} ours {ours:.3}");
        }
        text
    });
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut values = ParameterValues::defaults(Parameters::TABLE);
    let mut only = String::new();
    for (name, value) in arguments.iter().filter_map(|argument| argument.split_once('=')) {
        match value.parse() {
            Ok(value) if name != "only" => {
                values.set("chance", name, value).expect("a parameter of the filter");
            }
            _ => only = value.to_owned(),
        }
    }
    let parameters = Parameters::from(&values);
    let words: Vec<&String> = arguments.iter().filter(|word| !word.contains('=')).collect();
    let seeds = words.get(1).and_then(|word| word.parse().ok()).unwrap_or(4);
    match words.first().map(|word| word.as_str()) {
        Some("alone") => alone(seeds, &only, &parameters),
        Some("beside") => beside(seeds, &only, &parameters),
        Some("short") => short(seeds, &only, &parameters),
        Some("crowd") => crowd(seeds, &only, &parameters),
        _ => eprintln!("unknown study; allowed: alone, beside, short, crowd"),
    }
}
