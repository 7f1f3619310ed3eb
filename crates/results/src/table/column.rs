//! A column of a table.

use std::borrow::Cow;

/// A column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Column<'a> {
    /// Name. A dot separates a group from its field, as in `path.token`.
    pub name: String,
    /// Unit; empty for text and ratios.
    pub unit: &'static str,
    /// Meaning, in a sentence.
    pub about: Cow<'static, str>,
    /// A value or null for each row.
    pub values: Values<'a>,
}

/// The values of a column. `None` is null.
#[derive(Debug, Clone, PartialEq)]
pub enum Values<'a> {
    /// UTF-8 text.
    Text(Vec<Option<Cow<'a, str>>>),
    /// Signed integers.
    Int(Vec<Option<i64>>),
    /// Floating-point numbers.
    Float(Vec<Option<f64>>),
    /// Truth values.
    Bool(Vec<Option<bool>>),
}

impl Values<'_> {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Text(values) => values.len(),
            Self::Int(values) => values.len(),
            Self::Float(values) => values.len(),
            Self::Bool(values) => values.len(),
        }
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
