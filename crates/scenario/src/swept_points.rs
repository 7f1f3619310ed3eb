//! Expectations and published figures of sweep points that `--set` took out of a sweep.

/// Removes from `scenario` the expectations and published figures of points that do not run. The
/// text alone does not say that their values were in the sweep once, and would be refused.
/// `is_run` tells if the sweep has a key at a value.
pub(crate) fn keep(scenario: &mut toml::Table, is_run: impl Fn(&str, &toml::Value) -> bool) {
    for list in ["expect", "published"] {
        let Some(toml::Value::Array(entries)) = scenario.get_mut(list) else { continue };
        entries.retain(|entry| {
            let point = entry.get("point").and_then(toml::Value::as_table);
            point.is_none_or(|point| point.iter().all(|(key, value)| is_run(key, value)))
        });
        if entries.is_empty() {
            scenario.remove(list);
        }
    }
}
