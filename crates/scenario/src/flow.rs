//! The flows of a scenario: their keys, and flows as read from all layers of keys.

use super::population::{PopulationKeys, Users};
use super::protocol::Protocol;
use super::section::{Merged, section, table};
use super::transport::Transport;
use super::workload::{ExternalKey, Sequence, Task, Work};
use bentpipe_units::Span;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_spanned::Spanned;
use std::ops::Range;

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

/// The keys that only `[[variant]]` has.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VariantName {
    /// Name in results: lower-case letters, digits, hyphens, dots and plus signs.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// Transport keys of single flows or shares, by name, which override those of the flow.
    #[schemars(with = "Option<std::collections::BTreeMap<String, VariantFlow>>")]
    #[expect(dead_code, reason = "read as trees with positions, and here for its schema")]
    pub flow: Option<Merged<VariantFlow>>,
}
section!(VariantName);

table!(
    /// `[variant.flow.NAME]`
    VariantFlow: "VariantFlow" = Transport
);

table!(
    /// `[workload]`
    WorkloadTable: "Workload" = Ends, Sequence, Task, ExternalKey
);
table!(
    /// `[[flow]]`
    FlowTable: "Flow" =
        Placement, PopulationKeys, Ends, Sequence, Task, ExternalKey, Transport
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
    /// The users that it stands for; `None` if it is a single flow.
    pub users: Option<Users>,
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
