//! Tables as Arrow record batches, which other libraries take through the PyCapsule interface.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator,
    RecordBatchOptions, StringArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use bentpipe_results::{Column, Table, Values};
use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyList};
use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::Arc;

/// Name of a capsule with an Arrow stream (Arrow PyCapsule interface).
const STREAM: &CStr = c"arrow_array_stream";

/// A table: columns with name, unit and meaning.
#[pyclass(frozen, module = "bentpipe._bentpipe")]
pub struct TableData {
    name: String,
    about: String,
    batch: RecordBatch,
}

/// A column as Python sees it: name, kind, unit, meaning, values.
type PyColumn<'py> = (String, String, String, String, Vec<Bound<'py, PyAny>>);

#[pymethods]
impl TableData {
    /// Builds a table from lists of values, as pickling needs it. Kinds of columns are `text`,
    /// `int`, `float` and `bool`.
    #[new]
    fn build(name: &str, about: &str, columns: Vec<PyColumn<'_>>) -> PyResult<Self> {
        let mut fields = Vec::new();
        let mut arrays = Vec::new();
        for (column, kind, unit, meaning, values) in columns {
            let array: ArrayRef = match kind.as_str() {
                "text" => Arc::new(StringArray::from(values_of::<String>(&values)?)),
                "int" => Arc::new(Int64Array::from(values_of::<i64>(&values)?)),
                "float" => Arc::new(Float64Array::from(values_of::<f64>(&values)?)),
                "bool" => Arc::new(BooleanArray::from(values_of::<bool>(&values)?)),
                other => {
                    return Err(PyValueError::new_err(format!(
                        "no kind of column is named `{other}`; allowed: text, int, float, bool"
                    )));
                }
            };
            fields.push(field(&column, array.data_type().clone(), &unit, &meaning));
            arrays.push(array);
        }
        let batch = batch(Schema::new(fields), arrays).map_err(failed)?;
        Ok(Self { name: name.to_owned(), about: about.to_owned(), batch })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// What a row stands for.
    #[getter]
    fn about(&self) -> &str {
        &self.about
    }

    /// Name, kind, unit and meaning of each column.
    #[getter]
    fn columns(&self) -> Vec<(String, &'static str, String, String)> {
        let text =
            |field: &Field, key: &str| field.metadata().get(key).cloned().unwrap_or_default();
        let schema = self.batch.schema();
        let described = schema.fields().iter().map(|field| {
            let kind = match field.data_type() {
                DataType::Int64 => "int",
                DataType::Float64 => "float",
                DataType::Boolean => "bool",
                _ => "text",
            };
            (field.name().clone(), kind, text(field, "unit"), text(field, "about"))
        });
        described.collect()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// Returns the values of the column number `index`, all or the first `stop`; `None` for null.
    #[pyo3(signature = (index, stop=None))]
    fn values<'py>(
        &self,
        py: Python<'py>,
        index: usize,
        stop: Option<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        let array = self.array(index)?;
        let array = array.slice(0, stop.unwrap_or(usize::MAX).min(array.len()));
        if let Some(values) = array.as_any().downcast_ref::<StringArray>() {
            return PyList::new(py, values.iter().collect::<Vec<_>>());
        }
        if let Some(values) = array.as_any().downcast_ref::<Int64Array>() {
            return PyList::new(py, values.iter().collect::<Vec<_>>());
        }
        if let Some(values) = array.as_any().downcast_ref::<Float64Array>() {
            return PyList::new(py, values.iter().collect::<Vec<_>>());
        }
        if let Some(values) = array.as_any().downcast_ref::<BooleanArray>() {
            return PyList::new(py, values.iter().collect::<Vec<_>>());
        }
        Err(PyRuntimeError::new_err(format!("no values of type {}", array.data_type())))
    }

    /// Returns the numbers of the column number `index` as 64-bit words in native byte order:
    /// floats with NaN for null, or integers. `None` for other columns and integers with nulls.
    fn words<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let array = self.array(index)?;
        let bytes: Vec<u8> = if let Some(values) = array.as_any().downcast_ref::<Float64Array>() {
            values.iter().flat_map(|value| value.unwrap_or(f64::NAN).to_ne_bytes()).collect()
        } else if let Some(values) = array.as_any().downcast_ref::<Int64Array>()
            && values.null_count() == 0
        {
            values.values().iter().flat_map(|value| value.to_ne_bytes()).collect()
        } else {
            return Ok(None);
        };
        Ok(Some(PyBytes::new(py, &bytes)))
    }

    /// Returns a capsule with an Arrow stream of the table. `requested_schema` has no effect, as
    /// the interface permits.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let schema = self.batch.schema();
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], schema);
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), STREAM)
    }
}

impl TableData {
    /// Converts `table`.
    pub fn new(table: Table<'_>) -> PyResult<Self> {
        let Table { name, about, metadata, columns } = table;
        let metadata: HashMap<String, String> =
            metadata.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().map(column).unzip();
        let schema = Schema::new_with_metadata(fields, metadata);
        let batch = batch(schema, arrays).map_err(failed)?;
        Ok(Self { name: name.to_owned(), about: about.to_owned(), batch })
    }

    fn array(&self, index: usize) -> PyResult<&ArrayRef> {
        let columns = self.batch.columns();
        columns.get(index).ok_or_else(|| PyIndexError::new_err("no such column"))
    }
}

fn column(column: Column<'_>) -> (Field, ArrayRef) {
    let array: ArrayRef = match column.rows.into_values() {
        Values::Text(values) => Arc::new(StringArray::from_iter(values)),
        Values::Int(values) => Arc::new(Int64Array::from(values)),
        Values::Float(values) => Arc::new(Float64Array::from(values)),
        Values::Bool(values) => Arc::new(BooleanArray::from(values)),
    };
    (field(&column.name, array.data_type().clone(), column.unit, &column.about), array)
}

fn field(name: &str, kind: DataType, unit: &str, about: &str) -> Field {
    let notes = [("unit", unit), ("about", about)];
    let notes = notes.into_iter().filter(|(_, text)| !text.is_empty());
    let notes: HashMap<String, String> =
        notes.map(|(key, text)| (key.to_owned(), text.to_owned())).collect();
    Field::new(name, kind, true).with_metadata(notes)
}

fn batch(schema: Schema, arrays: Vec<ArrayRef>) -> Result<RecordBatch, ArrowError> {
    let rows = arrays.first().map_or(0, Array::len);
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(schema), arrays, &options)
}

fn values_of<'py, T>(values: &[Bound<'py, PyAny>]) -> PyResult<Vec<Option<T>>>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    values.iter().map(|value| value.extract::<Option<T>>()).collect()
}

fn failed(error: ArrowError) -> PyErr {
    PyRuntimeError::new_err(format!("the table cannot be made: {error}"))
}
