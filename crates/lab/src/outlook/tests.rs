use super::rates::MAX_POINTS;
use super::*;
use crate::plan::Changes;
use bentpipe_units::Time;
use std::path::Path;

fn plan(text: &str) -> Plan {
    let text = format!("name = \"x\"\n{text}[workload]\ndownload = \"1 MB\"\n");
    Plan::parse("x.toml", &text, Path::new(""), &Changes::default())
        .unwrap_or_else(|error| panic!("{text}\n{error}"))
}

/// Points of the series `name` of the link or flow `of`.
fn series(recording: &Recording, of: &str, name: &str) -> Vec<(f64, f32)> {
    let trace = &recording.traces[0];
    let link = trace.links.iter().find(|link| link.name == of).map(|link| &link.series);
    let flow = trace.flows.iter().find(|flow| flow.name == of).map(|flow| &flow.series);
    let series = link.or(flow).unwrap_or_else(|| panic!("no `{of}` in {trace:?}"));
    bentpipe_report::points(&series[name], &recording.blob)
}

fn of_hops(text: &str) -> Option<Recording> {
    let plan = plan(text);
    hops::recording(&plan.spec(plan.tasks[0]).unwrap())
}

#[test]
fn a_path_that_never_changes_has_no_outlook() {
    assert!(of_hops("[path]\nprofile = \"geo-50-10\"\n").is_none());
    let plan = plan("[path]\nprofile = \"geo-50-10\"\n");
    assert_eq!(outlook(&plan).unwrap(), None);
}

#[test]
fn rates_and_delays_follow_their_schedules() {
    let recording = of_hops(
        "[path]\n\
         forward.rate.schedule = [{ at = \"0 s\", rate = \"50 Mbps\" }, \
         { at = \"4 s\", rate = \"0 bps\" }, { at = \"5 s\", rate = \"10 Mbps\" }]\n\
         forward.delay.schedule = [{ at = \"0 s\", delay = \"300 ms\" }, \
         { at = \"20 s\", delay = \"250 ms\" }]\n\
         return = { rate = \"5 Mbps\", delay = \"300 ms\" }\n",
    )
    .unwrap();
    let hop = recording.traces[0].links[0].name.trim_end_matches("/forward").to_owned();
    assert_eq!(
        series(&recording, &format!("{hop}/forward"), "rate"),
        [(0.0, 50.0), (4.0, 0.0), (5.0, 10.0), (23.0, 10.0)]
    );
    assert_eq!(series(&recording, &format!("{hop}/return"), "rate"), [(0.0, 5.0), (23.0, 5.0)]);
    let rtt = series(&recording, "path", "rtt");
    assert_eq!(rtt.iter().map(|(_, ms)| *ms).collect::<Vec<_>>(), [600.0, 600.0, 550.0, 550.0]);
    assert_eq!((rtt[2].0, rtt[3].0), (20.0, 23.0));
}

#[test]
fn a_fade_has_its_modcods_and_no_capacity_while_nothing_can_be_decoded() {
    let recording = of_hops(
        "[path]\nreturn = { rate = \"5 Mbps\", delay = \"300 ms\" }\n\
         [path.forward]\ndelay = \"300 ms\"\n[path.forward.rate.acm]\nsymbol_rate = \"10 MBd\"\n\
         modcods = \"dvb-s2\"\nclear_sky_esn0 = \"13 dB\"\nmargin = \"1 dB\"\n\
         loop_delay = \"1.5 s\"\nframing = 1\n\
         fade = { at = \"10 s\", slope = \"2 dB/s\", depth = \"1.9 dB\", hold = \"60 s\" }\n",
    )
    .unwrap();
    let trace = &recording.traces[0];
    let rates = series(&recording, &trace.links[0].name, "rate");
    // As in the test of the fade itself: nothing can be decoded from 10.695 to 11.695 s.
    let zero = rates.iter().position(|(_, mbps)| *mbps == 0.0).unwrap();
    assert!((rates[zero].0 - 10.695).abs() < 1e-6 && (rates[zero + 1].0 - 11.695).abs() < 1e-6);
    assert!(rates[zero + 1].1 > 0.0 && rates[zero + 1].1 < rates[0].1, "{rates:?}");
    assert_eq!(trace.flows[0].marks[0].label, "16APSK 5/6");
    assert!(trace.flows[0].marks.len() > 2);
}

#[test]
fn allocated_capacity_has_its_bounds() {
    let recording = of_hops("[path]\nprofile = \"geo-dama\"\n").unwrap();
    let names: Vec<&str> =
        recording.traces[0].links.iter().map(|link| link.name.as_str()).collect();
    assert!(names.iter().any(|name| name.ends_with("assured to each terminal")), "{names:?}");
}

#[test]
fn each_reconfiguration_of_a_low_orbit_changes_the_rate() {
    let recording = of_hops("[path]\nprofile = \"leo\"\n").unwrap();
    let link = recording.traces[0].links[0].name.clone();
    let rates = series(&recording, &link, "rate");
    assert!(rates.len() > 5, "{rates:?}");
    assert!(rates.iter().all(|(at, _)| *at <= 600.0) && rates.len() <= MAX_POINTS);
}

#[test]
fn an_orbit_has_its_satellites_routes_and_capacity() {
    let text = crate::orbit::constellation_scenario("iridium", "London", "New York");
    let plan = Plan::parse("x.toml", &text, Path::new(""), &Changes::default()).unwrap();
    let spec = plan.spec(plan.tasks[0]).unwrap();
    let recording =
        orbit::recording(plan.cases[0].orbit().unwrap(), spec.mesh.as_ref().unwrap()).unwrap();
    let trace = &recording.traces[0];
    assert_eq!(recording.constellations[0].satellites.names.len(), 66);
    assert!(!trace.routes.is_empty());
    let capacity = series(&recording, &trace.links[0].name, "rate");
    assert_eq!(capacity.last().map(|(at, _)| *at), Some(60.0));
    // Of Iridium's two satellites in sight, one always leads to the other city.
    assert!(capacity.iter().all(|(_, mbps)| *mbps == 10.0), "{capacity:?}");
    let rtt = series(&recording, &trace.flows[0].name, "rtt");
    assert!(rtt.len() > 50 && rtt.iter().all(|(_, ms)| (30.0..120.0).contains(ms)), "{rtt:?}");
    let data = outlook(&plan).unwrap().unwrap();
    assert!(data.contains("bentpipe-report") && data.len() < 200_000, "{}", data.len());
}

#[test]
fn patterns_of_any_size_make_bounded_pictures() {
    // Periods from microseconds to hours, and times beyond all of them.
    let schedule = |unit: &str, repeat: &str| {
        format!("[{{ at = \"0 s\", {unit} }}, {{ at = \"1 us\", {unit} }}], repeat = \"{repeat}\"")
    };
    let recording = of_hops(&format!(
        "[path]\n\
         forward.rate.schedule = {}\n\
         forward.delay = {{ schedule = {} }}\n\
         forward.loss = [{{ model = \"bernoulli\", ratio = 1, repeat = \"3 us\", \
         active = [{{ from = \"1 us\", to = \"2 us\" }}] }}]\n\
         return = {{ rate = \"5 Mbps\", delay.schedule = [{{ at = \"0 s\", delay = \"1 ms\" }}, \
         {{ at = \"100000 s\", delay = \"2 ms\" }}] }}\n",
        schedule("rate = \"1 Mbps\"", "20 us").replace("], repeat", "]\nforward.rate.repeat"),
        schedule("delay = \"1 ms\"", "2 us"),
    ))
    .unwrap();
    assert!(recording.blob.len() < 200_000, "{}", recording.blob.len());
    assert_eq!(recording.first_end, Some(Time::from_secs(600)));
}
