//! Errors of scenarios, with their place in the text.

use std::ops::Range;
use thiserror::Error;

/// Why a scenario cannot be run: what is wrong, where, and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}: {message}", self.place())]
pub struct ScenarioError {
    /// What is wrong with the value, and what is allowed.
    pub message: String,
    /// A suggested fix, if there is an obvious one.
    pub help: Option<String>,
    /// Name of the file, or command-line option, that the text is from.
    pub name: String,
    /// The complete text.
    pub text: String,
    /// Byte range of the error in `text`.
    pub span: Range<usize>,
    /// Line of `text` in which the span starts, counted from 1.
    pub line: usize,
}

impl ScenarioError {
    /// Returns `file:line`, or the command-line option as given.
    pub fn place(&self) -> String {
        if self.name.starts_with("--") {
            format!("{} {}", self.name, self.text)
        } else {
            format!("{}:{}", self.name, self.line)
        }
    }
}

/// An error at a byte range of a [`Source`]. [`Source::locate`] adds file and line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong with the value, and what is allowed.
    pub message: String,
    /// A suggested fix, if there is an obvious one.
    pub help: Option<String>,
    /// Byte range of the error in the source.
    pub span: Range<usize>,
}

impl Problem {
    /// Creates a problem with the text at `span`.
    pub fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None, span }
    }

    /// Adds a suggested fix.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Converts an error of the TOML parser, which lies at `place` if it has no position. Terms of
    /// Rust, such as "field" and "variant", become terms of scenario files.
    pub fn from_toml(error: &toml::de::Error, place: Range<usize>) -> Self {
        let span = error.span().unwrap_or(place);
        let message = error
            .message()
            .replace("unknown field", "unknown key")
            .replace("unknown variant", "unknown value");
        let message =
            message.replace("missing field", "missing key").replace("expected one of", "allowed:");
        let message = of_scenario_files(message);
        // "unknown key `x`, expected `a` or `b`" is serde's wording for one and two candidates.
        let message = if message.starts_with("unknown") {
            message.replace(", expected ", ", allowed: ")
        } else {
            message
        };
        let mut names = message.split('`').skip(1).step_by(2);
        let help = names.next().filter(|_| message.starts_with("unknown")).and_then(|given| {
            let candidates: Vec<&str> = names.collect();
            nearest(given, &candidates).map(|near| format!("did you mean `{near}`?"))
        });
        // The only key that every scenario needs.
        let path = (message == "missing key `path`").then_some("[path]\nprofile = \"geo-50-10\"");
        let help = help.or_else(|| path.map(str::to_owned));
        Self { message, help, span }
    }

    /// Creates the problem that `given` is not one of `allowed`. The help suggests a similar name.
    pub fn not_one_of<'a>(
        span: Range<usize>,
        what: &str,
        given: &str,
        allowed: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let allowed: Vec<&str> = allowed.into_iter().collect();
        let list = if allowed.is_empty() { "none".to_owned() } else { quoted(&allowed) };
        let problem = Self::new(span, format!("no {what} is named `{given}`; allowed: {list}"));
        match nearest(given, &allowed) {
            Some(near) => problem.help(format!("did you mean `{near}`?")),
            None => problem,
        }
    }
}

/// Returns serde's `invalid type: map, expected u64` with types that a scenario file has.
fn of_scenario_files(message: String) -> String {
    let Some((given, expected)) =
        message.strip_prefix("invalid type: ").and_then(|types| types.rsplit_once(", expected "))
    else {
        return message;
    };
    let given = match given {
        "map" => "a table",
        "sequence" => "a list",
        given => given,
    };
    let expected = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or more",
        "i32" | "i64" => "a whole number",
        "f64" => "a number",
        "a boolean" | "bool" => "true or false",
        "a sequence" => "a list",
        "a map" => "a table",
        expected if expected.starts_with("struct ") => "a table",
        expected => expected,
    };
    format!("invalid type: {given}, expected {expected}")
}

/// Formats names as a list: `` `a`, `b`, `c` ``.
pub fn quoted(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// Returns the candidate most similar to `given`, if one is similar enough to suggest.
pub fn nearest<'a>(given: &str, candidates: &[&'a str]) -> Option<&'a str> {
    candidates
        .iter()
        .map(|candidate| (strsim::normalized_damerau_levenshtein(given, candidate), *candidate))
        .filter(|(likeness, _)| *likeness >= 0.6)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// The texts of a scenario: the file, then one piece for each `--set`.
///
/// Byte offsets count through all pieces, so that a span identifies the piece.
#[derive(Debug, Clone)]
pub struct Source {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone)]
struct Piece {
    name: String,
    text: String,
    start: usize,
}

impl Source {
    /// Creates a source from the text of a scenario file. Errors refer to it as `name`.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { pieces: vec![Piece { name: name.into(), text: text.into(), start: 0 }] }
    }

    /// Adds a text and returns the offset at which it starts.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> usize {
        // Pieces are one byte apart, so that an empty span at the end of a piece belongs to it.
        let start = self.pieces.last().map_or(0, |piece| piece.start + piece.text.len() + 1);
        self.pieces.push(Piece { name: name.into(), text: text.into(), start });
        start
    }

    /// Returns the text of the scenario file.
    pub fn file(&self) -> &str {
        self.pieces.first().map_or("", |piece| &piece.text)
    }

    /// Returns the texts of `--set` in order, each with the offset at which it starts.
    pub fn sets(&self) -> impl Iterator<Item = (&str, usize)> {
        self.pieces.iter().skip(1).map(|piece| (piece.text.as_str(), piece.start))
    }

    /// Adds the name, text and line of its piece to `problem`.
    pub fn locate(&self, problem: Problem) -> Box<ScenarioError> {
        let at = problem.span.start;
        let piece = self.pieces.iter().rev().find(|piece| piece.start <= at);
        let (name, text, start) =
            piece.map_or(("", "", 0), |piece| (&*piece.name, &*piece.text, piece.start));
        let begin = floor_boundary(text, at - start);
        let end = floor_boundary(text, problem.span.end.saturating_sub(start)).max(begin);
        let line = 1 + text[..begin].matches('\n').count();
        Box::new(ScenarioError {
            message: problem.message,
            help: problem.help,
            name: name.to_owned(),
            text: text.to_owned(),
            span: begin..end,
            line,
        })
    }
}

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_finds_its_line_and_its_piece() {
        let mut source = Source::new("a.toml", "name = \"x\"\nseed = -1\n");
        let start = source.add("--set", "seed=no");
        let error = source.locate(Problem::new(18..20, "wrong"));
        assert_eq!(
            (error.line, &*error.name, &error.text[error.span.clone()]),
            (2, "a.toml", "-1")
        );
        let error = source.locate(Problem::new(start + 5..start + 7, "wrong"));
        assert_eq!((error.line, &*error.name, &error.text[error.span.clone()]), (1, "--set", "no"));
    }

    #[test]
    fn spans_inside_a_character_or_past_the_end_do_not_panic() {
        let source = Source::new("a.toml", "é");
        assert_eq!(source.locate(Problem::new(1..9, "wrong")).span, 0..2);
        assert_eq!(source.locate(Problem::new(7..9, "wrong")).span, 2..2);
    }

    #[test]
    fn types_of_the_parser_become_types_of_a_file() {
        let cases = [
            ("invalid type: map, expected u64", "a table, expected a whole number, 0 or more"),
            ("invalid type: integer `3`, expected a sequence", "integer `3`, expected a list"),
            ("invalid type: string \"a, expected u64\", expected struct Bulk", "expected a table"),
            (
                "invalid type: sequence, expected a rate such as \"1 Mbps\"",
                "a list, expected a rate",
            ),
            ("invalid value: map, expected u64", "invalid value: map, expected u64"),
        ];
        for (message, expected) in cases {
            let plain = of_scenario_files(message.to_owned());
            assert!(plain.contains(expected), "{message}: {plain}");
        }
    }

    #[test]
    fn near_misses_are_suggested_and_far_ones_are_not() {
        assert_eq!(nearest("downlod", &["download", "upload"]), Some("download"));
        assert_eq!(nearest("zzz", &["download", "upload"]), None);
    }
}
