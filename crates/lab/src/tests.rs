//! Tests of the results of a plan: expectations and Parquet tables.

use crate::testing::{TWO_VARIANTS, plan, results};
use bentpipe_results::parquet::encode;
use bentpipe_results::{Results, find_table};
use parquet::file::reader::{FileReader, SerializedFileReader};

fn judged(expect: &str) -> Vec<(String, Option<bool>)> {
    let text = TWO_VARIANTS.split("[[expect]]").next().unwrap_or_default();
    let results =
        results(&plan(&format!("{text}\n[[expect]]\nmetric = \"completion_s\"\n{expect}")));
    results.expectations.into_iter().map(|e| (e.text, e.passed)).collect()
}

#[test]
fn an_expectation_without_variant_and_point_applies_to_all() {
    let judged = judged("below = 100");
    assert_eq!(judged.len(), 4);
    assert!(judged.iter().all(|(_, passed)| *passed == Some(true)));
    assert_eq!(judged[0].0, "median completion_s of 1rtt at workload.download = 2 MB below 100");
}

#[test]
fn a_ratio_compares_with_another_variant_at_the_same_point() {
    let judged = judged("relative_to = \"1rtt\"\nbelow = 1\nabove = 0.5\nstatistic = \"p95\"");
    assert_eq!(judged.len(), 2);
    assert_eq!(
        judged[1].0,
        "95 % quantile completion_s of 0rtt at workload.download = 10 MB, over that of 1rtt, \
            between 0.5 and 1"
    );
    assert_eq!(judged[1].1, Some(true));
}

#[test]
fn within_is_relative_to_the_published_value() {
    let at = "variant = \"1rtt\"\npoint = { \"workload.download\" = \"2 MB\" }\npublished = 5.0\n";
    assert_eq!(judged(&format!("{at}within = 0.1"))[0].1, Some(true));
    assert_eq!(judged(&format!("{at}within = \"0.1 %\""))[0].1, Some(false));
}

fn rows(results: &Results, table: &str) -> Vec<String> {
    let file = encode(&find_table(table).unwrap().of(results)).unwrap();
    let reader = SerializedFileReader::new(bytes::Bytes::from(file)).unwrap();
    reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect()
}

#[test]
fn parquet_has_a_row_per_flow_and_null_for_missing_values() {
    let results = results(&plan(TWO_VARIANTS));
    let rows = rows(&results, "flows");
    assert_eq!(rows.len(), results.runs.len());
    for part in [
        "variant: \"1rtt\"",
        "point.workload.download: \"2 MB\"",
        "point.workload.download.number: 2000000.0",
        "flow_control_blocked_s: null",
        "path.token: \"accepted\"",
        "path.receiver_rtt_ms: null",
        "reverse_bytes.udp: 8.0",
    ] {
        assert!(rows[0].contains(part), "{part} in {}", rows[0]);
    }
}

#[test]
fn parquet_has_a_row_per_link() {
    let results = results(&plan(TWO_VARIANTS));
    let rows = rows(&results, "links");
    assert_eq!(rows.len(), results.runs.len());
    assert!(rows[0].contains("link: \"access/forward\""), "{}", rows[0]);
    assert!(rows[0].contains("utilisation: 0.5"), "{}", rows[0]);
}
