//! What a scenario says about its variants that the results do not: the baseline, and the keys in
//! which they differ.

use std::collections::BTreeMap;
use toml::{Table, Value};

/// Most keys of a variant, and most characters of a value, that a page shows.
const MAX_KEYS: usize = 24;
const MAX_VALUE: usize = 120;

/// What the text of a scenario says about its variants.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Variants {
    /// Variant that others are compared with, if the scenario names one.
    pub baseline: Option<String>,
    /// Keys of each variant as dotted paths, with their values as text.
    pub keys: Vec<BTreeMap<String, String>>,
}

impl Variants {
    /// Reads the text of a scenario; a text that is no TOML says nothing.
    pub fn of(source: &str) -> Self {
        let Ok(scenario) = source.parse::<Table>() else { return Self::default() };
        let baseline = scenario.get("baseline").and_then(Value::as_str).map(str::to_owned);
        let variants = scenario.get("variant").and_then(Value::as_array);
        let tables = variants.into_iter().flatten().filter_map(Value::as_table);
        Self { baseline, keys: tables.map(keys).collect() }
    }
}

/// Returns the keys of a variant, except its name.
fn keys(variant: &Table) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (key, value) in variant.iter().filter(|(key, _)| *key != "name") {
        collect(key, value, &mut found);
    }
    found
}

/// Adds `value` at `path`: a table key by key, so that it reads as dotted keys do.
fn collect(path: &str, value: &Value, found: &mut BTreeMap<String, String>) {
    match value {
        Value::Table(table) => {
            for (key, value) in table {
                collect(&format!("{path}.{key}"), value, found);
            }
        }
        _ if found.len() >= MAX_KEYS => {}
        Value::String(text) => {
            found.insert(path.to_owned(), text.chars().take(MAX_VALUE).collect());
        }
        other => {
            found.insert(path.to_owned(), other.to_string().chars().take(MAX_VALUE).collect());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_have_their_keys_as_dotted_paths() {
        let found = Variants::of(
            "baseline = \"h3\"\n[[variant]]\nname = \"h2\"\nhttp = \"h2\"\ntcp.pep = \"both\"\n\
             quic = { ack_by = \"receiver\", batch = 4 }\n[[variant]]\nname = \"h3\"",
        );
        assert_eq!(found.baseline.as_deref(), Some("h3"));
        let pairs: Vec<(&str, &str)> =
            found.keys[0].iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let expected =
            [("http", "h2"), ("quic.ack_by", "receiver"), ("quic.batch", "4"), ("tcp.pep", "both")];
        assert_eq!(pairs, expected);
        assert!(found.keys[1].is_empty());
    }

    #[test]
    fn a_text_that_is_no_scenario_says_nothing() {
        assert_eq!(Variants::of("no = toml ="), Variants::default());
        assert_eq!(Variants::of("variant = 3\nbaseline = 4"), Variants::default());
    }

    #[test]
    fn keys_and_values_are_bounded() {
        let many: String = (0..100).map(|i| format!("k{i} = \"{}\"\n", "x".repeat(500))).collect();
        let found = Variants::of(&format!("[[variant]]\n{many}"));
        assert_eq!(found.keys[0].len(), MAX_KEYS);
        assert!(found.keys[0].values().all(|value| value.len() == MAX_VALUE));
    }
}
