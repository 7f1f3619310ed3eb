//! Invariants of every link, and its configuration.
//! One program: each would be linked with all that it tests.

mod allocation;
mod cake;
mod common;
mod config;
mod demand;
mod external_delay;
mod fades;
mod flow_queues;
mod losses;
mod outages;
mod policer;
mod priority;
mod properties;
mod queue_config;
mod queues;
mod rates;
mod recorded;
mod service;
mod starlink;
