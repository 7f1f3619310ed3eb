//! A table with aligned columns, as text.

pub mod heat_map;

use crate::output::paint;
use bentpipe_units::Printable;
use std::fmt::Write;
use unicode_width::UnicodeWidthStr;

/// Alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// For text.
    Left,
    /// For numbers.
    Right,
}

/// A table with aligned columns.
#[derive(Debug)]
pub struct Table {
    heads: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table with these columns.
    pub fn new(heads: &[(&str, Align)]) -> Self {
        Self {
            heads: heads.iter().map(|(head, align)| ((*head).to_owned(), *align)).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a column at the right. It is empty in existing rows.
    pub fn column(&mut self, head: String, align: Align) {
        self.heads.push((head, align));
    }

    /// Adds a row. Missing cells at its end are empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        // Escaped before their width counts.
        self.rows.push(cells.into_iter().map(|cell| Printable(cell).to_string()).collect());
    }

    /// Formats the table. Columns without any content are omitted.
    pub fn render(&self, colour: bool) -> String {
        let cell = |row: &[String], column: usize| row.get(column).cloned().unwrap_or_default();
        let used = |column: &usize| self.rows.iter().any(|row| !cell(row, *column).is_empty());
        let columns: Vec<usize> = (0..self.heads.len()).filter(used).collect();
        let heads: Vec<String> = self.heads.iter().map(|(head, _)| head.clone()).collect();
        let width = |column: usize| {
            let rows = self.rows.iter().map(|row| cell(row, column));
            rows.chain([cell(&heads, column)]).map(|text| text.width()).max().unwrap_or_default()
        };
        let widths: Vec<usize> = columns.iter().map(|&column| width(column)).collect();
        let line = |row: &[String]| {
            let mut line = String::new();
            for (&column, &width) in columns.iter().zip(&widths) {
                let text = cell(row, column);
                // Formatting would count characters, of which some take two columns or none.
                let pad = " ".repeat(width.saturating_sub(text.width()));
                let _ = match self.heads[column].1 {
                    Align::Left => write!(line, "{text}{pad}  "),
                    Align::Right => write!(line, "{pad}{text}  "),
                };
            }
            line.trim_end().to_owned()
        };
        let mut text = paint(colour, "1", &line(&heads)) + "\n";
        for row in &self.rows {
            text.push_str(&line(row));
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_do_not_shift_the_columns_after_them() {
        let mut table = Table::new(&[("name", Align::Left), ("value", Align::Right)]);
        table.row(["東京".to_owned(), "1".to_owned()]);
        table.row(["Oslo".to_owned(), "12".to_owned()]);
        assert_eq!(table.render(false), "name  value\n東京      1\nOslo     12\n");
    }
}
