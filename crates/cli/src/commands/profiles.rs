//! `bentpipe profiles`: lists the built-in paths.

use crate::output::{self, Look};
use crate::tables::{Align, Table};
use bentpipe_lab::LabError;
use bentpipe_results::Direction;
use bentpipe_scenario::profiles::{Profile, describe, profiles};
use std::fmt::Write;

/// Lists the built-in paths.
pub fn print(as_json: bool) -> Result<u8, LabError> {
    if !as_json {
        return output::print(&text(Look::stdout()));
    }
    output::document(&output::pretty(&json()))
}

/// Returns the built-in paths as JSON.
pub fn json() -> serde_json::Value {
    let list = profiles().iter().map(|profile| {
        serde_json::json!({
            "name": profile.name,
            "title": profile.title,
            "rtt_ms": profile.rtt().as_millis_f64(),
            "bdp_bytes": profile.bdp().get(),
            "forward": profile.forward,
            "return": profile.reverse,
            "reconfiguration": profile.reconfiguration,
            "targets": profile.targets,
            "source": profile.source,
            "note": profile.note,
        })
    });
    list.collect()
}

fn text(look: Look) -> String {
    let mut table = Table::new(&[
        ("profile", Align::Left),
        ("RTT", Align::Right),
        ("BDP", Align::Right),
        ("2/10/100 MB down", Align::Right),
        ("up", Align::Right),
        ("description", Align::Left),
    ]);
    for profile in profiles() {
        table.row([
            profile.name.clone(),
            profile.rtt().to_string(),
            format!("{:.2} MB", profile.bdp().get() as f64 / 1e6),
            targets(profile, Direction::Download),
            targets(profile, Direction::Upload),
            profile.title.clone(),
        ]);
    }
    let mut text = table.fitted(look);
    for profile in profiles() {
        let _ = write!(
            text,
            "\n{}\n  forward  {}\n  return   {}\n  source   {}\n  note     {}\n",
            output::paint(look.colour, "1", &profile.name),
            describe(&profile.forward),
            describe(&profile.reverse),
            profile.source,
            profile.note
        );
    }
    text
}

/// Formats targets as `3/5/20 s`, or as a dash if the source has none.
fn targets(profile: &Profile, direction: Direction) -> String {
    let wanted = profile.targets.iter().filter(|target| target.direction == direction);
    let seconds: Vec<String> = wanted.map(|target| target.seconds.to_string()).collect();
    if seconds.is_empty() { "–".to_owned() } else { format!("{} s", seconds.join("/")) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn profiles_are_listed_with_their_bdp_and_targets() {
        insta::assert_snapshot!(super::text(Default::default()));
    }
}
