//! Changes one key of a scenario's text and leaves the rest as it is, comments included.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use toml_edit::{DocumentMut, Item, TableLike, Value, value};

/// Keys with a field in the page's form, and a value of each, with which is tried whether a
/// scenario may have it.
const FORM: [(&str, &str); 9] = [
    ("path.profile", "geo-50-10"),
    ("path.rtt", "600 ms"),
    ("path.forward.rate", "50 Mbps"),
    ("path.forward.queue", "1 BDP"),
    ("path.forward.loss", "0.001"),
    ("path.return.rate", "10 Mbps"),
    ("workload.download", "2 MB"),
    ("workload.upload", "2 MB"),
    ("repeat", "5"),
];

/// A change of one key.
#[derive(Debug, Deserialize)]
pub struct Edit {
    /// The text of the scenario.
    pub text: String,
    /// The key, with dots.
    pub key: String,
    /// Its new value in TOML; bare text is a string. `None` removes the key.
    pub value: Option<String>,
}

/// The text after a change.
#[derive(Debug, Serialize)]
pub struct Edited {
    /// The text of the scenario.
    pub text: String,
}

/// Makes a change.
///
/// # Errors
/// The text is not TOML, or the key leads through something other than a table.
pub fn edit(edit: &Edit) -> Result<Edited, String> {
    let mut document: DocumentMut =
        edit.text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    let parts: Vec<&str> = edit.key.split('.').collect();
    let (last, tables) = parts.split_last().ok_or("the key is empty")?;
    if parts.iter().any(|part| part.is_empty()) {
        return Err(format!("`{}` is no key", edit.key));
    }
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for part in tables {
        let item = table.entry(part).or_insert_with(|| match edit.value {
            Some(_) => Item::Value(Value::InlineTable(toml_edit::InlineTable::new())),
            None => Item::None,
        });
        if item.is_none() {
            // Nothing to remove.
            return Ok(Edited { text: edit.text.clone() });
        }
        table = item.as_table_like_mut().ok_or_else(|| format!("`{part}` is not a table"))?;
    }
    match &edit.value {
        None => _ = table.remove(last),
        Some(text) => {
            let mut new = parsed(text);
            if let Some(old) = table.get(last).and_then(Item::as_value) {
                // Spaces and the comment behind the old value stay.
                *new.decor_mut() = old.decor().clone();
            }
            match table.get_mut(last) {
                Some(item) => *item = Item::Value(new),
                None => _ = table.insert(last, value(new)),
            }
        }
    }
    Ok(Edited { text: document.to_string() })
}

/// Returns `text` as a number or boolean if it is one, and otherwise as a string.
fn parsed(text: &str) -> Value {
    match text.parse::<Value>() {
        Ok(value @ (Value::Integer(_) | Value::Float(_) | Value::Boolean(_))) => value,
        _ => Value::from(text),
    }
}

/// Returns the values of the form's keys in a text, as text, but for tables and lists. Empty if it
/// is not TOML.
pub fn form(text: &str) -> BTreeMap<&'static str, String> {
    let Ok(document) = text.parse::<DocumentMut>() else { return BTreeMap::new() };
    let value = |key: &str| {
        let mut table: &dyn TableLike = document.as_table();
        let (tables, last) = key.rsplit_once('.').unwrap_or(("", key));
        for part in tables.split('.').filter(|part| !part.is_empty()) {
            table = table.get(part)?.as_table_like()?;
        }
        match table.get(last)?.as_value()? {
            Value::String(text) => Some(text.value().clone()),
            // What a field cannot show as one value it must not write as one.
            Value::InlineTable(_) | Value::Array(_) => None,
            other => Some(other.to_string().trim().to_owned()),
        }
    };
    FORM.iter().filter_map(|&(key, _)| Some((key, value(key)?))).collect()
}

/// Returns the form's keys that the scenario `text` may have besides those that it has: with which
/// `is_valid` says that it still is a scenario.
pub fn possible(text: &str, is_valid: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let possible = |&&(key, value): &&(&str, &str)| {
        let change =
            Edit { text: text.to_owned(), key: key.to_owned(), value: Some(value.to_owned()) };
        !is_present(text, key) && edit(&change).is_ok_and(|edited| is_valid(&edited.text))
    };
    FORM.iter().filter(possible).map(|&(key, _)| key).collect()
}

/// Returns the value with which [`possible`] tries a key of the form.
#[cfg(test)]
pub fn tried(key: &str) -> &'static str {
    FORM.iter().find(|(known, _)| *known == key).map_or("", |(_, value)| value)
}

/// Returns true if a text has a key, whatever it holds: a schedule of rates, for example.
fn is_present(text: &str, key: &str) -> bool {
    let Ok(document) = text.parse::<DocumentMut>() else { return true };
    let (tables, last) = key.rsplit_once('.').unwrap_or(("", key));
    let mut table: &dyn TableLike = document.as_table();
    for part in tables.split('.').filter(|part| !part.is_empty()) {
        match table.get(part) {
            None => return false,
            // Below something that is no table, nothing can be added.
            Some(item) => match item.as_table_like() {
                Some(inner) => table = inner,
                None => return true,
            },
        }
    }
    table.contains_key(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# A comment.
[path]                # of the table
profile = \"geo-50-10\"  # of the key
forward = { queue = \"1 BDP\", loss = 0.001 } # inline

[workload]
download = \"2 MB\"
";

    fn edited(key: &str, value: Option<&str>) -> Result<String, String> {
        let (text, key) = (TEXT.to_owned(), key.to_owned());
        edit(&Edit { text, key, value: value.map(str::to_owned) }).map(|edited| edited.text)
    }

    #[test]
    fn one_value_changes_and_comments_stay() {
        let text = edited("path.forward.queue", Some("2 BDP")).unwrap();
        assert_eq!(text, TEXT.replace("1 BDP", "2 BDP"));
        let text = edited("path.profile", Some("leo-starlink")).unwrap();
        assert_eq!(text, TEXT.replace("geo-50-10", "leo-starlink"));
        let text = edited("path.forward.loss", Some("0.01")).unwrap();
        assert_eq!(text, TEXT.replace("0.001", "0.01"));
    }

    #[test]
    fn missing_keys_and_tables_are_added() {
        let text = edited("path.rtt", Some("40 ms")).unwrap();
        assert!(text.contains("inline\nrtt = \"40 ms\"\n"), "{text}");
        let text = edited("path.return.rate", Some("1 Mbps")).unwrap();
        assert!(text.contains("return = { rate = \"1 Mbps\" }\n"), "{text}");
    }

    #[test]
    fn a_key_is_removed() {
        assert!(!edited("path.forward.queue", None).unwrap().contains("queue"));
        assert_eq!(edited("path.return.rate", None).unwrap(), TEXT);
    }

    #[test]
    fn values_cannot_add_keys() {
        let text = edited("path.profile", Some("\"\nseed = 1\n[x]")).unwrap();
        let document: DocumentMut = text.parse().unwrap();
        assert!(document.get("seed").is_none() && document.get("x").is_none());
    }

    #[test]
    fn keys_through_values_and_broken_texts_are_errors() {
        assert_eq!(edited("path.profile.x", Some("1")), Err("`profile` is not a table".to_owned()));
        assert_eq!(edited("path..x", Some("1")), Err("`path..x` is no key".to_owned()));
        let broken = Edit { text: "[".to_owned(), key: "a".to_owned(), value: None };
        assert!(edit(&broken).is_err());
    }

    #[test]
    fn only_keys_that_a_text_lacks_are_tried() {
        let tried = std::cell::RefCell::new(Vec::new());
        let keys = possible(TEXT, |text| {
            tried.borrow_mut().push(text.to_owned());
            !text.contains("upload")
        });
        assert_eq!(keys, ["path.rtt", "path.forward.rate", "path.return.rate", "repeat"]);
        assert_eq!(tried.borrow().len(), 5);
        let scheduled = "path.forward.rate.schedule = []\nworkload = 1\npath.return = 1";
        let keys = possible(scheduled, |_| true);
        assert!(!keys.iter().any(|key| key.ends_with("rate") || key.starts_with("workload")));
        assert_eq!(possible("[", |_| true), [""; 0]);
    }

    #[test]
    fn the_form_has_the_values_of_the_text() {
        let form = form(TEXT);
        assert_eq!(form["path.profile"], "geo-50-10");
        assert_eq!(form["path.forward.loss"], "0.001");
        assert_eq!(form["workload.download"], "2 MB");
        assert!(!form.contains_key("path.rtt"));
    }
}
