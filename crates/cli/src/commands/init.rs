//! `bentpipe init`: writes a scenario to start from.

use crate::args::Init;
use crate::output;
use bentpipe_lab::LabError;
use bentpipe_scenario::profiles::{Profile, profile, profiles};
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Longest name of a scenario.
const MAX_NAME: usize = 64;

/// Writes a scenario with comments. An existing file is not replaced.
pub fn run(args: &Init) -> Result<u8, LabError> {
    let Some(profile) = profile(&args.profile) else {
        let names: Vec<&str> = profiles().iter().map(|profile| profile.name.as_str()).collect();
        return Err(LabError::Usage {
            argument: "--profile",
            reason: format!("`{}` is no profile; allowed: {}", args.profile, names.join(", ")),
        });
    };
    let text = scenario(&name(&args.file), profile);
    let mut file = bentpipe_files::create_new(&args.file).map_err(|error| {
        let reason = match error.kind() {
            ErrorKind::AlreadyExists => "it exists; allowed: a new file".to_owned(),
            _ => error.to_string(),
        };
        LabError::write(&args.file, reason)
    })?;
    file.write_all(text.as_bytes()).map_err(|error| LabError::write(&args.file, error))?;
    let file = args.file.display();
    output::print(&format!("wrote {file}; to run it: bentpipe run {file}\n"))
}

/// Returns a valid scenario name made of the name of `file`.
fn name(file: &Path) -> String {
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().to_lowercase());
    let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-+.".contains(c);
    let name: String = stem
        .unwrap_or_default()
        .chars()
        .map(|c| if fine(c) { c } else { '-' })
        .take(MAX_NAME)
        .collect();
    let name = name.trim_matches(|c| c == '.' || c == '-');
    if name.is_empty() { "scenario".to_owned() } else { name.to_owned() }
}

fn scenario(name: &str, profile: &Profile) -> String {
    let profile = &profile.name;
    format!(
        r#"# A Bentpipe scenario. Every key is explained in the reference of scenarios; for completion
# in an editor: bentpipe schema > scenario.schema.json
name = "{name}"
title = "Downloads over {profile}"
seed = 1                       # of all random draws: the same seed gives the same results
repeat = 20                    # runs of each variant at each sweep point

[path]
profile = "{profile}"{pad}# `bentpipe profiles` lists them; any key can be overridden:
# rtt = "600 ms"
forward = {{ loss = 0.001 }}     # towards the client: rate, delay, queue, loss, …
# return = {{ rate = "2 Mbps" }}

[workload]
download = "20 MB"             # or upload, web_page, video, bulk, …
start_jitter = "20 ms"         # random start, so that runs differ

# What all variants have in common. `draft`: controllers exactly as their documents specify them.
# Without it, variants are what `bentpipe serve` and `get` use, with a start of their own.
[defaults]
preset = "draft"

# What is compared. Each variant changes transport keys; `bentpipe controllers` lists values.
[[variant]]
name = "cubic"
congestion = "cubic"

[[variant]]
name = "bbr3"
congestion = "bbr3"

# [[variant]]
# name = "tcp"
# transport = "tcp"

# Keys and the values that they take, in every combination.
[sweep]
"workload.download" = ["5 MB", "20 MB"]

# Conditions for exit status 0.
# [[expect]]
# metric = "completion_s"
# variant = "bbr3"
# relative_to = "cubic"
# below = 1.1

[output]
time_series = "first"          # series of the first run for the report: none, first or all
"#,
        pad = " ".repeat(19usize.saturating_sub(profile.len()).max(1)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_lab::{Changes, Plan};

    #[test]
    fn the_scenario_is_valid_for_every_profile() {
        for profile in profiles() {
            let text = scenario("mine", profile);
            let plan = Plan::parse("mine.toml", &text, Path::new("."), &Changes::default());
            let plan = plan.unwrap_or_else(|error| panic!("{}: {error}", profile.name));
            assert_eq!(plan.tasks.len(), 80, "{}", profile.name);
            assert_eq!(plan.notes, Vec::<String>::new(), "{}", profile.name);
        }
    }

    #[test]
    fn keys_in_comments_are_valid_too() {
        let text = scenario("mine", &profiles()[0]);
        let lines: Vec<&str> = text
            .lines()
            .map(|line| match line.strip_prefix("# ") {
                Some(key) if key.starts_with("[[") || key.contains(" = ") => key,
                _ => line,
            })
            .collect();
        let text = lines.join("\n");
        let plan = Plan::parse("mine.toml", &text, Path::new("."), &Changes::default());
        assert_eq!(plan.map(|plan| plan.variants.len()).unwrap_or_default(), 3, "{text}");
    }

    #[test]
    fn names_are_made_of_file_names() {
        for (file, expected) in [
            ("my.toml", "my"),
            ("a/My Scenario.toml", "my-scenario"),
            ("…", "scenario"),
            (".toml", "toml"),
            ("/", "scenario"),
        ] {
            assert_eq!(name(Path::new(file)), expected, "{file}");
        }
    }
}
