//! A table with aligned columns, as text.

pub mod heat_map;

use crate::output::{Look, paint};
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

    /// Formats the table in lines of any length. Columns without any content are omitted.
    pub fn render(&self, colour: bool) -> String {
        self.fitted(Look { colour, width: None })
    }

    /// Formats the table in lines as wide as the terminal, if there is one. Columns for which there
    /// is no room follow below, each time with those that name the rows.
    pub fn fitted(&self, look: Look) -> String {
        let used = |column: &usize| self.rows.iter().any(|row| !cell(row, *column).is_empty());
        let columns: Vec<usize> = (0..self.heads.len()).filter(used).collect();
        let width = |column: usize| {
            let rows = self.rows.iter().map(|row| cell(row, column));
            let head = self.heads[column].0.as_str();
            rows.chain([head]).map(UnicodeWidthStr::width).max().unwrap_or_default()
        };
        let columns: Vec<(usize, usize)> =
            columns.into_iter().map(|column| (column, width(column))).collect();
        let parts = self.parts(&columns, look.width);
        let parts: Vec<String> = parts.iter().map(|part| self.part(part, look.colour)).collect();
        parts.join("\n")
    }

    /// Divides columns, each with its width, so that each part fits.
    fn parts(&self, columns: &[(usize, usize)], room: Option<usize>) -> Vec<Vec<(usize, usize)>> {
        let needed = |part: &[(usize, usize)]| {
            part.iter().map(|(_, width)| width + GAP).sum::<usize>().saturating_sub(GAP)
        };
        let Some(room) = room.filter(|&room| needed(columns) > room) else {
            return vec![columns.to_vec()];
        };
        // What stands before the first number names a row.
        let named = columns.iter().take_while(|(column, _)| self.heads[*column].1 == Align::Left);
        let mut names: Vec<(usize, usize)> = named.copied().collect();
        while names.len() > 1 && needed(&names) > room / 2 {
            names.pop();
        }
        let mut parts = vec![names.clone()];
        for &column in columns.iter().filter(|column| !names.contains(column)) {
            let Some(part) = parts.last_mut() else { break };
            if part.len() > names.len() && needed(part) + GAP + column.1 > room {
                let mut next = names.clone();
                next.push(column);
                parts.push(next);
            } else {
                part.push(column);
            }
        }
        parts
    }

    fn part(&self, columns: &[(usize, usize)], colour: bool) -> String {
        let line = |text: &dyn Fn(usize) -> String| {
            let mut line = String::new();
            for &(column, width) in columns {
                let text = text(column);
                // Formatting would count characters, of which some take two columns or none.
                let pad = " ".repeat(width.saturating_sub(text.width()));
                let _ = match self.heads[column].1 {
                    Align::Left => write!(line, "{text}{pad}  "),
                    Align::Right => write!(line, "{pad}{text}  "),
                };
            }
            line.trim_end().to_owned()
        };
        let mut text = paint(colour, "1", &line(&|column| self.heads[column].0.clone())) + "\n";
        for row in &self.rows {
            text.push_str(&line(&|column| cell(row, column).to_owned()));
            text.push('\n');
        }
        text
    }
}

/// Columns between two cells.
const GAP: usize = 2;

/// Returns a cell of a row; empty if the row is shorter.
fn cell(row: &[String], column: usize) -> &str {
    row.get(column).map_or("", String::as_str)
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

    #[test]
    fn a_table_is_as_wide_as_the_terminal() {
        let mut table = Table::new(&[("variant", Align::Left), ("flow", Align::Left)]);
        for column in ["runs", "mean s", "p95 s", "goodput Mbps", "dropped"] {
            table.column(column.to_owned(), Align::Right);
        }
        table.row(["cubic", "ours", "3", "3.815", "5.786", "4.645", "0"].map(str::to_owned));
        let whole = table.render(false);
        let fitted = |width| table.fitted(Look { colour: false, width: Some(width) });
        let widest = |text: &str| text.lines().map(UnicodeWidthStr::width).max();
        assert_eq!((fitted(200), fitted(80)), (whole.clone(), whole));
        for width in [30, 40, 50] {
            assert!(widest(&fitted(width)) <= Some(width), "{}", fitted(width));
        }
        assert_eq!(
            fitted(36),
            "variant  flow  runs  mean s  p95 s\n\
             cubic    ours     3   3.815  5.786\n\n\
             variant  flow  goodput Mbps  dropped\n\
             cubic    ours         4.645        0\n"
        );
        // Nothing is lost, however narrow it is.
        for value in ["3.815", "5.786", "4.645", "dropped"] {
            assert!(fitted(20).contains(value));
        }
    }
}
