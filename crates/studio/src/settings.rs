//! The settings of a scenario's text as keys with values, and what differs between two texts.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use toml_edit::{DocumentMut, Item, Key, TableLike, Value};

/// Largest number of settings that are listed. A form with more is no help.
const MAX_SETTINGS: usize = 400;
/// Largest number of changes that are named.
const MAX_CHANGES: usize = 8;
/// Largest length of a value in a list of changes, in characters.
const MAX_VALUE: usize = 60;

/// A key and its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// The key as [`edit`](crate::edit) takes it: with dots, and the number of each of several
    /// tables.
    pub key: String,
    /// Its value: a string without quotes, anything else as TOML.
    pub value: String,
}

/// What a setting was and is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The key.
    pub key: String,
    /// Its value before; `None` if it had none.
    pub from: Option<String>,
    /// Its value after that; `None` if it has none.
    pub to: Option<String>,
}

/// Returns the settings of a text in their order, up to a number. Empty if it is not TOML.
pub fn settings(text: &str) -> Vec<Setting> {
    let mut found = Vec::new();
    if let Ok(document) = text.parse::<DocumentMut>() {
        collect(document.as_table(), "", &mut found);
    }
    found
}

fn collect(table: &dyn TableLike, above: &str, found: &mut Vec<Setting>) {
    for (name, item) in table.iter() {
        let name = Key::new(name).display_repr().into_owned();
        let key = if above.is_empty() { name } else { format!("{above}.{name}") };
        if let Some(tables) = item.as_array_of_tables() {
            for (index, table) in tables.iter().enumerate() {
                collect(table, &format!("{key}.{index}"), found);
            }
        } else if let Some(inner) = item.as_table_like() {
            collect(inner, &key, found);
        } else if let Item::Value(value) = item
            && found.len() < MAX_SETTINGS
        {
            found.push(Setting { key, value: written(value) });
        }
    }
}

fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.value().clone(),
        other => {
            // Without the spaces and the comment around it.
            let mut bare = other.clone();
            bare.decor_mut().clear();
            bare.to_string()
        }
    }
}

/// The settings of a text by their keys.
pub type ByKey = BTreeMap<String, String>;

/// Returns the settings of a text by their keys.
pub fn by_key(text: &str) -> ByKey {
    settings(text).into_iter().map(|Setting { key, value }| (key, value)).collect()
}

/// Returns what differs between the settings of two texts, up to a number.
pub fn changes(before: &ByKey, after: &ByKey) -> Vec<Change> {
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let short = |value: Option<&String>| value.map(|value| value.chars().take(MAX_VALUE).collect());
    keys.into_iter()
        .filter(|key| before.get(*key) != after.get(*key))
        .take(MAX_CHANGES)
        .map(|key| Change {
            key: key.clone(),
            from: short(before.get(key)),
            to: short(after.get(key)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
name = \"x\"
[path]
profile = \"geo-50-10\"  # a comment
forward = { queue = \"1 BDP\", loss = 0.001 }
[sweep]
\"path.rtt\" = [ \"1 ms\", \"9 ms\" ] # two
[[variant]]
name = \"a\"
[[variant]]
name = \"b\"
ack.every = 2
";

    #[test]
    fn settings_have_keys_that_edit_takes() {
        let found = settings(TEXT);
        let listed: Vec<(&str, &str)> =
            found.iter().map(|one| (one.key.as_str(), one.value.as_str())).collect();
        let expected = [
            ("name", "x"),
            ("path.profile", "geo-50-10"),
            ("path.forward.queue", "1 BDP"),
            ("path.forward.loss", "0.001"),
            ("sweep.\"path.rtt\"", "[ \"1 ms\", \"9 ms\" ]"),
            ("variant.0.name", "a"),
            ("variant.1.name", "b"),
            ("variant.1.ack.every", "2"),
        ];
        assert_eq!(listed, expected);
        for Setting { key, value } in found {
            let change = crate::Edit { text: TEXT.to_owned(), key, value: Some(value) };
            assert_eq!(crate::edit(&change).unwrap().text, TEXT, "{}", change.key);
        }
        assert_eq!(settings("["), []);
    }

    #[test]
    fn changes_name_what_differs() {
        let new = TEXT.replace("0.001", "0.01").replace("name = \"x\"", "name = \"x\"\nrepeat = 3");
        let new = new.replace("ack.every = 2\n", "");
        let words: Vec<String> = changes(&by_key(TEXT), &by_key(&new))
            .into_iter()
            .map(|Change { key, from, to }| {
                format!("{key} {} {}", from.as_deref().unwrap_or("-"), to.as_deref().unwrap_or("-"))
            })
            .collect();
        assert_eq!(
            words,
            ["path.forward.loss 0.001 0.01", "repeat - 3", "variant.1.ack.every 2 -"]
        );
        assert_eq!(changes(&by_key(TEXT), &by_key(TEXT)), []);
        let long = format!("title = \"{}\"\n{TEXT}", "é".repeat(500));
        assert_eq!(
            changes(&by_key(TEXT), &by_key(&long))[0].to.as_ref().unwrap().chars().count(),
            MAX_VALUE
        );
    }
}
