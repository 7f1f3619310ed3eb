//! Changes one key of a scenario's text and leaves the rest as it is, comments included.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use toml_edit::{ArrayOfTables, DocumentMut, Item, Key, Table, TableLike, Value, value};

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

/// Makes a change. Parts of the key are separated by dots, and quoted if they have some; a number
/// after the name of tables such as `[[variant]]` is that of one of them, from 0, and the number
/// after the last adds one.
///
/// # Errors
/// The text is not TOML, or the key leads through something other than a table.
pub fn edit(edit: &Edit) -> Result<Edited, String> {
    let mut document: DocumentMut =
        edit.text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    let parts = Key::parse(&edit.key).map_err(|_| format!("`{}` is no key", edit.key))?;
    let parts: Vec<&str> = parts.iter().map(Key::get).collect();
    if parts.iter().any(|part| part.is_empty()) {
        return Err(format!("`{}` is no key", edit.key));
    }
    if change(document.as_table_mut(), &parts, edit.value.as_deref())? {
        Ok(Edited { text: document.to_string() })
    } else {
        Ok(Edited { text: edit.text.clone() })
    }
}

/// Changes the value of a key in a table. Returns false if there is nothing to remove.
fn change(table: &mut dyn TableLike, parts: &[&str], new: Option<&str>) -> Result<bool, String> {
    let Some((&name, rest)) = parts.split_first() else { return Err("the key is empty".into()) };
    let Some(&next) = rest.first() else {
        match new {
            Some(text) => {
                let new = match table.get(name).and_then(Item::as_str) {
                    // A name that looks like a number, such as that of a node, stays a name.
                    Some(old) if !parsed(old).is_str() => Value::from(text),
                    _ => parsed(text),
                };
                set(table, name, new);
            }
            None => _ = table.remove(name),
        }
        return Ok(true);
    };
    let index = next.parse::<usize>().ok();
    let absent = table.get(name).is_none_or(Item::is_none);
    if absent && new.is_none() {
        return Ok(false);
    }
    if absent {
        let made = match index {
            Some(_) => Item::ArrayOfTables(ArrayOfTables::new()),
            None => Item::Value(Value::InlineTable(toml_edit::InlineTable::new())),
        };
        table.insert(name, made);
    }
    if let Some(index) = index
        && let Some(tables) = table.get_mut(name).and_then(Item::as_array_of_tables_mut)
    {
        let changed = change_one(tables, index, &rest[1..], new)
            .map_err(|reason| format!("`{name}`: {reason}"))?;
        if tables.is_empty() {
            table.remove(name);
        }
        return Ok(changed);
    }
    let inner = table.get_mut(name).and_then(Item::as_table_like_mut);
    change(inner.ok_or_else(|| format!("`{name}` is not a table"))?, rest, new)
}

/// Changes one of several tables, or removes it.
fn change_one(
    tables: &mut ArrayOfTables,
    index: usize,
    rest: &[&str],
    new: Option<&str>,
) -> Result<bool, String> {
    let count = tables.len();
    if rest.is_empty() {
        if new.is_some() {
            return Err("a table has no value".to_owned());
        }
        if index < count {
            tables.remove(index);
        }
        return Ok(index < count);
    }
    if index == count && new.is_some() {
        tables.push(Table::new());
    }
    let table = tables.get_mut(index);
    change(table.ok_or_else(|| format!("there is no {index}; there are {count}"))?, rest, new)
}

/// Sets a value. Spaces and the comment behind the old one stay.
fn set(table: &mut dyn TableLike, name: &str, mut new: Value) {
    if let Some(old) = table.get(name).and_then(Item::as_value) {
        *new.decor_mut() = old.decor().clone();
    }
    match table.get_mut(name) {
        Some(item) => *item = Item::Value(new),
        None => _ = table.insert(name, value(new)),
    }
}

/// Returns `text` as a number, a boolean or a list if it is one, and otherwise as a string.
fn parsed(text: &str) -> Value {
    match text.parse::<Value>() {
        Ok(value @ (Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Array(_))) => {
            value
        }
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
    fn a_name_that_looks_like_a_number_stays_a_name() {
        let changed = |text: &str, value: &str| {
            let (text, key) = (text.to_owned(), "from".to_owned());
            edit(&Edit { text, key, value: Some(value.to_owned()) }).unwrap().text
        };
        assert_eq!(changed("from = \"1\"\n", "2"), "from = \"2\"\n");
        assert_eq!(changed("from = 1\n", "2"), "from = 2\n");
        assert_eq!(changed("from = \"x\"\n", "2"), "from = 2\n");
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
    fn tables_of_a_list_are_changed_added_and_removed() {
        let text = "[[variant]] # first\nname = \"a\"\n\n[[variant]]\nname = \"b\"\n\n[sweep]\n\
            \"path.rtt\" = [\"1 ms\"]\n";
        let changed = |text: &str, key: &str, value: Option<&str>| {
            let (text, key) = (text.to_owned(), key.to_owned());
            edit(&Edit { text, key, value: value.map(str::to_owned) }).map(|edited| edited.text)
        };
        let second = changed(text, "variant.1.congestion", Some("bbr3")).unwrap();
        assert_eq!(second, text.replace("\"b\"\n", "\"b\"\ncongestion = \"bbr3\"\n"));
        let third = changed(text, "variant.2.name", Some("c")).unwrap();
        assert!(third.contains("\"b\"\n\n[[variant]]\nname = \"c\"\n\n[sweep]"), "{third}");
        assert_eq!(changed(&third, "variant.2", None).unwrap(), text);
        let one = changed(text, "variant.0", None).unwrap();
        assert!(!one.contains("first") && one.contains("\"b\""), "{one}");
        assert!(!changed(&one, "variant.0", None).unwrap().contains("variant"));
        assert!(changed(text, "variant.3.name", Some("d")).is_err(), "a gap");
        assert!(changed(text, "variant.0", Some("d")).is_err());
        assert_eq!(changed(text, "flow.0.name", None).unwrap(), text);
        let made = changed("name = \"x\"\n", "expect.0.metric", Some("goodput_mbps")).unwrap();
        assert!(made.contains("[[expect]]\nmetric = \"goodput_mbps\""), "{made}");
        let swept = changed(text, "sweep.\"path.rtt\"", Some("[\"1 ms\", \"9 ms\"]")).unwrap();
        assert!(swept.contains("\"path.rtt\" = [\"1 ms\", \"9 ms\"]"), "{swept}");
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
