//! Building the columns of a table from rows of any type.

use super::column::{Column, Rows, Values};
use crate::metrics::Row;
use crate::quantity::quantity;
use crate::run::{Point, Run};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Makes the columns of a table with a row for each value of `rows`.
#[derive(Debug)]
pub struct TableBuilder<'a, T> {
    rows: Vec<T>,
    columns: Vec<Column<'a>>,
}

impl<'a, T: Copy> TableBuilder<'a, T> {
    /// Starts a table without columns.
    pub fn new(rows: impl Iterator<Item = T>) -> Self {
        Self { rows: rows.collect(), columns: Vec::new() }
    }

    /// Returns the columns.
    pub fn finish(self) -> Vec<Column<'a>> {
        self.columns
    }

    /// Returns the columns of a table in which each row stands for as many equal rows as `rows`
    /// says.
    pub fn repeated(self, rows: &[usize]) -> Vec<Column<'a>> {
        let rows: Arc<[usize]> = rows.into();
        let repeat = |column: Column<'a>| Column {
            rows: Rows::Repeated(column.rows.into_values(), rows.clone()),
            ..column
        };
        self.columns.into_iter().map(repeat).collect()
    }

    fn push(
        mut self,
        name: &str,
        unit: &'static str,
        about: impl Into<Cow<'static, str>>,
        values: Values<'a>,
    ) -> Self {
        let (name, about, rows) = (name.to_owned(), about.into(), Rows::Each(values));
        self.columns.push(Column { name, unit, about, rows });
        self
    }

    /// Adds a column of text.
    pub fn text(
        self,
        name: &str,
        about: impl Into<Cow<'static, str>>,
        read: impl Fn(T) -> Option<&'a str>,
    ) -> Self {
        let values = self.rows.iter().map(|row| read(*row).map(Cow::Borrowed)).collect();
        self.push(name, "", about, Values::Text(values))
    }

    /// Adds a column of integers. A value above 2^63 - 1, which no run reaches, is null.
    pub fn int<I: TryInto<i64>>(
        self,
        name: &str,
        unit: &'static str,
        about: &'static str,
        read: impl Fn(T) -> Option<I>,
    ) -> Self {
        let value = |row: &T| read(*row).and_then(|value| value.try_into().ok());
        let values = self.rows.iter().map(value).collect();
        self.push(name, unit, about, Values::Int(values))
    }

    /// Adds a column of floating-point numbers.
    pub fn float(
        self,
        name: &str,
        unit: &'static str,
        about: impl Into<Cow<'static, str>>,
        read: impl Fn(T) -> Option<f64>,
    ) -> Self {
        let values = self.rows.iter().map(|row| read(*row)).collect();
        self.push(name, unit, about, Values::Float(values))
    }

    /// Adds a column of truth values.
    pub fn bool(self, name: &str, about: &'static str, read: impl Fn(T) -> Option<bool>) -> Self {
        let values = self.rows.iter().map(|row| read(*row)).collect();
        self.push(name, "", about, Values::Bool(values))
    }

    /// Adds the column of a metric, under its name with `prefix`.
    pub fn metric(self, prefix: &str, row: &Row, read: impl Fn(T) -> Option<f64>) -> Self {
        self.float(&format!("{prefix}{}", row.name), row.unit, row.about.trim(), read)
    }

    /// Adds `point.KEY` as text and `point.KEY.number` in base units for each swept key.
    pub fn point(self, read: impl Fn(T) -> &'a Point) -> Self {
        let keys: BTreeSet<&String> = self.rows.iter().flat_map(|row| read(*row).keys()).collect();
        keys.into_iter().fold(self, |table, key| {
            // A sweep has few values and many rows.
            let mut known: HashMap<&str, Option<(f64, &'static str)>> = HashMap::new();
            let mut parse = |text| *known.entry(text).or_insert_with(|| quantity(text));
            let parsed: Vec<Option<(f64, &'static str)>> =
                table.rows.iter().map(|row| parse(read(*row).get(key)?)).collect();
            let mut units = parsed.iter().flatten().map(|(_, unit)| *unit);
            let first = units.next().unwrap_or_default();
            let unit = if units.all(|unit| unit == first) { first } else { "" };
            let numbers = parsed.iter().map(|number| number.map(|(number, _)| number)).collect();
            let text = format!("Value of the swept key `{key}`.");
            let number = format!("Value of `{key}` as a number in base units.");
            table
                .text(&format!("point.{key}"), text, |row| read(row).get(key).map(String::as_str))
                .push(&format!("point.{key}.number"), unit, number, Values::Float(numbers))
        })
    }

    /// Adds the columns that identify the run: `variant`, the swept keys and `run`.
    pub fn run(self, read: impl Fn(T) -> &'a Run) -> Self {
        self.text("variant", "Name of the variant.", |row| Some(&read(row).variant))
            .point(|row| &read(row).point)
            .int("run", "", "Number of the run, from 0.", |row| Some(read(row).run))
    }
}
