//! Notes about the mixes of users of a scenario.

use bentpipe_scenario::{MixTable, Scenario, mixes};

/// Returns for each mix of `scenario` where its numbers are from.
pub(super) fn notes(scenario: &Scenario) -> impl Iterator<Item = String> {
    let used = |table: &&MixTable| {
        let users = scenario.flows().iter().filter_map(|flow| flow.users.as_ref());
        users.into_iter().any(|users| users.mix == Some(table.mix))
    };
    mixes().iter().filter(used).map(note)
}

fn note(table: &MixTable) -> String {
    let MixTable { mix, source, classes, .. } = table;
    let classes: Vec<String> =
        classes.iter().map(|class| format!("{}: {}", class.name, class.source)).collect();
    format!("mix `{}`: {source}. {}", mix.name(), classes.join("; "))
}
