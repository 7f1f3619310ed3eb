//! The flows of a scenario, with the keys of each flow in each variant.
//!
//! The keys of a flow come from four layers: the preset, `[defaults]`, the variant, and the flow
//! itself. The layers are merged as trees with positions and then deserialised once.

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

/// The endpoints of a flow, for `[workload]` and `[[flow]]`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ends {
    /// Place of the client on a path with an orbit: a station or a city.
    #[schemars(with = "Option<String>")]
    pub from: Option<Spanned<String>>,
    /// Place of the server on a path with an orbit: a station or a city.
    #[schemars(with = "Option<String>")]
    pub to: Option<Spanned<String>>,
    /// Maximum random delay of the client's first packet, drawn for each run; 0 s by default.
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
    /// Start of the client, as a time after the start of the run; 0 s by default.
    pub start_time: Option<Span>,
    /// Terminal of the client, counted from 0; 0 by default.
    #[schemars(with = "Option<u64>")]
    pub terminal: Option<Spanned<usize>>,
    /// Name of the server. Flows with the same server share its path memory.
    pub server: Option<String>,
    /// First hop that the flow crosses, on the client's side; the first of the path by default.
    #[schemars(with = "Option<String>")]
    pub from_hop: Option<Spanned<String>>,
    /// Last hop that the flow crosses, on the server's side; the last of the path by default.
    #[schemars(with = "Option<String>")]
    pub to_hop: Option<Spanned<String>>,
    /// Number of random pairs among the largest cities, instead of `from` and `to`. Each pair has
    /// a flow in each direction. The flows are named NAME-000, NAME-001 and so on.
    #[schemars(with = "Option<u64>", range(min = 1))]
    pub random_city_pairs: Option<Spanned<u64>>,
}
section!(Placement);

/// The name of a `[[variant]]`.
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

/// A variant: the same flows with different transport keys.
#[derive(Debug, Clone)]
pub struct Variant {
    /// Name of the variant; `default` if the scenario has no variants.
    pub name: Spanned<String>,
    /// The flows, in the order of the text.
    pub flows: Vec<Flow>,
}

/// A flow of a variant: the keys of all layers, merged and read.
#[derive(Debug, Clone)]
pub struct Flow {
    /// Position of its table in the text.
    pub span: Range<usize>,
    /// Keys of `[[flow]]`; defaults for `[workload]`.
    pub placement: Placement,
    /// Endpoints of the flow.
    pub ends: Ends,
    /// What it transfers.
    pub work: Work,
    /// The keys of repeated visits.
    pub sequence: Sequence,
    /// The transport keys.
    pub transport: Transport,
    /// The protocols that follow from workload and transport.
    pub protocol: Protocol,
    /// The keys that the real clock does not support, with the supported values.
    pub virtual_only: Vec<String>,
}

impl Flow {
    /// Returns the name of the flow.
    pub fn name(&self) -> &str {
        self.placement.name.get_ref()
    }
}

/// A table of the file without its `name` key.
struct Layer<'i> {
    name: Spanned<String>,
    span: Range<usize>,
    table: Tree<'i>,
}

impl Layer<'_> {
    /// Returns an error for an unknown key or a wrong value, even if every flow overrides it.
    fn check(&self, allowed: &[&'static str]) -> Result<(), Problem> {
        self.table.keys().try_for_each(|key| section::known(key, allowed))?;
        section::take::<Transport>(&mut self.table.clone(), self.span.clone())?;
        section::take::<ExternalKey>(&mut self.table.clone(), self.span.clone()).map(drop)
    }
}

/// Merges and reads the flows of every variant. Also returns a problem for each key that has no
/// effect on any flow that inherits it.
///
/// # Errors
/// Returns an error for an unknown key, a wrong value, or none or several workloads in a flow.
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

/// Returns the table `key` of the file; an empty one if it does not exist.
fn single<'i>(root: &Tree<'i>, key: &str) -> Result<Spanned<Tree<'i>>, Problem> {
    let Some(node) = root.get(key) else { return Ok(Spanned::new(0..0, Tree::new())) };
    match node.get_ref() {
        DeValue::Table(table) => Ok(Spanned::new(node.span(), table.clone())),
        _ => Err(Problem::new(node.span(), format!("`{key}` must be a table"))),
    }
}

/// Returns the tables of the list `key`.
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

/// Returns the flows of the file. The flow of `[workload]` is named `main`.
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

/// Reads one flow from the keys of all `layers`, the most general first.
fn one(layers: &[&Layer<'_>; 3], limit: Span) -> Result<Flow, Problem> {
    let [_, _, own] = layers;
    let mut written = Tree::new();
    for layer in layers {
        merge(&mut written, &layer.table);
    }
    if !own.table.contains_key("external") {
        // Commands in [defaults] and variants apply only to flows that run programs.
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

/// Merges the entries of `over` into `base`. Values other than tables are replaced.
pub fn merge<'i>(base: &mut Tree<'i>, over: &Tree<'i>) {
    for (key, value) in over {
        if let (Some(DeValue::Table(inner)), DeValue::Table(table)) =
            (base.get_mut(key.get_ref().as_ref()).map(Spanned::get_mut), value.get_ref())
        {
            merge(inner, table);
            continue;
        }
        // The key is replaced too, so that an error about it points at this layer.
        base.remove(key.get_ref().as_ref());
        base.insert(key.clone(), value.clone());
    }
}
