//! JSON Schema of `results.json` and `manifest.json`, with the registry of metrics.

use crate::document::Results;
use crate::flow_metrics::metrics_schema;
use crate::manifest::Manifest;
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};

/// The JSON files of a run directory, as described by `bentpipe schema --results`.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "its fields describe files, and no value is made")]
struct RunDirectory {
    /// The content of `manifest.json`.
    manifest: Manifest,
    /// The content of `results.json`.
    results: Results,
}

/// Returns the JSON Schema (draft 2020-12) of results: an object with the content of
/// `manifest.json` and of `results.json`.
///
/// The extension `x-metrics` lists every metric with name, scope, unit, label and meaning.
pub fn json_schema() -> Schema {
    let generator: SchemaGenerator = SchemaSettings::draft2020_12().for_serialize().into();
    let mut schema = generator.into_root_schema_for::<RunDirectory>();
    schema.insert("title".to_owned(), "Results of Bentpipe".into());
    schema.insert("x-metrics".to_owned(), metrics_schema());
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_has_every_stored_metric_with_its_unit() {
        let schema = serde_json::to_value(json_schema()).unwrap();
        let flow = &schema["$defs"]["Flow"]["properties"];
        for metric in crate::metrics::FLOW {
            assert_eq!(flow[metric.row.name]["x-unit"], metric.row.unit, "{}", metric.row.name);
        }
        assert_eq!(
            schema["x-metrics"].as_array().unwrap().len(),
            metrics_schema().as_array().unwrap().len()
        );
    }
}
