//! Contact plans: when which node can send to which other one, at what rate and over what delay.
//!
//! A plan is read from a file of ION ([`ion`]), of HDTN ([`hdtn`]) or of the deep-space workbench
//! ([`dipt`]), and says when data can arrive at the earliest ([`ContactPlan::earliest_arrival`],
//! [`Route`]). No protocol that sends over the plan can be faster.
//!
//! The last bit of a packet must leave before its contact ends; what has left arrives. A node keeps
//! what waits for a contact, in the order of arrival, without a limit.

mod arrival;
pub mod dipt;
pub mod hdtn;
pub mod ion;
mod plan;
mod steps;
#[cfg(test)]
mod tests;

pub use arrival::{Exchange, Route, wire_bytes};
pub use plan::{Contact, ContactPlan, MAX_CONTACTS};
pub use steps::{delay_steps, hop_name, rate_steps, read};

use thiserror::Error;

/// A contact plan that cannot be read, or a question that it cannot answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ContactError {
    /// A line of the file is wrong.
    #[error("line {line}: {reason}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// The problem, with the value and the remedy.
        reason: String,
    },
    /// The file as a whole is wrong.
    #[error("{0}")]
    File(String),
    /// No node of the plan has this name.
    #[error("no node of the plan is named `{name}`; its nodes are {nodes}")]
    Node {
        /// The name.
        name: String,
        /// The nodes of the plan.
        nodes: String,
    },
    /// Nothing that is sent at this time arrives.
    #[error("nothing that leaves `{from}` after {after_s} s reaches `{to}`: the plan ends before")]
    Unreachable {
        /// The sender.
        from: String,
        /// The receiver.
        to: String,
        /// Time from which data are there to send, in seconds.
        after_s: u64,
    },
}

impl From<serde_json::Error> for ContactError {
    fn from(error: serde_json::Error) -> Self {
        Self::Line { line: error.line(), reason: error.to_string() }
    }
}
