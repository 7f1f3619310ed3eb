//! The scenario's text as a tree with the position of each key and value.
//!
//! `--set` and sweep values are put into the tree by dotted path before it is deserialised. One
//! parser therefore finds every wrong key or value, and reports it at the place it came from.

use crate::error::{Problem, Source, quoted};
use crate::layers;
use crate::merge::merged;
use crate::scenario::Scenario;
use crate::swept_points;
use crate::tree::{Node, Tree};
use serde::Deserialize;
use serde_spanned::Spanned;
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use toml::de::{DeTable, DeValue, Deserializer, ValueDeserializer};

/// Top-level keys that may be swept: those that affect a run, not the evaluation of its results.
const SWEEPABLE: [&str; 6] = ["path", "workload", "flow", "defaults", "variant", "time_limit"];

/// Top-level keys that do not change the results of a run: names, what chooses runs, what evaluates
/// results, and what is recorded besides them.
const NOT_DECISIVE: [&str; 9] =
    ["name", "title", "description", "seed", "repeat", "sweep", "expect", "published", "output"];

/// Maximum number of parts of a dotted path. Keys of scenarios have fewer, and the limit bounds
/// recursion.
const MAX_DEPTH: usize = 16;

/// A parsed scenario file with the changes of `--set`.
#[derive(Debug, Clone)]
pub struct Document<'i> {
    source: &'i Source,
    root: Spanned<Tree<'i>>,
    narrowed: Vec<(String, Vec<String>)>,
}

/// A swept key, or several that are swept together, and its values.
#[derive(Debug, Clone)]
pub struct Axis<'i> {
    /// The dotted path. Keys that are swept together are separated by commas.
    pub key: String,
    /// The values in order, as they appear in results.
    pub values: Vec<String>,
    /// All values listed in the file. `values` holds fewer if `--set` selected some of them.
    pub known: Vec<String>,
    /// Where its key stands in the text.
    pub key_span: Range<usize>,
    /// The paths of the keys.
    paths: Vec<Vec<String>>,
    /// For each value, one node per path.
    nodes: Vec<Vec<Node<'i>>>,
}

impl<'i> Document<'i> {
    /// Parses the file of `source` and applies its `--set` options.
    ///
    /// Each option is `key=value`. A value that is not valid TOML is taken as a string, so that
    /// strings need no quotes in a shell. Setting a swept key replaces its list of values.
    /// [`Document::at`] reports keys that do not exist.
    pub fn parse(source: &'i Source) -> Result<Self, Problem> {
        let root =
            DeTable::parse(source.file()).map_err(|error| Problem::from_toml(&error, 0..0))?;
        let mut document = Self { source, root, narrowed: Vec::new() };
        for (assignment, start) in source.sets() {
            document.apply_set(assignment, start)?;
        }
        Ok(document)
    }

    fn apply_set(&mut self, assignment: &'i str, start: usize) -> Result<(), Problem> {
        let whole = start..start + assignment.len();
        let Some((key, value)) = split_assignment(assignment) else {
            return Err(Problem::new(
                whole,
                "`--set` needs key=value, for example workload.download=\"10 MB\"",
            ));
        };
        let value_start = start + assignment.len() - value.len();
        let key_span = start..start + key.len();
        let node = parse_set_value(value, value_start);
        let paths = split_paths(key).map_err(|message| Problem::new(key_span.clone(), message))?;
        // `sweep."a.b"` and `a.b` name the same axis.
        let dotted = match paths.as_slice() {
            [path] if path.len() == 2 && path[0] == "sweep" => path[1].clone(),
            paths => axis_key(paths),
        };
        let axis = self.axes()?.into_iter().find(|axis| axis.key == dotted);
        if let Some(axis) = axis {
            if self.narrowed.iter().all(|(key, _)| *key != dotted) {
                self.narrowed.push((dotted.clone(), axis.values.clone()));
            }
            let several = |list: &[Node<'_>]| {
                list.iter().all(|one| matches!(one.get_ref(), DeValue::Array(_)))
            };
            let values = match node.get_ref() {
                DeValue::Array(list) if axis.paths.len() == 1 || several(list) => node,
                _ => {
                    let span = node.span();
                    Spanned::new(span, DeValue::Array(std::iter::once(node).collect()))
                }
            };
            // At the position of the key, because positions determine the order of axes.
            return put(self.root.get_mut(), &["sweep".to_owned(), dotted], &axis.key_span, values);
        }
        let [path] = paths.as_slice() else {
            let message = format!(
                "`{key}` is a list of keys, which only a swept axis can be; set them one by \
                    one"
            );
            return Err(Problem::new(key_span, message));
        };
        put(self.root.get_mut(), path, &key_span, node)
    }

    /// Returns the swept keys in the order of the text.
    ///
    /// # Errors
    /// Returns an error if the values are not a list of distinct values, or if the key cannot be
    /// swept.
    pub fn axes(&self) -> Result<Vec<Axis<'i>>, Problem> {
        let Some(sweep) = self.root.get_ref().get("sweep") else { return Ok(Vec::new()) };
        let DeValue::Table(sweep) = sweep.get_ref() else {
            return Err(Problem::new(
                sweep.span(),
                "`sweep` must be a table of dotted keys, each with a list of values",
            )
            .help("[sweep]\n\"workload.download\" = [\"2 MB\", \"10 MB\"]"));
        };
        let mut axes = Vec::new();
        for (key, values) in sweep {
            axes.push(self.axis(key, values)?);
        }
        // The table is sorted by key. The axes have the order of the text.
        axes.sort_by_key(|axis| axis.key_span.start);
        Ok(axes)
    }

    fn axis(&self, key: &Spanned<Cow<'i, str>>, values: &Node<'i>) -> Result<Axis<'i>, Problem> {
        let paths =
            split_paths(key.get_ref()).map_err(|message| Problem::new(key.span(), message))?;
        for path in &paths {
            let first = path.first().map_or("", String::as_str);
            if !SWEEPABLE.contains(&first)
                || (path.len() > 1 && path.last().is_some_and(|last| last == "name"))
            {
                return Err(Problem::new(
                    key.span(),
                    format!(
                        "`{}` cannot be swept; allowed are paths that begin with {}, except names",
                        path.join("."),
                        quoted(&SWEEPABLE)
                    ),
                ));
            }
        }
        let list = match values.get_ref() {
            DeValue::Array(list) if !list.is_empty() => list,
            DeValue::Table(_) => {
                return Err(Problem::new(
                    key.span(),
                    "a swept key must be in quotes, with all its dots",
                )
                .help(format!("\"{}.…\" = [ … ]", key.get_ref())));
            }
            _ => {
                return Err(Problem::new(
                    values.span(),
                    format!("`{}` must be swept over a list of one or more values", key.get_ref()),
                ));
            }
        };
        let (mut texts, mut seen) = (Vec::new(), HashSet::new());
        let mut nodes = Vec::new();
        for value in list {
            let parts = match value.get_ref() {
                _ if paths.len() == 1 => vec![value.clone()],
                DeValue::Array(parts) if parts.len() == paths.len() => {
                    parts.iter().cloned().collect()
                }
                _ => {
                    let count = paths.len();
                    let message = format!(
                        "{count} keys are swept together here; each value must be a list of {count}"
                    );
                    return Err(Problem::new(value.span(), message));
                }
            };
            let text = parts.iter().map(value_text).collect::<Vec<_>>().join(", ");
            nodes.push(parts);
            if !seen.insert(text.clone()) {
                return Err(Problem::new(
                    value.span(),
                    format!("`{text}` occurs twice in this sweep; allowed: each value once"),
                ));
            }
            texts.push(text);
        }
        let dotted = axis_key(&paths);
        let before = self.narrowed.iter().find(|(key, _)| *key == dotted);
        let mut known = before.map_or_else(Vec::new, |(_, values)| values.clone());
        known.iter().for_each(|text| _ = seen.remove(text));
        known.extend(texts.iter().filter(|text| seen.contains(*text)).cloned());
        Ok(Axis { key: dotted, values: texts, known, key_span: key.span(), paths, nodes })
    }

    /// Returns the scenario with each axis at the value chosen by `choice` (one index per axis).
    ///
    /// # Errors
    /// Returns an error for an unknown key, a wrong unit or a value that its type rejects.
    pub fn at(&self, axes: &[Axis<'i>], choice: &[usize]) -> Result<Scenario, Problem> {
        let root = self.chosen(axes, choice)?;
        let read = Scenario::deserialize(Deserializer::from(root.clone()));
        let mut scenario = read.map_err(|error| Problem::from_toml(&error, 0..0))?;
        let (limit, seed) = (*scenario.time_limit.get_ref(), scenario.seed);
        (scenario.variants, scenario.ineffective) = layers::read(&root, limit, seed)?;
        Ok(scenario)
    }

    /// Returns what decides the results of variant number `variant` with each axis at the value
    /// chosen by `choice`, as TOML in a canonical form: the same for every spelling of the same
    /// tables, without names and without what only evaluates or records results.
    ///
    /// `None` if the tree has no canonical form: an integer above `i64::MAX`.
    ///
    /// # Errors
    /// See [`Document::at`].
    pub fn decisive_text(
        &self,
        axes: &[Axis<'i>],
        choice: &[usize],
        variant: usize,
    ) -> Result<Option<String>, Problem> {
        let mut root = self.chosen(axes, choice)?;
        let tree = root.get_mut();
        for key in NOT_DECISIVE {
            tree.remove(key);
        }
        if let Some(DeValue::Array(variants)) = tree.get_mut("variant").map(Spanned::get_mut) {
            let own = variants.get(variant).cloned();
            tree.remove("variant");
            if let Some(mut own) = own {
                if let DeValue::Table(table) = own.get_mut() {
                    table.remove("name");
                }
                tree.insert(Spanned::new(0..0, "variant".into()), own);
            }
        }
        let table = toml::Table::deserialize(Deserializer::from(root));
        Ok(table.ok().and_then(|table| toml::to_string(&table).ok()))
    }

    /// Returns the tree with each axis at the value chosen by `choice`.
    fn chosen(&self, axes: &[Axis<'i>], choice: &[usize]) -> Result<Spanned<Tree<'i>>, Problem> {
        // Without the sweep, whose length would count once for each of its points.
        let own = self.root.get_ref().iter().filter(|(key, _)| key.get_ref() != "sweep");
        let tree = own.map(|(key, value)| (key.clone(), value.clone())).collect();
        let mut root = Spanned::new(self.root.span(), tree);
        for (axis, &index) in axes.iter().zip(choice) {
            for (path, node) in axis.paths.iter().zip(axis.nodes.get(index).into_iter().flatten()) {
                put(root.get_mut(), path, &axis.key_span, node.clone())?;
            }
        }
        Ok(root)
    }

    /// Returns the scenario as it is run, as TOML: the text of the file, in which the values that
    /// `--set` gave stand where the others stood.
    pub fn resolved(&self) -> String {
        let mut sets = self.source.sets().peekable();
        if sets.peek().is_none() {
            return self.source.file().to_owned();
        }
        let table = toml::Table::deserialize(Deserializer::from(self.root.clone()));
        let body = table.ok().and_then(|mut table| {
            let axes = self.axes().unwrap_or_default();
            swept_points::keep(&mut table, |key, value| is_run(&axes, key, value));
            merged(self.source.file(), &table).or_else(|| toml::to_string_pretty(&table).ok())
        });
        let mut text = String::new();
        for (set, _) in sets {
            text.push_str(&format!("# --set {set}\n"));
        }
        // An integer above `i64::MAX` cannot be printed as TOML; the file's own
        // text can.
        text + body.as_deref().unwrap_or(self.source.file())
    }
}

/// Formats a value as it appears in results: strings without quotes, everything else as TOML.
pub fn value_text(value: &Node<'_>) -> String {
    let plain = toml::Value::deserialize(ValueDeserializer::from(value.clone()));
    plain.map_or_else(|_| String::new(), |value| plain_text(&value))
}

/// Formats a value as it appears in results: strings without quotes, everything else as TOML.
pub fn plain_text(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Float(number) => number.to_string(),
        other => other.to_string(),
    }
}

/// Returns true if the sweep has `key` at `value`. It has no value that `--set` deselected.
pub(crate) fn is_run(axes: &[Axis<'_>], key: &str, value: &toml::Value) -> bool {
    let axis = axes.iter().find(|axis| axis.key == key);
    axis.is_some_and(|axis| axis.values.contains(&plain_text(value)))
}

/// Splits at the first `=` that is not inside quotes.
fn split_assignment(text: &str) -> Option<(&str, &str)> {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '=') => return Some((&text[..at], &text[at + 1..])),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            _ => {}
        }
    }
    None
}

/// Parses the dotted paths of a swept key: one, or several separated by commas.
fn split_paths(text: &str) -> Result<Vec<Vec<String>>, String> {
    // A comma inside quotes belongs to a name. Keys with quotes cannot be swept together.
    if text.contains(['"', '\'']) {
        split_path(text).map(|path| vec![path])
    } else {
        text.split(',').map(split_path).collect()
    }
}

/// Returns the name of an axis over `paths` in results.
fn axis_key(paths: &[Vec<String>]) -> String {
    paths.iter().map(|path| path.join(".")).collect::<Vec<_>>().join(", ")
}

/// Splits a dotted path into segments. A segment that contains dots must be in quotes.
fn split_path(text: &str) -> Result<Vec<String>, String> {
    let mut segments = Vec::new();
    let mut rest = text.trim();
    loop {
        if segments.len() == MAX_DEPTH {
            return Err(format!(
                "`{text}` has more than {MAX_DEPTH} parts; write a dotted path such as \
                    workload.download"
            ));
        }
        let (segment, after) = match rest.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let inner = &rest[1..];
                let end = inner
                    .find(quote)
                    .ok_or_else(|| format!("`{text}` has a quote that is not closed"))?;
                (&inner[..end], &inner[end + 1..])
            }
            _ => {
                let end = rest.find('.').unwrap_or(rest.len());
                (rest[..end].trim(), &rest[end..])
            }
        };
        if segment.is_empty() {
            return Err(format!(
                "`{text}` has an empty part; write a dotted path such as workload.download"
            ));
        }
        segments.push(segment.to_owned());
        match after.trim_start().strip_prefix('.') {
            Some(next) => rest = next.trim_start(),
            None if after.trim().is_empty() => return Ok(segments),
            None => {
                return Err(format!(
                    "`{text}` continues after a closing quote; write a dotted path such as \
                        workload.download"
                ));
            }
        }
    }
}

fn parse_set_value(text: &str, start: usize) -> Node<'_> {
    let span = start..start + text.len();
    let value = match DeValue::parse(text.trim()) {
        Ok(value) => moved(value.into_inner(), &span),
        Err(_) => DeValue::String(Cow::Borrowed(text.trim())),
    };
    Spanned::new(span, value)
}

/// Gives every part of a value from the command line the span of the whole value. Exact columns
/// inside an option would not help.
fn moved<'i>(value: DeValue<'i>, span: &Range<usize>) -> DeValue<'i> {
    match value {
        DeValue::Array(list) => DeValue::Array(
            list.into_iter()
                .map(|item| Spanned::new(span.clone(), moved(item.into_inner(), span)))
                .collect(),
        ),
        DeValue::Table(table) => DeValue::Table(
            table
                .into_iter()
                .map(|(key, item)| {
                    (
                        Spanned::new(span.clone(), key.into_inner()),
                        Spanned::new(span.clone(), moved(item.into_inner(), span)),
                    )
                })
                .collect(),
        ),
        scalar => scalar,
    }
}

/// Puts `node` at `path` and creates missing tables. In a list of tables, the path segment is the
/// `name` of an entry.
fn put<'i>(
    table: &mut Tree<'i>,
    path: &[String],
    key_span: &Range<usize>,
    node: Node<'i>,
) -> Result<(), Problem> {
    let Some((key, rest)) = path.split_first() else { return Ok(()) };
    let spanned_key = Spanned::new(key_span.clone(), Cow::Owned(key.clone()));
    if rest.is_empty() {
        // The key is replaced too, so that an error about it points at the new place.
        table.remove(key.as_str());
        table.insert(spanned_key, node);
        return Ok(());
    }
    if table.get(key.as_str()).is_none() {
        table.insert(spanned_key, Spanned::new(key_span.clone(), DeValue::Table(Tree::new())));
    }
    let Some(child) = table.get_mut(key.as_str()) else { return Ok(()) };
    match child.get_mut() {
        DeValue::Table(inner) => put(inner, rest, key_span, node),
        DeValue::Array(list) => put_in_list(list, key, rest, key_span, node),
        other => Err(Problem::new(
            key_span.clone(),
            format!(
                "`{key}` is a {} here and contains no `{}`; set `{key}` itself",
                other.type_str(),
                rest.join(".")
            ),
        )),
    }
}

fn put_in_list<'i>(
    list: &mut [Node<'i>],
    key: &str,
    path: &[String],
    key_span: &Range<usize>,
    node: Node<'i>,
) -> Result<(), Problem> {
    let Some((name, rest)) = path.split_first() else { return Ok(()) };
    let names: Vec<String> = list.iter().filter_map(entry_name).collect();
    let found = list.iter_mut().find(|entry| entry_name(entry).as_deref() == Some(name));
    match found.map(Spanned::get_mut) {
        Some(DeValue::Table(_)) if rest.is_empty() => Err(Problem::new(
            key_span.clone(),
            format!("`{key}.{name}` is a table; name a key in it"),
        )),
        Some(DeValue::Table(table)) => put(table, rest, key_span, node),
        _ => {
            Err(Problem::not_one_of(key_span.clone(), key, name, names.iter().map(String::as_str)))
        }
    }
}

fn entry_name(entry: &Node<'_>) -> Option<String> {
    let name = entry.get_ref().as_table()?.get("name")?;
    name.get_ref().as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests;
