//! The flows of a scenario: which go where, and the keys of each in each variant.
//!
//! The keys of a flow come from four layers: the preset, `[defaults]`, the variant, and the flow
//! itself. They are merged as trees that remember where everything stands, and then read once.

use super::accept;
use super::document::{Node, Tree};
use super::protocol::Protocol;
use super::section::{self, section, table};
use super::transport::Transport;
use super::workload::{ExternalKey, Sequence, Task, Work};
use super::{cities, preset};
use crate::error::Problem;
use bentpipe_units::Span;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_spanned::Spanned;
use std::borrow::Cow;
use std::ops::Range;
use toml::de::DeValue;

/// Name of the flow of `[workload]`.
const MAIN: &str = "main";
/// Name of the variant if there is no other.
const DEFAULT: &str = "default";

/// The ends of a flow, for `[workload]` and `[[flow]]`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ends {
    /// Place of the client, on a path with an orbit: a station, or a city.
    #[schemars(with = "Option<String>")]
    pub from: Option<Spanned<String>>,
    /// Place of the server.
    #[schemars(with = "Option<String>")]
    pub to: Option<Spanned<String>>,
    /// Each run delays the client's first packet by a random time from zero to this.
    pub start_jitter: Option<Span>,
}
section!(Ends);

/// The keys that only `[[flow]]` has.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Placement {
    /// Name in results: lower-case letters, digits and hyphens.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// Start of the client, counted from the start of the run; 0 s by default.
    pub start_time: Option<Span>,
    /// Terminal of the client, counted from 0.
    #[schemars(with = "Option<u64>")]
    pub terminal: Option<Spanned<usize>>,
    /// Server of the flow. Flows with the same server share what it remembers of its clients.
    pub server: Option<String>,
    /// First hop that the flow crosses, counted from the client; the path's first by default.
    #[schemars(with = "Option<String>")]
    pub from_hop: Option<Spanned<String>>,
    /// Last hop that the flow crosses; the path's last by default.
    #[schemars(with = "Option<String>")]
    pub to_hop: Option<Spanned<String>>,
    /// Instead of `from` and `to`: pair twice as many of the largest cities at random, with a flow
    /// in each direction, called NAME-000 and so on.
    #[schemars(with = "Option<u64>", range(min = 1))]
    pub random_city_pairs: Option<Spanned<u64>>,
}
section!(Placement);

/// The key that only `[[variant]]` has.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VariantName {
    /// Name in results: lower-case letters, digits, hyphens, dots and plus signs.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
}
section!(VariantName);

table!(
    /// `[workload]`
    WorkloadTable: "Workload" = Ends, Sequence, Task, ExternalKey
);
table!(
    /// `[[flow]]`
    FlowTable: "Flow" = Placement, Ends, Sequence, Task, ExternalKey, Transport
);
table!(
    /// `[defaults]`
    DefaultsTable: "Defaults" = Transport, ExternalKey
);
table!(
    /// `[[variant]]`
    VariantTable: "Variant" = VariantName, Transport, ExternalKey
);

/// One way of doing the same work.
#[derive(Debug, Clone)]
pub struct Variant {
    /// Its name; `default` if the scenario has none.
    pub name: Spanned<String>,
    /// The flows, in the order of the text.
    pub flows: Vec<Flow>,
}

/// A flow of a variant: the keys of all layers, merged and read.
#[derive(Debug, Clone)]
pub struct Flow {
    /// Place of its table.
    pub span: Range<usize>,
    /// Keys of `[[flow]]`; those of `[workload]` are its defaults.
    pub placement: Placement,
    /// The ends.
    pub ends: Ends,
    /// What it transfers.
    pub work: Work,
    /// How often.
    pub sequence: Sequence,
    /// How it is transported.
    pub transport: Transport,
    /// The protocols that follow from that.
    pub protocol: Protocol,
    /// Keys that are set and that the real clock cannot follow, with the reason.
    pub virtual_only: Vec<String>,
}

impl Flow {
    /// Its name.
    pub fn name(&self) -> &str {
        self.placement.name.get_ref()
    }
}

/// A table of the file, with its name taken out.
struct Layer<'i> {
    name: Spanned<String>,
    span: Range<usize>,
    table: Tree<'i>,
}

impl Layer<'_> {
    /// Refuses unknown keys, and values that are wrong even if every flow overrides them.
    fn check(&self, allowed: &[&'static str]) -> Result<(), Problem> {
        self.table.keys().try_for_each(|key| section::known(key, allowed))?;
        section::take::<Transport>(&mut self.table.clone(), self.span.clone())?;
        section::take::<ExternalKey>(&mut self.table.clone(), self.span.clone()).map(drop)
    }
}

/// Merges and reads the flows of every variant. The second part of the result are keys that have no
/// meaning for any flow that inherits them.
///
/// # Errors
/// Keys that do not exist, values that cannot be read, more or less than one workload.
pub fn read(
    root: &Spanned<Tree<'_>>,
    limit: Span,
    seed: u64,
) -> Result<(Vec<Variant>, Vec<Problem>), Problem> {
    let root = root.get_ref();
    let defaults = single(root, "defaults")?;
    let defaults = Layer {
        name: Spanned::new(0..0, String::new()),
        span: defaults.span(),
        table: defaults.into_inner(),
    };
    let variants = variants(root)?;
    let flows = flows(root, seed)?;
    defaults.check(&DefaultsTable::keys())?;
    for variant in &variants {
        variant.check(&VariantTable::keys())?;
    }
    let keys =
        if root.contains_key("workload") { WorkloadTable::keys() } else { FlowTable::keys() };
    for flow in &flows {
        flow.check(&keys)?;
    }
    let mut read = Vec::new();
    for variant in &variants {
        let mut own = Vec::new();
        for flow in &flows {
            own.push(one(&[&defaults, variant, flow], limit)?);
        }
        read.push(Variant { name: variant.name.clone(), flows: own });
    }
    let mut refused =
        accept::refused(&defaults.table, read.iter().flat_map(|variant| &variant.flows));
    for (index, layer) in variants.iter().enumerate() {
        refused.extend(accept::refused(
            &layer.table,
            read.iter().skip(index).take(1).flat_map(|one| &one.flows),
        ));
    }
    for (index, layer) in flows.iter().enumerate() {
        refused.extend(accept::refused(
            &layer.table,
            read.iter().filter_map(|variant| variant.flows.get(index)),
        ));
    }
    Ok((read, refused))
}

/// The table `key` of the file; an empty one if there is none.
fn single<'i>(root: &Tree<'i>, key: &str) -> Result<Spanned<Tree<'i>>, Problem> {
    let Some(node) = root.get(key) else { return Ok(Spanned::new(0..0, Tree::new())) };
    match node.get_ref() {
        DeValue::Table(table) => Ok(Spanned::new(node.span(), table.clone())),
        _ => Err(Problem::new(node.span(), format!("`{key}` must be a table"))),
    }
}

/// The tables of the list `key`.
fn list<'i>(root: &Tree<'i>, key: &str) -> Result<Vec<Spanned<Tree<'i>>>, Problem> {
    let Some(node) = root.get(key) else { return Ok(Vec::new()) };
    let wrong = |span| Problem::new(span, format!("`{key}` must be a list of tables: [[{key}]]"));
    let DeValue::Array(entries) = node.get_ref() else { return Err(wrong(node.span())) };
    let table = |entry: &Node<'i>| match entry.get_ref() {
        DeValue::Table(table) => Ok(Spanned::new(entry.span(), table.clone())),
        _ => Err(wrong(entry.span())),
    };
    entries.iter().map(table).collect()
}

fn variants<'i>(root: &Tree<'i>) -> Result<Vec<Layer<'i>>, Problem> {
    let mut layers = Vec::new();
    for entry in list(root, "variant")? {
        let (span, mut table) = (entry.span(), entry.into_inner());
        let VariantName { name } = section::take(&mut table, span.clone())?;
        layers.push(Layer { name, span, table });
    }
    if layers.is_empty() {
        layers.push(Layer {
            name: Spanned::new(0..0, DEFAULT.to_owned()),
            span: 0..0,
            table: Tree::new(),
        });
    }
    Ok(layers)
}

/// The flows of the file. The one of `[workload]` is called `main`.
fn flows<'i>(root: &Tree<'i>, seed: u64) -> Result<Vec<Layer<'i>>, Problem> {
    let mut layers = Vec::new();
    let listed = list(root, "flow")?;
    match (root.get("workload"), listed.first()) {
        (Some(_), Some(flow)) => {
            return Err(Problem::new(
                flow.span(),
                "[[flow]] and [workload] exclude each other; allowed: one of them",
            ));
        }
        (Some(_), None) => {
            let workload = single(root, "workload")?;
            let name = Spanned::new(workload.span(), MAIN.to_owned());
            layers.push(Layer { name, span: workload.span(), table: workload.into_inner() });
        }
        (None, _) => {}
    }
    for entry in listed {
        let (span, table) = (entry.span(), entry.into_inner());
        for (name, table) in cities::expand(table, &span, seed)? {
            layers.push(Layer { name, span: span.clone(), table });
        }
    }
    Ok(layers)
}

/// One flow, with the keys of all `layers`, from the most general to the most special.
fn one(layers: &[&Layer<'_>; 3], limit: Span) -> Result<Flow, Problem> {
    let [_, _, own] = layers;
    let mut written = Tree::new();
    for layer in layers {
        merge(&mut written, &layer.table);
    }
    if !own.table.contains_key("external") {
        // Commands in [defaults] and variants concern flows that run programs only.
        written.remove("external");
    }
    let span = own.span.clone();
    let explicit: Transport = section::take(&mut written.clone(), span.clone())?;
    let mut table = written.clone();
    let (work, sequence) = Work::read(&mut table, span.clone(), limit)?;
    let protocol = Protocol::of(&explicit, work.first())?;
    let mut keys = preset::layer(explicit.preset.unwrap_or_default(), protocol);
    merge(&mut keys, &table);
    let name =
        Spanned::new(own.name.span(), DeValue::String(Cow::Owned(own.name.get_ref().clone())));
    keys.insert(Spanned::new(own.name.span(), Cow::Borrowed("name")), name);
    let transport = section::take(&mut keys, span.clone())?;
    let ends = section::take(&mut keys, span.clone())?;
    let placement = section::take(&mut keys, span.clone())?;
    let virtual_only = accept::virtual_only(&written, protocol);
    Ok(Flow { span, placement, ends, work, sequence, transport, protocol, virtual_only })
}

/// Puts the entries of `over` into `base`: tables are merged, everything else is replaced.
pub fn merge<'i>(base: &mut Tree<'i>, over: &Tree<'i>) {
    for (key, value) in over {
        if let (Some(DeValue::Table(inner)), DeValue::Table(table)) =
            (base.get_mut(key.get_ref().as_ref()).map(Spanned::get_mut), value.get_ref())
        {
            merge(inner, table);
            continue;
        }
        // The key goes too, so that an error about it points at this layer.
        base.remove(key.get_ref().as_ref());
        base.insert(key.clone(), value.clone());
    }
}
