//! Populations of downloads over one bottleneck in the minimal simulator: what a start gains, and
//! what the users of plain slow start beside it pay. It produces figures of
//! `research/decisions/0044-first-bursts-behind-a-queue.md`.
//!
//! ```text
//! cargo run --release -p bentpipe-congestion --example crowd -- load FIRST_SEED SEEDS USERS
//! cargo run --release -p bentpipe-congestion --example crowd -- once FIRST_SEED SEEDS
//! ```
//!
//! `mbps=`, `rtt=` (ms), `frames=1`, `ack=` (packets per ACK) and `kb=` (median size) change the
//! path and the users; every other `name=value` sets a parameter of long-path.

#[path = "../tests/all/lean/mod.rs"]
mod lean;

use bentpipe_units::{Span, Time};
use lean::{Draw, Outcome, Path, Transfer, cubic, parallel, run};

struct Study {
    set: Vec<(String, f64)>,
    mbps: f64,
    rtt: u64,
    frames: bool,
    ack: usize,
    median: f64,
    loads: Vec<f64>,
    queues: Vec<f64>,
}

/// Users of one run: arrival and bytes.
type Users = Vec<(Time, u64)>;

/// Mean and 95th percentile of the completion times of `outcomes`, in seconds, and their drops.
fn figures(outcomes: &[&Outcome]) -> [f64; 3] {
    let mut times: Vec<f64> = outcomes.iter().map(|outcome| outcome.seconds()).collect();
    times.sort_by(f64::total_cmp);
    let p95 = times[(times.len() * 95).div_ceil(100) - 1];
    let dropped: u64 = outcomes.iter().map(|outcome| outcome.dropped).sum();
    [times.iter().sum::<f64>() / times.len() as f64, p95, dropped as f64]
}

fn median(outcomes: &[Outcome]) -> f64 {
    let mut times: Vec<f64> = outcomes.iter().map(Outcome::seconds).collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

impl Study {
    fn path(&self, queue: f64) -> Path {
        let path = Path::new(self.mbps, 10.0, self.rtt).queue(queue).ack(self.ack);
        if self.frames { path.frames(0) } else { path }
    }

    fn size(&self, draw: &mut Draw) -> u64 {
        (self.median * libm::exp(1.6 * draw.normal())).clamp(100.0, 100.0 * self.median) as u64
    }

    /// Draws users that offer `load`; all at once if that is zero.
    fn users(&self, seed: u64, count: u64, load: f64) -> Users {
        let mut draw = Draw(seed ^ 0x5eed);
        let sizes: Vec<u64> = (0..count).map(|_| self.size(&mut draw)).collect();
        let wire: u64 = sizes.iter().map(|size| size.div_ceil(lean::PAYLOAD) * lean::PACKET).sum();
        let gap = if load > 0.0 {
            8.0 * wire as f64 / (load * self.mbps * 1e6) / count as f64
        } else {
            0.0
        };
        let mut at = 0.0;
        let arrive = |size| {
            at -= libm::log(1.0 - draw.unit()) * gap;
            (Time::ZERO + Span::from_secs_f64(at), size)
        };
        sizes.into_iter().map(arrive).collect()
    }

    /// Plays `users`; those whose index `ours` accepts have long-path, the others plain slow start.
    fn play(&self, path: &Path, users: &Users, seed: u64, ours: fn(usize) -> bool) -> Vec<Outcome> {
        let set: Vec<(&str, f64)> =
            self.set.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        let transfers = users
            .iter()
            .enumerate()
            .map(|(index, &(at, bytes))| {
                let start = if ours(index) { "long-path" } else { "standard" };
                (Transfer { at, ..Transfer::of(bytes) }, cubic(start, &set))
            })
            .collect();
        run(path, transfers, seed, Span::from_secs(900))
    }

    fn cell(&self, load: f64, queue: f64, seeds: std::ops::Range<u64>, count: u64) -> String {
        let path = self.path(queue);
        let mut sums = [[0.0; 3]; 6];
        let mut harms = Vec::new();
        for seed in seeds {
            let users = self.users(seed, count, load);
            let part = |outcomes: &[Outcome], parity: Option<usize>| {
                let chosen: Vec<&Outcome> = outcomes
                    .iter()
                    .enumerate()
                    .filter(|(index, _)| parity.is_none_or(|parity| index % 2 == parity))
                    .map(|(_, outcome)| outcome)
                    .collect();
                figures(&chosen)
            };
            let plain = self.play(&path, &users, seed, |_| false);
            let half = self.play(&path, &users, seed, |index| index % 2 == 0);
            let all = self.play(&path, &users, seed, |_| true);
            let rows = [
                part(&plain, Some(0)),
                part(&half, Some(0)),
                part(&plain, Some(1)),
                part(&half, Some(1)),
                part(&plain, None),
                part(&all, None),
            ];
            harms.push(rows[3][0] / rows[2][0]);
            for (sum, row) in sums.iter_mut().zip(rows) {
                for (total, value) in sum.iter_mut().zip(row) {
                    *total += value;
                }
            }
        }
        let over = |row: usize, of: usize, field: usize| sums[row][field] / sums[of][field];
        let mean = harms.iter().sum::<f64>() / harms.len() as f64;
        let spread = harms.iter().map(|harm| (harm - mean) * (harm - mean)).sum::<f64>();
        let error = (spread / (harms.len() * (harms.len() - 1).max(1)) as f64).sqrt();
        format!(
            "{load:4} {queue:4} | half: ours {:.2} others {:.2} p95 {:.2} (ratios \
             {mean:.2} +- {error:.2}) | all: {:.2} p95 {:.2} drops {:.0} -> {:.0} | \
             means {:.2} {:.2}",
            over(1, 0, 0),
            over(3, 2, 0),
            over(3, 2, 1),
            over(5, 4, 0),
            over(5, 4, 1),
            sums[4][2] / harms.len() as f64,
            sums[5][2] / harms.len() as f64,
            sums[4][0] / harms.len() as f64,
            sums[5][0] / harms.len() as f64,
        )
    }

    fn once(&self, count: u64, seeds: std::ops::Range<u64>) -> String {
        let path = self.path(1.0);
        let runs = (seeds.end - seeds.start) as f64;
        let mut sums = [[0.0; 2]; 2];
        for seed in seeds {
            let users = self.users(seed, count, 0.0);
            let ways: [fn(usize) -> bool; 2] = [|_| false, |_| true];
            for (sum, ours) in sums.iter_mut().zip(ways) {
                let outcomes = self.play(&path, &users, seed, ours);
                sum[0] += median(&outcomes) / runs;
                sum[1] += outcomes.iter().map(|outcome| outcome.dropped as f64).sum::<f64>() / runs;
            }
        }
        let [[plain, lost], [ours, dropped]] = sums;
        format!("{count:4} users: {plain:.2} -> {ours:.2} s, {lost:.0} -> {dropped:.0} dropped")
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut study = Study {
        set: Vec::new(),
        mbps: 50.0,
        rtt: 650,
        frames: false,
        ack: 10,
        median: 300e3,
        loads: vec![0.3, 0.6, 0.8, 0.95],
        queues: vec![0.25, 0.5, 1.0],
    };
    for (name, value) in arguments.iter().filter_map(|argument| argument.split_once('=')) {
        let list = || value.split(',').filter_map(|value| value.parse().ok()).collect();
        let Ok(number) = value.split(',').next().unwrap_or_default().parse::<f64>() else {
            continue;
        };
        match name {
            "mbps" => study.mbps = number,
            "rtt" => study.rtt = number as u64,
            "ack" => study.ack = number as usize,
            "frames" => study.frames = number > 0.0,
            "kb" => study.median = 1e3 * number,
            "loads" => study.loads = list(),
            "queues" => study.queues = list(),
            _ => study.set.push((name.to_owned(), number)),
        }
    }
    let words: Vec<&str> =
        arguments.iter().filter(|word| !word.contains('=')).map(String::as_str).collect();
    let number = |index: usize, default: u64| {
        words.get(index).and_then(|word| word.parse().ok()).unwrap_or(default)
    };
    let seeds = number(1, 1)..number(1, 1) + number(2, 2);
    match words.first().copied() {
        Some("load") => {
            let cells: Vec<(f64, f64)> = study
                .queues
                .iter()
                .flat_map(|&queue| study.loads.iter().map(move |&load| (load, queue)))
                .collect();
            parallel(&cells, |&(load, queue)| {
                study.cell(load, queue, seeds.clone(), number(3, 250))
            });
        }
        Some("once") => {
            parallel(&[1000, 250, 64, 16, 4, 2], |&count| study.once(count, seeds.clone()))
        }
        _ => eprintln!("unknown study; allowed: load, once"),
    }
}
