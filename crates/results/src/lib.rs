//! Results of runs: what they contain, what they mean, and how they are written.
//!
//! [`Results`] is the document of `results.json`. [`metrics`] is the registry from which its
//! figures, their columns, names, units and descriptions are made. [`summarise`] computes
//! statistics over runs, [`judge`] checks expectations, [`compare`] puts published figures beside
//! ours, and [`parquet`] writes tables. The crate knows no simulator and touches no files.

mod document;
mod emulation;
mod expect;
pub mod fairness;
mod identical;
mod manifest;
pub mod metrics;
pub mod parquet;
mod quantity;
mod schema;
mod stats;
mod summary;

pub use document::{
    Clock, Direction, Distribution, Flow, Link, Object, PathKnowledge, Point, Results, Run,
};
pub use emulation::{DirectionEmulation, Emulation};
pub use expect::{
    Comparison, Condition, Expectation, Figure, Group, PublishedKind, Rule, Statistic, compare,
    judge, point_text,
};
pub use fairness::Fairness;
pub use identical::identical_variants;
pub use manifest::{FlowSettings, HopSummary, Manifest, PathSummary, SweepAxis, VariantSettings};
pub use metrics::{FlowMetrics, LinkMetrics, ReverseBytes, SharedMetrics};
pub use quantity::quantity;
pub use schema::json_schema;
pub use stats::{Stats, quantile};
pub use summary::{Summary, summarise, values, visits};
