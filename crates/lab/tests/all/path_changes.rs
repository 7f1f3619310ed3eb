//! Changes of hops at known times: what senders and the results learn of them.

#![allow(clippy::unwrap_used)]

use bentpipe_lab::{Changes, Lab, Plan, Task};
use bentpipe_sim::RunSpec;
use bentpipe_units::{Span, Time};
use std::path::Path;

const STARLINK: &str = r#"
name = "starlink"
repeat = 2
time_limit = "1 min"
[path]
profile = "starlink-2026"
path_change_notice = "500 ms"
[workload]
bulk = { duration = "20 s", direction = "upload" }
[defaults]
transport = "tcp"
congestion = "bbr1"
preset = "draft"
[[variant]]
name = "unaware"
[[variant]]
name = "aware"
path_change_response = "probe"
"#;

fn read(text: &str) -> Result<Plan, String> {
    Plan::parse("test.toml", text, Path::new("."), &Changes::default())
        .map_err(|error| error.to_string())
}

fn spec(plan: &Plan, run: u64) -> RunSpec {
    plan.spec(Task { case: 0, run }).unwrap()
}

fn rtt(spec: &RunSpec, at: Time) -> Span {
    let directions = spec.hops.iter().flat_map(|hop| [&hop.forward, &hop.reverse]);
    directions.map(|direction| direction.delay_at(at)).fold(Span::ZERO, |sum, delay| sum + delay)
}

/// S15 of specs/starlink-as-measured.md: on the virtual clock changes come exactly at the drawn
/// times.
#[test]
fn a_run_knows_when_its_hop_changes_and_its_senders_are_told_before() {
    let plan = read(STARLINK).unwrap();
    let [one, other] = [0, 1].map(|run| spec(&plan, run));
    let [first, second] = [&one, &other].map(|spec| spec.reconfigurations[0].first);
    assert!(first != second && first <= Span::from_secs(15), "each run draws its own: {first}");
    for spec in [&one, &other] {
        let hop = &spec.reconfigurations[0];
        assert_eq!((hop.hop.as_str(), hop.period), ("access", Span::from_secs(15)));
        assert_eq!(hop.phase, Some(Span::from_secs(12)));
        let (known, notice) = spec.path_changes[0];
        assert_eq!(notice.at, Time::ZERO + hop.first);
        assert_eq!(known, notice.at.saturating_sub(Span::from_millis(500)));
        assert_eq!(notice.rtt_before, Some(rtt(spec, Time::ZERO)));
        assert_eq!(notice.rtt_after, Some(rtt(spec, notice.at)));
        assert_ne!(notice.rtt_before, notice.rtt_after);
        assert!(notice.outage >= Span::from_millis(59), "{}", notice.outage);
        let gaps: Vec<Span> =
            spec.path_changes.windows(2).map(|two| two[1].1.at - two[0].1.at).collect();
        assert!(gaps.iter().all(|gap| *gap == Span::from_secs(15)), "{gaps:?}");
    }
}

#[test]
fn results_have_the_changes_and_a_response_matters() {
    let plan = read(STARLINK).unwrap();
    let results = Lab::new().run(STARLINK).unwrap();
    let runs = &results.runs;
    let first = |run: usize| runs[run].reconfigurations[0].first_s;
    let drawn = spec(&plan, 0).reconfigurations[0].first.as_secs_f64();
    assert_eq!((first(0), runs[0].reconfigurations[0].period_s), (drawn, 15.0));
    let goodput = |run: usize| runs[run].flows[0].metrics.goodput_mbps;
    assert_ne!(goodput(0), goodput(2), "the variants differ in their response alone");
}

#[test]
fn a_notice_without_changes_is_refused() {
    let without = STARLINK.replace("starlink-2026", "geo-50-10");
    let error = read(&without).unwrap_err();
    assert!(error.contains("no effect on a path without known changes"), "{error}");
    let two = r#"
name = "two"
path.hop = [
    { name = "a", forward = { rate = "9 Mbps", delay = "9 ms" }, return = { rate = "9 Mbps", delay = "9 ms" }, reconfiguration = { phase = "3 s" } },
    { name = "b", forward = { rate = "9 Mbps", delay = "9 ms" }, return = { rate = "9 Mbps", delay = "9 ms" }, reconfiguration = { phase = "3 s" } },
]
workload.download = "1 MB"
"#;
    let error = read(two).unwrap_err();
    assert!(error.contains("`phase` of a second hop"), "{error}");
    let odd = two.replacen("phase = \"3 s\"", "phase = \"3 s\", period = \"7 s\"", 1);
    assert!(read(&odd).unwrap_err().contains("a part of a minute"));
}
