//! Populations of users: what is drawn, and what results say of it.
#![allow(clippy::disallowed_methods, reason = "tests make files as they need")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use bentpipe_lab::{Changes, Lab, Plan};
use bentpipe_results::{Population, Results, Run, find_table};
use bentpipe_sim::RunSpec;
use std::path::Path;

/// Users of a short path, on which simulations are quick.
const BEAM: &str = r#"
name = "beam"
repeat = 2
[path]
rtt = "200 ms"
forward = { rate = "20 Mbps", queue = "1 BDP" }
return = { rate = "5 Mbps" }
[output]
time_series = "none"
[[flow]]
name = "users"
count = 40
arrivals = { load = 0.5 }
download = { lognormal = { median = "100 kB", sigma = 1.0, max = "1 MB" } }
[[flow.share]]
name = "ours"
[[flow.share]]
name = "others"
[[variant]]
name = "rfc"
preset = "rfc"
[[variant]]
name = "half"
flow.others = { preset = "rfc" }
"#;

fn plan(text: &str) -> Plan {
    Plan::parse("t.toml", text, Path::new("."), &Changes::default()).unwrap()
}

/// Returns the specification of the first run of variant number `variant`.
fn spec(plan: &Plan, variant: usize, run: u64) -> RunSpec {
    let task = plan.tasks.iter().find(|task| task.case == variant && task.run == run).unwrap();
    plan.spec(*task).unwrap()
}

/// Returns start and size of each user.
fn users(spec: &RunSpec) -> Vec<(u64, u64)> {
    let user = |flow: &bentpipe_sim::FlowSpec| {
        (flow.start.as_nanos(), flow.visits[0].objects[0].bytes.get())
    };
    spec.flows.iter().map(user).collect()
}

fn population<'a>(run: &'a Run, name: &str) -> &'a Population {
    run.populations.iter().find(|population| population.name == name).unwrap()
}

fn run(text: &str) -> Results {
    Lab::new().run(text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn variants_have_the_same_users_and_runs_have_different_ones() {
    let plan = plan(BEAM);
    let drawn = users(&spec(&plan, 0, 0));
    assert_eq!(drawn.len(), 40);
    assert_eq!(users(&spec(&plan, 1, 0)), drawn);
    assert_ne!(users(&spec(&plan, 0, 1)), drawn);
    let sizes = drawn.iter().map(|(_, bytes)| *bytes);
    assert!(sizes.clone().all(|bytes| (1..=1_000_000).contains(&bytes)), "{drawn:?}");
    assert!(sizes.max() > sizes_min(&drawn), "sizes are drawn");
}

fn sizes_min(drawn: &[(u64, u64)]) -> Option<u64> {
    drawn.iter().map(|(_, bytes)| *bytes).min()
}

#[test]
fn each_user_has_a_terminal_and_one_server_or_its_own() {
    let flows = spec(&plan(BEAM), 0, 0).flows;
    let mut terminals: Vec<usize> = flows.iter().map(|flow| flow.terminal).collect();
    terminals.sort_unstable();
    assert_eq!(terminals, (0..40).collect::<Vec<_>>());
    assert!(flows.iter().all(|flow| flow.server == "server" && flow.in_population));
    // Shares take turns in the order of arrival.
    assert_eq!(flows[0].name, "ours-000");
    assert!(flows.iter().any(|flow| flow.name == "others-001" && flow.terminal == 1));
    let own = BEAM.replace("count = 40", "count = 40\nown_servers = true");
    let mut servers: Vec<String> =
        spec(&plan(&own), 0, 0).flows.into_iter().map(|flow| flow.server).collect();
    servers.sort();
    servers.dedup();
    assert_eq!(servers.len(), 40);
}

#[test]
fn single_flows_keep_their_terminals_beside_users() {
    let text = BEAM.replace("[path]\n", "[path]\nterminals = 3\n")
        + "[[flow]]\nname = \"bulk\"\nterminal = 2\ndownload = \"1 MB\"\n";
    // Keys of the last variant end where the next table begins.
    let spec = spec(&plan(&text), 0, 0);
    assert_eq!(spec.terminals, 43);
    let users: Vec<usize> =
        spec.flows.iter().filter(|flow| flow.in_population).map(|flow| flow.terminal).collect();
    assert_eq!((users.iter().min(), users.iter().max()), (Some(&3), Some(&42)));
}

#[test]
fn the_offered_load_counts_wire_bytes_over_the_mean_time_of_arrivals() {
    // Of many runs, the mean time of all arrivals is that of the wire bytes at half of 20 Mbps.
    let plan = plan(&BEAM.replace("repeat = 2", "repeat = 200"));
    let ratios = (0..200).map(|run| {
        let drawn = users(&spec(&plan, 0, run));
        let wire = |bytes: u64| bytes + bytes.div_ceil(1440) * 60;
        let offered: u64 = drawn.iter().map(|(_, bytes)| wire(*bytes)).sum();
        let last = drawn.iter().map(|(start, _)| *start).max().unwrap() as f64 / 1e9;
        last * 20e6 * 0.5 / 8.0 / offered as f64
    });
    let mean = ratios.sum::<f64>() / 200.0;
    // A sum of 40 exponential times has a deviation of 16 %, and the mean of 200 one of 1.1 %.
    assert!((0.95..1.05).contains(&mean), "{mean}");
}

#[test]
fn lists_and_files_give_sizes_and_arrivals() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("at.txt"), "# seconds\n0\n1.5\n\n3 # third\n").unwrap();
    std::fs::write(directory.path().join("sizes.txt"), "1000\n2 kB\n").unwrap();
    let text = BEAM
        .replace("count = 40", "count = 3")
        .replace("{ load = 0.5 }", "{ file = \"at.txt\" }")
        .replace("[[flow.share]]\nname = \"ours\"\n[[flow.share]]\nname = \"others\"\n", "")
        .replace("flow.others = { preset = \"rfc\" }", "");
    let at = text.find("{ lognormal").unwrap();
    let end = at + text[at..].find('\n').unwrap();
    let sizes = "{ file = \"sizes.txt\", order = \"listed\" }";
    let text = format!("{}{sizes}{}", &text[..at], &text[end..]);
    let plan = Plan::parse("t.toml", &text, directory.path(), &Changes::default()).unwrap();
    let second = 1_000_000_000;
    assert_eq!(users(&spec(&plan, 0, 0)), [(0, 1000), (3 * second / 2, 2000), (3 * second, 1000)]);
    assert_eq!(plan.tasks.len(), 2, "nothing is random, so each variant has one run");
    assert_eq!(plan.input().files.len(), 2, "files are part of the plan");
}

#[test]
fn results_describe_users_together() {
    let results = run(BEAM);
    let half = results.runs.iter().find(|run| run.variant == "half").unwrap();
    assert!(half.flows.is_empty() && half.fairness.is_none());
    let names: Vec<&str> = half.populations.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["ours", "others", "all"]);
    let (ours, others, all) =
        (population(half, "ours"), population(half, "others"), population(half, "all"));
    assert_eq!((ours.metrics.users, others.metrics.users, all.metrics.users), (20, 20, 40));
    let mean = |one: &Population| one.metrics.mean_completion_s.unwrap();
    assert!((mean(all) - (mean(ours) + mean(others)) / 2.0).abs() < 1e-9);
    assert_eq!(
        all.classes.iter().map(|class| class.metrics.users).sum::<u64>(),
        40,
        "classes are disjoint"
    );
    let columns = ours.per_user.as_ref().unwrap();
    assert_eq!(columns.user, (0..40).step_by(2).collect::<Vec<u64>>());
    // Nothing is faster than the bound, and a quiet path is not much slower.
    assert!(columns.slowdown.iter().all(|slowdown| slowdown.unwrap() >= 1.0), "{columns:?}");
    let class = results.summary.iter().find(|row| {
        row.flow == "others/up-to-100-kB" && row.metric == "p95_slowdown" && row.variant == "rfc"
    });
    assert!(class.is_some_and(|row| row.n == 2 && row.median.is_some()));
    // Tables: a row for each user of the shares, and for each population and class of sizes.
    let rows = |name: &str| find_table(name).unwrap().of(&results).len();
    let populations = || results.runs.iter().flat_map(|run| &run.populations);
    assert_eq!(rows("users"), results.runs.len() * 40);
    assert_eq!(rows("populations"), populations().map(|one| 1 + one.classes.len()).sum::<usize>());
}

#[test]
fn the_bound_of_the_idle_path_is_that_of_an_ideal_transfer() {
    // One user, whose window never limits it: one RTT for the handshake, one for the request, and
    // 1 MB in 695 packets of 1500 B at 20 Mbps.
    let text = BEAM
        .replace("count = 40", "count = 1")
        .replace("{ load = 0.5 }", "\"at once\"")
        .replace("[[variant]]\nname = \"half\"\nflow.others = { preset = \"rfc\" }\n", "")
        .replace("preset = \"rfc\"", "initial_window = 1000\nquic.pacing = false")
        .replace("queue = \"1 BDP\"", "queue = \"2 MB\"");
    let at = text.find("{ lognormal").unwrap();
    let end = at + text[at..].find('\n').unwrap();
    for (stack, rtts) in [
        ("", 2.0),
        ("transport = \"tcp\"\ntcp.receive_autotune = false", 3.0),
        ("transport = \"tcp\"\ntcp.receive_autotune = false\nhttp = \"raw\"", 2.0),
    ] {
        let own = match stack {
            "" => String::new(),
            tcp => format!("\n{tcp}"),
        };
        let text = format!("{}\"1 MB\"{}{own}\n", &text[..at], &text[end..]);
        let text = if stack.is_empty() { text } else { text.replace("quic.pacing = false", "") };
        let results = run(&text);
        let metrics = &population(&results.runs[0], "ours").metrics;
        let (slowdown, completion) =
            (metrics.mean_slowdown.unwrap(), metrics.mean_completion_s.unwrap());
        assert!((0.999..1.05).contains(&slowdown), "{stack}: {slowdown}");
        let ideal = completion / slowdown;
        assert!((ideal - rtts * 0.2 - 0.417).abs() < 0.003, "{stack}: {ideal}");
    }
}

#[test]
fn users_come_back_with_new_sizes() {
    let text = BEAM.replace("download = {", "visits = [{ download = {").replace(
        "max = \"1 MB\" } }",
        "max = \"1 MB\" } } }, { idle_before = \"1 s\", download = { list = [\"5 kB\"] } }]",
    );
    let results = run(&text);
    let half = &results.runs[0];
    let visits: Vec<(&str, usize)> =
        half.populations.iter().map(|one| (one.name.as_str(), one.visit)).collect();
    let expected = [("ours", 1), ("others", 1), ("all", 1), ("ours", 2), ("others", 2), ("all", 2)];
    assert_eq!(visits, expected);
    let second = half.populations.iter().find(|one| one.visit == 2).unwrap();
    assert!(second.per_user.as_ref().unwrap().bytes.iter().all(|bytes| *bytes == 5000));
}

#[test]
fn expectations_and_published_figures_read_populations() {
    let text = format!(
        "{BEAM}
[[expect]]
metric = \"mean_completion_s\"
flow = \"others\"
variant = \"half\"
relative_to = \"rfc\"
statistic = \"mean\"
above = 0.5
below = 2
[[expect]]
metric = \"p95_slowdown\"
above = 1
[[expect]]
metric = \"users\"
flow = \"all/up-to-1-MB\"
above = 0
below = 41
[[published]]
label = \"a figure\"
kind = \"measured\"
metric = \"mean_slowdown\"
flow = \"all\"
value = 2
source = \"a test\"
"
    );
    let results = run(&text);
    assert!(results.all_passed(), "{:?}", results.expectations);
    // One; every population of both variants; one of both variants.
    assert_eq!(results.expectations.len(), 1 + 2 * 3 + 2);
    assert_eq!(results.published.len(), 2);
}

#[test]
fn a_group_of_bulk_flows_has_a_share() {
    let results = run(r#"
name = "group"
[path]
rtt = "40 ms"
forward = { rate = "20 Mbps", queue = { aqm = "fq", hash = "exact" } }
return = { rate = "5 Mbps" }
[output]
time_series = "none"
[[flow]]
name = "group"
count = 3
bulk = { duration = "20 s" }
[[flow]]
name = "one"
bulk = { duration = "20 s" }
[[flow]]
name = "other-way"
bulk = { duration = "20 s", direction = "upload" }
[[expect]]
metric = "goodput_share_percent"
flow = "group"
above = 73
below = 77
"#);
    assert!(results.all_passed(), "{:?}", results.expectations);
    let run = &results.runs[0];
    let metrics = &population(run, "group").metrics;
    let goodput = metrics.population_goodput_mbps.unwrap();
    // Packets of the same size in queues of their own; those of the other way carry ACKs here.
    let link = metrics.link_share_percent.unwrap();
    assert!((73.0..77.0).contains(&link), "{link}");
    assert_eq!(metrics.usual(), "link_share_percent");
    // Three quarters of 20 Mbps without headers.
    assert!((13.0..15.0).contains(&goodput), "{goodput}");
    // A user has a quarter of the link, so it takes about four times as long as alone.
    let slowdown = metrics.mean_slowdown.unwrap();
    assert!((3.7..4.4).contains(&slowdown), "{slowdown}");
    assert_eq!((metrics.completed_percent, metrics.mean_completion_s), (Some(100.0), Some(20.0)));
}

/// Users on a path of 10 Mbps who talk, watch, and read pages between which they think.
const PEOPLE: &str = r#"
name = "people"
[path]
rtt = "100 ms"
forward = { rate = "10 Mbps", queue = { limit = "1 BDP", aqm = "fq", hash = "exact" } }
return = { rate = "10 Mbps" }
[output]
time_series = "none"
[[flow]]
name = "talkers"
count = 4
call = { duration = "10 s", audio = "32 kbps" }
[[flow]]
name = "viewers"
count = 2
abr = { duration = "12 s", segment = "2 s", ladder = ["300 kbps", "900 kbps"] }
[[flow]]
name = "readers"
count = 3
arrivals = { rate = 1 }
visits = [{ web_page = 4 }, { web_page = 4, think_time = "3 s" }]
"#;

#[test]
fn each_kind_of_users_has_its_own_metrics() {
    let results = run(PEOPLE);
    let run = &results.runs[0];
    assert!(run.flows.is_empty(), "users are no single flows");
    let talkers = population(run, "talkers");
    // 50 ms one way, 60 ms of playout and 20 ms of a frame: a score of 4.4.
    assert!((4.3..4.5).contains(&talkers.metrics.median_mos.unwrap()), "{:?}", talkers.metrics);
    let delay = talkers.metrics.p95_frame_delay_ms.unwrap();
    assert!((50.0..56.0).contains(&delay), "{delay}");
    assert_eq!(talkers.metrics.completed_percent, Some(100.0));
    assert_eq!((talkers.metrics.mean_slowdown, talkers.classes.len()), (None, 0));
    let viewers = population(run, "viewers");
    assert_eq!(viewers.metrics.stalled_users_percent, Some(0.0));
    assert!(viewers.metrics.median_bitrate_kbps.unwrap() > 400.0, "{:?}", viewers.metrics);
    let readers: Vec<&Population> =
        run.populations.iter().filter(|one| one.name == "readers").collect();
    assert_eq!(readers.iter().map(|one| one.visit).collect::<Vec<_>>(), [1, 2]);
    assert!(readers[1].metrics.median_completion_s.unwrap() > 0.2);
    assert_eq!(readers[1].metrics.median_mos, None);
    // All users of the first visit: those who transfer have the completion times.
    let all = population(run, "all");
    let of_readers = readers[0].metrics.mean_completion_s;
    assert_eq!((all.metrics.users, all.metrics.mean_completion_s), (9, of_readers));
    assert_eq!(all.metrics.median_mos, talkers.metrics.median_mos);
    // The summary has what a population has, and nothing of other kinds.
    let summed = |flow: &str, metric: &str| {
        results.summary.iter().any(|row| row.flow == flow && row.metric == metric)
    };
    assert!(summed("talkers", "median_mos") && !summed("talkers", "mean_stall_percent"));
    assert!(!summed("readers", "median_mos") && summed("viewers", "p5_bitrate_kbps"));
}

#[test]
fn users_think_between_visits_and_differently_in_each_run() {
    let plan = plan(PEOPLE);
    let thinks = |run: u64| -> Vec<u64> {
        let spec = spec(&plan, 0, run);
        let readers = spec.flows.iter().filter(|flow| flow.name.starts_with("readers"));
        readers.map(|flow| flow.visits[1].idle_before.as_nanos()).collect()
    };
    assert_eq!(thinks(0), thinks(0));
    let [a, b, c] = thinks(0)[..] else { panic!("three readers") };
    assert!(a != b && b != c && a > 0, "{a} {b} {c}");
}

#[test]
fn a_mix_stands_for_populations_of_each_kind() {
    let text = r#"
name = "homes"
[path]
profile = "geo-50-10"
[[flow]]
name = "home"
count = 20
mix = "household"
[[variant]]
name = "rfc"
preset = "rfc"
[[variant]]
name = "own"
flow.home-page = { handshake = "1rtt" }
"#;
    let plan = plan(text);
    let spec = spec(&plan, 0, 0);
    let count = |class: &str| spec.flows.iter().filter(|flow| flow.name.starts_with(class)).count();
    assert_eq!([count("home-video"), count("home-call")], [20, 10]);
    assert_eq!([count("home-page"), count("home-update")], [4, 2]);
    // The numbers of each class have a source, which the notes repeat.
    assert!(plan.notes.iter().any(|note| note.contains("OpenVault")), "{:?}", plan.notes);
}
