//! Whole transfers over simulated paths: CUBIC with its own slow start (`standard`) and with those
//! of the catalogue.

use crate::lean;

use bentpipe_units::{Span, Time};
use lean::{Draw, Outcome, Path, Transfer, alone, cubic, run};

fn transfer(path: &Path, bytes: u64, start: &str) -> Outcome {
    alone(path, bytes, cubic(start, &[]), 7)
}

/// Returns the fraction of sent packets that the bottleneck dropped.
fn lost(outcome: &Outcome) -> f64 {
    outcome.dropped as f64 / outcome.sent as f64
}

/// Upper bounds for long-path on a path: the measured values plus 3 %.
struct Row {
    name: &'static str,
    path: fn() -> Path,
    bytes: u64,
    seconds: f64,
    /// Fraction of packets that the bottleneck may drop.
    share: f64,
}

const fn row(name: &'static str, path: fn() -> Path, bytes: u64, seconds: f64, share: f64) -> Row {
    Row { name, path, bytes, seconds, share }
}

const TABLE: &[Row] = &[
    row("50/10", || Path::new(50.0, 10.0, 650), 2_000_000, 2.47, 0.0),
    row("50/10", || Path::new(50.0, 10.0, 650), 10_000_000, 4.05, 0.0),
    row("50/10", || Path::new(50.0, 10.0, 650), 100_000_000, 19.6, 0.021),
    row(
        "50/10, queue of a tenth",
        || Path::new(50.0, 10.0, 650).queue(0.1),
        10_000_000,
        4.27,
        0.041,
    ),
    row(
        "50/10, queue of a quarter",
        || Path::new(50.0, 10.0, 650).queue(0.25),
        100_000_000,
        19.9,
        0.019,
    ),
    row(
        "50/10, frames",
        || Path::new(50.0, 10.0, 650).queue(0.5).frames(5),
        100_000_000,
        19.8,
        0.019,
    ),
    row("50/0.5, thinned", || Path::new(50.0, 0.5, 650).ack(10), 100_000_000, 19.6, 0.0),
    row("50/0.5, all ACKs", || Path::new(50.0, 0.5, 650), 100_000_000, 21.6, 0.077),
    row("250/3", || Path::new(250.0, 3.0, 600).ack(10), 100_000_000, 6.69, 0.0),
    row("250/3, frames", || Path::new(250.0, 3.0, 600).ack(10).frames(5), 100_000_000, 6.92, 0.0),
    row("10/2", || Path::new(10.0, 2.0, 650), 10_000_000, 10.5, 0.0),
    row("20/2, 25 packets", || Path::new(20.0, 2.0, 600).queue(0.025), 10_000_000, 7.36, 0.072),
    row("100/10, 250 ms", || Path::new(100.0, 10.0, 250), 10_000_000, 1.96, 0.0),
    row("upload 10/50", || Path::new(10.0, 50.0, 650), 10_000_000, 10.5, 0.0),
];

#[test]
fn long_path_stays_within_the_table_and_beats_standard() {
    for Row { name, path, bytes, seconds, share } in TABLE {
        let (standard, ours) =
            (transfer(&path(), *bytes, "standard"), transfer(&path(), *bytes, "long-path"));
        let (took, dropped) = (ours.seconds(), lost(&ours));
        assert!(took <= *seconds, "{name}, {bytes} bytes: {took:.2} s");
        assert!(
            took <= standard.seconds(),
            "{name}, {bytes} bytes: {took:.2} s, standard {:.2} s",
            standard.seconds()
        );
        assert!(dropped <= *share, "{name}, {bytes} bytes: {:.2} % dropped", 100.0 * dropped);
    }
}

#[test]
fn a_short_path_uses_standard_slow_start() {
    for (rate, rtt) in [(10.0, 20), (100.0, 50), (300.0, 55)] {
        let path = Path::new(rate, 10.0, rtt).frames(5);
        let (standard, ours) =
            (transfer(&path, 10_000_000, "standard"), transfer(&path, 10_000_000, "long-path"));
        assert_eq!(
            (ours.completion, ours.sent),
            (standard.completion, standard.sent),
            "{rate} Mbps, {rtt} ms"
        );
    }
}

#[test]
fn random_loss_does_not_end_slow_start() {
    for loss in [0.001, 0.01] {
        let outcome = transfer(&Path::new(50.0, 10.0, 650).loss(loss), 10_000_000, "long-path");
        assert!(outcome.seconds() < 5.1, "{loss}: {:.2} s", outcome.seconds());
    }
}

#[test]
fn bursts_end_in_a_settled_rate_that_is_verified() {
    let outcome = transfer(&Path::new(50.0, 10.0, 650).ack(10), 30_000_000, "long-path");
    assert_eq!(outcome.phases[..3], ["bursts", "settle", "verify"]);
    assert!(outcome.started.is_some_and(|at| at < Time::from_secs(6)), "{:?}", outcome.started);
}

#[test]
fn acks_that_may_fill_the_return_link_lead_to_creeping() {
    let outcome = transfer(&Path::new(50.0, 0.5, 650), 30_000_000, "long-path");
    assert_eq!(outcome.phases[..3], ["bursts", "settle", "creep"]);
}

#[test]
fn a_first_burst_lost_in_a_queue_of_few_packets_falls_back_to_standard() {
    let path = Path::new(5.7, 1.0, 237).queue(0.06).frames(5);
    let (standard, ours) =
        (transfer(&path, 1_000_000, "standard"), transfer(&path, 1_000_000, "long-path"));
    assert!(ours.phases.contains(&"slow start"), "{:?}", ours.phases);
    assert!(
        ours.seconds() <= 1.1 * standard.seconds(),
        "{:.2} s, {:.2} s",
        ours.seconds(),
        standard.seconds()
    );
}

#[test]
fn without_a_handshake_the_first_flight_is_the_initial_window() {
    let path = Path::new(50.0, 10.0, 650);
    let controller = cubic("long-path", &[]);
    let resumed = run(
        &path,
        vec![(Transfer { handshake: false, ..Transfer::of(1_000_000) }, controller)],
        7,
        LIMIT,
    );
    // Half an RTT for the request, one for the first flight, and one for each of two bursts.
    assert_eq!(resumed[0].phases[0], "bursts");
    assert!((1.9..2.3).contains(&resumed[0].seconds()), "{:.2} s", resumed[0].seconds());
}

#[test]
fn a_slow_application_does_not_look_like_a_slow_path() {
    // 100 kB per second for 20 s: never more than 65 kB in flight.
    let path = Path::new(50.0, 10.0, 650);
    let written = Transfer { written: Some(100_000.0), ..Transfer::of(2_000_000) };
    let outcome = run(&path, vec![(written, cubic("long-path", &[]))], 7, LIMIT).remove(0);
    assert_eq!(outcome.phases, ["bursts"]);
    assert!((20.9..21.5).contains(&outcome.seconds()), "{:.2} s", outcome.seconds());
}

const LIMIT: Span = Span::from_secs(60);

#[test]
fn simultaneous_starts_lose_less_than_standard_ones_in_sum_and_never_twice_as_much() {
    let mut sums = [0, 0];
    for (path, count) in [
        (Path::new(50.0, 10.0, 650).queue(0.25), 2),
        (Path::new(50.0, 10.0, 650).queue(0.25), 4),
        (Path::new(50.0, 10.0, 650).queue(0.25), 16),
        // 16 first bursts of 130 packets are three times what this path and its queue hold.
        (Path::new(10.0, 10.0, 650).queue(0.5), 16),
        (Path::new(250.0, 10.0, 600).queue(0.5).ack(10), 16),
    ] {
        let dropped = |start: &str| -> u64 {
            let transfers = (0..count).map(|index| {
                let at = Time::from_millis(13 * index);
                (Transfer { at, ..Transfer::of(400_000_000) }, cubic(start, &[]))
            });
            run(&path, transfers.collect(), 3, Span::from_secs(12))
                .iter()
                .map(|outcome| outcome.dropped)
                .sum()
        };
        let (standard, ours) = (dropped("standard"), dropped("long-path"));
        assert!(ours < 2 * standard, "{count} over {path:?}: {ours}, standard {standard}");
        sums[0] += standard;
        sums[1] += ours;
    }
    assert!(4 * sums[1] < 3 * sums[0], "{sums:?}");
}

/// Returns one of the random paths in `research/decisions/0005-long-path-start.md`, with or without
/// ACK thinning.
fn drawn(seed: u64) -> Path {
    let mut draw = Draw(seed);
    let path =
        Path::new(draw.log(5.0, 300.0), draw.one(&[0.5, 1.0, 3.0, 10.0]), 150 + draw.next() % 650);
    let path = path.queue(draw.log(0.05, 2.0)).ack(draw.one(&[2, 10]));
    if draw.one(&[false, true]) { path.frames(draw.one(&[0, 5, 15])) } else { path }
}

#[test]
fn on_random_paths_long_path_is_faster_and_loses_less() {
    let mut at_start = [0.0, 0.0];
    let mut faster = 0;
    for seed in 9000..9040 {
        let path = drawn(seed);
        let (standard, ours) =
            (transfer(&path, 10_000_000, "standard"), transfer(&path, 10_000_000, "long-path"));
        assert!(
            ours.seconds() <= 1.2 * standard.seconds(),
            "{path:?}: {} s, {} s",
            ours.seconds(),
            standard.seconds()
        );
        faster += u32::from(ours.seconds() < 0.95 * standard.seconds());
        for (sum, outcome) in at_start.iter_mut().zip([&standard, &ours]) {
            *sum += (outcome.dropped_at_start * lean::PACKET) as f64 / path.bdp().get() as f64;
        }
    }
    assert!(faster >= 30, "{faster} of 40 are faster");
    assert!(at_start[1] < 0.5 * at_start[0], "{at_start:?}");
}

#[test]
fn the_other_slow_starts_end_before_the_first_loss() {
    // A queue of two bandwidth-delay products: both detect it before it is full; standard slow
    // start does not.
    let path = Path::new(20.0, 5.0, 100).queue(2.0);
    let standard = transfer(&path, 20_000_000, "standard");
    for start in ["hystart", "hystart++", "search"] {
        let ours = transfer(&path, 20_000_000, start);
        assert!(
            ours.dropped_at_start < standard.dropped_at_start,
            "{start}: {}",
            ours.dropped_at_start
        );
        assert!(ours.seconds() < 1.1 * standard.seconds(), "{start}: {:.2} s", ours.seconds());
    }
}

#[test]
fn faster_growth_saves_rounds_and_loses_no_more_time_on_what_it_drops() {
    // 2 MB end before the 50 Mbps are full: tripling and quadrupling save rounds of 650 ms.
    let path = Path::new(50.0, 10.0, 650);
    let small = |start| transfer(&path, 2_000_000, start).seconds();
    let standard = small("standard");
    assert!(small("rapid-start") < standard - 1.0, "{:.2} s", small("rapid-start"));
    assert!(small("suss") < standard - 1.0, "{:.2} s", small("suss"));
    let large = |start| transfer(&path, 100_000_000, start).seconds();
    assert!(large("rapid-start") < large("standard"), "{:.2} s", large("rapid-start"));
}

#[test]
fn the_same_seed_gives_the_same_transfer() {
    let path = Path::new(50.0, 1.0, 600).frames(15).loss(0.001);
    let (one, two) =
        (transfer(&path, 10_000_000, "long-path"), transfer(&path, 10_000_000, "long-path"));
    assert_eq!((one.completion, one.sent, one.dropped), (two.completion, two.sent, two.dropped));
}
