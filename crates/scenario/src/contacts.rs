//! `[path.contacts]`: a contact plan as the hops of a path.

use bentpipe_units::Bytes;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_spanned::Spanned;
use std::path::PathBuf;

/// A contact plan, of which the path takes one route: a hop for each link of it, which has a rate
/// only during its contacts.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContactsSection {
    /// The plan: a file of ION (ionrc) or HDTN (JSON), or the topology of dipt-quic-workbench
    /// (JSON).
    #[schemars(with = "PathBuf")]
    pub file: Spanned<PathBuf>,
    /// Events of the workbench, which take links up and down.
    #[schemars(with = "Option<PathBuf>")]
    pub events: Option<Spanned<PathBuf>>,
    /// Node of the clients.
    #[schemars(with = "String")]
    pub from: Spanned<String>,
    /// Node of the servers.
    #[schemars(with = "String")]
    pub to: Spanned<String>,
    /// Nodes of the route, both ends included; by default those by which a packet arrives first.
    #[serde(default)]
    pub via: Vec<String>,
    /// What a node can store for each of its links; 1 GB by default.
    pub storage: Option<Bytes>,
}
