//! Parquet tables for notebooks: one with a row for each measured visit of each flow, and one with
//! a row for each link.
//!
//! They use the column writer of the `parquet` crate rather than Arrow, because it builds in half
//! the time and produces the same file.

use crate::document::Results;
use crate::flow_metrics::flow_metrics;
use crate::metrics::LINK;
use crate::quantity::quantity;
use crate::run::{Flow, Link, Run};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::sync::Arc;

/// Why a table could not be encoded.
pub type TableError = parquet::errors::ParquetError;

/// A column with a value or null for each row.
enum Column {
    Text(Vec<Option<ByteArray>>),
    Int(Vec<Option<i64>>),
    Float(Vec<Option<f64>>),
    Bool(Vec<Option<bool>>),
}

/// Encodes the table of flows as a Parquet file, with every metric, and every swept key as text and
/// as a number.
///
/// # Errors
/// Returns an error if the Parquet writer fails.
pub fn flows(results: &Results) -> Result<Vec<u8>, TableError> {
    encode(results, "flow", flow_columns(results))
}

/// Encodes the table of links as a Parquet file.
///
/// # Errors
/// Returns an error if the Parquet writer fails.
pub fn links(results: &Results) -> Result<Vec<u8>, TableError> {
    encode(results, "link", link_columns(results))
}

fn encode(
    results: &Results,
    name: &str,
    columns: Vec<(String, Column)>,
) -> Result<Vec<u8>, TableError> {
    let fields = columns.iter().map(|(name, column)| column.field(name));
    let schema =
        Type::group_type_builder(name).with_fields(fields.collect::<Result<_, _>>()?).build()?;
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
) -> Result<(), TableError> {
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    let present: Vec<T::T> = values.iter().flatten().cloned().collect();
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    column.typed::<T>().write_batch(&present, Some(&levels), None)?;
    column.close()
}

impl Column {
    fn field(&self, name: &str) -> Result<Arc<Type>, TableError> {
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

/// Rows of a table, each with its run.
struct Rows<'a, T>(Vec<(&'a Run, &'a T)>);

impl<'a, T: 'static> Rows<'a, T> {
    fn text(&self, read: impl Fn(&Run, &T) -> Option<String>) -> Column {
        let value = |(run, row): &(&Run, &T)| read(run, row).map(|text| text.as_str().into());
        Column::Text(self.0.iter().map(value).collect())
    }

    fn int(&self, read: impl Fn(&Run, &T) -> u64) -> Column {
        Column::Int(self.0.iter().map(|(run, row)| i64::try_from(read(run, row)).ok()).collect())
    }

    fn float(&self, read: impl Fn(&Run, &T) -> Option<f64>) -> Column {
        Column::Float(self.0.iter().map(|(run, row)| read(run, row)).collect())
    }

    fn bool(&self, read: impl Fn(&T) -> Option<bool>) -> Column {
        Column::Bool(self.0.iter().map(|(_, row)| read(row)).collect())
    }

    /// Returns the columns that identify the run: variant, swept keys (`point.KEY` as text,
    /// `point.KEY.number` in base units) and number.
    fn run(&self) -> Vec<(String, Column)> {
        let mut keys: Vec<&String> = self.0.iter().flat_map(|(run, _)| run.point.keys()).collect();
        keys.sort();
        keys.dedup();
        let mut columns =
            vec![("variant".to_owned(), self.text(|run, _| Some(run.variant.clone())))];
        for key in keys {
            let text = self.text(|run, _| run.point.get(key).cloned());
            let number = self.float(|run, _| Some(quantity(run.point.get(key)?)?.0));
            columns.push((format!("point.{key}"), text));
            columns.push((format!("point.{key}.number"), number));
        }
        columns.push(("run".to_owned(), self.int(|run, _| run.run)));
        columns
    }
}

fn flow_columns(results: &Results) -> Vec<(String, Column)> {
    let runs = results.runs.iter();
    let rows: Rows<'_, Flow> =
        Rows(runs.flat_map(|run| run.flows.iter().map(move |flow| (run, flow))).collect());
    let mut columns = rows.run();
    let fixed = [
        ("flow", rows.text(|_, flow| Some(flow.name.clone()))),
        ("visit", rows.int(|_, flow| flow.visit as u64)),
        ("transport", rows.text(|_, flow| Some(flow.transport.clone()))),
        ("congestion", rows.text(|_, flow| Some(flow.congestion.clone()))),
        ("direction", rows.text(|_, flow| Some(flow.direction.name().to_owned()))),
        ("bytes", rows.int(|_, flow| flow.bytes)),
        ("completed", rows.bool(|flow| Some(flow.completed))),
        ("start_s", rows.float(|_, flow| Some(flow.start_s))),
    ];
    columns.extend(fixed.map(|(name, column)| (name.to_owned(), column)));
    columns.extend(
        flow_metrics()
            .map(|metric| (metric.row.name.to_owned(), rows.float(|_, flow| metric.read(flow)))),
    );
    let rest = [
        ("path.retreated", rows.bool(|flow| flow.path.retreated)),
        ("path.token", rows.text(|_, flow| flow.path.token.clone())),
        ("error", rows.text(|_, flow| flow.error.clone())),
    ];
    columns.extend(rest.map(|(name, column)| (name.to_owned(), column)));
    columns
}

fn link_columns(results: &Results) -> Vec<(String, Column)> {
    let runs = results.runs.iter();
    let rows: Rows<'_, Link> =
        Rows(runs.flat_map(|run| run.links.iter().map(move |link| (run, link))).collect());
    let mut columns = rows.run();
    columns.push(("link".to_owned(), rows.text(|_, link| Some(link.name.clone()))));
    columns.extend(LINK.iter().map(|metric| {
        (metric.row.name.to_owned(), rows.float(|_, link| (metric.read)(&link.metrics)))
    }));
    columns
}
