//! Checks that the Parquet tables of a run directory hold every value of `results.json`.

#![cfg(feature = "parquet")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use bentpipe_lab::Lab;
use bentpipe_results::metrics::{FLOW, LINK, SHARED};
use bentpipe_results::parquet::encode;
use bentpipe_results::{DirectionEmulation, Emulation, Results, TABLES, find_table};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

const SCENARIO: &str = r#"
name = "everything"
seed = 18446744073709551615
repeat = 2

[path]
forward = { rate = "20 Mbps", delay = "50 ms", queue = "200 kB" }
return = { rate = "5 Mbps", delay = "50 ms" }

[[flow]]
name = "page"
objects = [
  { name = "index", size = "20 kB" },
  { name = "film", size = "8 MB", after = ["index"], delay = "5 ms" },
]

[[flow]]
name = "up"
transport = "tcp"
http = "raw"
bulk = { duration = "8 s" }

[[variant]]
name = "cubic"

[[variant]]
name = "newreno"
congestion = "newreno"

[sweep]
"path.forward.rate" = ["10 Mbps", "20 Mbps"]
"path.forward.loss" = [0.0, "0.1 %"]

[[expect]]
metric = "completion_s"
flow = "page"
below = 100

[[expect]]
metric = "jain_index"
above = 2.0

[[published]]
label = "a target"
kind = "objective"
metric = "completion_s"
value = 3.0
source = "a test"
"#;

/// Results with a value in every field.
fn results() -> Results {
    let mut results = Lab::new().run(SCENARIO).unwrap_or_else(|error| panic!("{error}"));
    results.runs[1].flows[0].error = Some("interrupted".to_owned());
    results.runs[2].emulation = Some(Emulation {
        warnings: vec!["late".to_owned(), "dropped".to_owned()],
        directions: vec![DirectionEmulation {
            name: "forward".to_owned(),
            packets: 100,
            dropped: 3,
            unaccounted: -2,
            late_p50_us: 1.5,
            late_p99_us: 20.25,
            late_max_us: 300.0,
            realtime: true,
            cpu_s: 0.75,
        }],
        proxies: Vec::new(),
    });
    results.runs[3].fairness = None;
    results.expectations[0].passed = None;
    results
}

type Row = BTreeMap<String, Value>;

/// The tables of a run directory as read from Parquet files, and the metadata of one file.
struct Files {
    tables: BTreeMap<&'static str, Vec<Row>>,
    metadata: BTreeMap<String, String>,
}

impl Files {
    fn of(results: &Results) -> Self {
        let mut files = Self { tables: BTreeMap::new(), metadata: BTreeMap::new() };
        for table in TABLES.iter().map(|kind| kind.of(results)) {
            let reader =
                SerializedFileReader::new(bytes::Bytes::from(encode(&table).unwrap())).unwrap();
            let pairs = reader.metadata().file_metadata().key_value_metadata().unwrap();
            files.metadata = pairs
                .iter()
                .map(|pair| (pair.key.clone(), pair.value.clone().unwrap_or_default()))
                .collect();
            let rows = reader.get_row_iter(None).unwrap().map(|row| {
                let row = row.unwrap();
                row.get_column_iter().map(|(name, field)| (name.clone(), value(field))).collect()
            });
            files.tables.insert(table.name, rows.collect());
        }
        files
    }

    /// Returns the rows of `table` with the values that `owner` has in `keys`.
    fn of_row(&self, table: &str, owner: &Row, keys: &[&str]) -> Vec<&Row> {
        let same = |row: &&Row| {
            let identity = ["variant", "run"].iter().chain(keys);
            identity.into_iter().all(|key| row[*key] == owner[*key]) && point(row) == point(owner)
        };
        self.tables[table].iter().filter(same).collect()
    }

    /// Reconstructs `results.json` from nothing but the tables.
    fn document(&self) -> Value {
        json!({
            "scenario": self.metadata["bentpipe.scenario"],
            "seed": self.metadata["bentpipe.seed"].parse::<u64>().unwrap(),
            "clock": self.metadata["bentpipe.clock"],
            "version": self.metadata["bentpipe.version"],
            "runs": self.tables["runs"].iter().map(|row| self.run(row)).collect::<Value>(),
            "summary": all(&self.tables["summary"], &[
                "variant", "flow", "visit", "metric", "n", "median", "p5", "p95", "mean",
                "ci95_low", "ci95_high",
            ]),
            "expectations": all(&self.tables["expectations"], &["text", "passed", "measured"]),
            "published": all(&self.tables["published"], &[
                "label", "kind", "metric", "variant", "flow", "visit", "value", "measured",
                "ratio", "source",
            ]),
        })
    }

    fn run(&self, row: &Row) -> Value {
        let links = self.of_row("links", row, &[]).into_iter().map(|link| {
            let mut object = pick(link, LINK.iter().map(|metric| metric.row.name));
            object.insert("name".to_owned(), link["link"].clone());
            Value::Object(object)
        });
        let flows = self.of_row("flows", row, &[]).into_iter().map(|flow| self.flow(flow));
        let mut run = json!({
            "variant": row["variant"],
            "point": point(row),
            "run": row["run"],
            "flows": flows.collect::<Value>(),
            "links": links.collect::<Value>(),
            "fairness": self.fairness(row),
        });
        let warnings = self.of_row("warnings", row, &[]);
        let directions = self.of_row("emulation", row, &[]);
        if !directions.is_empty() {
            let directions = directions.into_iter().map(|direction| {
                let mut object = pick(
                    direction,
                    [
                        "packets",
                        "dropped",
                        "unaccounted",
                        "late_p50_us",
                        "late_p99_us",
                        "late_max_us",
                        "realtime",
                        "cpu_s",
                    ],
                );
                object.insert("name".to_owned(), direction["direction"].clone());
                Value::Object(object)
            });
            run["emulation"] = json!({
                "warnings": warnings.iter().map(|row| &row["warning"]).collect::<Vec<_>>(),
                "directions": directions.collect::<Value>(),
            });
        }
        run
    }

    fn fairness(&self, row: &Row) -> Value {
        if row["fairness.from_s"].is_null() {
            return Value::Null;
        }
        let names = ["from_s", "to_s", "warmup_s", "bottleneck"];
        let names = names.into_iter().chain(SHARED.iter().map(|metric| metric.row.name));
        let fields = names.map(|name| (name.to_owned(), row[&format!("fairness.{name}")].clone()));
        let mut fairness: Map<String, Value> = fields.collect();
        let shares = self.of_row("shares", row, &[]).into_iter();
        let shares =
            shares.map(|share| Value::Object(pick(share, ["flow", "goodput_mbps", "share"])));
        fairness.insert("flows".to_owned(), shares.collect());
        Value::Object(fairness)
    }

    fn flow(&self, row: &Row) -> Value {
        let fixed = [
            "visit",
            "transport",
            "workload",
            "congestion",
            "connections",
            "direction",
            "bytes",
            "completed",
            "start_s",
            "error",
        ];
        let metrics = FLOW.iter().map(|metric| metric.row.name);
        let mut flow = pick(row, fixed.into_iter().chain(metrics));
        let mut insert = |name: &str, value: Value| flow.insert(name.to_owned(), value);
        insert("name", row["flow"].clone());
        insert("path", group(row, "path."));
        let visit = ["flow", "visit"];
        let objects = self.of_row("objects", row, &visit).into_iter().map(|object| {
            let mut fields = pick(object, ["bytes", "start_s", "completion_s"]);
            fields.insert("name".to_owned(), object["object"].clone());
            Value::Object(fields)
        });
        insert("objects", objects.collect());
        let parts: Map<String, Value> = self
            .of_row("time_budget", row, &visit)
            .into_iter()
            .map(|part| (part["part"].as_str().unwrap().to_owned(), part["time_s"].clone()))
            .collect();
        insert("time_budget", if parts.is_empty() { Value::Null } else { parts.into() });
        let mut losses = group(row, "loss_time.");
        losses.as_object_mut().unwrap().retain(|_, seconds| !seconds.is_null());
        if losses.as_object().is_some_and(|losses| !losses.is_empty()) {
            insert("loss_time", losses);
        }
        let episodes = self.of_row("episodes", row, &visit).into_iter();
        let fields = ["part", "from_s", "to_s", "time_s"];
        let episodes: Vec<Value> = episodes.map(|episode| pick(episode, fields).into()).collect();
        insert("episodes", episodes.into());
        let mut layers = group(row, "reverse_bytes.");
        for layer in layers.as_object_mut().unwrap().values_mut() {
            *layer = json!(0);
        }
        for layer in self.of_row("reverse_bytes", row, &visit) {
            layers[layer["layer"].as_str().unwrap()] = layer["bytes"].clone();
        }
        layers["total"] = row["reverse_bytes"].clone();
        insert("reverse_bytes", layers);
        for kind in ["ack_frame_bytes", "ack_option_bytes"] {
            let mut sizes = Value::Null;
            if !row[&format!("{kind}.n")].is_null() {
                sizes = group(row, &format!("{kind}."));
                for name in ["min", "median", "p99", "max"] {
                    let frames = row[&format!("ack_frame_{name}_bytes")].clone();
                    if kind == "ack_frame_bytes" {
                        sizes[name] = frames;
                    }
                }
                let counts = self.of_row("ack_sizes", row, &visit).into_iter();
                let counts = counts.filter(|count| count["kind"] == kind);
                sizes["counts"] = counts
                    .map(|count| (count["size"].to_string(), count["count"].clone()))
                    .collect::<Map<_, _>>()
                    .into();
            }
            insert(kind, sizes);
        }
        Value::Object(flow)
    }
}

fn value(field: &Field) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Bool(value) => json!(value),
        Field::Long(value) => json!(value),
        Field::Double(value) => json!(value),
        Field::Str(value) => json!(value),
        other => panic!("no column has the type of {other}"),
    }
}

/// Returns an object of the fields `names` of a row.
fn pick<'a>(row: &Row, names: impl IntoIterator<Item = &'a str>) -> Map<String, Value> {
    names.into_iter().map(|name| (name.to_owned(), row[name].clone())).collect()
}

/// Returns an object of the fields whose names start with `prefix`.
fn group(row: &Row, prefix: &str) -> Value {
    let fields = row
        .iter()
        .filter_map(|(name, value)| Some((name.strip_prefix(prefix)?.to_owned(), value.clone())));
    Value::Object(fields.collect())
}

/// Returns the values of the swept keys.
fn point(row: &Row) -> Value {
    let fields = row.iter().filter_map(|(name, value)| {
        let key = name.strip_prefix("point.")?;
        let text = !name.ends_with(".number") && !value.is_null();
        text.then(|| (key.to_owned(), value.clone()))
    });
    Value::Object(fields.collect())
}

fn all(rows: &[Row], names: &[&str]) -> Value {
    let objects = rows.iter().map(|row| {
        let mut object = pick(row, names.iter().copied());
        if row.contains_key("variant") {
            object.insert("point".to_owned(), point(row));
        }
        Value::Object(object)
    });
    objects.collect()
}

/// Turns every number into a double, because the counts of a metric are doubles in tables.
fn doubles(value: Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(items) => items.into_iter().map(doubles).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (name, doubles(value))).collect()
        }
        other => other,
    }
}

/// Returns the paths at which the two documents differ.
fn differences(path: &str, own: &Value, other: &Value, found: &mut Vec<String>) {
    match (own, other) {
        (Value::Object(own), Value::Object(other)) => {
            for name in own.keys().chain(other.keys().filter(|name| !own.contains_key(*name))) {
                let null = Value::String("absent".to_owned());
                let (own, other) =
                    (own.get(name).unwrap_or(&null), other.get(name).unwrap_or(&null));
                differences(&format!("{path}/{name}"), own, other, found);
            }
        }
        (Value::Array(own), Value::Array(other)) if own.len() == other.len() => {
            for (index, (own, other)) in own.iter().zip(other).enumerate() {
                differences(&format!("{path}/{index}"), own, other, found);
            }
        }
        _ if own == other => {}
        _ => found.push(format!("{path}: {own} in the tables, {other} in results.json")),
    }
}

#[test]
fn parquet_files_hold_every_value_of_results_json() {
    let results = results();
    let json: Value = serde_json::from_str(&results.to_json().unwrap()).unwrap();
    // The scenario uses every part of the document.
    let flow = |index: usize| &json["runs"][0]["flows"][index];
    assert!(flow(0)["ack_frame_bytes"].is_object() && flow(1)["ack_option_bytes"].is_object());
    assert_eq!(flow(0)["objects"].as_array().map(Vec::len), Some(2));
    assert!(json["runs"][0]["fairness"]["flows"][1]["share"].is_number());
    assert_eq!(json["published"].as_array().map(Vec::len), Some(16));
    // Tests of populations check their tables.
    for table in TABLES.iter().filter(|table| !["populations", "users"].contains(&table.name)) {
        assert!(!table.of(&results).is_empty(), "{} has no rows", table.name);
    }
    let mut found = Vec::new();
    differences("", &doubles(Files::of(&results).document()), &doubles(json), &mut found);
    assert!(found.is_empty(), "{} values:\n{}", found.len(), found.join("\n"));
}

#[test]
fn every_column_has_a_meaning_and_a_value_for_each_row() {
    let results = results();
    for kind in TABLES {
        let table = kind.of(&results);
        assert!(table.about.ends_with('.') && find_table(table.name).is_some());
        for column in &table.columns {
            assert!(column.about.ends_with('.'), "{} of {}", column.name, table.name);
            assert_eq!(column.rows.len(), table.len(), "{} of {}", column.name, table.name);
            let same = table.columns.iter().filter(|other| other.name == column.name).count();
            assert_eq!(same, 1, "{} of {}", column.name, table.name);
        }
    }
}

#[test]
fn swept_values_are_numbers_in_base_units() {
    let results = results();
    let flows = find_table("flows").unwrap().of(&results);
    let column = |name: &str| flows.column(name).unwrap();
    assert_eq!(column("point.path.forward.rate.number").unit, "bps");
    let files = Files::of(&results);
    let first = &files.tables["summary"][0];
    assert_eq!(first["point.path.forward.rate"], "10 Mbps");
    assert_eq!(first["point.path.forward.rate.number"], 1e7);
    let last = files.tables["objects"].last().unwrap();
    assert_eq!(last["point.path.forward.loss.number"], 0.001);
}
