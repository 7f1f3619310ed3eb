//! Whole imports: what they write, what they say, and a link that replays it.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests read files")]

use bentpipe_link::{
    AtEnd, DirectionConfig, DirectionModel, DirectionPatch, Ecn, Enqueue, Event, InputFiles, Link,
    LinkContext, Packet, ReplayClock,
};
use bentpipe_recordings::{Direction, Import, Input, Options};
use bentpipe_units::{Rate, Span, Time};
use std::path::PathBuf;

const RECORDED: &str = "../../scenarios/validation/recorded";

fn input(path: &str) -> Input {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let name = path.rsplit('/').next().unwrap().to_owned();
    Input { name, bytes, format: None, direction: None }
}

fn with_rate() -> Options {
    Options { rate: Some(Rate::from_mbps(1000)), ..Options::default() }
}

fn import(inputs: Vec<Input>, options: &Options) -> Import {
    Import::new(inputs, options).unwrap_or_else(|error| panic!("{error}"))
}

fn file<'a>(import: &'a Import, name: &str) -> &'a str {
    let found = import.files.iter().find(|(own, _)| own == name);
    found.map_or_else(|| panic!("no {name}"), |(_, text)| text)
}

/// The direction as a link, from the scenario's own key.
fn model(import: &Import, direction: &str) -> DirectionModel {
    let scenario = file(import, "scenario.toml");
    let line = scenario.lines().find_map(|line| line.strip_prefix(&format!("{direction} = ")));
    let table: toml::Table = toml::from_str(&format!("direction = {}", line.unwrap())).unwrap();
    let patch: DirectionPatch = table["direction"].clone().try_into().unwrap();
    let texts = import.files.iter().map(|(name, text)| (PathBuf::from(name), text.as_str().into()));
    let files = InputFiles::from_texts(texts.collect());
    let patch = patch.with_recording(&files).unwrap();
    let mut config = DirectionConfig::new(Rate::from_mbps(1), Span::ZERO);
    patch.apply_to(&mut config);
    config.load(&files).unwrap_or_else(|error| panic!("{error}"))
}

/// When each packet of `bytes`, sent at `times`, arrives over the link; `None` if it is lost.
fn arrivals(model: &DirectionModel, times: &[Time], bytes: u32) -> Vec<Option<Time>> {
    let context =
        LinkContext { rtt: Span::from_millis(50), seed: 1, run: 0, name: "test".to_owned() };
    let mut link: Link<usize> = Link::new(model, &context, 1);
    let mut arrived = vec![None; times.len()];
    let mut drain = |link: &mut Link<usize>, until: Time| {
        while let Some(now) = link.next_deadline().filter(|due| *due < until) {
            while let Some(event) = link.poll(now) {
                if let Event::Delivered { packet, .. } = event {
                    arrived[packet.payload] = Some(now);
                }
            }
        }
    };
    for (index, at) in times.iter().enumerate() {
        drain(&mut link, *at);
        let queued = link.enqueue(*at, 0, Packet::new(bytes, Ecn::NotEct, index));
        assert!(matches!(queued, Enqueue::Queued));
    }
    drain(&mut link, Time::MAX);
    arrived
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = (sorted.len() - 1) as f64 * share;
    let (low, high) = (at.floor() as usize, at.ceil() as usize);
    sorted[low] + (sorted[high] - sorted[low]) * (at - low as f64)
}

#[track_caller]
fn assert_near(what: &str, found: f64, expected: f64, within: f64) {
    assert!((found - expected).abs() <= within, "{what}: {found}, expected {expected} ± {within}");
}

/// V2 of specs/recorded-paths.md, with each wait counted once.
#[test]
fn a_lone_packet_over_both_files_of_leocc_waits_once() {
    let inputs =
        ["leocc-rate.trace.gz", "leocc-delay.txt"].map(|name| input(&format!("{RECORDED}/{name}")));
    let import = import(inputs.into(), &with_rate());
    let inferred = import.summary.inferred.join("\n");
    for words in [
        "leocc-rate.trace.gz: direction up, which no file says (`--direction down`)",
        "begins 0 ms after leocc-rate.trace.gz: 8 of 8 outages are peaks of the delay",
        "outages at 8.69 s + 15 s",
        "medians of 9 slots less a wait for grants of 2.16 ms",
        "148 values that outages had raised",
    ] {
        assert!(inferred.contains(words), "{words}: {inferred}");
    }
    let up = model(&import, "return");
    let length = up.recorded_sources().iter().map(|source| source.length).min().unwrap();
    let clock = ReplayClock { start: Span::ZERO, length, at_end: AtEnd::Cut, period: None };
    let mut random = bentpipe_link::random::stream(3, 0, "phase");
    let times: Vec<Time> = (0..11_999)
        .map(|number| Time::from_nanos(number * 10_000_000 + random.below(10_000_000)))
        .collect();
    let arrived = arrivals(&up.replayed(&clock), &times, 1500);
    let mut delays: Vec<f64> = arrived
        .iter()
        .zip(&times)
        .map(|(arrived, sent)| arrived.unwrap().since(*sent).as_millis_f64())
        .collect();
    delays.sort_by(f64::total_cmp);
    for (share, ms) in [(0.05, 7.9), (0.5, 10.1), (0.95, 13.6)] {
        assert_near(&format!("quantile {share}"), quantile(&delays, share), ms, 0.3);
    }
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    assert_near("mean", mean, 10.56, 0.3);
    assert_near("mean of the file", mean, 10.67, 1.0);
    // One of the twelve longest waits in eight outages, of packets 10 ms apart.
    assert_near("p99.9", quantile(&delays, 0.999), 78.0, 10.0);
}

/// V4 of specs/recorded-paths.md, with invented pings of a sender that waits for each answer.
#[test]
fn pings_at_the_times_of_the_file_have_its_rtts_and_losses() {
    let mut random = bentpipe_link::random::stream(4, 0, "pings");
    let (mut table, mut sent, mut rtts) = (String::new(), Vec::new(), Vec::new());
    let mut at = 1_700_000_000_000_000_000u64;
    for number in 0..5000 {
        let rtt = 20_000 + random.below(100_000);
        let is_lost = random.chance(0.03);
        sent.push(Time::from_nanos(at - 1_700_000_000_000_000_000));
        let waited = if is_lost { 5_000_000 } else { rtt };
        let answer = at + waited * 1000;
        let stamp = if is_lost { at } else { answer };
        let ms = if is_lost { "-1".to_owned() } else { format!("{:.3}", rtt as f64 / 1e3) };
        table +=
            &format!("{}.{:09}\t{number}\t{ms}\n", stamp / 1_000_000_000, stamp % 1_000_000_000);
        rtts.push((!is_lost).then_some(rtt * 1000));
        at = answer + 100_000_000;
    }
    let own =
        Input { name: "pings.tsv".to_owned(), bytes: table.into(), format: None, direction: None };
    let import = import(vec![own], &with_rate());
    let transmission = Rate::from_mbps(1000).time_for(bentpipe_units::Bytes::new(84)).as_nanos();
    let there = arrivals(&model(&import, "return"), &sent, 84);
    let answers: Vec<Time> = there.iter().flatten().copied().collect();
    let mut back = arrivals(&model(&import, "forward"), &answers, 84).into_iter();
    for (index, (there, rtt)) in there.iter().zip(&rtts).enumerate() {
        assert_eq!(there.is_some(), rtt.is_some(), "ping {index}");
        if let (Some(_), Some(rtt)) = (there, rtt) {
            let came = back.next().flatten().unwrap();
            let found = came.since(sent[index]).as_nanos() - 2 * transmission;
            assert_eq!(found, *rtt, "ping {index}");
        }
    }
}

#[test]
fn files_that_do_not_go_together_are_refused() {
    let ping = |start: u64, name: &str| {
        let line =
            |n: u64| format!("[{}.5] 64 bytes from x: icmp_seq={n} ttl=1 time=40 ms\n", start + n);
        let bytes = (1..=60).map(line).collect::<String>().into_bytes();
        Input { name: name.to_owned(), bytes, format: None, direction: None }
    };
    let iperf = |start: u64| {
        let interval = |n: u64| {
            format!("{{\"streams\": [{{\"start\": {n}, \"end\": {}, \"bytes\": 1000000}}]}}", n + 1)
        };
        let intervals: Vec<String> = (0..30).map(interval).collect();
        let text = format!(
            "{{\"start\": {{\"timestamp\": {{\"timesecs\": {start}}}, \"tcp_mss_default\": 1448, \
             \"test_start\": {{\"protocol\": \"TCP\", \"reverse\": 1, \"blksize\": 131072}}}}, \
             \"intervals\": [{}]}}",
            intervals.join(", ")
        );
        Input { name: "iperf3.json".into(), bytes: text.into(), format: None, direction: None }
    };
    let refused = |inputs: Vec<Input>, options: &Options, words: &str| {
        let error = Import::new(inputs, options).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    let none = Options::default();
    refused(
        vec![ping(1_700_000_000, "ping.txt")],
        &none,
        "no file has the rate down; allowed: `--rate RATE`",
    );
    refused(vec![iperf(1_700_000_000)], &with_rate(), "no file has a delay");
    let apart = vec![ping(1_700_000_000, "ping.txt"), iperf(1_800_000_000)];
    refused(apart, &with_rate(), "iperf3.json begins after ping.txt ends");
    let twice = vec![ping(1_700_000_000, "a.txt"), ping(1_700_000_000, "b.txt")];
    refused(twice, &with_rate(), "a.txt and b.txt both have delays");
    refused(vec![input("tests/formats/irtt.json")], &with_rate(), "it has 5 values; allowed: 20");
    let trace: String = (1..6000).map(|ms| format!("{}\n", ms * 2)).collect();
    let trace = |name: &str| Input {
        name: name.into(),
        bytes: trace.clone().into(),
        format: None,
        direction: None,
    };
    let both = vec![trace("a.trace"), ping(1_700_000_000, "ping.txt")];
    refused(both.clone(), &with_rate(), "`--offset 0s` if they begin together");
    let options = Options { offset: Some(Span::ZERO), ..with_rate() };
    assert!(Import::new(both, &options).is_ok());
    let twice = vec![trace("a.trace"), trace("b.trace"), ping(1, "ping.txt")];
    refused(twice, &with_rate(), "b.trace is the second file with a rate up");
    // What goes together: the time that both have.
    let import = import(vec![ping(1_700_000_000, "ping.txt"), iperf(1_700_000_010)], &with_rate());
    assert!(file(&import, "down-rate.csv").contains("# start: 2023-11-14T22:13:30Z"));
    assert!(file(&import, "up.csv").contains("time_s,delay_ms\n"));
    let down = model(&import, "forward");
    assert_eq!(down.rate_at(Time::from_secs(3)).as_bps(), 8_287_293);
    assert_eq!(down.delay_at(Time::from_secs(3)), Span::from_millis(20));
    assert!(file(&import, "ORIGIN.md").contains("| `ping.txt` | "));
    let direction = Input { direction: Some(Direction::Down), ..trace("c.trace") };
    let options = Options { offset: Some(Span::ZERO), ..with_rate() };
    let import = Import::new(vec![direction, ping(1, "ping.txt")], &options).unwrap();
    assert!(
        file(&import, "scenario.toml")
            .contains("forward = { recording = \"down.csv\", rate = { trace = \"down.trace\" }")
    );
}
