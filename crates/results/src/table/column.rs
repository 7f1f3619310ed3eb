//! A column of a table.

use std::borrow::Cow;
use std::sync::Arc;

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
    pub rows: Rows<'a>,
}

/// A value or null for each row of a column, in the form in which it is at hand.
#[derive(Debug, Clone, PartialEq)]
pub enum Rows<'a> {
    /// A value for each row.
    Each(Values<'a>),
    /// Values that hold for several rows each, with the numbers of their rows.
    Repeated(Values<'a>, Arc<[usize]>),
    /// Floating-point numbers, none of them null, as bytes of another buffer.
    Blocks(Vec<Block<'a>>),
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

/// Floating-point numbers in little-endian bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Block<'a> {
    /// Of 64 bits.
    Double(&'a [u8]),
    /// Of 32 bits.
    Single(&'a [u8]),
}

impl<'a> Block<'a> {
    /// Returns the number of values.
    pub fn len(self) -> usize {
        match self {
            Self::Double(bytes) => bytes.len() / 8,
            Self::Single(bytes) => bytes.len() / 4,
        }
    }

    /// Returns true if there are no values.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns the first `n` values and the others.
    #[cfg(feature = "parquet")]
    pub(crate) fn split_at(self, n: usize) -> (Self, Self) {
        let n = n.min(self.len());
        match self {
            Self::Double(bytes) => {
                let (first, rest) = bytes.split_at(8 * n);
                (Self::Double(first), Self::Double(rest))
            }
            Self::Single(bytes) => {
                let (first, rest) = bytes.split_at(4 * n);
                (Self::Single(first), Self::Single(rest))
            }
        }
    }

    fn append(self, to: &mut Vec<Option<f64>>) {
        match self {
            Self::Double(bytes) => {
                let (values, _) = bytes.as_chunks();
                to.extend(values.iter().map(|value| Some(f64::from_le_bytes(*value))));
            }
            Self::Single(bytes) => {
                let (values, _) = bytes.as_chunks();
                to.extend(values.iter().map(|value| Some(f64::from(f32::from_le_bytes(*value)))));
            }
        }
    }
}

impl Values<'_> {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Text(values) => values.len(),
            Self::Int(values) => values.len(),
            Self::Float(values) => values.len(),
            Self::Bool(values) => values.len(),
        }
    }

    /// Returns true if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'a> Rows<'a> {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Each(values) => values.len(),
            Self::Repeated(_, rows) => rows.iter().sum(),
            Self::Blocks(blocks) => blocks.iter().map(|block| block.len()).sum(),
        }
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a value for each row.
    pub fn into_values(self) -> Values<'a> {
        match self {
            Self::Each(values) => values,
            Self::Repeated(values, rows) => match values {
                Values::Text(values) => Values::Text(repeat(values, &rows)),
                Values::Int(values) => Values::Int(repeat(values, &rows)),
                Values::Float(values) => Values::Float(repeat(values, &rows)),
                Values::Bool(values) => Values::Bool(repeat(values, &rows)),
            },
            Self::Blocks(blocks) => {
                let mut values = Vec::with_capacity(blocks.iter().map(|block| block.len()).sum());
                blocks.iter().for_each(|block| block.append(&mut values));
                Values::Float(values)
            }
        }
    }
}

fn repeat<T: Clone>(values: Vec<T>, rows: &[usize]) -> Vec<T> {
    let pairs = values.into_iter().zip(rows);
    pairs.flat_map(|(value, &rows)| std::iter::repeat_n(value, rows)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_value_for_each_row() {
        let text = [Some("a"), None].map(|text| text.map(Cow::Borrowed)).to_vec();
        let repeated = Rows::Repeated(Values::Text(text), [2, 1].into());
        assert_eq!(repeated.len(), 3);
        let expected = [Some("a"), Some("a"), None].map(|text| text.map(Cow::Borrowed));
        assert_eq!(repeated.into_values(), Values::Text(expected.to_vec()));

        let doubles = [1.5f64, 0.1].map(f64::to_le_bytes).concat();
        let singles = [0.25f32].map(f32::to_le_bytes).concat();
        let blocks = Rows::Blocks(vec![Block::Double(&doubles), Block::Single(&singles)]);
        assert_eq!(blocks.len(), 3);
        assert_eq!(blocks.into_values(), Values::Float(vec![Some(1.5), Some(0.1), Some(0.25)]));
    }
}
