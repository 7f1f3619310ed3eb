//! `bentpipe man`: writes man pages.

use crate::args::Cli;
use crate::output;
use bentpipe_lab::LabError;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, roman};
use std::path::Path;

/// Writes a page for the command and for each subcommand into `directory`.
pub fn run(directory: &Path) -> Result<u8, LabError> {
    bentpipe_files::create_named_dir(directory)
        .map_err(|error| LabError::write(directory, error))?;
    let pages = pages();
    for (name, text) in &pages {
        let file = directory.join(name);
        bentpipe_lab::replace_file(&file, text)?;
    }
    output::print(&format!("{} pages in {}\n", pages.len(), directory.display()))
}

/// Returns the file name and the text of each page.
fn pages() -> Vec<(String, Vec<u8>)> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    add(&command, &mut pages);
    pages
}

fn add(command: &Command, pages: &mut Vec<(String, Vec<u8>)>) {
    for subcommand in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        add(subcommand, pages);
    }
    // Only writers that fail return errors, and vectors do not.
    let mut text = Vec::new();
    let _ = page(command, &mut text);
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    pages.push((format!("{name}.1"), text));
}

fn page(command: &Command, text: &mut Vec<u8>) -> std::io::Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let man = Man::new(command.clone())
        .title(name.to_uppercase())
        .source(format!("bentpipe {}", env!("CARGO_PKG_VERSION")))
        .manual("Bentpipe");
    man.render_title(text)?;
    man.render_name_section(text)?;
    man.render_synopsis_section(text)?;
    man.render_description_section(text)?;
    man.render_options_section(text)?;
    if command.get_subcommands().any(|command| !command.is_hide_set()) {
        man.render_subcommands_section(text)?;
    }
    notes(&after).to_writer(text)?;
    if name != "bentpipe" {
        let mut also = Roff::default();
        also.control("SH", ["SEE ALSO"]);
        also.text([Inline::Bold("bentpipe".to_owned()), roman("(1)")]);
        also.to_writer(text)?;
    }
    Ok(())
}

/// Formats the text after the options: a line that ends in a colon is a heading, and all others are
/// kept as they are, because most are commands.
fn notes(after: &str) -> Roff {
    let mut notes = Roff::default();
    let heading = |line: &str| !line.starts_with(' ') && line.ends_with(':');
    if !after.is_empty() && !after.lines().next().is_some_and(heading) {
        notes.control("SH", ["NOTES"]);
    }
    let mut open = false;
    for line in after.lines() {
        if heading(line) && matches!(line, "Examples:" | "Exit status:") {
            if std::mem::take(&mut open) {
                notes.control("fi", []);
            }
            let title = line.trim_end_matches(':').to_uppercase();
            notes.control("SH", [title.as_str()]);
            continue;
        }
        if !std::mem::replace(&mut open, true) {
            notes.control("nf", []);
        }
        notes.text([roman(line)]);
    }
    if open {
        notes.control("fi", []);
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of the pages of `command` and its subcommands.
    fn names(command: &Command, prefix: &str, found: &mut Vec<String>) {
        let name = format!("{prefix}{}", command.get_name());
        for subcommand in command.get_subcommands().filter(|command| command.get_name() != "help") {
            names(subcommand, &format!("{name}-"), found);
        }
        found.push(format!("{name}.1"));
    }

    #[test]
    fn every_subcommand_has_a_page_with_its_options() {
        let command = Cli::command();
        let mut expected = Vec::new();
        names(&command, "", &mut expected);
        let pages = pages();
        let found: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(found, expected);
        assert!(found.contains(&"bentpipe-run.1") && found.len() > 15, "{found:?}");
        let run = pages.iter().find(|(name, _)| name == "bentpipe-run.1").unwrap();
        let text = String::from_utf8_lossy(&run.1);
        for part in ["\\-\\-repeat", ".SH EXAMPLES", "bentpipe run my.toml", ".SH \"SEE ALSO\""] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
