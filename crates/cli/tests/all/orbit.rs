//! `bentpipe orbit`, `bentpipe constellations` and `bentpipe cities`.
#![allow(clippy::disallowed_methods, reason = "tests make files as they need")]

use std::path::Path;
use std::process::{Command, Output};

fn bentpipe(directory: &Path, args: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_bentpipe"))
        .current_dir(directory)
        .args(args)
        .output()
        .expect("command runs");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn text(directory: &Path, args: &[&str]) -> String {
    String::from_utf8(bentpipe(directory, args).stdout).expect("text")
}

fn json(directory: &Path, args: &[&str]) -> serde_json::Value {
    serde_json::from_slice(&bentpipe(directory, args).stdout).expect("one JSON document")
}

const ROUTE: [&str; 10] = [
    "orbit",
    "kuiper-630",
    "--from",
    "Wuhan",
    "--to",
    "Washington",
    "--duration",
    "20 s",
    "--step",
    "1 s",
];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    ROUTE.iter().chain(more).copied().collect()
}

#[test]
fn a_constellation_and_two_cities_suffice() {
    let dir = tempfile::tempdir().expect("creates a directory");
    let text = text(dir.path(), &ROUTE);
    assert!(
        text.starts_with(
            "kuiper-630, 1156 satellites, 20 s from 2000-01-01T00:00:00Z, every 1 s\n"
        ),
        "{text}"
    );
    assert!(
        text.contains("main: Wuhan – Washington, 12") && text.contains("min / median / max"),
        "{text}"
    );
    assert!(
        std::fs::read_dir(dir.path()).expect("reads the directory").next().is_none(),
        "files are written only on request"
    );
}

#[test]
fn json_csv_and_text_contain_the_same_samples() {
    let dir = tempfile::tempdir().expect("creates a directory");
    let survey = json(dir.path(), &with(&["--json", "--disjoint", "3"]));
    let flow = &survey["flows"][0];
    let samples = flow["samples"].as_array().expect("samples");
    assert_eq!(samples.len(), 21);
    let rtts: Vec<f64> = samples.iter().filter_map(|sample| sample["rtt_ms"].as_f64()).collect();
    // Light takes 81.5 ms on the geodesic of 12,221 km and back. A grid of satellites has detours.
    assert!(rtts.len() == 21 && rtts.iter().all(|rtt| (81.5..125.0).contains(rtt)), "{rtts:?}");
    let least = rtts.iter().copied().fold(f64::INFINITY, f64::min);
    assert_eq!(flow["summary"]["rtt_min_ms"].as_f64(), Some(least));
    let disjoint = flow["disjoint"].as_array().expect("routes");
    assert_eq!(disjoint[0]["rtt_ms"], samples[0]["rtt_ms"], "first route is the shortest");
    assert!(disjoint.windows(2).all(|two| two[0]["rtt_ms"].as_f64() <= two[1]["rtt_ms"].as_f64()));
    let csv = text(dir.path(), &with(&["--csv"]));
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!((rows.len(), rows[0].split(',').count()), (22, 8));
    assert_eq!(rows[1].split(',').nth(2).and_then(|rtt| rtt.parse().ok()), Some(rtts[0]));
}

#[test]
fn globe_and_czml_files_are_written() {
    let dir = tempfile::tempdir().expect("creates a directory");
    text(dir.path(), &with(&["--czml", "routes.czml", "--html", "routes.html"]));
    let czml = std::fs::read(dir.path().join("routes.czml")).expect("CZML");
    let packets: Vec<serde_json::Value> = serde_json::from_slice(&czml).expect("JSON");
    assert_eq!((&packets[0]["id"], &packets[0]["version"]), (&"document".into(), &"1.0".into()));
    assert!(packets.len() > 1 + 1156 + 2, "document, satellites, stations and routes");
    let page = std::fs::read_to_string(dir.path().join("routes.html")).expect("reads the page");
    assert!(page.contains("kuiper-630") && page.ends_with('\n') | page.ends_with('>'));
}

/// Satellites are at their positions of the whole epoch, 0.079 s and 0.6 km after the second in
/// which it lies.
#[test]
fn a_start_at_a_fraction_of_a_second_is_printed_with_it() {
    let dir = tempfile::tempdir().expect("creates a directory");
    let tle = "1 28057U 03049A   06177.78615833  .00000060  00000-0  35940-4 0  1836\n\
               2 28057  98.4283 247.6961 0000884  88.1964 271.9322 14.35478080140550\n";
    std::fs::write(dir.path().join("cbers.tle"), tle).expect("writes elements");
    let scenario = r#"
        name = "cbers"
        [path.orbit]
        constellation = { tle = "cbers.tle" }
        isl = "none"
        links.all = { rate = "10 Mbps" }
        [workload]
        from = "Paris"
        to = "Berlin"
        bulk.duration = "10 s"
        [[variant]]
        name = "x"
    "#;
    std::fs::write(dir.path().join("cbers.toml"), scenario).expect("writes a scenario");
    let args = [
        "orbit",
        "cbers.toml",
        "--duration",
        "20 s",
        "--step",
        "10 s",
        "--json",
        "--czml",
        "a.czml",
    ];
    let epoch = "2006-06-26T18:52:04.079Z";
    assert_eq!(json(dir.path(), &args)["begins"], epoch);
    let czml = std::fs::read(dir.path().join("a.czml")).expect("CZML");
    let packets: Vec<serde_json::Value> = serde_json::from_slice(&czml).expect("JSON");
    assert_eq!(packets[0]["clock"]["currentTime"], epoch);
    assert_eq!(packets[0]["clock"]["interval"], format!("{epoch}/2006-06-26T18:52:24.079Z"));
    assert_eq!(packets[1]["position"]["epoch"], epoch);
}

/// The lower satellite comes down after a few hours, later than the scenario's run ends.
#[test]
fn a_satellite_that_decays_within_the_survey_is_left_out_with_a_note() {
    let dir = tempfile::tempdir().expect("creates a directory");
    let tle = "LOW\n\
        1 50001U 20001A   26001.00000000  .00000000  00000+0  50000-1 0  9993\n\
        2 50001  53.0000   0.0000 0001000   0.0000   0.0000 16.30000000    18\n\
        OK\n\
        1 50002U 20001A   26001.00000000  .00000000  00000+0  00000+0 0  9997\n\
        2 50002  53.0000  10.0000 0001000   0.0000   0.0000 15.00000000    16\n";
    std::fs::write(dir.path().join("a.tle"), tle).expect("writes elements");
    let scenario = "name = \"a\"\n[path.orbit]\nconstellation = { tle = \"a.tle\" }\n\
        links.all = { rate = \"10 Mbps\", queue = \"100 packets\" }\n[workload]\n\
        download = \"1 MB\"\nfrom = \"0,0\"\nto = \"1,1\"\n[[variant]]\nname = \"a\"\n";
    std::fs::write(dir.path().join("a.toml"), scenario).expect("writes a scenario");
    let survey = |duration: &str| {
        text(dir.path(), &["orbit", "a.toml", "--duration", duration, "--step", "60 s"])
    };
    let short = survey("600 s");
    assert!(short.contains(", 2 satellites") && !short.contains("left out"), "{short}");
    let long = survey("86400 s");
    let left_out = long.contains("1 satellites are left out") && long.contains("LOW");
    assert!(left_out && long.contains(", 1 satellites"), "{long}");
}

#[test]
fn pairs_of_cities_that_share_a_link_are_found() {
    let dir = tempfile::tempdir().expect("creates a directory");
    let args =
        ["orbit", "kuiper-630", "--sharing=6", "--duration", "20 s", "--step", "5 s", "--json"];
    let found = json(dir.path(), &args);
    let list = found["sharing"].as_array().expect("list");
    assert!(!list.is_empty());
    for pair in list {
        let rtts =
            [&pair["rtt_ms"][0], &pair["rtt_ms"][1]].map(|rtt| rtt.as_f64().expect("number"));
        assert!(
            rtts[1] / rtts[0] >= 1.5 && pair["from_s"].as_f64() < pair["to_s"].as_f64(),
            "{pair}"
        );
    }
}

#[test]
fn listed_constellations_and_cities_are_accepted_as_names() {
    let dir = tempfile::tempdir().expect("creates a directory");
    let list = json(dir.path(), &["constellations", "--json"]);
    let names: Vec<&str> =
        list.as_array().expect("list").iter().filter_map(|each| each["name"].as_str()).collect();
    assert!(names.contains(&"starlink-550"), "{names:?}");
    for name in names {
        text(
            dir.path(),
            &["orbit", name, "--from", "London", "--to", "Paris", "--duration", "0 s"],
        );
    }
    let cities = text(dir.path(), &["cities", "toron"]);
    assert!(cities.lines().count() == 2 && cities.contains("Toronto"), "{cities}");
}
