//! Events of qlog files as a table.

use crate::series::column;
use bentpipe_lab::LabError;
use bentpipe_results::{Table, Values};
use serde_json::Value;
use std::borrow::Cow;

/// Returns one row for each event of the qlog files (JSON-SEQ), each with its name and content.
pub fn table(files: &[(&str, Vec<u8>)]) -> Result<Table<'static>, LabError> {
    let mut rows = Events::default();
    for (name, bytes) in files {
        let stem = name.rsplit('/').next().unwrap_or(name).trim_end_matches(".sqlog");
        // JSON text sequences separate records by a record separator and a newline (RFC 7464).
        let records = bytes
            .split(|byte| *byte == b'\n')
            .map(|record| record.strip_prefix(b"\x1e").unwrap_or(record));
        for record in records.filter(|record| !record.is_empty()).skip(1) {
            let event: Value = serde_json::from_slice(record).map_err(|error| {
                LabError::read(*name, format!("an event is malformed: {error}"))
            })?;
            rows.push(stem, &event);
        }
    }
    Ok(rows.table())
}

/// Columns of the table.
#[derive(Default)]
struct Events {
    log: Vec<Option<Cow<'static, str>>>,
    time: Vec<Option<f64>>,
    event: Vec<Option<Cow<'static, str>>>,
    kind: Vec<Option<Cow<'static, str>>>,
    number: Vec<Option<i64>>,
    bytes: Vec<Option<i64>>,
    data: Vec<Option<Cow<'static, str>>>,
}

impl Events {
    fn push(&mut self, log: &str, event: &Value) {
        let text = |value: &Value| value.as_str().map(|text| Cow::Owned(text.to_owned()));
        let data = &event["data"];
        self.log.push(Some(Cow::Owned(log.to_owned())));
        // qlog has milliseconds, Bentpipe's tables seconds.
        self.time.push(event["time"].as_f64().map(|time| time / 1e3));
        self.event.push(text(&event["name"]));
        self.kind.push(text(&data["header"]["packet_type"]));
        self.number.push(data["header"]["packet_number"].as_i64());
        self.bytes.push(data["raw"]["length"].as_i64());
        self.data.push(Some(Cow::Owned(data.to_string())));
    }

    fn table(self) -> Table<'static> {
        Table {
            name: "packets",
            about: "One row for each event of the qlog files of a run.",
            metadata: Vec::new(),
            columns: vec![
                column("log", "", "Name of the qlog file: flow, visit, side.", text(self.log)),
                column("time_s", "s", "Time since the start of the run.", Values::Float(self.time)),
                column("event", "", "Name of the event.", text(self.event)),
                column("packet_type", "", "Type of the packet, if it has one.", text(self.kind)),
                column("packet_number", "", "Number of the packet.", Values::Int(self.number)),
                column("bytes", "bytes", "Length of the packet.", Values::Int(self.bytes)),
                column("data", "", "Content of the event, as JSON.", text(self.data)),
            ],
        }
    }
}

fn text(values: Vec<Option<Cow<'static, str>>>) -> Values<'static> {
    Values::Text(values)
}
