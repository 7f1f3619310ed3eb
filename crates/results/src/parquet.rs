//! Tables as Parquet files.
//!
//! They use the column writer of the `parquet` crate rather than Arrow, because it builds in half
//! the time and produces the same file.

mod runs;

use crate::table::{Column, Table, Values};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};
use std::sync::Arc;

/// Why a table could not be encoded.
pub type TableError = parquet::errors::ParquetError;

/// Encodes `table` as a Parquet file with Snappy compression. The properties of the table become
/// the key-value metadata of the file.
///
/// # Errors
/// Returns an error if the Parquet writer fails.
pub fn encode(table: &Table<'_>) -> Result<Vec<u8>, TableError> {
    let fields = table.columns.iter().map(field).collect::<Result<_, _>>()?;
    let schema = Type::group_type_builder(table.name).with_fields(fields).build()?;
    let pairs = table.metadata.iter();
    let pairs = pairs.map(|(key, value)| KeyValue::new((*key).to_owned(), value.clone())).collect();
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_created_by(concat!("bentpipe ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(pairs));
    for column in &table.columns {
        // Measured values rarely repeat, and looking each up costs more than it saves.
        let dictionary = !matches!(column.values, Values::Float(_));
        let path = ColumnPath::new(vec![column.name.clone()]);
        properties = properties.set_column_dictionary_enabled(path, dictionary);
    }
    let properties = Arc::new(properties.build());
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), properties)?;
    let columns = writer.schema_descr().columns().to_vec();
    let mut group = writer.next_row_group()?;
    for (column, descriptor) in table.columns.iter().zip(columns) {
        match &column.values {
            Values::Text(values) => match runs::runs(values.iter().map(Option::as_deref)) {
                Some(runs) => runs::write(&mut group, descriptor, &runs)?,
                None => write::<ByteArrayType, _>(&mut group, values, |text| text.as_ref().into())?,
            },
            Values::Int(values) => match runs::runs(values.iter().copied()) {
                Some(runs) => runs::write(&mut group, descriptor, &runs)?,
                None => write::<Int64Type, _>(&mut group, values, |value| *value)?,
            },
            Values::Float(values) => write::<DoubleType, _>(&mut group, values, |value| *value)?,
            Values::Bool(values) => write::<BoolType, _>(&mut group, values, |value| *value)?,
        }
    }
    group.close()?;
    writer.into_inner()
}

fn write<'v, T: DataType, V>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: &'v [Option<V>],
    convert: impl FnMut(&'v V) -> T::T,
) -> Result<(), TableError> {
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    let mut present: Vec<T::T> = Vec::with_capacity(values.len());
    present.extend(values.iter().flatten().map(convert));
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    column.typed::<T>().write_batch(&present, Some(&levels), None)?;
    column.close()
}

fn field(column: &Column<'_>) -> Result<Arc<Type>, TableError> {
    let (physical, logical) = match column.values {
        Values::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Values::Int(_) => (Physical::INT64, None),
        Values::Float(_) => (Physical::DOUBLE, None),
        Values::Bool(_) => (Physical::BOOLEAN, None),
    };
    let builder =
        Type::primitive_type_builder(&column.name, physical).with_repetition(Repetition::OPTIONAL);
    builder.with_logical_type(logical).build().map(Arc::new)
}
