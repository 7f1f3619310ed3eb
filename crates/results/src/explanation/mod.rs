//! Explanations in words, from the time budgets of visits: where the time went, and what made the
//! difference between two variants.

mod account;
mod critical_path;
mod referee;
mod words;

pub use account::{Account, Losses, accounts, groups, pairs, pairs_of};
pub use critical_path::critical_path;
pub use referee::{doubts, single_runs};
pub(crate) use words::causes;
pub use words::{Difference, Reason, composition, difference, in_days, seconds, statement};
