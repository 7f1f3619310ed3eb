//! Error messages for people. Those of a scenario show the line with the error.

use crate::output;
use bentpipe_lab::LabError;
use bentpipe_scenario::ScenarioError;
use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode,
    SourceSpan,
};
use std::fmt;

/// A scenario's error as a miette diagnostic.
struct Diagnosed<'a> {
    error: &'a ScenarioError,
    source: NamedSource<String>,
}

impl fmt::Debug for Diagnosed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl fmt::Display for Diagnosed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}
impl std::error::Error for Diagnosed<'_> {}

impl Diagnostic for Diagnosed<'_> {
    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source)
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = &self.error.span;
        let span = SourceSpan::from((span.start, span.end - span.start));
        Some(Box::new(std::iter::once(LabeledSpan::new_with_span(Some("here".to_owned()), span))))
    }
    fn help(&self) -> Option<Box<dyn fmt::Display + '_>> {
        self.error.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }
}

/// Formats `error` for standard error, with a newline at its end.
pub fn render(error: &LabError) -> String {
    draw(error, output::coloured(&std::io::stderr()))
}

fn draw(error: &LabError, colour: bool) -> String {
    let LabError::Scenario(scenario) = error else {
        return format!("{} {error}\n", output::paint(colour, "1;31", "error:"));
    };
    let source = NamedSource::new(&scenario.name, scenario.text.clone());
    let theme = if colour { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    // Does not wrap lines, so that messages can be found with grep.
    let handler = GraphicalReportHandler::new_themed(theme).with_wrap_lines(false).with_width(400);
    let mut text = String::new();
    match handler.render_report(&mut text, &Diagnosed { error: scenario, source }) {
        Ok(()) => text.trim_start_matches('\n').to_owned(),
        Err(_) => format!("error: {error}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_lab::{Changes, Plan};
    use std::path::Path;

    fn rendered(text: &str, changes: &Changes) -> String {
        match Plan::parse("my.toml", text, Path::new("."), changes) {
            Ok(_) => "no error".to_owned(),
            Err(error) => draw(&LabError::Scenario(error), false),
        }
    }

    const VALID: &str =
        "name = \"mine\"\n[path]\nprofile = \"geo-50-10\"\n[workload]\ndownload = \"10 MB\"\n";

    #[test]
    fn an_unknown_key_is_shown_with_its_line_and_allowed_keys() {
        insta::assert_snapshot!(rendered(
            &VALID.replace("download", "downlod"),
            &Changes::default()
        ));
    }

    #[test]
    fn an_invalid_value_of_set_is_shown_as_given() {
        let changes =
            Changes { sets: vec!["path.forward.rate=50 ms".to_owned()], ..Changes::default() };
        insta::assert_snapshot!(rendered(VALID, &changes));
    }
}
