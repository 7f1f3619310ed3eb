//! Puts a changed tree into the text of its file, so that comments and the order of keys stay.

use toml::{Table, Value};
use toml_edit::{ArrayOfTables, DocumentMut, Item, TableLike};

/// Returns `text` with the values of `wanted`. `None` if that cannot be written into it.
pub fn merged(text: &str, wanted: &Table) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok()?;
    merge_table(document.as_table_mut(), wanted);
    let merged = document.to_string();
    // The tree decides what is run, so the text must be the same.
    (toml::from_str::<Table>(&merged).ok()? == *wanted).then_some(merged)
}

fn merge_table(own: &mut dyn TableLike, wanted: &Table) {
    let keys = own.iter().map(|(key, _)| key.to_owned());
    for gone in keys.filter(|key| !wanted.contains_key(key)).collect::<Vec<_>>() {
        own.remove(&gone);
    }
    for (key, value) in wanted {
        match own.get_mut(key) {
            Some(item) => merge_item(item, value),
            None => {
                if let Some(value) = value_of(value) {
                    own.insert(key, Item::Value(value));
                }
            }
        }
    }
}

fn merge_item(item: &mut Item, wanted: &Value) {
    if let (Some(own), Value::Table(wanted)) = (item.as_table_like_mut(), wanted) {
        merge_table(own, wanted);
        return;
    }
    if let (Some(own), Value::Array(wanted)) = (item.as_array_of_tables_mut(), wanted) {
        merge_tables(own, wanted);
        return;
    }
    let Some(mut value) = value_of(wanted) else { return };
    if let Some(old) = item.as_value() {
        let same = toml::from_str::<Table>(&format!("old = {old}"));
        if same.is_ok_and(|same| same.get("old") == Some(wanted)) {
            // As it was written: `1_000`, or over several lines.
            return;
        }
        *value.decor_mut() = old.decor().clone();
    }
    *item = Item::Value(value);
}

/// Changes tables one by one, after those that are gone, such as expectations about a value that is
/// no longer swept.
fn merge_tables(own: &mut ArrayOfTables, wanted: &[Value]) {
    if own.len() > wanted.len() {
        let mut left = wanted.iter().peekable();
        own.retain(|table| {
            let same = toml::from_str::<Table>(&table.to_string()).map(Value::Table);
            let kept = left.peek().is_some_and(|next| same.as_ref() == Ok(next));
            if kept {
                left.next();
            }
            kept
        });
    }
    for (table, wanted) in own.iter_mut().zip(wanted) {
        if let Value::Table(wanted) = wanted {
            merge_table(table, wanted);
        }
    }
}

fn value_of(value: &Value) -> Option<toml_edit::Value> {
    value.to_string().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# What it is about.
name = \"x\"      # the name

[path]
rtt = \"600 ms\"  # as measured
forward = { queue = \"1 BDP\", loss = 0.001 } # inline
sizes = [
  1_000, # first
  2_000,
]

[[variant]] # the first
name = \"a\"

[[variant]]
name = \"b\"
congestion = \"bbr3\"

[[expect]]
metric = \"completion_s\"
below = 1.0

[[expect]]
metric = \"goodput_mbps\"
above = 2.0
";

    fn merged_with(change: impl FnOnce(&mut Table)) -> String {
        let mut table: Table = toml::from_str(TEXT).unwrap();
        change(&mut table);
        let text = merged(TEXT, &table).unwrap();
        assert_eq!(toml::from_str::<Table>(&text).unwrap(), table);
        text
    }

    #[test]
    fn what_is_the_same_stays_as_it_was_written() {
        assert_eq!(merged_with(|_| {}), TEXT);
    }

    #[test]
    fn values_change_where_they_stand() {
        let text = merged_with(|table| {
            table["path"]["rtt"] = Value::from("20 ms");
            table["path"]["forward"]["loss"] = Value::from(0.5);
            table["variant"][1]["congestion"] = Value::from("cubic");
        });
        let expected = TEXT
            .replace("\"600 ms\"", "\"20 ms\"")
            .replace("0.001", "0.5")
            .replace("\"bbr3\"", "\"cubic\"");
        assert_eq!(text, expected);
    }

    #[test]
    fn keys_are_added_and_expectations_go() {
        let text = merged_with(|table| {
            table.insert("seed".to_owned(), Value::from(9));
            let added = toml::from_str::<Table>("rate = \"1 Mbps\"").unwrap();
            table["path"].as_table_mut().unwrap().insert("return".to_owned(), added.into());
            table["expect"].as_array_mut().unwrap().remove(0);
        });
        assert!(text.contains("seed = 9\n") && text.contains("return = { rate = \"1 Mbps\" }\n"));
        assert!(!text.contains("completion_s") && text.contains("goodput_mbps"), "{text}");
        assert!(text.contains("# first") && text.contains("# the first"), "{text}");
    }

    #[test]
    fn what_cannot_be_written_is_refused() {
        let wanted: Table = toml::from_str("name = \"y\"").unwrap();
        assert_eq!(merged("[", &wanted), None);
        assert_eq!(
            merged("name = \"x\" # n\n[path]\n", &wanted).as_deref(),
            Some("name = \"y\" # n\n")
        );
    }
}
