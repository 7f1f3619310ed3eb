//! Columns of floating-point numbers that are bytes of another buffer: their pages are copies of
//! these bytes.

use super::chunk::{Chunk, RowGroup, levels};
use crate::table::Block;
use parquet::basic::{Compression, Encoding};
use parquet::errors::Result;
use parquet::schema::types::ColumnDescPtr;

/// Values in a page: 1 MB, the size that readers expect.
const PAGE: usize = 1 << 17;

/// Writes `blocks` as the next column of `group`.
pub(super) fn write(
    group: &mut RowGroup<'_>,
    column: ColumnDescPtr,
    blocks: &[Block<'_>],
) -> Result<()> {
    let mut chunk = Chunk::new(Compression::SNAPPY);
    let mut left: usize = blocks.iter().map(|block| block.len()).sum();
    let mut blocks = blocks.iter().copied();
    let mut rest = Block::Double(&[]);
    while left > 0 {
        let rows = left.min(PAGE);
        left -= rows;
        let mut page = levels([(true, rows)].into_iter());
        page.reserve(8 * rows);
        let mut missing = rows;
        while missing > 0 {
            if rest.is_empty() {
                let Some(next) = blocks.next() else { break };
                rest = next;
            }
            let (now, later) = rest.split_at(missing);
            missing -= now.len();
            rest = later;
            append(now, &mut page);
        }
        chunk.add_data(page, rows, Encoding::PLAIN)?;
    }
    chunk.append_to(group, column, vec![Encoding::PLAIN, Encoding::RLE])
}

/// Appends `block` as numbers of 64 bits.
fn append(block: Block<'_>, page: &mut Vec<u8>) {
    match block {
        Block::Double(bytes) => page.extend_from_slice(bytes),
        Block::Single(bytes) => {
            let (values, _) = bytes.as_chunks();
            let start = page.len();
            page.resize(start + 8 * values.len(), 0);
            for (value, to) in values.iter().zip(page[start..].as_chunks_mut().0) {
                *to = f64::from(f32::from_le_bytes(*value)).to_le_bytes();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::PAGE;
    use crate::parquet::tests::fields;
    use crate::table::{Block, Rows};
    use parquet::record::Field;

    #[test]
    fn what_is_read_is_what_was_written() {
        for count in [0, 1, 1000, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE + 7] {
            let doubles: Vec<u8> =
                (0..count).flat_map(|i| (i as f64 * 0.1).to_le_bytes()).collect();
            let singles: Vec<u8> = (0..7).flat_map(|i| (i as f32 + 0.5).to_le_bytes()).collect();
            let parts = doubles.chunks(8 * 999).map(Block::Double);
            let blocks = parts.chain([Block::Single(&singles), Block::Double(&[])]).collect();
            let expected = (0..count).map(|i| i as f64 * 0.1);
            let expected = expected.chain((0..7).map(|i| f64::from(i) + 0.5));
            let expected: Vec<Field> = expected.map(Field::Double).collect();
            assert!(fields(Rows::Blocks(blocks)) == expected, "{count}");
        }
    }
}
