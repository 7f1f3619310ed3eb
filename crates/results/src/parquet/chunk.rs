//! Columns whose pages are written here rather than by the column writer of the `parquet` crate.

use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

/// A row group being written to memory.
pub(super) type RowGroup<'a> = SerializedRowGroupWriter<'a, Vec<u8>>;

/// The pages of a column, and what its metadata says of them.
pub(super) struct Chunk {
    pages: TrackedWrite<Vec<u8>>,
    compression: Compression,
    rows: u64,
    /// Size of headers and uncompressed pages, in bytes.
    uncompressed: i64,
    /// Offsets of the dictionary and of the first data page.
    dictionary: Option<i64>,
    data: Option<i64>,
}

impl Chunk {
    /// A column without pages.
    pub fn new(compression: Compression) -> Self {
        Self {
            pages: TrackedWrite::new(Vec::new()),
            compression,
            rows: 0,
            uncompressed: 0,
            dictionary: None,
            data: None,
        }
    }

    /// Adds the dictionary of `count` values in the PLAIN encoding. It comes before data pages.
    pub fn add_dictionary(&mut self, values: Vec<u8>, count: usize) -> Result<()> {
        let page = Page::DictionaryPage {
            buf: Bytes::new(),
            num_values: count_of(count)?,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        self.dictionary = Some(self.add(page, values)?);
        Ok(())
    }

    /// Adds a data page of `rows` rows: their definition levels with length, and their values.
    pub fn add_data(&mut self, page: Vec<u8>, rows: usize, encoding: Encoding) -> Result<()> {
        let header = Page::DataPage {
            buf: Bytes::new(),
            num_values: count_of(rows)?,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let offset = self.add(header, page)?;
        self.data.get_or_insert(offset);
        self.rows += rows as u64;
        Ok(())
    }

    fn add(&mut self, mut page: Page, bytes: Vec<u8>) -> Result<i64> {
        let size = bytes.len();
        let bytes = match self.compression {
            Compression::SNAPPY => snap::raw::Encoder::new()
                .compress_vec(&bytes)
                .map_err(|error| ParquetError::External(Box::new(error)))?,
            _ => bytes,
        };
        match &mut page {
            Page::DictionaryPage { buf, .. } | Page::DataPage { buf, .. } => *buf = bytes.into(),
            Page::DataPageV2 { .. } => {}
        }
        let mut pages = SerializedPageWriter::new(&mut self.pages);
        let written = pages.write_page(CompressedPage::new(page, size))?;
        self.uncompressed += written.uncompressed_size as i64;
        Ok(written.offset as i64)
    }

    /// Appends the column to `group`.
    pub fn append_to(
        self,
        group: &mut RowGroup<'_>,
        column: ColumnDescPtr,
        encodings: Vec<Encoding>,
    ) -> Result<()> {
        let bytes = Bytes::from(self.pages.into_inner()?);
        let rows =
            i64::try_from(self.rows).map_err(|error| ParquetError::External(error.into()))?;
        let metadata = ColumnChunkMetaData::builder(column)
            .set_compression(self.compression)
            .set_encodings(encodings)
            .set_total_compressed_size(bytes.len() as i64)
            .set_total_uncompressed_size(self.uncompressed)
            .set_num_values(rows)
            .set_dictionary_page_offset(self.dictionary)
            .set_data_page_offset(self.data.unwrap_or_default())
            .build()?;
        let closed = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: self.rows,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        group.append_column(&bytes, closed)
    }
}

/// Returns a number of values as page headers have it.
fn count_of(values: usize) -> Result<u32> {
    let count = i32::try_from(values).map_err(|_| {
        ParquetError::General(format!("{values} rows in a page, allowed: up to {}", i32::MAX))
    })?;
    Ok(count.unsigned_abs())
}

/// Appends a run of `length` times `value`, which has `width` bits ("RLE / Bit-Packing Hybrid" of
/// the Parquet format).
pub(super) fn append_run(page: &mut Vec<u8>, value: u32, width: u32, length: usize) {
    // A varint of twice the length.
    let mut header = (length as u64) << 1;
    while header >= 0x80 {
        page.push(header as u8 | 0x80);
        header >>= 7;
    }
    page.push(header as u8);
    let bytes = value.to_le_bytes();
    page.extend(bytes.iter().take(width.div_ceil(8) as usize));
}

/// Returns the definition levels of a data page, with their length: which of the rows have a value.
pub(super) fn levels(runs: impl Iterator<Item = (bool, usize)>) -> Vec<u8> {
    let mut levels = vec![0; 4];
    for (present, length) in runs {
        append_run(&mut levels, u32::from(present), 1, length);
    }
    let length = levels.len() as u32 - 4;
    levels[..4].copy_from_slice(&length.to_le_bytes());
    levels
}
