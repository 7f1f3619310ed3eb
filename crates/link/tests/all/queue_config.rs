//! Notations of a queue and its disciplines, and the error messages for invalid ones.

use crate::common;

use bentpipe_link::disciplines::{
    Cake, CoDel, DropTail, DualPi2, FlowHash, FlowQueueing, Fq, FqCoDel, HeadDrop, Overflow,
    Overload, Pie, Priority, QueueDiscipline, Red, Tins,
};
use bentpipe_link::{DirectionPatch, Dscp, QueueConfig, QueueLimit};
use bentpipe_units::{Bytes, Span};

/// Invalid keys, with words of the error.
const WRONG: &[(&str, &[&str])] = &[
    ("queue = \"0 BDP\"", &["0 BDP", "1 BDP", "above zero"]),
    ("queue = \"-1 BDP\"", &["-1 BDP", "above zero"]),
    ("queue = \"0 kB\"", &["0 kB", "above zero"]),
    ("queue = \"0 packets\"", &["0 packets", "above zero"]),
    ("queue = \"2.5 packets\"", &["2.5 packets", "whole number"]),
    ("queue = \"0 ms\"", &["0 ms", "above zero"]),
    ("queue = \"10 Mbps\"", &["10 Mbps", "25 packets"]),
    ("queue = \"big\"", &["big", "1 BDP"]),
    ("queue = 25", &["25", "a queue size such as \"1 BDP\""]),
    ("queue = { limit = \"1 BDP\", aqm = \"sfb\" }", &["sfb", "drop-tail, head-drop, codel"]),
    ("queue = { limit = \"1 BDP\", target = \"5 ms\" }", &["target = 5 ms", "aqm = \"codel\""]),
    (
        "queue = { aqm = \"head-drop\", ecn = true }",
        &["ecn = true", "has no effect on a head-drop queue", "aqm = \"codel\""],
    ),
    ("queue = { aqm = \"codel\", target = \"0 s\" }", &["target = 0 ns", "above 0 s"]),
    (
        "queue = { aqm = \"codel\", target = \"50 ms\", interval = \"50 ms\" }",
        &["interval = 50 ms", "above 50 ms"],
    ),
    ("queue = { size = \"1 BDP\" }", &["size", "`aqm`, `target`, `interval`, `ecn`", "`limit`"]),
    ("queue = { aqm = \"fq\", hash = \"perfect\" }", &["perfect", "stochastic, exact"]),
    ("queue = { aqm = \"fq\", overflow = 1 }", &["expected one of fattest, oldest, arriving"]),
    ("queue = { aqm = \"fq\", flows = 0 }", &["flows = 0", "1 to 65536"]),
    ("queue = { aqm = \"fq-codel\", flows = 65537 }", &["flows = 65537", "1 to 65536"]),
    (
        "queue = { aqm = \"fq\", hash = \"exact\", flows = 16 }",
        &["flows = 16", "no effect with hash = \"exact\""],
    ),
    ("queue = { aqm = \"fq\", quantum = \"255 B\" }", &["quantum = 255 B", "256 B to 1 MB"]),
    ("queue = { aqm = \"fq\", target = \"5 ms\" }", &["target = 5 ms", "aqm = \"fq-codel\""]),
    ("queue = { aqm = \"fq-codel\", drop_batch = 0 }", &["drop_batch = 0", "1 to"]),
    ("queue = { aqm = \"priority\", high = [] }", &["high = []", "no high class"]),
    ("queue = { aqm = \"priority\", high = [\"XF\"] }", &["XF", "\"EF\"", "0 to 63"]),
    ("queue = { aqm = \"priority\", high = [64] }", &["64", "0 to 63"]),
    ("queue = { aqm = \"pie\", target = \"0 s\" }", &["target = 0 ns", "above 0 s"]),
    ("queue = { aqm = \"pie\", tupdate = \"0.5 ms\" }", &["tupdate = 500 us", "1 ms"]),
    ("queue = { aqm = \"pie\", alpha = 0 }", &["alpha = 0", "above 0"]),
    ("queue = { aqm = \"pie\", beta = nan }", &["beta = NaN", "above 0"]),
    ("queue = { aqm = \"red\", min_threshold = 0 }", &["min_threshold = 0", "above 0"]),
    (
        "queue = { aqm = \"red\", max_threshold = 5 }",
        &["max_threshold = 5", "above min_threshold of 5"],
    ),
    ("queue = { aqm = \"cake\", tins = \"diffserv8\" }", &["diffserv8", "diffserv4"]),
    ("queue = { aqm = \"cake\", interval = \"5 ms\" }", &["interval = 5 ms", "above 5 ms"]),
    ("queue = { aqm = \"dualpi2\", coupling = 0.5 }", &["coupling = 0.5", "1 to 100"]),
    (
        "queue = { aqm = \"dualpi2\", max_rtt = \"750 ms\", alpha = 0.1 }",
        &["max_rtt = 750 ms", "alpha"],
    ),
    ("queue = { aqm = \"dualpi2\", max_rtt = \"0 s\" }", &["max_rtt = 0 ns", "1 ms"]),
    ("queue = { aqm = \"dualpi2\", tupdate = \"1 us\" }", &["tupdate = 1 us", "1 ms"]),
    ("queue = { aqm = \"dualpi2\", ecn = true }", &["ecn = true", "dualpi2"]),
    ("queue = { aqm = \"red\", weight = 1.5 }", &["weight = 1.5", "to 1"]),
    ("queue = { aqm = \"red\", max_probability = 2 }", &["2", "0 to 1"]),
];

#[test]
fn invalid_queues_are_rejected_with_line_value_and_allowed_values() {
    common::check_refused(WRONG);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn every_queue_is_read_and_written_again() {
    let read = |text: &str| -> DirectionPatch {
        toml::from_str(text).unwrap_or_else(|error| panic!("{text}\n{error}"))
    };
    let ms = Span::from_millis;
    let queue = |limit, discipline: QueueDiscipline| DirectionPatch {
        queue: Some(QueueConfig { limit, discipline }),
        ..DirectionPatch::default()
    };
    let codel = CoDel { target: ms(20), interval: ms(600), ecn: true };
    let by_flow =
        |overflow| FlowQueueing { hash: FlowHash::Exact, quantum: Bytes::new(300), overflow };
    let high: Vec<Dscp> = [46, 3].map(|code| Dscp::new(code).unwrap()).to_vec();
    for (text, wanted) in [
        ("queue = \"0.25 BDP\"", queue(QueueLimit::Bdp(0.25), DropTail.into())),
        ("queue = \"500 kB\"", queue(QueueLimit::Bytes(Bytes::new(500_000)), DropTail.into())),
        ("queue = \"25 packets\"", queue(QueueLimit::Packets(25), DropTail.into())),
        ("queue = \"100 ms\"", queue(QueueLimit::Time(ms(100)), DropTail.into())),
        (
            "queue = { limit = \"1 packet\", aqm = \"drop-tail\" }",
            queue(QueueLimit::Packets(1), DropTail.into()),
        ),
        (
            "queue = { limit = \"4000 packets\", aqm = \"head-drop\" }",
            queue(QueueLimit::Packets(4000), HeadDrop.into()),
        ),
        ("queue = { aqm = \"codel\" }", queue(QueueLimit::Bdp(1.0), CoDel::default().into())),
        (
            "queue = { limit = \"2 BDP\", aqm = \"codel\", target = \"20 ms\", interval = \"600 \
             ms\", ecn = true }",
            queue(QueueLimit::Bdp(2.0), codel.into()),
        ),
        ("queue = { aqm = \"fq\" }", queue(QueueLimit::Bdp(1.0), Fq::default().into())),
        (
            "queue = { aqm = \"fq\", hash = \"exact\", quantum = \"300 B\", \
             overflow = \"oldest\" }",
            queue(QueueLimit::Bdp(1.0), Fq(by_flow(Overflow::Oldest)).into()),
        ),
        ("queue = { aqm = \"fq-codel\" }", queue(QueueLimit::Bdp(1.0), FqCoDel::default().into())),
        (
            "queue = { aqm = \"fq-codel\", hash = \"exact\", quantum = \"300 B\", \
             overflow = \"arriving\", drop_batch = 8, target = \"20 ms\", \
             interval = \"600 ms\", ce_threshold = \"2 ms\" }",
            queue(
                QueueLimit::Bdp(1.0),
                FqCoDel {
                    queueing: by_flow(Overflow::Arriving),
                    codel,
                    ce_threshold: Some(ms(2)),
                    drop_batch: 8,
                }
                .into(),
            ),
        ),
        ("queue = { aqm = \"priority\" }", queue(QueueLimit::Bdp(1.0), Priority::default().into())),
        (
            "queue = { aqm = \"priority\", high = [\"EF\", 3] }",
            queue(QueueLimit::Bdp(1.0), Priority { high: high.clone() }.into()),
        ),
        (
            "queue = { aqm = \"pie\", target = \"40 ms\", tupdate = \"30 ms\", alpha = 0.01, \
             beta = 1, ecn = true }",
            queue(
                QueueLimit::Bdp(1.0),
                Pie { target: ms(40), tupdate: ms(30), alpha: 0.01, beta: 1.0, ecn: true }.into(),
            ),
        ),
        (
            "queue = { aqm = \"dualpi2\", max_rtt = \"1 s\", tupdate = \"10 ms\", \
             step = \"800 us\", ramp = \"400 us\", overload = \"overflow\" }",
            queue(
                QueueLimit::Bdp(1.0),
                DualPi2 {
                    tupdate: ms(10),
                    alpha: 0.001,
                    beta: 0.3,
                    step: Span::from_micros(800),
                    ramp: Span::from_micros(400),
                    overload: Overload::Overflow,
                    ..DualPi2::default()
                }
                .into(),
            ),
        ),
        (
            "queue = { aqm = \"cake\", tins = \"diffserv4\", target = \"32 ms\", \
             interval = \"650 ms\" }",
            queue(
                QueueLimit::Cake(ms(650)),
                Cake { tins: Tins::Diffserv4, target: ms(32), interval: ms(650) }.into(),
            ),
        ),
        (
            "queue = { aqm = \"red\", min_threshold = 10, max_threshold = 30, gentle = false }",
            queue(
                QueueLimit::Bdp(1.0),
                Red { min_threshold: 10.0, max_threshold: 30.0, gentle: false, ..Red::default() }
                    .into(),
            ),
        ),
    ] {
        assert_eq!(read(text), wanted, "{text}");
        let written = toml::to_string(&wanted).unwrap();
        assert_eq!(read(&written), wanted, "{text}\nwritten as\n{written}");
        let json = serde_json::to_string(&wanted).unwrap();
        assert_eq!(serde_json::from_str::<DirectionPatch>(&json).unwrap(), wanted, "{json}");
    }
}
