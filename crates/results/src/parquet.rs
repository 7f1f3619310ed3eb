//! Tables as Parquet files.
//!
//! They use the column writer of the `parquet` crate rather than Arrow, because it builds in half
//! the time and produces the same file.

mod blocks;
mod chunk;
mod runs;

use crate::table::{Column, Rows, Table, Values};
use chunk::RowGroup;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnDescPtr, ColumnPath, Type};
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
        let dictionary = !matches!(column.rows, Rows::Each(Values::Float(_)));
        let path = ColumnPath::new(vec![column.name.clone()]);
        properties = properties.set_column_dictionary_enabled(path, dictionary);
    }
    let properties = Arc::new(properties.build());
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), properties)?;
    let columns = writer.schema_descr().columns().to_vec();
    let mut group = writer.next_row_group()?;
    for (column, descriptor) in table.columns.iter().zip(columns) {
        write(&mut group, descriptor, &column.rows)?;
    }
    group.close()?;
    writer.into_inner()
}

/// Writes `rows` as the next column of `group`.
fn write(
    group: &mut RowGroup<'_>,
    column: ColumnDescPtr,
    rows: &Rows<'_>,
) -> Result<(), TableError> {
    match rows {
        Rows::Each(values) => write_values(group, column, values),
        Rows::Blocks(blocks) => blocks::write(group, column, blocks),
        Rows::Repeated(values, rows) => match values {
            Values::Text(values) => {
                let values = values.iter().map(Option::as_deref);
                runs::write(group, column, &runs::repeated(values, rows))
            }
            Values::Int(values) => {
                runs::write(group, column, &runs::repeated(values.iter().copied(), rows))
            }
            Values::Float(values) => {
                let bits = values.iter().map(|value| value.map(f64::to_bits));
                runs::write(group, column, &runs::repeated(bits, rows))
            }
            // The format has no dictionaries of truth values.
            Values::Bool(_) => {
                let repeated = Rows::Repeated(values.clone(), rows.clone());
                write_values(group, column, &repeated.into_values())
            }
        },
    }
}

fn write_values(
    group: &mut RowGroup<'_>,
    column: ColumnDescPtr,
    values: &Values<'_>,
) -> Result<(), TableError> {
    match values {
        Values::Text(values) => match runs::worthwhile(values.iter().map(Option::as_deref)) {
            Some(runs) => runs::write(group, column, &runs),
            None => write_each::<ByteArrayType, _>(group, values, |text| text.as_ref().into()),
        },
        Values::Int(values) => match runs::worthwhile(values.iter().copied()) {
            Some(runs) => runs::write(group, column, &runs),
            None => write_each::<Int64Type, _>(group, values, |value| *value),
        },
        Values::Float(values) => write_each::<DoubleType, _>(group, values, |value| *value),
        Values::Bool(values) => write_each::<BoolType, _>(group, values, |value| *value),
    }
}

fn write_each<'v, T: DataType, V>(
    group: &mut RowGroup<'_>,
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
    let (physical, logical) = match &column.rows {
        Rows::Each(values) | Rows::Repeated(values, _) => types(values),
        Rows::Blocks(_) => (Physical::DOUBLE, None),
    };
    let builder =
        Type::primitive_type_builder(&column.name, physical).with_repetition(Repetition::OPTIONAL);
    builder.with_logical_type(logical).build().map(Arc::new)
}

fn types(values: &Values<'_>) -> (Physical, Option<LogicalType>) {
    match values {
        Values::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Values::Int(_) => (Physical::INT64, None),
        Values::Float(_) => (Physical::DOUBLE, None),
        Values::Bool(_) => (Physical::BOOLEAN, None),
    }
}

#[cfg(test)]
mod tests {
    use super::encode;
    use crate::table::{Column, Rows, Table};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    /// Returns what a reader finds in a table with one column.
    pub(super) fn fields(rows: Rows<'_>) -> Vec<Field> {
        let column = Column { name: "own".to_owned(), unit: "", about: "".into(), rows };
        let table = Table { name: "t", about: "", metadata: Vec::new(), columns: vec![column] };
        let bytes = bytes::Bytes::from(encode(&table).unwrap());
        let reader = SerializedFileReader::new(bytes).unwrap();
        let rows = reader.get_row_iter(None).unwrap();
        rows.map(|row| row.unwrap().get_column_iter().next().unwrap().1.clone()).collect()
    }
}
