//! Error messages for people. Those of a scenario show the line with the error.

use crate::output;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use bentpipe_lab::LabError;
use bentpipe_scenario::ScenarioError;

/// Formats `error` for standard error, with a newline at its end.
pub fn render(error: &LabError) -> String {
    draw(error, output::coloured(&std::io::stderr()))
}

fn draw(error: &LabError, colour: bool) -> String {
    match error {
        LabError::Scenario(scenario) => with_its_line(scenario, colour),
        _ => format!("{} {error}\n", output::paint(colour, "1;31", "error:")),
    }
}

/// Formats a scenario's error with the line that it is in.
fn with_its_line(error: &ScenarioError, colour: bool) -> String {
    let message = error.to_string();
    let annotation = AnnotationKind::Primary.span(error.span.clone());
    let snippet = Snippet::source(&error.text).path(&error.name).annotation(annotation);
    let report: [Group<'_>; 1] = [Level::ERROR
        .primary_title(&message)
        .element(snippet)
        .elements(error.help.as_ref().map(|help| Level::HELP.message(help)))];
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    format!("{}\n", output::own_colours(&renderer.render(&report)))
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
        let shown = rendered(&VALID.replace("download", "downlod"), &Changes::default());
        // Which keys there are is the scenario's matter.
        let (before, rest) = shown.split_once("`visits`, ").expect("the first allowed keys");
        let (allowed, after) = rest.split_once('\n').expect("a line for itself");
        assert!(allowed.contains("`download`"), "{allowed}");
        insta::assert_snapshot!(format!("{before}…\n{after}"));
    }

    #[test]
    fn an_invalid_value_of_set_is_shown_as_given() {
        let changes =
            Changes { sets: vec!["path.forward.rate=50 ms".to_owned()], ..Changes::default() };
        insta::assert_snapshot!(rendered(VALID, &changes));
    }
}
