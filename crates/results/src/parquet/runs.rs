//! Columns whose values repeat in long runs, as the names in a table of time series do.
//!
//! The column writer of the `parquet` crate looks up every value in its dictionary and encodes it.
//! Here a run costs the same whatever its length. The column becomes a dictionary page and one data
//! page of run lengths, without compression ("RLE / Bit-Packing Hybrid" of the Parquet format).

use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::Result;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
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

/// Returns the runs of equal values with their lengths; `None` if they are too short, or the column
/// has more rows than a page can have.
pub(super) fn runs<T: Eq>(
    values: impl ExactSizeIterator<Item = Option<T>>,
) -> Option<Vec<(Option<T>, u32)>> {
    let most = i32::try_from(values.len()).ok()? as usize / WORTH;
    let mut runs: Vec<(Option<T>, u32)> = Vec::new();
    for value in values {
        let count = runs.len();
        match runs.last_mut() {
            Some((last, length)) if *last == value => *length += 1,
            _ if count < most => runs.push((value, 1)),
            _ => return None,
        }
    }
    Some(runs)
}

/// Writes `runs` as the next column of `group`.
pub(super) fn write<T: Entry>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    column: ColumnDescPtr,
    runs: &[(Option<T>, u32)],
) -> Result<()> {
    let rows: u32 = runs.iter().map(|(_, length)| length).sum();
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

    let mut levels = Vec::new();
    for (value, length) in runs {
        append_run(&mut levels, u32::from(value.is_some()), 1, *length);
    }
    let mut page = (levels.len() as u32).to_le_bytes().to_vec();
    page.append(&mut levels);
    page.push(width as u8);
    for (index, length) in indices {
        append_run(&mut page, index, width, length);
    }

    let mut file = TrackedWrite::new(Vec::new());
    let mut pages = SerializedPageWriter::new(&mut file);
    let mut uncompressed = 0;
    let mut add = |page: Page| {
        let size = page.buffer().len();
        let written = pages.write_page(CompressedPage::new(page, size))?;
        uncompressed += written.uncompressed_size as i64;
        Ok::<_, parquet::errors::ParquetError>(written.offset as i64)
    };
    let dictionary_at = add(Page::DictionaryPage {
        buf: dictionary.into(),
        num_values: entries.len() as u32,
        encoding: Encoding::PLAIN,
        is_sorted: false,
    })?;
    let data_at = add(Page::DataPage {
        buf: page.into(),
        num_values: rows,
        encoding: Encoding::RLE_DICTIONARY,
        def_level_encoding: Encoding::RLE,
        rep_level_encoding: Encoding::RLE,
        statistics: None,
    })?;
    pages.close()?;
    let bytes = Bytes::from(file.into_inner()?);
    let metadata = ColumnChunkMetaData::builder(column)
        .set_compression(Compression::UNCOMPRESSED)
        .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY])
        .set_total_compressed_size(bytes.len() as i64)
        .set_total_uncompressed_size(uncompressed)
        .set_num_values(i64::from(rows))
        .set_dictionary_page_offset(Some(dictionary_at))
        .set_data_page_offset(data_at)
        .build()?;
    let closed = ColumnCloseResult {
        bytes_written: bytes.len() as u64,
        rows_written: u64::from(rows),
        metadata,
        bloom_filter: None,
        column_index: None,
        offset_index: None,
    };
    group.append_column(&bytes, closed)
}

/// Appends a run of `length` times `value`, which has `width` bits.
fn append_run(page: &mut Vec<u8>, value: u32, width: u32, length: u32) {
    // A varint of twice the length.
    let mut header = u64::from(length) << 1;
    while header >= 0x80 {
        page.push(header as u8 | 0x80);
        header >>= 7;
    }
    page.push(header as u8);
    let bytes = value.to_le_bytes();
    page.extend(bytes.iter().take(width.div_ceil(8) as usize));
}

#[cfg(test)]
mod tests {
    use crate::parquet::encode;
    use crate::table::{Column, Table, Values};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;
    use std::borrow::Cow;

    fn fields(values: Values<'_>) -> Vec<Field> {
        let column = Column { name: "own".to_owned(), unit: "", about: "".into(), values };
        let table = Table { name: "t", about: "", metadata: Vec::new(), columns: vec![column] };
        let bytes = bytes::Bytes::from(encode(&table).unwrap());
        let reader = SerializedFileReader::new(bytes).unwrap();
        let rows = reader.get_row_iter(None).unwrap();
        rows.map(|row| row.unwrap().get_column_iter().next().unwrap().1.clone()).collect()
    }

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
            prop_assert_eq!(fields(Values::Int(values.clone())), wanted);
            let texts: Vec<Option<String>> =
                values.iter().map(|value| value.map(|value| format!("é{value}"))).collect();
            let expected = |text: &Option<String>| text.clone().map_or(Field::Null, Field::Str);
            let wanted: Vec<Field> = texts.iter().map(expected).collect();
            let texts = texts.iter().map(|text| text.as_deref().map(Cow::Borrowed)).collect();
            prop_assert_eq!(fields(Values::Text(texts)), wanted);
        }
    }

    #[test]
    fn short_runs_are_not_worth_it() {
        let alternating = |n: usize, length: usize| (0..n).map(move |i| Some(i / length));
        assert!(super::runs(alternating(1000, 15)).is_none());
        assert_eq!(super::runs(alternating(1000, 20)).unwrap().len(), 50);
        assert!(super::runs(alternating(0, 1)).unwrap().is_empty());
    }
}
