use super::*;
use crate::Workload;
use proptest::prelude::*;

const TEXT: &str = r#"
name = "x"
[path]
profile = "geo-50-10"
[workload]
download = "1 MB"
[[variant]]
name = "a"
[sweep]
"workload.download" = ["2 MB", "10 MB"]
"path.profile" = ["geo-10-2"]
"#;

/// Reads and checks `source` at the first point of its sweep.
fn read(source: &Source) -> Result<Scenario, Problem> {
    let document = Document::parse(source)?;
    let axes = document.axes()?;
    let scenario = document.at(&axes, &vec![0; axes.len()])?;
    crate::check(&scenario, &axes)?;
    Ok(scenario)
}

fn with(sets: &[&str]) -> Result<(Vec<String>, Scenario), String> {
    let mut source = Source::new("x.toml", TEXT);
    for set in sets {
        source.add("--set", *set);
    }
    let read = || {
        let document = Document::parse(&source)?;
        let axes = document.axes()?;
        let scenario = document.at(&axes, &vec![0; axes.len()])?;
        Ok((axes.iter().map(|axis| format!("{}={:?}", axis.key, axis.values)).collect(), scenario))
    };
    read().map_err(|problem: Problem| source.locate(problem).to_string())
}

fn download(scenario: &Scenario) -> String {
    match scenario.flows()[0].work.first() {
        Workload::Download(download) => download.0.typical().to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn keys_that_are_swept_together_make_one_axis() {
    let together = "[sweep]\n\
         \"workload.download,path.profile\" = [[\"2 MB\", \"geo-10-2\"], [\"5 MB\", \
         \"geo-50-10\"]]\n";
    let text = format!("{}{together}", TEXT.split("[sweep]").next().unwrap());
    let at = |choice: usize| {
        let source = Source::new("x.toml", text.as_str());
        let document = Document::parse(&source).unwrap();
        let axes = document.axes().unwrap();
        assert_eq!((axes.len(), axes[0].key.as_str()), (1, "workload.download, path.profile"));
        let scenario = document.at(&axes, &[choice]).unwrap();
        let profile = scenario.path.get_ref().profile.as_ref().unwrap().get_ref().clone();
        (axes[0].values[choice].clone(), download(&scenario), profile)
    };
    assert_eq!(at(1), ("5 MB, geo-50-10".to_owned(), "5 MB".to_owned(), "geo-50-10".to_owned()));
    assert_eq!(at(0).1, "2 MB");
    let source = Source::new("x.toml", text.replace(", \"geo-10-2\"]", "]"));
    let problem = Document::parse(&source).unwrap().axes().unwrap_err();
    assert!(problem.message.contains("each value must be a list of 2"), "{}", problem.message);
}

#[test]
fn axes_are_in_the_order_of_the_text_and_their_values_replace_those_of_the_scenario() {
    let (axes, scenario) = with(&[]).unwrap();
    assert_eq!(axes, ["workload.download=[\"2 MB\", \"10 MB\"]", "path.profile=[\"geo-10-2\"]"]);
    assert_eq!(download(&scenario), "2 MB");
}

#[test]
fn set_accepts_toml_or_a_string_and_finds_list_entries_by_name() {
    let (_, scenario) = with(&[
        "seed=7",
        "title=two words",
        "variant.a.congestion=newreno",
        "path.forward.loss=0.5",
    ])
    .unwrap();
    assert_eq!((scenario.seed, scenario.title.as_deref()), (7, Some("two words")));
    assert_eq!(scenario.flows()[0].transport.congestion.map(|name| name.as_str()), Some("newreno"));
    assert!(scenario.path.get_ref().forward.as_ref().unwrap().get_ref().loss.is_some());
}

#[test]
fn setting_a_swept_key_replaces_its_values_and_the_values_of_the_file_stay_known() {
    let (axes, scenario) = with(&["workload.download=3 MB"]).unwrap();
    assert_eq!(
        (axes[0].as_str(), download(&scenario).as_str()),
        ("workload.download=[\"3 MB\"]", "3 MB")
    );
    let mut source = Source::new("x.toml", TEXT);
    source.add("--set", "sweep.\"workload.download\"=[\"3 MB\"]");
    let axes = Document::parse(&source).unwrap().axes().unwrap();
    let axis = axes.iter().find(|axis| axis.key == "workload.download").unwrap();
    assert_eq!(axis.known, ["2 MB", "10 MB", "3 MB"]);
}

#[test]
fn errors_of_wrong_paths_name_what_exists() {
    for (set, says) in [
        ("variant.b.ack=stack", "no variant is named `b`; allowed: `a`"),
        ("path.profile.x=1", "must be"),
        ("name.x=1", "`name` is a string here"),
        ("variant.a=1", "`variant.a` is a table"),
        ("workload..x=1", "empty part"),
        ("=1", "empty part"),
        ("\"open=1", "key=value"),
        ("nothing", "key=value"),
    ] {
        let error = with(&[set]).unwrap_err();
        assert!(set == "path.profile.x=1" || error.contains(says), "{set}: {error}");
    }
}

#[test]
fn a_policer_has_room_for_a_full_packet_of_the_path() {
    let policed = |mtu: &str, burst: &str| {
        let mut source = Source::new("x.toml", TEXT);
        source.add("--set", format!("path.mtu={mtu}"));
        let policer = format!("{{ rate = \"10 Mbps\", burst = \"{burst}\" }}");
        source.add("--set", format!("path.forward.policer={policer}"));
        read(&source).map(|_| ()).map_err(|problem| source.locate(problem).to_string())
    };
    assert_eq!(policed("9000 B", "9000 B"), Ok(()));
    assert_eq!(policed("1500 B", "2000 B"), Ok(()));
    let error = policed("9000 B", "2000 B").unwrap_err();
    for word in ["`policer.burst` of 2 kB", "never lets a full packet", "allowed: 9 kB (path.mtu)"]
    {
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn the_resolved_scenario_contains_the_changes_of_set() {
    let mut source = Source::new("x.toml", TEXT);
    assert_eq!(Document::parse(&source).unwrap().resolved(), TEXT);
    source.add("--set", "seed=7");
    let resolved = Document::parse(&source).unwrap().resolved();
    assert!(
        resolved.starts_with("# --set seed=7\n") && resolved.contains("\nseed = 7\n"),
        "{resolved}"
    );
}

#[test]
fn the_resolved_scenario_is_valid_though_points_of_expectations_were_taken_out() {
    let expect = |size| {
        format!(
            "[[expect]]\nmetric = \"completion_s\"\nbelow = 9\n\
             point = {{ \"workload.download\" = \"{size}\" }}\n"
        )
    };
    let text = format!("{TEXT}{}{}", expect("2 MB"), expect("10 MB"));
    let mut source = Source::new("x.toml", text);
    let expectations = |source: &Source| read(source).unwrap().expect.len();
    source.add("--set", "workload.download=[\"10 MB\"]");
    assert_eq!(expectations(&source), 2);
    let resolved = Document::parse(&source).unwrap().resolved();
    assert_eq!(expectations(&Source::new("y.toml", resolved)), 1);
    source.add("--set", "workload.download=3 MB");
    let resolved = Document::parse(&source).unwrap().resolved();
    assert_eq!(expectations(&Source::new("z.toml", resolved)), 0);
}

proptest! {
    #[test]
    fn a_path_printed_with_quotes_parses_to_the_same_path(
        path in prop::collection::vec("[a-z0-9-]{1,8}(\\.[a-z]{1,3})?", 1..5)
    ) {
        let quoted = |part: &String| match part.contains('.') {
            true => format!("\"{part}\""),
            false => part.clone(),
        };
        let text: Vec<String> = path.iter().map(quoted).collect();
        prop_assert_eq!(split_path(&text.join(".")), Ok(path));
    }

    #[test]
    fn no_assignment_panics(set in "\\PC{0,40}", key in "[a-z.\"']{0,20}") {
        let _ = with(&[&set]);
        let _ = with(&[&format!("{key}={set}")]);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        let source = Source::new("x.toml", text.as_str());
        if let Err(problem) = read(&source) {
            source.locate(problem);
        }
    }

    #[test]
    fn no_damaged_scenario_panics(at in 0..TEXT.len(), with in "[\\[\\]{}=\"'.,\n\
         0-9a-z -]{0,6}", length in 0usize..12) {
        let end = (at + length).min(TEXT.len());
        let text = format!("{}{with}{}", &TEXT[..at], &TEXT[end..]);
        let source = Source::new("x.toml", text.as_str());
        if let Err(problem) = read(&source) {
            source.locate(problem);
        }
    }
}
