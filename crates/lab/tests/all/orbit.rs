//! Tests of scenarios with an orbit: specifications, notes and run directories.

#![allow(clippy::unwrap_used)]

use bentpipe_lab::{Changes, Options, Plan, Simulator, Task, Threads, record};
use bentpipe_orbit::HandoverLoss;
use bentpipe_orbit::{RouteUpdates, SatelliteSelection};
use bentpipe_quic::congestion::PathChangeResponse;
use bentpipe_sim::{RunSpec, Stack};
use bentpipe_units::{Rate, Span};
use std::num::NonZeroUsize;
use std::path::Path;

const TORONTO: &str = r#"
name = "toronto"
repeat = 3
time_limit = "1 min"
[path.orbit]
constellation = "kuiper-630"
max_isl_length = "5443 km"
max_ground_link_length = "1260 km"
links.all = { rate = "10 Mbps", queue = "1 BDP" }
links.fibre = { rate = "1 Gbps" }
path_change_notice = "500 ms"
handover_loss = "queued"
[[flow]]
name = "short"
from = "Toronto"
to = "Washington"
upload = "1 MB"
congestion = "geo-reno"
path_change_response = "drain"
[[flow]]
name = "long"
from = "wuhan"
to = "WASHINGTON"
upload = "1 MB"
transport = "tcp"
"#;

fn read(text: &str, sets: &[&str]) -> Result<Plan, String> {
    let changes =
        Changes { sets: sets.iter().map(|set| (*set).to_owned()).collect(), ..Changes::default() };
    Plan::parse("test.toml", text, Path::new("."), &changes).map_err(|error| error.to_string())
}

fn spec(plan: &Plan, run: u64) -> RunSpec {
    plan.spec(Task { case: 0, run }).unwrap()
}

#[test]
fn an_orbit_becomes_a_mesh_with_flows_between_stations() {
    let plan = read(TORONTO, &[]).unwrap();
    assert_eq!(plan.tasks.len(), 1, "nothing is random");
    let spec = spec(&plan, 0);
    let mesh = spec.mesh.as_ref().unwrap();
    assert!(spec.hops.is_empty());
    assert_eq!(
        (mesh.network.satellites(), mesh.step),
        (34 * 34, RouteUpdates::Stepped(Span::from_millis(100)))
    );
    assert_eq!(
        (mesh.handover, mesh.path_change_notice),
        (HandoverLoss::Queued, Some(Span::from_millis(500)))
    );
    let rates = [&mesh.links.isl, &mesh.links.up, &mesh.links.down, &mesh.fibre]
        .map(|model| model.nominal_rate());
    assert_eq!(rates, [10, 10, 10, 1000].map(Rate::from_mbps));
    // All spellings of a city are one station.
    let names: Vec<&str> =
        mesh.network.stations().iter().map(|station| station.name.as_str()).collect();
    assert_eq!(names, ["Toronto", "Washington", "Wuhan"]);
    assert_eq!(
        spec.flows.iter().map(|flow| flow.ends).collect::<Vec<_>>(),
        [Some((0, 1)), Some((2, 1))]
    );
}

#[test]
fn controllers_get_the_distance_and_the_response_to_path_changes() {
    let spec = spec(&read(TORONTO, &[]).unwrap(), 0);
    let configs = spec.flows.iter().map(|flow| match &flow.stack {
        Stack::Quic(settings) => &settings.congestion,
        Stack::Tcp(stack) => &stack.congestion,
        Stack::DatagramTraffic(_) | Stack::Call(_) | Stack::Program(_) => {
            panic!("no congestion control")
        }
    });
    let configs: Vec<_> = configs.collect();
    // Great circles on a sphere are 563 km and 12,199 km. The ellipsoid differs by up to 0.5 %.
    let km: Vec<u64> = configs.iter().map(|config| config.distance_m.unwrap() / 1000).collect();
    assert!(km[0].abs_diff(563) < 10 && km[1].abs_diff(12_199) < 61, "{km:?}");
    assert_eq!(
        configs[0].path_change,
        PathChangeResponse { pre_drain: true, ..PathChangeResponse::default() }
    );
    assert_eq!(configs[1].path_change, PathChangeResponse::default());
}

#[test]
fn the_base_rtt_is_the_longest_of_the_flows_at_the_start() {
    let both = read(TORONTO, &[]).unwrap();
    let path = both.path().unwrap();
    assert!((90.0..120.0).contains(&path.rtt_ms), "{}", path.rtt_ms);
    // 10 Mbps for one RTT.
    assert!(path.bdp_bytes.abs_diff((path.rtt_ms * 1250.0) as u64) <= 1, "{}", path.bdp_bytes);
    let short = read(TORONTO, &["flow.long.from=New York"]).unwrap();
    assert!(
        (5.0..15.0).contains(&short.path().unwrap().rtt_ms),
        "{}",
        short.path().unwrap().rtt_ms
    );
}

#[test]
fn each_run_draws_its_start_with_at_random() {
    let plan = read(TORONTO, &["path.orbit.at=random", "path.orbit.start_window=97 min"]).unwrap();
    assert_eq!(plan.tasks.len(), 3);
    let begins = |run| spec(&plan, run).mesh.unwrap().network.begins();
    assert_eq!(begins(1), begins(1));
    assert_ne!(begins(0), begins(1));
    let first = plan.cases[0].orbit().unwrap().network.begins();
    assert!((0..3).all(|run| begins(run).since(first) < Span::from_secs(97 * 60)));
    let fixed = read(TORONTO, &["path.orbit.at=90 s"]).unwrap();
    assert_eq!(spec(&fixed, 0).mesh.unwrap().network.begins().since(first), Span::from_secs(90));
}

#[test]
fn keys_of_an_orbit_can_be_swept() {
    let text = format!(
        "{TORONTO}[sweep]\n\"path.orbit.links.all.rate\" = [\"5 Mbps\", \"25 Mbps\"]\n\
         \"path.orbit.at\" = [\"0 s\", \"40 s\"]\n"
    );
    let plan = read(&text, &[]).unwrap();
    let of = |case| plan.spec(Task { case, run: 0 }).unwrap().mesh.unwrap();
    let rates: Vec<Rate> = (0..4).map(|case| of(case).links.up.nominal_rate()).collect();
    assert_eq!(rates, [5, 5, 25, 25].map(Rate::from_mbps));
    assert_eq!(of(1).network.begins().since(of(0).network.begins()), Span::from_secs(40));
}

#[test]
fn shells_have_links_of_their_own() {
    let text = TORONTO.replace("kuiper-630", "kuiper").replace(
        "links.fibre",
        "links.shell.kuiper-610 = { up = { rate = \"4 Mbps\" }, down.queue = \"9 packets\" }\n\
         links.fibre",
    );
    let plan = read(&text, &[]).unwrap();
    let mesh = spec(&plan, 0).mesh.unwrap();
    // What a shell leaves out it has from its kind.
    let own = &mesh.shells[&1];
    let rates = [&own.isl, &own.up, &own.down].map(|model| model.nominal_rate());
    assert_eq!(rates, [10, 4, 10].map(Rate::from_mbps));
    assert_eq!(mesh.shells.len(), 1);
    assert_eq!(mesh.links.up.nominal_rate(), Rate::from_mbps(10));
    // The slowest link sizes windows, and the summary names the shell.
    let path = plan.path().unwrap();
    assert!(path.bdp_bytes.abs_diff((path.rtt_ms * 500.0) as u64) <= 1, "{}", path.bdp_bytes);
    let names: Vec<&str> = path.hops.iter().map(|hop| hop.name.as_str()).collect();
    let expected =
        ["ground", "ground (kuiper-610)", "inter-satellite", "inter-satellite (kuiper-610)"];
    assert_eq!(names, expected);
    let swept = read(&text, &["path.orbit.links.shell.kuiper-610.up.rate=7 Mbps"]).unwrap();
    let mesh = spec(&swept, 0).mesh.unwrap();
    assert_eq!(mesh.shells[&1].up.nominal_rate(), Rate::from_mbps(7));
}

#[test]
fn shells_that_all_have_rates_need_no_other() {
    let text = TORONTO.replace("rate = \"10 Mbps\", ", "").replace(
        "links.fibre",
        "links.shell.kuiper-630 = { up.rate = \"4 Mbps\", down.rate = \"5 Mbps\" }\n\
         links.isl.rate = \"1 Gbps\"\nlinks.fibre",
    );
    let plan = read(&text, &[]).unwrap();
    let mesh = spec(&plan, 0).mesh.unwrap();
    let own = &mesh.shells[&0];
    let rates = [&own.isl, &own.up, &own.down].map(|model| model.nominal_rate());
    assert_eq!(rates, [1000, 4, 5].map(Rate::from_mbps));
    let names: Vec<String> = plan.path().unwrap().hops.iter().map(|hop| hop.name.clone()).collect();
    assert!(!names.contains(&"ground".to_owned()), "{names:?}");
}

#[test]
fn stations_use_their_own_keys_and_default_to_those_of_the_orbit() {
    let text = r#"
name = "stations"
[path.orbit]
constellation = "starlink-550"
isl = "none"
satellite_selection = "slots"
handover_outage = "80 ms"
min_elevation_deg = 40
links.all = { rate = "20 Mbps" }
station = [
  { name = "terminal", latitude_deg = 50, longitude_deg = 4, altitude_m = 300 },
  { name = "gateway", city = "Paris", satellite_selection = "all", forwards = true, min_elevation_deg = 10 },
]
fibre = [{ from = "gateway", to = "London", delay = "3 ms" }]
[workload]
from = "terminal"
to = "London"
download = "1 MB"
"#;
    let plan = read(text, &[]).unwrap();
    let mesh = spec(&plan, 0).mesh.unwrap();
    let [terminal, gateway, london] = mesh.network.stations() else { panic!("three stations") };
    assert_eq!(
        (terminal.selection, terminal.handover_outage),
        (SatelliteSelection::Slots, Span::from_millis(80))
    );
    assert_eq!(
        (terminal.min_elevation_deg, terminal.place.altitude_m, terminal.forwards),
        (Some(40.0), 300.0, false)
    );
    assert_eq!((gateway.selection, gateway.handover_outage), (SatelliteSelection::All, Span::ZERO));
    assert_eq!((gateway.min_elevation_deg, gateway.forwards), (Some(10.0), true));
    assert_eq!(
        (london.name.as_str(), mesh.network.fibres()[0].2),
        ("London", Span::from_millis(3))
    );
    assert!(
        plan.notes.iter().all(|note| !note.contains("London")),
        "a station with a fibre needs no satellite: {:?}",
        plan.notes
    );
    // Two uplinks and two downlinks of at least 550 km, and the fibre twice.
    assert!((13.0..25.0).contains(&plan.path().unwrap().rtt_ms), "{}", plan.path().unwrap().rtt_ms);
}

#[test]
fn a_station_without_coverage_gives_notes_and_no_error() {
    let text = TORONTO.replace("Toronto", "pole").replace(
        "[[flow]]\nname = \"short\"",
        "[[path.orbit.station]]\nname = \"pole\"\nlatitude_deg = 90\nlongitude_deg = 0\n\
         [[flow]]\nname = \"short\"",
    );
    let plan = read(&text, &[]).unwrap();
    let noted = |part: &str| plan.notes.iter().any(|note| note.contains(part));
    assert!(noted("station `pole` sees no satellite from 0 s to 60 s"), "{:?}", plan.notes);
    assert!(noted("flow `short` has no route from 0 s to 60 s"), "{:?}", plan.notes);
    assert_eq!(plan.notes.iter().filter(|note| note.contains("`long`")).count(), 0);
}

#[test]
fn coverage_is_sampled_until_the_last_flow_ends() {
    const POLE: &str = "[[path.orbit.station]]\nname = \"pole\"\nlatitude_deg = 90\n\
        longitude_deg = 0\n";
    let text = |duration: &str| {
        format!(
            "name = \"pole\"\ntime_limit = \"10 min\"\n[path.orbit]\n\
             constellation = \"kuiper-630\"\nlinks.all = {{ rate = \"1 Mbps\" }}\n{POLE}\
             [[flow]]\nname = \"a\"\nfrom = \"pole\"\nto = \"Tokyo\"\n\
             bulk.duration = \"{duration}\"\n[[flow]]\nname = \"b\"\nfrom = \"Osaka\"\n\
             to = \"Tokyo\"\nstart_time = \"5 s\"\nstart_jitter = \"1 s\"\n\
             bulk.duration = \"{duration}\"\n"
        )
    };
    // A sample each 10 s: the last flow ends at 16, 31 or 606 s, after the last sample.
    let periods = [("10 s", "from 0 s to 10 s"), ("25 s", "from 0 s to 30 s")];
    for (duration, period) in periods.into_iter().chain([("10 min", "from 0 s to 600 s")]) {
        let notes = read(&text(duration), &[]).unwrap().notes;
        let station = format!("station `pole` sees no satellite {period} (sampled every 10 s)");
        let flow = format!("flow `a` has no route {period}");
        assert!(notes.contains(&station) && notes.contains(&flow), "{duration}: {notes:?}");
    }
    let notes = read(&text("1 s"), &["flow.b.start_time=0 s"]).unwrap().notes;
    assert!(
        notes.iter().any(|note| note == "station `pole` sees no satellite at 0 s"),
        "{notes:?}"
    );
    assert!(notes.iter().any(|note| note == "flow `a` has no route at 0 s"), "{notes:?}");
    // A flow of a given size may take until the time limit.
    let sized = text("1 s").replacen("bulk.duration = \"1 s\"", "upload = \"1 kB\"", 1);
    let notes = read(&sized, &[]).unwrap().notes;
    assert!(notes.iter().any(|note| note.contains("from 0 s to 600 s")), "{notes:?}");
}

#[test]
fn a_scenario_can_define_a_small_constellation() {
    for (planes, per_plane) in [(1, 1), (2, 3), (1, 8)] {
        let text = format!(
            "name = \"own\"\n[path.orbit]\nlinks.all = {{ rate = \"1 Mbps\" }}\nstatic = true\n\
             [[path.orbit.shell]]\nname = \"s\"\nplanes = {planes}\nper_plane = {per_plane}\n\
             inclination_deg = 53\naltitude = \"550 km\"\nphase_deg = 5\n[workload]\n\
             from = \"Tokyo\"\nto = \"Osaka\"\ndownload = \"1 kB\"\n"
        );
        let plan = read(&text, &[]).unwrap();
        let mesh = spec(&plan, 0).mesh.unwrap();
        assert_eq!(
            (mesh.network.satellites(), mesh.step),
            (planes * per_plane, RouteUpdates::Static)
        );
    }
}

/// Records `text` in the subdirectory `run` of `directory`, and returns its JSON `file`.
fn recorded(text: &str, directory: &Path, file: &str) -> serde_json::Value {
    let plan = read(text, &[]).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let target = directory.join("run");
    let executor = Threads { runner: &Simulator, jobs: NonZeroUsize::MIN };
    let run = record(&plan, &target, &Options::new(&executor, &stop)).unwrap();
    assert!(run.complete, "{:?}", run.failure);
    serde_json::from_slice(&std::fs::read(target.join(file)).unwrap()).unwrap()
}

#[test]
fn a_run_directory_contains_the_constellation_and_the_routes() {
    let directory = tempfile::tempdir().unwrap();
    let text = r#"
name = "constellation"
[path.orbit]
constellation = "iridium"
links.all = { rate = "5 Mbps", queue = "50 packets" }
[workload]
from = "Tokyo"
to = "Sydney"
upload = "200 kB"
[[variant]]
name = "cubic"
[[variant]]
name = "newreno"
congestion = "newreno"
"#;
    let traces = recorded(text, directory.path(), "traces.json");
    let constellations: serde_json::Value = serde_json::from_slice(
        &std::fs::read(directory.path().join("run/constellations.json")).unwrap(),
    )
    .unwrap();
    assert_eq!(
        constellations.as_array().unwrap().len(),
        1,
        "both variants have the same constellation"
    );
    let constellation = &constellations[0];
    assert_eq!(constellation["satellites"]["names"].as_array().unwrap().len(), 66);
    assert_eq!(
        (&constellation["stations"][0]["name"], &constellation["stations"][1]["name"]),
        (&"Tokyo".into(), &"Sydney".into())
    );
    for trace in traces.as_array().unwrap() {
        assert_eq!(trace["constellation"], 0);
        let route = &trace["routes"][0];
        assert_eq!((&route["flow"], &route["t_s"]), (&"main".into(), &0.0.into()));
        let nodes: Vec<u64> =
            route["nodes"].as_array().unwrap().iter().filter_map(|node| node.as_u64()).collect();
        assert_eq!(
            (nodes.first(), nodes.last()),
            (Some(&66), Some(&67)),
            "the route starts at the sender of the data"
        );
        assert!(
            nodes.len() > 3 && nodes[1..nodes.len() - 1].iter().all(|node| *node < 66),
            "{nodes:?}"
        );
    }
    let czml = std::fs::read(directory.path().join("run/constellation.czml")).unwrap();
    let packets: Vec<serde_json::Value> = serde_json::from_slice(&czml).unwrap();
    assert!(packets.iter().any(|packet| packet["id"] == "route-0-0"));
    // A rebuilt report has the same constellation.
    let page = directory.path().join("run/report.html");
    let first = std::fs::read_to_string(&page).unwrap();
    bentpipe_lab::rebuild(&directory.path().join("run")).unwrap();
    assert!(std::fs::read_to_string(&page).unwrap() == first);
}
