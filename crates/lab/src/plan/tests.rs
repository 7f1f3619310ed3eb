//! Tests of plans: the runs, flows and notes of scenarios.

use super::*;
use crate::testing;
use bentpipe_sim::{DatagramTraffic, Direction, Stack};
use bentpipe_units::{Bytes, Rate, Span};
use std::cell::Cell;

#[test]
fn the_last_axis_varies_fastest() {
    assert_eq!(choices(&[2, 2]), [[0, 0], [0, 1], [1, 0], [1, 1]]);
    assert_eq!(choices(&[]), [[0usize; 0]]);
}

#[test]
fn runs_are_ordered_by_point_variant_and_number() {
    let plan = testing::plan(testing::TWO_VARIANTS);
    let cases: Vec<String> = plan
        .cases
        .iter()
        .map(|case| format!("{} {}", case.point["workload.download"], case.variant))
        .collect();
    assert_eq!(cases, ["2 MB 1rtt", "2 MB 0rtt", "10 MB 1rtt", "10 MB 0rtt"]);
    assert_eq!((plan.tasks.len(), plan.tasks[6]), (24, Task { case: 1, run: 0 }));
}

#[test]
fn a_scenario_without_randomness_has_one_run_and_a_note() {
    let plan = testing::plan(&testing::TWO_VARIANTS.replace("loss = 0.001", "loss = 0"));
    assert_eq!(plan.tasks.len(), 4);
    assert!(plan.notes[0].contains("nothing in this scenario is random"));
    let frames = testing::TWO_VARIANTS.replace("loss = 0.001", "frame = \"10 ms\"");
    assert_eq!(testing::plan(&frames).tasks.len(), 24, "the phase of frames is drawn");
}

#[test]
fn early_data_over_minutes_is_refused_and_a_note_says_so() {
    let noted = |rtt: &str, keys: &str| {
        let path = format!("profile = \"geo-50-10\"\n{rtt}");
        let text = testing::TWO_VARIANTS.replace("profile = \"geo-50-10\"", &path);
        let text = text.replace("handshake = \"0rtt\"", &format!("handshake = \"0rtt\"\n{keys}"));
        let notes = testing::plan(&text).notes;
        notes.iter().any(|note| {
            note.contains("refuse early data") && note.contains("of `0rtt` are then sent")
        })
    };
    let is_noted = |rtt: &str| noted(rtt, "");
    assert!(is_noted("rtt = \"61 s\"") && !is_noted("rtt = \"59 s\""));
    assert!(noted("rtt = \"61 s\"", "quic.initial_rtt = \"9 s\""));
    assert!(!noted("rtt = \"61 s\"", "quic.initial_rtt = \"10 s\""), "accepted at any RTT");
}

#[test]
fn windows_follow_the_path_and_0rtt_implies_a_first_visit() {
    let keys =
        "handshake = \"0rtt\"\nflow_control = { preset = \"auto\", send_buffer = \"0.5 BDP\" }";
    let text = testing::TWO_VARIANTS.replace("handshake = \"0rtt\"", keys);
    let plan = testing::plan(&text);
    let spec = plan.spec(Task { case: 1, run: 3 }).unwrap();
    let mut flow = spec.flows[0].clone();
    let settings = flow.stack.quic_mut().unwrap();
    // Twice the sum of BDP and queue, of 4.0625 MB each.
    assert_eq!(settings.stream_window.get(), 16_250_000);
    assert_eq!(settings.send_buffer.get(), 2_031_250);
    assert_eq!((settings.initial_mtu, settings.max_mtu), (1472, 1472));
    let visits: Vec<(u64, bool)> =
        flow.visits.iter().map(|visit| (visit.objects[0].bytes.get(), visit.measured)).collect();
    assert_eq!(visits, [(40_625_000, false), (2_000_000, true)]);
    assert!(plan.spec(Task { case: 1, run: 0 }).unwrap().trace.is_some());
    assert_eq!(spec.trace, None);
}

#[test]
fn bulk_cbr_and_ping_flows_follow_the_scenario() {
    let text = r#"
name = "flows"
[path]
profile = "geo-50-10"
[defaults]
http = "h2"
[[flow]]
name = "up"
bulk.duration = "30 s"
bulk.direction = "upload"
[[flow]]
name = "steady"
cbr.rate = "5 Mbps"
cbr.duration = "20 s"
[[flow]]
name = "bursts"
cbr.rate = "5 Mbps"
cbr.packet = "200 B"
cbr.on = "1 s"
cbr.off = "2 s"
cbr.duration = "20 s"
cbr.direction = "upload"
[[flow]]
name = "ping"
ping.interval = "100 ms"
ping.duration = "20 s"
"#;
    let plan = testing::plan(text);
    assert_eq!(plan.controlled_flows(), ["up"]);
    let spec = plan.spec(Task { case: 0, run: 0 }).unwrap();
    let visits: Vec<_> = spec.flows.iter().map(|flow| &flow.visits[0]).collect();
    assert_eq!(visits[0].duration, Some(Span::from_secs(30)));
    assert!(visits[0].objects[0].bytes.get() >= 1 << 40);
    let up: Vec<bool> = visits.iter().map(|visit| visit.direction == Direction::Upload).collect();
    assert_eq!(up, [true, false, true, true]);
    let traffic = |index: usize| match spec.flows[index].stack {
        Stack::DatagramTraffic(traffic) => traffic,
        _ => panic!("flow {index} is controlled"),
    };
    let rate = Rate::from_mbps(5);
    assert_eq!(
        traffic(1),
        DatagramTraffic::Constant { rate, packet: Bytes::new(1500), bursts: None }
    );
    let bursts = Some((Span::from_secs(1), Span::from_secs(2)));
    assert_eq!(traffic(2), DatagramTraffic::Constant { rate, packet: Bytes::new(200), bursts });
    assert_eq!(
        traffic(3),
        DatagramTraffic::Ping { interval: Span::from_millis(100), packet: Bytes::new(84) }
    );
    assert!(plan.cases[0].random, "bursts are drawn");
}

#[test]
fn a_flow_can_cross_a_part_of_the_path() {
    let hop = |name: &str| format!("[[path.hop]]\nname = \"{name}\"\nprofile = \"geo-50-10\"\n");
    let flow =
        "[[flow]]\nname = \"a\"\nbulk.duration = \"1 s\"\nfrom_hop = \"y\"\nto_hop = \"z\"\n";
    let text = format!("name = \"hops\"\n[path]\n{}{}{}{flow}", hop("x"), hop("y"), hop("z"));
    assert_eq!(
        testing::plan(&text).spec(Task { case: 0, run: 0 }).unwrap().flows[0].ends,
        Some((1, 3))
    );
    let wrong = text.replace("to_hop = \"z\"", "to_hop = \"x\"");
    let error = Plan::parse("test.toml", &wrong, Path::new("."), &Changes::default()).unwrap_err();
    assert!(error.message.contains("the hop `x` before `y`"), "{error}");
}

#[test]
fn start_jitter_depends_only_on_the_run() {
    let text = testing::TWO_VARIANTS.replace("[workload]", "[workload]\nstart_jitter = \"1 s\"");
    let jitter = |run| {
        testing::plan(&text).spec(Task { case: 0, run }).unwrap().flows[0].visits[0].start_jitter
    };
    assert_eq!(jitter(1), jitter(1));
    assert_ne!(jitter(1), jitter(2));
}

#[test]
fn expectations_about_removed_values_are_ignored_with_a_note() {
    let text = testing::TWO_VARIANTS
        .replace("relative_to = \"1rtt\"", "point = { \"workload.download\" = \"10 MB\" }");
    let changes =
        Changes { sets: vec!["workload.download=2 MB".to_owned()], seed: Some(9), repeat: Some(2) };
    let plan = Plan::parse("test.toml", &text, Path::new("."), &changes).unwrap();
    assert_eq!((plan.rules.len(), plan.tasks.len(), plan.seed), (0, 4, 9));
    assert!(plan.notes.iter().any(|note| note.contains("1 of 1 expectations")), "{:?}", plan.notes);
    assert!(
        plan.source.starts_with("# --set workload.download=2 MB\n# --set seed=9"),
        "{}",
        plan.source
    );
}

#[test]
fn a_changed_text_keeps_its_comments_and_its_order() {
    let text = format!("# What it is about.\n{}", testing::TWO_VARIANTS);
    let changes = Changes {
        sets: vec!["path.profile=geo-250-3".to_owned()],
        repeat: Some(7),
        ..Changes::default()
    };
    let plan = Plan::parse("test.toml", &text, Path::new("."), &changes).unwrap();
    let changed = plan.source.replace("geo-250-3", "geo-50-10");
    let kept: Vec<&str> = changed.lines().filter(|line| !line.starts_with("# --")).collect();
    let lost = text.lines().find(|line| !line.starts_with("repeat") && !kept.contains(line));
    assert_eq!(lost, None, "{changed}");
    assert!(changed.contains("repeat = 7"), "{changed}");
    let again = Plan::parse("test.toml", &plan.source, Path::new("."), &Changes::default());
    assert_eq!(again.unwrap().tasks.len(), plan.tasks.len());
}

/// Returns the settings of a QUIC flow with `keys`.
fn quic(keys: &str) -> bentpipe_quic::QuicSettings {
    let text = format!(
        "name = \"x\"\n[path]\nprofile = \"geo-50-10\"\n[workload]\ndownload = \"1 MB\"\n\
         [defaults]\n{keys}\n"
    );
    let mut spec = testing::plan(&text).spec(Task { case: 0, run: 0 }).unwrap();
    assert_eq!(spec.flows[0].visits.len(), 1, "there is no implied first visit");
    spec.flows[0].stack.quic_mut().unwrap().clone()
}

#[test]
fn a_variant_without_keys_has_the_defaults_of_bentpipe() {
    let settings = quic("");
    assert_eq!(settings.ack, bentpipe_quic::AckRule::Auto);
    assert_eq!(settings.congestion.resume.as_str(), "careful");
    assert_eq!(settings.congestion.slow_start.as_str(), "auto");
    assert_eq!(settings.flow_control, bentpipe_quic::FlowControlRule::tuned());
    assert_eq!(
        (settings.connection_window, settings.stream_window),
        (Bytes::from_mb(4), Bytes::from_mb(64))
    );
    assert_eq!(quic("preset = \"bentpipe\""), settings);
}

#[test]
fn the_preset_rfc_keeps_bentpipes_windows_and_can_be_overridden() {
    let (bentpipe, settings) = (quic(""), quic("preset = \"rfc\""));
    assert_eq!(settings.ack, bentpipe_quic::AckRule::Stack);
    let config = &settings.congestion;
    let names = (config.controller.as_str(), config.slow_start.as_str(), config.resume.as_str());
    assert_eq!(names, ("cubic", "standard", "none"));
    assert_eq!((settings.initial_window, settings.pacing), (10, bentpipe.pacing));
    assert_eq!(
        (settings.connection_window, &settings.flow_control),
        (bentpipe.connection_window, &bentpipe.flow_control)
    );
    assert_eq!(
        quic("preset = \"rfc\"\nslow_start = \"auto\"").congestion.slow_start.as_str(),
        "auto"
    );
}

#[test]
fn windows_of_a_preset_or_a_key_replace_automatic_tuning() {
    let settings = quic("flow_control.preset = \"chrome\"");
    assert!(
        !settings.flow_control.tuned && settings.connection_window == Bytes::new(15 << 20),
        "{settings:?}"
    );
    let settings = quic("flow_control.connection_window = \"1 MB\"");
    assert!(
        !settings.flow_control.tuned && settings.connection_window == Bytes::from_mb(1),
        "{settings:?}"
    );
    let settings = quic(
        "flow_control = { connection_window = \"tuned\", initial_receive_window = \"64 kB\" }",
    );
    assert!(
        settings.flow_control.tuned && settings.connection_window == Bytes::new(64_000),
        "{settings:?}"
    );
}

#[test]
fn defaults_variant_and_flow_are_merged_key_by_key() {
    let text = "name = \"x\"\n[path]\nprofile = \"geo-50-10\"\n[defaults]\n\
         quic = { pacing = false, initial_rtt = \"1 s\" }\n\
         parameters.cubic = { beta = 0.8, c = 0.5 }\n[[variant]]\nname = \"v\"\n\
         quic.initial_rtt = \"2 s\"\nparameters.cubic.beta = 0.6\n[[flow]]\nname = \"f\"\n\
         download = \"1 MB\"\nack = \"1:4\"\nquic.ack_by = \"receiver\"\n";
    let mut spec = testing::plan(text).spec(Task { case: 0, run: 0 }).unwrap();
    let settings = spec.flows[0].stack.quic_mut().unwrap();
    assert_eq!((settings.pacing, settings.initial_rtt), (false, Span::from_secs(2)));
    assert_eq!(
        (settings.ack, settings.ack_by),
        (bentpipe_quic::AckRule::Every(4), bentpipe_quic::AckBy::Receiver)
    );
    let cubic = &settings.congestion.parameters["cubic"];
    assert_eq!((cubic["beta"], cubic["c"]), (0.6, 0.5));
}

#[test]
fn a_key_is_refused_only_if_no_flow_that_inherits_it_can_use_it() {
    let base = "name = \"x\"\n[path]\nprofile = \"geo-50-10\"\n[workload]\ndownload = \"1 MB\"\n\
         [defaults]\nquic.pacing = false\ntcp.ecn = true\n[[variant]]\nname = \"quic\"\n";
    let tcp = "[[variant]]\nname = \"tcp\"\ntransport = \"tcp\"\n";
    let parse = |text: &str| Plan::parse("test.toml", text, Path::new("."), &Changes::default());
    assert!(parse(&format!("{base}{tcp}")).is_ok());
    let error = parse(base).unwrap_err();
    assert!(error.message.starts_with("`tcp.ecn` has no effect over QUIC"), "{error}");
    let swept = format!("{base}[sweep]\n\"defaults.transport\" = [\"quic\", \"tcp\"]\n");
    assert!(parse(&swept).is_ok(), "one point uses each");
}

#[test]
fn an_epoch_can_be_a_toml_date_time() {
    let text = "name = \"x\"\n[path.orbit]\nconstellation = \"iridium\"\n\
         links.all.rate = \"1 Mbps\"\nepoch = EPOCH\n[workload]\nfrom = \"51.5,-0.1\"\n\
         to = \"Tokyo\"\ndownload = \"1 MB\"\n";
    let begins = |epoch: &str| {
        let plan = testing::plan(&text.replace("EPOCH", epoch));
        plan.cases[0].orbit().unwrap().network.begins()
    };
    assert_eq!(begins("2024-05-01T12:00:00Z"), begins("\"2024-05-01T12:00:00Z\""));
    let wrong = text.replace("EPOCH", "2024-05-01");
    let error = Plan::parse("test.toml", &wrong, Path::new("."), &Changes::default()).unwrap_err();
    assert!(error.message.contains("`2024-05-01`") && error.line == 5, "{error}");
}

#[test]
fn cases_beyond_a_limit_are_refused_before_they_are_planned() {
    let text = "name = \"x\"\n[path]\nprofile = \"geo-50-10\"\n[workload]\ndownload = \"1 MB\"\n\
         [[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n\
         [sweep]\n\"workload.download\" = [\"1 MB\", \"2 MB\", \"3 MB\"]\n";
    let within = |limit| {
        Plan::parse_up_to("test.toml", text, Path::new("."), &Changes::default(), limit)
            .map(|plan| plan.cases.len())
    };
    let up_to = |max_cases| PlanLimit { max_cases, ..PlanLimit::NONE };
    assert_eq!(within(up_to(6)).unwrap(), 6);
    let error = within(up_to(5)).unwrap_err();
    assert!(error.message.contains("6 sweep points") && error.line == 11, "{error}");
    // Nor is anything planned that nobody waits for any more.
    let asked = Cell::new(0);
    let stop = || asked.replace(asked.get() + 1) == 2;
    let error = within(PlanLimit { stop: &stop, ..PlanLimit::NONE }).unwrap_err();
    assert!(error.message.contains("4 of 6 sweep points") && error.line == 11, "{error}");
    assert_eq!(asked.get(), 3);
}
