//! Whole runs: their results, budgets, and files.
//! One program: each would be linked with all that it tests.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod aligned_visits;
mod beside_linux;
mod budget;
mod contact_plans;
mod input_files;
mod orbit;
mod pages;
mod path_changes;
mod planted_causes;
mod populations;
mod recordings;
mod scenarios;
mod stalls;
mod tables;
mod time_budget;
mod time_budget_waits;
