//! One row for each flow of each run, for notebooks.
//!
//! The crate's own column writer is used, not Arrow: it builds in half the time, and the file is
//! the same.

use crate::results::{Flow, METRICS, PathView, Results, Run};
use crate::return_path::LAYERS;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::sync::Arc;

/// One column with a value, or none, for each row.
enum Column {
    Text(Vec<Option<ByteArray>>),
    Int(Vec<Option<i64>>),
    Float(Vec<Option<f64>>),
    Bool(Vec<Option<bool>>),
}

/// The results as a Parquet file.
///
/// # Errors
/// Only if the writer itself fails.
pub fn encode(results: &Results) -> Result<Vec<u8>, ParquetError> {
    let columns = columns(results);
    let fields = columns.iter().map(|(name, column)| column.field(name));
    let schema =
        Type::group_type_builder("flow").with_fields(fields.collect::<Result<_, _>>()?).build()?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(format!("bentpipe {}", results.version))
        .build();
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for (_, column) in &columns {
        match column {
            Column::Text(values) => write::<ByteArrayType>(&mut group, values)?,
            Column::Int(values) => write::<Int64Type>(&mut group, values)?,
            Column::Float(values) => write::<DoubleType>(&mut group, values)?,
            Column::Bool(values) => write::<BoolType>(&mut group, values)?,
        }
    }
    group.close()?;
    writer.into_inner()
}

fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: &[Option<T::T>],
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    let present: Vec<T::T> = values.iter().flatten().cloned().collect();
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    column.typed::<T>().write_batch(&present, Some(&levels), None)?;
    column.close()
}

impl Column {
    fn field(&self, name: &str) -> Result<Arc<Type>, ParquetError> {
        let (physical, logical) = match self {
            Self::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Self::Int(_) => (Physical::INT64, None),
            Self::Float(_) => (Physical::DOUBLE, None),
            Self::Bool(_) => (Physical::BOOLEAN, None),
        };
        let builder =
            Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
        builder.with_logical_type(logical).build().map(Arc::new)
    }
}

fn columns(results: &Results) -> Vec<(String, Column)> {
    let rows: Vec<(&Run, &Flow)> =
        results.runs.iter().flat_map(|run| run.flows.iter().map(move |flow| (run, flow))).collect();
    let mut keys: Vec<&String> = results.runs.iter().flat_map(|run| run.point.keys()).collect();
    keys.sort();
    keys.dedup();

    let text = |read: &dyn Fn(&Run, &Flow) -> Option<String>| {
        Column::Text(
            rows.iter()
                .map(|(run, flow)| read(run, flow).map(|text| text.as_str().into()))
                .collect(),
        )
    };
    let int = |read: &dyn Fn(&Run, &Flow) -> u64| {
        Column::Int(rows.iter().map(|(run, flow)| i64::try_from(read(run, flow)).ok()).collect())
    };
    let mut columns = vec![("variant".to_owned(), text(&|run, _| Some(run.variant.clone())))];
    for key in keys {
        columns.push((format!("point.{key}"), text(&|run, _| run.point.get(key).cloned())));
    }
    let fixed = [
        ("run", int(&|run, _| run.run)),
        ("flow", text(&|_, flow| Some(flow.name.clone()))),
        ("visit", int(&|_, flow| flow.visit as u64)),
        ("transport", text(&|_, flow| Some(flow.transport.clone()))),
        ("congestion", text(&|_, flow| Some(flow.congestion.clone()))),
        ("direction", text(&|_, flow| Some(flow.direction_name().to_owned()))),
        ("bytes", int(&|_, flow| flow.bytes)),
        ("completed", Column::Bool(rows.iter().map(|(_, flow)| Some(flow.completed)).collect())),
        ("start_s", Column::Float(rows.iter().map(|(_, flow)| Some(flow.start_s)).collect())),
    ];
    columns.extend(fixed.map(|(name, column)| (name.to_owned(), column)));
    for (name, read) in METRICS {
        columns.push((
            name.to_owned(),
            Column::Float(rows.iter().map(|(_, flow)| read(flow)).collect()),
        ));
    }
    for (layer, read) in LAYERS {
        columns.push((format!("return_bytes.{layer}"), int(&|_, flow| read(&flow.return_bytes))));
    }
    let path = |read: &dyn Fn(&PathView) -> Option<f64>| {
        Column::Float(rows.iter().map(|(_, flow)| read(&flow.path)).collect())
    };
    let bytes = |read: fn(&PathView) -> Option<u64>| {
        path(&move |view| read(view).map(|bytes| bytes as f64))
    };
    let known = [
        ("saved_window_bytes", bytes(|view| view.saved_window_bytes)),
        ("saved_rtt_ms", path(&|view| view.saved_rtt_ms)),
        ("observed_window_bytes", bytes(|view| view.observed_window_bytes)),
        ("observed_rtt_ms", path(&|view| view.observed_rtt_ms)),
        ("receiver_window_bytes", bytes(|view| view.receiver_window_bytes)),
        ("receiver_rtt_ms", path(&|view| view.receiver_rtt_ms)),
        ("retreated", Column::Bool(rows.iter().map(|(_, flow)| flow.path.retreated).collect())),
        ("token", text(&|_, flow| flow.path.token.clone())),
    ];
    columns.extend(known.map(|(name, column)| (format!("path.{name}"), column)));
    columns.push(("error".to_owned(), text(&|_, flow| flow.error.clone())));
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    #[test]
    fn every_flow_of_every_run_is_a_row_and_what_did_not_happen_is_null() {
        let results = testing::results(&testing::plan(testing::TWO_VARIANTS));
        let file = encode(&results).unwrap();
        let reader = SerializedFileReader::new(bytes::Bytes::from(file)).unwrap();
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.len(), results.runs.len());
        let text = rows[0].to_string();
        assert!(
            text.contains("variant: \"1rtt\"")
                && text.contains("point.workload.download: \"2 MB\""),
            "{text}"
        );
        assert!(text.contains("flow_control_blocked_s: null"), "{text}");
        assert!(
            text.contains("path.token: \"accepted\"")
                && text.contains("path.receiver_rtt_ms: null"),
            "{text}"
        );
    }
}
