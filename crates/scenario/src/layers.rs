//! Reads the flows of every variant from layers of keys.
//!
//! The keys of a flow come from four layers: the preset, `[defaults]`, the variant, and the flow
//! itself. The layers are merged as trees with positions and then deserialised once.

use super::accept;
use super::flow::{
    DefaultsTable, Flow, FlowTable, Placement, Variant, VariantFlow, VariantName, VariantTable,
    WorkloadTable,
};
use super::mix::{self, Expanded};
use super::population::{self, Share, Users};
use super::protocol::Protocol;
use super::section;
use super::transport::{Transport, nested};
use super::tree::{Node, Tree, merge};
use super::workload::{ExternalKey, Work};
use super::{cities, preset};
use crate::error::Problem;
use bentpipe_units::Span;
use serde_spanned::Spanned;
use std::borrow::Cow;
use std::ops::Range;
use toml::de::DeValue;

/// Name of the flow of `[workload]`.
const MAIN: &str = "main";
/// Name of the variant if there is no other.
const DEFAULT: &str = "default";

/// A table of the file without its `name` key.
struct Layer<'i> {
    name: Spanned<String>,
    span: Range<usize>,
    table: Tree<'i>,
    /// The users of a share of a population.
    users: Option<Users>,
    /// Keys of single flows in a variant.
    flows: Vec<Layer<'i>>,
}

impl<'i> Layer<'i> {
    fn new(name: Spanned<String>, span: Range<usize>, table: Tree<'i>) -> Self {
        Self { name, span, table, users: None, flows: Vec::new() }
    }
}

impl Layer<'_> {
    /// Returns an error for an unknown key or a wrong value, even if every flow overrides it.
    fn check(&self, allowed: &[&'static str]) -> Result<(), Problem> {
        self.table.keys().try_for_each(|key| section::known(key, allowed, nested))?;
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
    let (span, table) = (defaults.span(), defaults.into_inner());
    let defaults = Layer::new(Spanned::new(0..0, String::new()), span, table);
    let variants = variants(root)?;
    let flows = flows(root, seed)?;
    defaults.check(&DefaultsTable::keys())?;
    for variant in &variants {
        variant.check(&VariantTable::keys())?;
        for own in &variant.flows {
            own.check(&VariantFlow::keys())?;
            let known = || flows.iter().map(|flow| flow.name.get_ref().as_str());
            if !known().any(|name| name == own.name.get_ref()) {
                let (span, name) = (own.name.span(), own.name.get_ref());
                return Err(Problem::not_one_of(span, "flow", name, known()));
            }
        }
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
            let over = variant.flows.iter().find(|own| own.name.get_ref() == flow.name.get_ref());
            own.push(one(&[&defaults, variant], flow, over, limit)?);
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
        for own in &layer.flows {
            let flows = read.iter().skip(index).take(1).flat_map(|one| &one.flows);
            let named = flows.filter(|flow| flow.name() == own.name.get_ref());
            refused.extend(accept::refused(&own.table, named));
        }
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
        let flows = variant_flows(&table)?;
        let VariantName { name, .. } = section::take(&mut table, span.clone())?;
        layers.push(Layer { flows, ..Layer::new(name, span, table) });
    }
    if layers.is_empty() {
        layers.push(Layer::new(Spanned::new(0..0, DEFAULT.to_owned()), 0..0, Tree::new()));
    }
    Ok(layers)
}

/// Returns the keys of single flows in the table of a variant.
fn variant_flows<'i>(variant: &Tree<'i>) -> Result<Vec<Layer<'i>>, Problem> {
    let flows = single(variant, "flow")?.into_inner();
    let layer = |(key, node): (Spanned<Cow<'i, str>>, Node<'i>)| {
        let name = Spanned::new(key.span(), key.into_inner().into_owned());
        let span = node.span();
        match node.into_inner() {
            DeValue::Table(table) => Ok(Layer::new(name, span, table)),
            _ => {
                let message = "the keys of a flow must be a table: [variant.flow.NAME]";
                Err(Problem::new(span, message))
            }
        }
    };
    flows.into_iter().map(layer).collect()
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
            layers.push(Layer::new(name, workload.span(), workload.into_inner()));
        }
        (None, _) => {}
    }
    for entry in listed {
        let (span, mut table) = (entry.span(), entry.into_inner());
        let Placement { name, .. } = section::take(&mut table.clone(), span.clone())?;
        if let Some(populations) = mix::expand(&name, &table, &span)? {
            for Expanded { name, table, users } in populations {
                let layer = Layer::new(name, span.clone(), table);
                layers.push(Layer { users: Some(users), ..layer });
            }
            continue;
        }
        if let Some(shares) = population::expand(&name, &mut table, &span)? {
            for Share { name, mut table, users } in shares {
                table.remove("name");
                let layer = Layer::new(name, span.clone(), table);
                layers.push(Layer { users: Some(users), ..layer });
            }
            continue;
        }
        for (name, table) in cities::expand(table, &span, seed)? {
            layers.push(Layer::new(name, span.clone(), table));
        }
    }
    Ok(layers)
}

/// Reads one flow from the keys of all layers, the most general first: those `above` the flow, its
/// `own`, and those that the variant has for this flow.
fn one(
    above: &[&Layer<'_>; 2],
    own: &Layer<'_>,
    over: Option<&Layer<'_>>,
    limit: Span,
) -> Result<Flow, Problem> {
    let mut written = Tree::new();
    for layer in above.iter().copied().chain([own]).chain(over) {
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
    if let Some(users) = &own.users {
        population::check_work(&work, users, &span)?;
    }
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
    let users = own.users.clone();
    Ok(Flow { span, placement, users, ends, work, sequence, transport, protocol, virtual_only })
}
