//! BBRv3 (draft-ietf-ccwg-bbr, the editor's copy of 3 August 2026): models the path's rate and RTT
//! to decide how much to send.
//!
//! Section numbers in this folder are those of the draft. An ACK costs a fixed number of
//! operations: no code iterates over the packets in flight, and filters hold a bounded number of
//! values.
//!
//! - `model`: the estimators;
//! - `state`: the controller's state, and the signals that it reads from an ACK;
//! - `controller`: the order of events;
//! - `startup`: Startup and Drain;
//! - `probe_bw`: the cycle that probes for bandwidth;
//! - `probe_rtt`: probing for the minimum RTT, and restarts from idle;
//! - `loss`: responses to loss and ECN-CE, and their undo;
//! - `control`: cwnd, pacing rate and send quantum;
//! - `handover`: restarts by layers, and the probe of Careful Resume.
//!
//! Comments mark each place in which the draft leaves a choice or this code differs from it.

mod control;
mod controller;
mod cycle;
mod handover;
mod loss;
mod model;
mod parameters;
mod probe_bw;
mod probe_rtt;
mod recovery;
mod report;
mod startup;
mod state;
mod states;
#[cfg(test)]
mod tests;

pub use parameters::Parameters;
pub use state::Bbr3;
