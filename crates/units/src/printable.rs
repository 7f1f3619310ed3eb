//! Texts of other people and machines, for logs and terminals.

use std::fmt::{self, Display, Write};

/// Prints the text of a peer or a scenario with its control characters escaped, so that it is one
/// line and changes nothing on a terminal. Characters that change the direction of a text are
/// escaped as well.
#[derive(Debug, Clone, Copy)]
pub struct Printable<T>(pub T);

impl<T: Display> Display for Printable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaping(f), "{}", self.0)
    }
}

struct Escaping<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl Write for Escaping<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            let directional = matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}');
            if c.is_control() || directional {
                write!(self.0, "\\u{{{:x}}}", u32::from(c))?;
            } else {
                self.0.write_char(c)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_control_a_terminal() {
        let text = "\x1b[31mred\u{9b}2J\r\nnext \u{202e}dlrow ärger";
        let printed = Printable(text).to_string();
        let expected = "\\u{1b}[31mred\\u{9b}2J\\u{d}\\u{a}next \\u{202e}dlrow ärger";
        assert_eq!(printed, expected);
    }
}
