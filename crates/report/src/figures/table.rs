//! The numbers of a figure as a table: CSV, Markdown, LaTeX.

use std::fmt::Write;

/// A value of a table.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Text(String),
    Number(f64),
    None,
}

impl Cell {
    pub fn of(value: Option<f64>) -> Self {
        value.map_or(Self::None, Self::Number)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// The numbers of a figure, with their heads.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FigureTable {
    pub heads: Vec<String>,
    pub rows: Vec<Vec<Cell>>,
}

/// Most rows of a table in a text: of a time series, only CSV has all.
const MOST_ROWS: usize = 200;

impl FigureTable {
    pub fn csv(&self) -> String {
        let quoted = |text: &str| {
            // A spreadsheet would run what begins like a formula, and lines end a row.
            let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
            let text = if formula { format!("'{text}") } else { text.to_owned() };
            if text.contains(['"', ',', '\n', '\r']) {
                format!("\"{}\"", text.replace('"', "\"\""))
            } else {
                text
            }
        };
        let cell = |cell: &Cell| match cell {
            Cell::Text(text) => quoted(text),
            Cell::Number(number) => number.to_string(),
            Cell::None => String::new(),
        };
        let mut text = String::new();
        let heads: Vec<String> = self.heads.iter().map(|head| quoted(head)).collect();
        let _ = writeln!(text, "{}", heads.join(","));
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(cell).collect();
            let _ = writeln!(text, "{}", cells.join(","));
        }
        text
    }

    pub fn markdown(&self, caption: &str) -> String {
        let safe = |text: &str| text.replace('|', "\\|").replace(['\n', '\r'], " ");
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let (heads, rows) = self.filled();
        let mut text = line(heads.iter().map(|(head, _)| safe(head)).collect());
        let rule = |numeric: bool| if numeric { "---:" } else { "---" }.to_owned();
        text += &line(heads.iter().map(|(_, numeric)| rule(*numeric)).collect());
        for row in &rows {
            text += &line(row.iter().map(|cell| safe(cell)).collect());
        }
        let _ = write!(text, "\n{}{}\n", safe(caption), self.cut());
        text
    }

    pub fn latex(&self, caption: &str) -> String {
        let line = |cells: Vec<String>| format!("  {} \\\\\n", cells.join(" & "));
        let (heads, rows) = self.filled();
        let columns: String =
            heads.iter().map(|(_, numeric)| if *numeric { 'r' } else { 'l' }).collect();
        let mut text = format!(
            "\\begin{{table}}\n\\caption{{{}}}\n\\begin{{tabular}}{{{columns}}}\n\\toprule\n",
            latex_text(&format!("{caption}{}", self.cut()))
        );
        text += &line(heads.iter().map(|(head, _)| latex_text(head)).collect());
        text += "\\midrule\n";
        for row in &rows {
            text += &line(row.iter().map(|cell| latex_text(cell)).collect());
        }
        text + "\\bottomrule\n\\end{tabular}\n\\end{table}\n"
    }

    /// Says that rows are left out.
    fn cut(&self) -> String {
        if self.rows.len() <= MOST_ROWS {
            return String::new();
        }
        format!(" The first {MOST_ROWS} of {} rows; CSV has all.", self.rows.len())
    }

    /// Returns the columns that have something in some row, each with whether it is of numbers, and
    /// their cells as text with four significant digits.
    fn filled(&self) -> (Vec<(&str, bool)>, Vec<Vec<String>>) {
        let column = |index: usize| self.rows.iter().filter_map(move |row| row.get(index));
        let kept: Vec<usize> = (0..self.heads.len())
            .filter(|index| column(*index).any(|cell| *cell != Cell::None))
            .collect();
        let numeric = |index: &usize| !column(*index).any(|cell| matches!(cell, Cell::Text(_)));
        let heads = kept.iter().map(|index| (self.heads[*index].as_str(), numeric(index)));
        let heads = heads.collect();
        let text = |cell: Option<&Cell>| match cell {
            Some(Cell::Text(text)) => text.clone(),
            Some(Cell::Number(number)) => brief(*number),
            _ => String::new(),
        };
        let rows = self.rows.iter().take(MOST_ROWS);
        let cells = |row: &Vec<Cell>| kept.iter().map(|index| text(row.get(*index))).collect();
        (heads, rows.map(cells).collect())
    }
}

/// Returns a number with four significant digits and no zeros at its end.
fn brief(number: f64) -> String {
    let text = format!("{number:.3e}");
    text.parse::<f64>().map_or(text, |rounded| rounded.to_string())
}

/// Escapes what LaTeX reads as commands.
fn latex_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                out.push('\\');
                out.push(c);
            }
            '\n' | '\r' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> FigureTable {
        FigureTable {
            heads: vec!["variant".into(), "n".into(), "time (s)".into(), "empty".into()],
            rows: vec![
                vec!["a|b_1".into(), Cell::Number(3.0), Cell::Number(6.114_912), Cell::None],
                vec!["=1+1".into(), Cell::Number(3.0), Cell::None, Cell::None],
            ],
        }
    }

    #[test]
    fn a_spreadsheet_gets_full_precision_and_no_formula() {
        assert_eq!(table().csv(), "variant,n,time (s),empty\na|b_1,3,6.114912,\n'=1+1,3,,\n");
    }

    #[test]
    fn markdown_has_no_empty_column_and_no_broken_row() {
        let text = table().markdown("Of a. See b.");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "| variant | n | time (s) |");
        assert_eq!(lines[1], "| --- | ---: | ---: |");
        assert_eq!(lines[2], "| a\\|b_1 | 3 | 6.115 |");
        assert_eq!(lines[5], "Of a. See b.");
    }

    #[test]
    fn latex_reads_no_command_from_a_name() {
        let text = table().latex("100 % of \\x");
        assert!(text.contains("\\caption{100 \\% of \\textbackslash{}x}"));
        assert!(text.contains("  a|b\\_1 & 3 & 6.115 \\\\\n") && text.contains("{lrr}"));
    }

    #[test]
    fn a_long_table_says_what_it_leaves_out() {
        let rows = vec![vec![Cell::Number(1.0)]; 300];
        let table = FigureTable { heads: vec!["x".into()], rows };
        let text = table.markdown("C.");
        assert!(text.contains("The first 200 of 300 rows"), "{text}");
        assert_eq!((text.lines().count(), table.csv().lines().count()), (204, 301));
    }
}
