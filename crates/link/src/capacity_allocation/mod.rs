//! Capacity allocation: terminals request capacity on a shared carrier from a controller.
//!
//! Each port is a terminal with its own queue. Time is divided into frames; the start of the first
//! one is random for each run. For every frame, the controller (the network control centre, NCC)
//! has a plan: how many bytes of the frame each terminal may send. In its part of the frame, a
//! terminal sends packets that were queued when the frame started; capacity that it leaves unused
//! is lost. At regular intervals a terminal may request more: the request travels to the
//! controller, the controller adds it to its plans, and the first plan that includes it travels
//! back. Signalling is never lost and uses no capacity.
//!
//! * `requests`: the terminal's side.
//! * `controller`: the controller's side.
//! * `max_min`: fair division.
//! * `presets`: allocations by name.
//! * `link/framed.rs`: how a [`Link`](crate::Link) sends packets in frames.

pub(crate) mod config;
mod controller;
pub(crate) mod dama;
pub(crate) mod frames;
mod max_min;
pub mod presets;
mod requests;
