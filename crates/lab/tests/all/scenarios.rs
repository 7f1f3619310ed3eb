//! Checks that every scenario of the repository can be run.

use bentpipe_lab::{Changes, Plan};
use std::path::{Path, PathBuf};

fn scenarios() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files: Vec<PathBuf> =
        ["examples", "published", "conformance", "studies", "safety", "validation"]
            .iter()
            .flat_map(|folder| {
                std::fs::read_dir(root.join(folder)).expect("read the folder").flatten()
            })
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
            .collect();
    files.sort();
    files
}

#[test]
fn every_scenario_is_valid_and_named_after_its_file() {
    let files = scenarios();
    assert!(files.len() >= 30, "{files:?}");
    for file in files {
        let plan = Plan::read(&file, &Changes::default()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(Some(plan.name.as_str()), file.file_stem().and_then(|stem| stem.to_str()));
        assert!(!plan.tasks.is_empty() && plan.title != plan.name, "{}", file.display());
    }
}

#[test]
fn the_schema_has_every_key_of_the_scenarios() {
    let schema = bentpipe_scenario::json_schema();
    let known = schema.to_string();
    for file in scenarios() {
        let text = std::fs::read_to_string(&file).expect("the scenario");
        let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{error}"));
        for (key, value) in &table {
            assert!(schema["properties"][key].is_object(), "{}: {key}", file.display());
            let keys = value.as_table().into_iter().flat_map(|table| table.keys());
            for inner in keys.filter(|_| key != "sweep") {
                assert!(
                    known.contains(&format!("\"{inner}\"")),
                    "{}: {key}.{inner}",
                    file.display()
                );
            }
        }
    }
}

#[test]
fn the_reference_lists_exactly_the_transport_keys() {
    let schema = bentpipe_scenario::json_schema();
    let keys = |table: &str| {
        let properties = schema["$defs"][table]["properties"].as_object().expect("a table");
        properties.keys().cloned().collect::<Vec<_>>()
    };
    let nested = [("quic", "QuicKeys"), ("tcp", "TcpKeys"), ("flow_control", "FlowControl")];
    let mut wanted: Vec<String> = keys("Defaults")
        .into_iter()
        .filter(|key| key != "external" && nested.iter().all(|(name, _)| key != name))
        .collect();
    for (name, table) in nested {
        wanted.extend(keys(table).iter().map(|key| format!("{name}.{key}")));
    }
    wanted.sort();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/reference/scenarios.md");
    let page = std::fs::read_to_string(page).expect("the reference");
    let section = page
        .split("\n## Transport keys")
        .nth(1)
        .and_then(|rest| rest.split("\n### ").next())
        .expect("it");
    let mut rows: Vec<&str> =
        section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    rows.sort_unstable();
    assert_eq!(rows, wanted);
}
