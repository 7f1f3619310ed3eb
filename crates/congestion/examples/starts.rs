//! Compares slow-start algorithms in a minimal simulator. It produces the figures of
//! `research/decisions/0005-long-path-start.md`.
//!
//! ```text
//! cargo run -p bentpipe-congestion --example starts -- table
//! cargo run -p bentpipe-congestion --example starts -- random SEED CASES FAMILY
//! cargo run -p bentpipe-congestion --example starts -- together
//! cargo run -p bentpipe-congestion --example starts -- path "50/10 650 1" 100
//! cargo run -p bentpipe-congestion --example starts -- case SEED CASE FAMILY 2
//! ```
//!
//! FAMILY is `clean` (default), `short`, `bucket`, `policer` or `upload`. `name=value` sets a
//! parameter of long-path.

#[path = "../tests/all/lean/mod.rs"]
mod lean;

use bentpipe_congestion::Controller;
use bentpipe_units::{Bytes, Span, Time};
use lean::{Draw, Outcome, Path, Transfer, alone, cubic, run};

const SIZES: [u64; 5] = [100_000, 1_000_000, 2_000_000, 10_000_000, 100_000_000];

type Set<'a> = [(&'a str, f64)];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let set: Vec<(&str, f64)> = arguments
        .iter()
        .filter_map(|argument| argument.split_once('='))
        .filter_map(|(name, value)| Some((name, value.parse().ok()?)))
        .collect();
    let words: Vec<&str> =
        arguments.iter().filter(|word| !word.contains('=')).map(String::as_str).collect();
    let number = |index: usize, default: u64| {
        words.get(index).and_then(|word| word.parse().ok()).unwrap_or(default)
    };
    match words.first().copied() {
        Some("table") => table(&set),
        Some("random") => {
            random(number(1, 1), number(2, 100), words.get(3).copied().unwrap_or("clean"), &set)
        }
        Some("together") => together(&set),
        Some("path") => one(words.get(1).copied().unwrap_or_default(), number(2, 100), &set),
        Some("case") => case(
            number(1, 1),
            number(2, 0),
            words.get(3).copied().unwrap_or("clean"),
            number(4, 2),
            &set,
        ),
        _ => eprintln!("unknown study; allowed: table, random, together, path, case"),
    }
}

fn bdps(path: &Path, packets: u64) -> f64 {
    (packets * lean::PACKET) as f64 / path.bdp().get() as f64
}

/// Returns the paths in the table of `research/decisions/0005-long-path-start.md`.
fn paths() -> Vec<(&'static str, Path)> {
    let path = Path::new;
    vec![
        ("50/10 650 1", path(50.0, 10.0, 650)),
        ("50/10 650 .1", path(50.0, 10.0, 650).queue(0.1)),
        ("50/10 650 .25", path(50.0, 10.0, 650).queue(0.25)),
        ("50/10 650 .5 frames", path(50.0, 10.0, 650).queue(0.5).frames(5)),
        ("50/0.5 650 1 1:10", path(50.0, 0.5, 650).ack(10)),
        ("50/0.5 650 1", path(50.0, 0.5, 650)),
        ("250/3 600 1 1:10", path(250.0, 3.0, 600).ack(10)),
        ("250/3 600 1 1:10 fr", path(250.0, 3.0, 600).ack(10).frames(5)),
        ("250/3 600 1", path(250.0, 3.0, 600)),
        ("10/2 650 1", path(10.0, 2.0, 650)),
        ("2/0.5 650 .5", path(2.0, 0.5, 650).queue(0.5)),
        ("20/2 600 25p", path(20.0, 2.0, 600).queue(0.025)),
        ("upload 10/50 650 1", path(10.0, 50.0, 650)),
        ("50/10 650 loss .1%", path(50.0, 10.0, 650).loss(0.001)),
        ("50/10 650 loss 1%", path(50.0, 10.0, 650).loss(0.01)),
        ("250>50 shape 256k", path(250.0, 10.0, 650).policed(50.0, 256, false).queue(1.0)),
        ("250>50 drop 256k", path(250.0, 10.0, 650).policed(50.0, 256, true)),
        ("250>50 drop 1M", path(250.0, 10.0, 650).policed(50.0, 1000, true)),
        ("100/10 250 1", path(100.0, 10.0, 250)),
        ("100/10 100 1", path(100.0, 10.0, 100)),
    ]
}

fn line(outcomes: &[Outcome], path: &Path) -> String {
    let seconds: Vec<String> =
        outcomes.iter().map(|outcome| format!("{:6.2}", outcome.seconds())).collect();
    let last = &outcomes[outcomes.len() - 1];
    let lost = 100.0 * last.dropped as f64 / last.sent as f64;
    format!("{} x{:5.2} {lost:5.2} %", seconds.join(" "), bdps(path, last.dropped_at_start))
}

fn table(set: &Set<'_>) {
    for (name, path) in paths() {
        for start in ["standard", "hystart", "hystart++", "search", "long-path"] {
            let lossy = path.loss > 0.0;
            let sizes = if lossy { &SIZES[..4] } else { &SIZES[..] };
            let set = if start == "long-path" { set } else { &[][..] };
            let outcomes: Vec<Outcome> =
                sizes.iter().map(|bytes| alone(&path, *bytes, cubic(start, set), 7)).collect();
            println!("{name:<20} {start:<10} {}", line(&outcomes, &path));
        }
    }
}

/// Returns a random path from one of the families in that page.
fn draw(seed: u64, family: &str) -> Path {
    let mut draw = Draw(seed);
    let rate = draw.log(5.0, 300.0);
    let rtt = if family == "short" { draw.log(20.0, 100.0) } else { 150.0 + 650.0 * draw.unit() };
    let queue = draw.log(0.05, 2.0);
    let back = draw.one(&[0.5, 1.0, 3.0, 10.0]);
    let mut path = if family == "upload" {
        Path::new(back, rate, rtt as u64)
    } else {
        Path::new(rate, back, rtt as u64)
    };
    let frames = draw.one(&[false, true]);
    let jitter = draw.one(&[0, 5, 15]);
    let bucket = draw.one(&[64, 256, 1000]);
    match family {
        "bucket" | "policer" => {
            let mbps = path.forward.as_mbps_f64();
            path =
                Path::new(10.0 * mbps, back, rtt as u64).policed(mbps, bucket, family == "policer");
        }
        _ => {}
    }
    if frames {
        path = path.frames(jitter);
    }
    path.queue(queue)
}

#[derive(Default)]
struct Side {
    lost: f64,
    worst_lost: f64,
}

fn random(seed: u64, cases: u64, family: &str, set: &Set<'_>) {
    for every in [2, 10] {
        let mut ratios = vec![Vec::new(); SIZES.len()];
        let mut sides = [Side::default(), Side::default()];
        let (mut more, mut over) = (Vec::new(), Vec::new());
        for case in 0..cases {
            let path = draw(seed * 1_000_003 + case, family).ack(every);
            for (index, bytes) in SIZES.iter().enumerate() {
                let standard = alone(&path, *bytes, cubic("standard", &[]), case);
                let ours = alone(&path, *bytes, cubic("long-path", set), case);
                ratios[index].push((ours.seconds() / standard.seconds(), case));
                if index + 1 < SIZES.len() {
                    continue;
                }
                for (side, outcome) in sides.iter_mut().zip([&standard, &ours]) {
                    side.lost += bdps(&path, outcome.dropped_at_start);
                    side.worst_lost = side.worst_lost.max(bdps(&path, outcome.dropped_at_start));
                }
                more.push((
                    bdps(&path, ours.dropped_at_start) - bdps(&path, standard.dropped_at_start),
                    case,
                ));
                let share = ours.dropped as f64 / ours.sent as f64;
                if path.queue.get() * 4 >= path.bdp().get() {
                    over.push((100.0 * share, case));
                }
            }
        }
        println!("{family}, 1:{every}, seed {seed}, {cases} cases");
        for (bytes, mut list) in SIZES.iter().zip(ratios) {
            list.sort_by(|a, b| a.0.total_cmp(&b.0));
            let median = list[list.len() / 2].0;
            let slower: Vec<String> =
                list.iter().rev().take(6).map(|(r, c)| format!("{r:.2}#{c}")).collect();
            let count = list.iter().filter(|(ratio, _)| *ratio > 1.1).count();
            println!(
                "  {:>5} MB: median {median:.2}, >1.1: {count}, worst {}",
                *bytes as f64 / 1e6,
                slower.join(" ")
            );
        }
        let n = cases as f64;
        let [standard, ours] = sides;
        print!(
            "  lost at the start in BDP: {:.2} (worst {:.2}), standard",
            ours.lost / n,
            ours.worst_lost
        );
        println!(" {:.2} (worst {:.2})", standard.lost / n, standard.worst_lost);
        for (what, mut list) in [("more than standard", more), ("% lost, queue >= .25", over)] {
            list.sort_by(|a, b| b.0.total_cmp(&a.0));
            let worst: Vec<String> =
                list.iter().take(6).map(|(x, c)| format!("{x:.2}#{c}")).collect();
            let above = list
                .iter()
                .filter(|(x, _)| *x > if what.starts_with('%') { 2.0 } else { 0.1 })
                .count();
            println!("  {what}: {above} cases; {}", worst.join(" "));
        }
    }
}

fn logged(path: &Path, bytes: u64, controller: Box<dyn Controller>, seed: u64) -> Outcome {
    let transfer = Transfer { logged: true, ..Transfer::of(bytes) };
    run(path, vec![(transfer, controller)], seed, Span::from_secs(3000)).remove(0)
}

/// Runs one path of the table and prints its log.
fn one(name: &str, megabytes: u64, set: &Set<'_>) {
    for (_, path) in paths().into_iter().filter(|(other, _)| *other == name) {
        let outcome = logged(&path, 1_000_000 * megabytes, cubic("long-path", set), 7);
        println!("{} {:?}", line(std::slice::from_ref(&outcome), &path), outcome.dropped_in);
        outcome.log.iter().for_each(|line| println!("  {line}"));
    }
}

/// Runs one case of `random` and prints its log.
fn case(seed: u64, case: u64, family: &str, every: u64, set: &Set<'_>) {
    let path = draw(seed * 1_000_003 + case, family).ack(every as usize);
    println!("{path:?}");
    for start in ["standard", "long-path"] {
        let set = if start == "standard" { &[][..] } else { set };
        let outcomes: Vec<Outcome> =
            SIZES.iter().map(|bytes| logged(&path, *bytes, cubic(start, set), case)).collect();
        println!("{start:<10} {}", line(&outcomes, &path));
        for line in outcomes.last().iter().flat_map(|last| &last.log) {
            println!("  {line}");
        }
    }
}

/// Starts several flows at the same time.
fn together(set: &Set<'_>) {
    for (name, path) in [
        ("50/10 650 .25", Path::new(50.0, 10.0, 650).queue(0.25)),
        ("50/10 650 1", Path::new(50.0, 10.0, 650)),
        ("10/10 650 .5", Path::new(10.0, 10.0, 650).queue(0.5)),
        ("250/10 600 .5 1:10", Path::new(250.0, 10.0, 600).queue(0.5).ack(10)),
    ] {
        for count in [2u64, 4, 16] {
            print!("{name:<20} {count:>2}");
            for start in ["standard", "long-path"] {
                let set = if start == "standard" { &[][..] } else { set };
                let transfers = (0..count).map(|index| {
                    let at = Time::ZERO + Span::from_millis(13 * index);
                    (Transfer { at, ..Transfer::of(400_000_000) }, cubic(start, set))
                });
                let limit = Span::from_secs(12);
                let outcomes = run(&path, transfers.collect(), 3, limit);
                let dropped: u64 = outcomes.iter().map(|outcome| outcome.dropped).sum();
                let sent: u64 = outcomes.iter().map(|outcome| outcome.sent).sum();
                let served = Bytes::new((sent - dropped) * lean::PACKET);
                let share = served.get() as f64 / path.forward.bytes_in(limit).get() as f64;
                print!(
                    "  {start}: {:5.2} BDP dropped, {share:.2} of the link used;",
                    bdps(&path, dropped)
                );
                let mut phases = std::collections::BTreeMap::new();
                for (phase, dropped) in outcomes.iter().flat_map(|outcome| &outcome.dropped_in) {
                    *phases.entry(phase).or_insert(0) += dropped;
                }
                for (phase, dropped) in phases {
                    print!(" {phase} {:.2}", bdps(&path, dropped));
                }
            }
            println!();
        }
    }
}
