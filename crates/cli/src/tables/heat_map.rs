//! A matrix whose cells are coloured by their values, as text.

use crate::output::paint;
use std::fmt::Write;

/// Colours from cold to hot: the 256-colour palette's blues, greys and reds.
const PALETTE: [&str; 9] = ["25", "31", "67", "103", "240", "137", "173", "167", "160"];

/// Formats a matrix with a value or a dash in each cell.
pub fn heat_map(
    rows: &[String],
    columns: &[String],
    digits: usize,
    value: &dyn Fn(&str, &str) -> Option<f64>,
    heat: &dyn Fn(f64) -> f64,
    colour: bool,
) -> String {
    let width =
        |names: &[String]| names.iter().map(|name| name.chars().count()).max().unwrap_or_default();
    let cell = width(columns).max(4) + 1;
    let width = width(rows);
    let mut text = format!("{:width$}", "");
    for name in columns {
        let _ = write!(text, "{name:>cell$}");
    }
    text.push('\n');
    for row in rows {
        let _ = write!(text, "{row:width$}");
        for column in columns {
            match value(row, column) {
                Some(value) => {
                    let position = heat(value).clamp(0.0, 1.0) * (PALETTE.len() - 1) as f64;
                    let shade = format!("97;48;5;{}", PALETTE[position.round() as usize]);
                    text.push_str(&paint(colour, &shade, &format!("{value:>cell$.digits$}")));
                }
                None => _ = write!(text, "{:>cell$}", "–"),
            }
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::printable;

    #[test]
    fn heat_maps_are_aligned_and_coloured() {
        let names = ["cubic".to_owned(), "bbr3".to_owned()];
        let value = |row: &str, column: &str| match (row, column) {
            ("cubic", "bbr3") => Some(100.0),
            ("bbr3", "cubic") => None,
            _ => Some(50.0),
        };
        let map = heat_map(&names, &names, 0, &value, &|value| value / 100.0, false);
        assert_eq!(map, "      cubic  bbr3\ncubic    50   100\nbbr3      –    50\n");
        let map = heat_map(&names, &names, 0, &value, &|value| value / 100.0, true);
        assert!(
            printable(&map).contains("\x1b[97;48;5;160m   100\x1b[0m")
                && printable(&map).contains("\x1b[97;48;5;240m    50\x1b[0m")
        );
    }
}
