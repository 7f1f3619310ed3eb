//! What a run directory keeps of a scenario can be run again.

use bentpipe_scenario::{Document, Source, check};

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
"#;

#[test]
fn the_resolved_scenario_is_valid_though_points_of_expectations_were_taken_out() {
    let expect = |size| {
        format!(
            "[[expect]]\nmetric = \"completion_s\"\nbelow = 9\n\
             point = {{ \"workload.download\" = \"{size}\" }}\n"
        )
    };
    let mut source = Source::new("x.toml", format!("{TEXT}{}{}", expect("2 MB"), expect("10 MB")));
    let expectations = |source: &Source| {
        let document = Document::parse(source).unwrap();
        let axes = document.axes().unwrap();
        let scenario = document.at(&axes, &[0]).unwrap();
        check(&scenario, &axes).unwrap();
        scenario.expect.len()
    };
    source.add("--set", "workload.download=[\"10 MB\"]");
    assert_eq!(expectations(&source), 2);
    let resolved = Document::parse(&source).unwrap().resolved();
    assert_eq!(expectations(&Source::new("y.toml", resolved)), 1);
    source.add("--set", "workload.download=3 MB");
    let resolved = Document::parse(&source).unwrap().resolved();
    assert_eq!(expectations(&Source::new("z.toml", resolved)), 0);
}
