//! Columns whose values repeat in long runs, as the names in a table of time series do.
//!
//! The column writer of the `parquet` crate looks up every value in its dictionary and encodes it.
//! Here a run costs the same whatever its length. The column becomes a dictionary page and one data
//! page of run lengths, without compression.

use super::chunk::{Chunk, RowGroup, append_run, levels};
use parquet::basic::{Compression, Encoding};
use parquet::errors::Result;
use parquet::schema::types::ColumnDescPtr;
use std::collections::HashMap;
use std::hash::Hash;

/// Average length of runs from which a column is written by runs.
const WORTH: usize = 16;

/// A value of a dictionary.
pub(super) trait Entry: Copy + Eq + Hash {
    /// Appends the value in the PLAIN encoding.
    fn append(self, page: &mut Vec<u8>);
}

impl Entry for &str {
    fn append(self, page: &mut Vec<u8>) {
        page.extend((self.len() as u32).to_le_bytes());
        page.extend(self.as_bytes());
    }
}

impl Entry for i64 {
    fn append(self, page: &mut Vec<u8>) {
        page.extend(self.to_le_bytes());
    }
}

/// A floating-point number by its bits.
impl Entry for u64 {
    fn append(self, page: &mut Vec<u8>) {
        page.extend(self.to_le_bytes());
    }
}

/// Runs of equal values with their lengths.
pub(super) type Runs<T> = Vec<(Option<T>, usize)>;

/// Returns the runs of equal values; `None` if they are too short to be worth it.
pub(super) fn worthwhile<T: Eq>(
    values: impl ExactSizeIterator<Item = Option<T>>,
) -> Option<Runs<T>> {
    let most = values.len() / WORTH;
    let mut runs: Runs<T> = Vec::new();
    for value in values {
        add(&mut runs, value, 1);
        if runs.len() > most {
            return None;
        }
    }
    Some(runs)
}

/// Returns the runs of `values`, each of which has as many rows as `rows` says.
pub(super) fn repeated<T: Eq>(values: impl Iterator<Item = Option<T>>, rows: &[usize]) -> Runs<T> {
    let mut runs = Runs::new();
    for (value, &rows) in values.zip(rows).filter(|(_, rows)| **rows > 0) {
        add(&mut runs, value, rows);
    }
    runs
}

fn add<T: Eq>(runs: &mut Runs<T>, value: Option<T>, rows: usize) {
    match runs.last_mut() {
        Some((last, length)) if *last == value => *length += rows,
        _ => runs.push((value, rows)),
    }
}

/// Writes `runs` as the next column of `group`.
pub(super) fn write<T: Entry>(
    group: &mut RowGroup<'_>,
    column: ColumnDescPtr,
    runs: &[(Option<T>, usize)],
) -> Result<()> {
    let mut entries: HashMap<T, u32> = HashMap::new();
    let mut dictionary = Vec::new();
    let mut indices = Vec::with_capacity(runs.len());
    for &(value, length) in runs {
        let Some(value) = value else { continue };
        let next = entries.len() as u32;
        let index = *entries.entry(value).or_insert_with(|| {
            value.append(&mut dictionary);
            next
        });
        indices.push((index, length));
    }
    let width = u32::BITS - (entries.len() as u32).saturating_sub(1).leading_zeros();
    let mut page = levels(runs.iter().map(|(value, length)| (value.is_some(), *length)));
    page.push(width as u8);
    for (index, length) in indices {
        append_run(&mut page, index, width, length);
    }
    let mut chunk = Chunk::new(Compression::UNCOMPRESSED);
    chunk.add_dictionary(dictionary, entries.len())?;
    let rows = runs.iter().map(|(_, length)| length).sum();
    chunk.add_data(page, rows, Encoding::RLE_DICTIONARY)?;
    let encodings = vec![Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY];
    chunk.append_to(group, column, encodings)
}

#[cfg(test)]
mod tests {
    use crate::parquet::tests::fields;
    use crate::table::{Rows, Values};
    use parquet::record::Field;
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;
    use std::borrow::Cow;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn what_is_read_is_what_was_written(
            runs in vec((option::of(0i64..400), 1usize..200), 0..24),
            many in 0i64..600,
        ) {
            let values: Vec<Option<i64>> =
                runs.iter().flat_map(|&(value, n)| std::iter::repeat_n(value, n)).collect();
            // A dictionary of more than 256 entries.
            let first = (0..many).flat_map(|value| std::iter::repeat_n(Some(value), 17));
            let values: Vec<Option<i64>> = first.chain(values).collect();
            let expected = |value: &Option<i64>| value.map_or(Field::Null, Field::Long);
            let wanted: Vec<Field> = values.iter().map(expected).collect();
            prop_assert_eq!(fields(Rows::Each(Values::Int(values.clone()))), wanted);
            let texts: Vec<Option<String>> =
                values.iter().map(|value| value.map(|value| format!("é{value}"))).collect();
            let expected = |text: &Option<String>| text.clone().map_or(Field::Null, Field::Str);
            let wanted: Vec<Field> = texts.iter().map(expected).collect();
            let texts = texts.iter().map(|text| text.as_deref().map(Cow::Borrowed)).collect();
            prop_assert_eq!(fields(Rows::Each(Values::Text(texts))), wanted);
        }

        #[test]
        fn repeated_values_are_read_once_for_each_row(
            runs in vec((option::of(0i64..9), 0usize..40), 0..24),
        ) {
            let rows: Vec<usize> = runs.iter().map(|(_, rows)| *rows).collect();
            let text = |value: i64| Some(Cow::from(value.to_string()));
            for values in [
                Values::Int(runs.iter().map(|(value, _)| *value).collect()),
                Values::Text(runs.iter().map(|(value, _)| value.and_then(text)).collect()),
                Values::Float(runs.iter().map(|(value, _)| value.map(|v| v as f64)).collect()),
                Values::Bool(runs.iter().map(|(value, _)| value.map(|v| v > 4)).collect()),
            ] {
                let repeated = Rows::Repeated(values, rows.as_slice().into());
                let each = Rows::Each(repeated.clone().into_values());
                prop_assert_eq!(fields(repeated), fields(each));
            }
        }
    }

    #[test]
    fn short_runs_are_not_worth_it() {
        let alternating = |n: usize, length: usize| (0..n).map(move |i| Some(i / length));
        assert!(super::worthwhile(alternating(1000, 15)).is_none());
        assert_eq!(super::worthwhile(alternating(1000, 20)).unwrap().len(), 50);
        assert!(super::worthwhile(alternating(0, 1)).unwrap().is_empty());
    }
}
