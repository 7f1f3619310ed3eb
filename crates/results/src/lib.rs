//! Results of runs: metrics, statistics, expectations, and their formats.
//!
//! [`Results`] is the document `results.json`. [`metrics`] is the registry that defines name, unit
//! and meaning of every metric. [`summarise`] computes statistics over runs, [`judge`] evaluates
//! expectations, and [`compare`] compares published figures with the results. [`comparison`] tests
//! two sets of runs for changes. [`TABLES`] turns results into tables, which `parquet` encodes. The
//! crate depends on no simulator and accesses no files.

mod call;
pub mod comparison;
mod document;
mod emulation;
mod expect;
mod experience;
pub mod explanation;
mod failure;
pub mod fairness;
mod flow_metrics;
pub mod headline;
mod identical;
mod json_format;
mod manifest;
pub mod metrics;
#[cfg(feature = "parquet")]
pub mod parquet;
mod population;
mod quantity;
mod reverse;
mod run;
mod schema;
mod stats;
mod summary;
mod table;
mod time_budget;
mod user_values;

pub use document::Results;
pub use emulation::{DirectionEmulation, Emulation, ProxyEmulation};
pub use expect::{
    Comparison, Condition, Expectation, Figure, Group, PublishedKind, Rule, Statistic, compare,
    judge, point_text,
};
pub use experience::Experience;
pub use failure::{Failure, failures};
pub use fairness::Fairness;
pub use flow_metrics::{
    FlowMetric, MAIN_METRICS, find_metric, find_population, find_row, find_shared, flow_metrics,
    metric_names, metrics_schema,
};
pub use headline::{Headline, Headlines, contends};
pub use identical::identical_variants;
pub use manifest::{
    FlowSettings, HopSummary, InputFile, Manifest, PathSummary, SweepAxis, VariantSettings,
};
pub use metrics::{
    CallMetrics, FlowMetrics, LinkMetrics, PageMetrics, PlayerMetrics, PopulationMetrics,
    ResponsivenessMetrics, SharedMetrics,
};
pub use population::{
    Population, PopulationShares, SizeClass, User, Users, group_names, is_size_class,
};
pub use quantity::quantity;
pub use reverse::ReverseBytes;
pub use run::{
    CallStream, Clock, Direction, Distribution, Flow, Link, Media, Object, Page, PageOrigin,
    PathKnowledge, Player, Point, Reconfiguration, Run,
};
pub use schema::json_schema;
pub use stats::{Interval, Stats, quantile};
pub use summary::{Summary, populations, summarise, values, visits};
pub use table::{Block, Column, Rows, TABLES, Table, TableBuilder, TableKind, Values, find_table};
pub use time_budget::{Episode, LossTime};
