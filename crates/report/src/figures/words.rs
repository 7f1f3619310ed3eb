//! Swept keys, their values and points in words, as the page has them.

use bentpipe_results::Point;
use toml::{Table, Value};

/// Keys that are written in capitals.
const ABBREVIATIONS: [&str; 7] = ["cra", "rbdc", "vbdc", "avbdc", "fca", "mtu", "rtt"];

/// Returns a key as axes and titles have it: its last part, after `return` if it belongs to that
/// direction.
pub(super) fn key_words(key: &str) -> String {
    let mut parts = key.rsplit('.');
    let (last, before) = (parts.next().unwrap_or(key), parts.next());
    let last = capitals(last);
    if before == Some("return") { format!("return {last}") } else { last }
}

/// Returns the name of a key with spaces, or in capitals.
fn capitals(key: &str) -> String {
    if ABBREVIATIONS.contains(&key) { key.to_uppercase() } else { key.replace('_', " ") }
}

/// Returns a value as axes and titles have it: without the syntax of an inline table.
pub(super) fn value_words(value: &str) -> String {
    let plain = || value.trim_matches('"').to_owned();
    if !value.starts_with('{') {
        return plain();
    }
    let Ok(parsed) = format!("value = {value}").parse::<Table>() else { return plain() };
    let Some(entries) = parsed.get("value").and_then(Value::as_table) else { return plain() };
    let words = entries.iter().map(|(key, value)| {
        let name = capitals(key);
        match value {
            Value::Boolean(true) => name,
            Value::String(text) if key == "aqm" => text.clone(),
            Value::String(text) => format!("{name} {text}"),
            other => format!("{name} {other}"),
        }
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Returns a point as an addition to a title; empty without a sweep.
pub(super) fn at_point(point: &Point) -> String {
    let words = point_words(point);
    if words.is_empty() { words } else { format!(", {words}") }
}

/// Returns a point in words.
pub(super) fn point_words(point: &Point) -> String {
    let each =
        point.iter().map(|(key, value)| format!("{} {}", key_words(key), value_words(value)));
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_no_syntax() {
        assert_eq!(value_words("{ cra = \"1 Mbps\" }"), "CRA 1 Mbps");
        assert_eq!(value_words("{ fca = true, rbdc = \"2 Mbps\" }"), "FCA, RBDC 2 Mbps");
        assert_eq!(value_words("{ aqm = \"pie\", target = \"32 ms\" }"), "pie, target 32 ms");
        assert_eq!(value_words("{ broken"), "{ broken");
        assert_eq!(value_words("2 MB"), "2 MB");
        assert_eq!(
            (key_words("path.rtt"), key_words("path.return.rate")),
            ("RTT".into(), "return rate".into())
        );
        let point = [("path.forward.loss_rate".to_owned(), "0.1 %".to_owned())].into();
        assert_eq!(
            (at_point(&point), at_point(&Point::new())),
            (", loss rate 0.1 %".into(), String::new())
        );
    }
}
