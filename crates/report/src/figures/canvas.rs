//! A drawing as SVG text. Lengths are points; texts are escaped here and nowhere else.

use super::ink::Ink;
use super::request::FigureStyle;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Points per millimetre.
const POINTS_PER_MM: f64 = 72.0 / 25.4;
/// Sizes of letters: names and titles; ticks and notes.
pub(super) const TEXT: f64 = 8.0;
pub(super) const SMALL: f64 = 7.0;
/// Free space around the drawing.
pub(super) const EDGE: f64 = 2.0;

/// Fonts with the widths of Helvetica and of Times, then those that come closest to them.
const SANS: &str =
    "Helvetica, Arial, 'Liberation Sans', 'Nimbus Sans', 'DejaVu Sans Condensed', sans-serif";
const SERIF: &str = "Times, 'Times New Roman', 'Liberation Serif', 'Nimbus Roman', \
    'DejaVu Serif Condensed', serif";

/// Widths of the characters from space to tilde in thousandths of the size, of Helvetica.
const WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];
/// Room for fonts that stand in for Helvetica, and for Times, which is narrower.
const ROOM: f64 = 1.05;

/// Where a text stands beside its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Letters {
    pub size: f64,
    pub anchor: Anchor,
    pub bold: bool,
    pub colour: &'static str,
}

impl Letters {
    pub const fn new(size: f64, anchor: Anchor) -> Self {
        Self { size, anchor, bold: false, colour: "#000" }
    }

    pub const fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    pub const fn muted(self) -> Self {
        Self { colour: "#555", ..self }
    }

    pub const fn coloured(self, colour: &'static str) -> Self {
        Self { colour, ..self }
    }
}

/// A drawing that grows downwards.
pub(super) struct Canvas {
    pub style: FigureStyle,
    pub ink: Ink,
    /// Width in points.
    pub width: f64,
    /// Where the next part begins.
    pub y: f64,
    body: String,
    hatches: BTreeSet<usize>,
}

impl Canvas {
    pub fn new(style: FigureStyle) -> Self {
        let width = style.width_mm * POINTS_PER_MM;
        let (body, hatches) = (String::new(), BTreeSet::new());
        Self { style, ink: Ink { grey: style.grey }, width, y: EDGE, body, hatches }
    }

    /// Returns the width of `text` in points.
    pub fn measure(&self, text: &str, size: f64) -> f64 {
        let width = |c: char| {
            let index = (c as usize).checked_sub(' ' as usize);
            let thousandths = match c {
                '\u{a0}' => 278,
                '\u{202f}' => 200,
                _ => index.and_then(|index| WIDTHS.get(index)).copied().unwrap_or(584),
            };
            f64::from(thousandths)
        };
        text.chars().map(width).sum::<f64>() / 1000.0 * size * ROOM
    }

    /// Returns `text`, shortened so that it fits into `room` points.
    pub fn fitted(&self, text: &str, size: f64, room: f64) -> String {
        if self.measure(text, size) <= room {
            return text.to_owned();
        }
        let mut short = text.to_owned();
        while short.pop().is_some() {
            let shown = format!("{}…", short.trim_end());
            if self.measure(&shown, size) <= room {
                return shown;
            }
        }
        String::new()
    }

    /// Returns `text` in lines of at most `room` points, broken at spaces.
    pub fn in_lines(&self, text: &str, size: f64, room: f64) -> Vec<String> {
        let mut lines = vec![String::new()];
        for word in text.split_whitespace() {
            let Some(last) = lines.last_mut() else { break };
            let longer = if last.is_empty() { word.to_owned() } else { format!("{last} {word}") };
            if self.measure(&longer, size) <= room || last.is_empty() {
                *last = longer;
            } else {
                lines.push(word.to_owned());
            }
        }
        lines
    }

    pub fn text(&mut self, x: f64, y: f64, letters: Letters, text: &str) {
        self.turned_text(x, y, 0.0, letters, text);
    }

    /// Writes a text that is turned by some degrees.
    pub fn turned_text(&mut self, x: f64, y: f64, degrees: f64, letters: Letters, text: &str) {
        let anchor = match letters.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let bold = if letters.bold { " font-weight=\"bold\"" } else { "" };
        let fill = match letters.colour {
            "#000" => String::new(),
            colour => format!(" fill=\"{colour}\""),
        };
        let turn = if degrees == 0.0 {
            String::new()
        } else {
            format!(" transform=\"rotate({degrees} {x:.2} {y:.2})\"")
        };
        let _ = writeln!(
            self.body,
            "<text x=\"{x:.2}\" y=\"{y:.2}\" font-size=\"{}\"{anchor}{bold}{fill}{turn}>{}</text>",
            letters.size,
            escaped(text)
        );
    }

    /// Draws a box filled with a colour or, as [`Ink`] says, a hatch.
    pub fn rect(&mut self, [x, y, width, height]: [f64; 4], fill: &str) {
        if let Some(index) = Ink::hatch_of(fill) {
            self.hatches.insert(index);
        }
        let _ = writeln!(
            self.body,
            "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" \
             fill=\"{fill}\"/>"
        );
    }

    /// Draws the outline of a box.
    pub fn outline(&mut self, [x, y, width, height]: [f64; 4], stroke: &str, line: f64) {
        let _ = writeln!(
            self.body,
            "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" \
             fill=\"none\" stroke=\"{stroke}\" stroke-width=\"{line}\"/>"
        );
    }

    pub fn line(&mut self, [x1, y1, x2, y2]: [f64; 4], stroke: &str, width: f64, dash: &str) {
        let dash = dashed(dash);
        let _ = writeln!(
            self.body,
            "<line x1=\"{x1:.2}\" y1=\"{y1:.2}\" x2=\"{x2:.2}\" y2=\"{y2:.2}\" \
             stroke=\"{stroke}\" stroke-width=\"{width}\"{dash}/>"
        );
    }

    pub fn polyline(&mut self, points: &[(f64, f64)], stroke: &str, width: f64, dash: &str) {
        if points.len() < 2 {
            return;
        }
        let dash = dashed(dash);
        let mut places = String::new();
        for (x, y) in points {
            let _ = write!(places, "{x:.1},{y:.1} ");
        }
        let _ = writeln!(
            self.body,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"{width}\" \
             stroke-linejoin=\"round\"{dash}/>",
            places.trim_end()
        );
    }

    /// Draws a path filled with `fill`, with a line around it if `stroke` is not empty.
    pub fn path(&mut self, path: &str, fill: &str, stroke: &str) {
        let stroke = if stroke.is_empty() {
            String::new()
        } else {
            format!(" stroke=\"{stroke}\" stroke-width=\"0.8\"")
        };
        let _ = writeln!(self.body, "<path d=\"{path}\" fill=\"{fill}\"{stroke}/>");
    }

    /// Returns the SVG, with its caption as its title, and below it if the style asks for it.
    pub fn finish(mut self, caption: &str) -> String {
        if self.style.caption {
            self.y += 4.0;
            for line in self.in_lines(caption, SMALL, self.width - 2.0 * EDGE) {
                self.y += SMALL + 2.0;
                self.text(EDGE, self.y, Letters::new(SMALL, Anchor::Start).muted(), &line);
            }
            self.y += 2.0;
        }
        let height = self.y + EDGE;
        let mm = |points: f64| points / POINTS_PER_MM;
        let family = if self.style.serif { SERIF } else { SANS };
        let hatches: String = self.hatches.iter().map(|index| Ink::hatch(*index)).collect();
        let defs = if hatches.is_empty() { hatches } else { format!("<defs>\n{hatches}</defs>\n") };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.2}mm\" height=\"{:.2}mm\" \
             viewBox=\"0 0 {:.2} {height:.2}\" font-family=\"{family}\" role=\"img\">\n\
             <title>{}</title>\n{defs}<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
             {}</svg>\n",
            mm(self.width),
            mm(height),
            self.width,
            escaped(caption),
            self.body
        )
    }
}

fn dashed(dash: &str) -> String {
    if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") }
}

/// Returns a text of somebody else as SVG may have it: without markup and control characters.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // XML 1.0 has no other control characters, and no such code points.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
