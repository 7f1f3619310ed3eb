//! Which transport keys apply to a flow.
//!
//! A key that applies to none is an error. Otherwise the results would seem to show the effect of a
//! setting that was never used.

use super::flow::Flow;
use super::protocol::Protocol;
use super::section::Section;
use super::transport::{NESTED, Transport};
use super::tree::Tree;
use super::workload::ExternalKey;
use crate::error::Problem;
use serde_json::Value as Json;
use std::ops::Range;
use toml::de::DeValue;

/// The protocols that keys without `x-accepted-by` apply to.
const BOTH: [&str; 2] = ["quic", "tcp"];

/// A key that the scenario sets, with its dotted path.
struct SetKey<'a> {
    path: Vec<&'a str>,
    span: Range<usize>,
    value: &'a DeValue<'a>,
}

impl SetKey<'_> {
    fn dotted(&self) -> String {
        self.path.join(".")
    }

    /// Returns the schema's list under `extension`, from the key itself or from its table.
    fn extension(&self, extension: &str) -> Option<Vec<String>> {
        let schema = Transport::schema();
        let (mut table, mut found) = (schema, None);
        for key in &self.path {
            let property = &table["properties"][key];
            if let Some(list) = property.get(extension).and_then(Json::as_array) {
                found = Some(list.iter().filter_map(Json::as_str).map(str::to_owned).collect());
            }
            table = definition(schema, property);
        }
        found
    }
}

/// Resolves the reference of `property` to a definition, if it is one.
fn definition<'a>(schema: &'a Json, property: &'a Json) -> &'a Json {
    match property.get("$ref").and_then(Json::as_str).and_then(|name| name.rsplit('/').next()) {
        Some(name) => &schema["$defs"][name],
        None => property,
    }
}

/// Adds every key that `table` sets to `all`. A table of parameters counts as one key.
fn collect<'a>(table: &'a Tree<'a>, path: &[&'a str], all: &mut Vec<SetKey<'a>>) {
    for (key, value) in table {
        let mut path = path.to_vec();
        path.push(key.get_ref());
        match value.get_ref() {
            DeValue::Table(inner) if path.len() == 1 && NESTED.contains(&path[0]) => {
                collect(inner, &path, all)
            }
            other => all.push(SetKey { path, span: key.span(), value: other }),
        }
    }
}

fn transport_keys<'a>(table: &'a Tree<'a>) -> Vec<SetKey<'a>> {
    let mut all = Vec::new();
    collect(table, &[], &mut all);
    let known = super::section::keys::<Transport>();
    all.retain(|set| known.contains(&set.path[0]));
    all
}

/// Returns a problem for each key of `table` that applies to none of `flows`, the flows that
/// inherit the table.
pub(crate) fn refused<'a>(table: &Tree<'_>, flows: impl Iterator<Item = &'a Flow>) -> Vec<Problem> {
    let flows: Vec<&Flow> = flows.collect();
    let mut problems = Vec::new();
    for key in transport_keys(table) {
        let accepted =
            key.extension("x-accepted-by").unwrap_or_else(|| BOTH.map(str::to_owned).to_vec());
        let accepts = |flow: &&Flow| {
            flow.protocol.facets().iter().any(|facet| accepted.iter().any(|one| one == facet))
        };
        if !flows.iter().any(accepts) {
            problems.push(ineffective(&key, &flows, &accepted));
        }
    }
    let external = |flow: &&Flow| flow.protocol == Protocol::External;
    for name in super::section::keys::<ExternalKey>() {
        if let Some((key, _)) = table.get_key_value(name).filter(|_| !flows.iter().any(external)) {
            let message =
                format!("`{name}` has no effect here; allowed: a workload with `external.size`");
            problems.push(Problem::new(key.span(), message));
        }
    }
    problems
}

fn ineffective(key: &SetKey<'_>, flows: &[&Flow], accepted: &[String]) -> Problem {
    let mut over: Vec<&str> = flows.iter().map(|flow| transport_text(flow)).collect();
    over.sort_unstable();
    over.dedup();
    let words = |name: &String| match name.as_str() {
        "quic" | "tcp" => format!("transport = \"{name}\""),
        "external" => "external programs".to_owned(),
        "datagrams" => "cbr or ping".to_owned(),
        http => format!("http = \"{http}\""),
    };
    let allowed: Vec<String> = accepted.iter().map(words).collect();
    let message = format!(
        "`{}` has no effect over {}; allowed with {}",
        key.dotted(),
        over.join(", "),
        allowed.join(" or ")
    );
    Problem::new(key.span.clone(), message)
}

/// Describes the transport of a flow for error messages.
fn transport_text(flow: &Flow) -> &'static str {
    match flow.protocol {
        Protocol::Quic(_) => "QUIC",
        Protocol::Tcp(bentpipe_tcp::http::Version::Raw) => "TCP with http = \"raw\"",
        Protocol::Tcp(bentpipe_tcp::http::Version::Echo) => "a probe with `echo`",
        Protocol::Tcp(bentpipe_tcp::http::Version::H2) => "TCP with http = \"h2\"",
        Protocol::Tcp(bentpipe_tcp::http::Version::H1) => "TCP with http = \"h1\"",
        Protocol::Datagrams | Protocol::External => flow.work.first().name(),
    }
}

/// Describes the keys of `table` that QUIC on the real clock does not support, with the supported
/// values.
pub(crate) fn virtual_only(table: &Tree<'_>, protocol: Protocol) -> Vec<String> {
    if !matches!(protocol, Protocol::Quic(_)) {
        return Vec::new();
    }
    let mut refused = Vec::new();
    for key in transport_keys(table) {
        // [defaults] may hold keys of other transports, for other flows.
        if key
            .extension("x-accepted-by")
            .is_some_and(|accepted| !accepted.iter().any(|one| one == "quic"))
        {
            continue;
        }
        let text = match key.value {
            DeValue::String(text) => text.to_string(),
            DeValue::Boolean(value) => value.to_string(),
            _ => String::new(),
        };
        match key.extension("x-real-clock") {
            Some(values) if values.is_empty() || values.contains(&text) => {}
            Some(values) => {
                refused.push(format!("`{}`: allowed there: {}", key.dotted(), values.join(", ")))
            }
            None => refused.push(format!("`{}`: allowed there: nothing", key.dotted())),
        }
    }
    refused
}
