//! Capacity allocation: frames of a carrier, shared by terminals that ask a controller for capacity.
//!
//! Each port is a terminal with a queue of its own. Time is cut into frames; where the first one begins is drawn for each run. For every frame the
//! controller (the network control centre, NCC) has a plan: how many bytes of the frame belong to each terminal. A terminal sends in its part of the frame what
//! waited when the frame began; what it does not use of it is lost. Every so often a terminal may ask for more: the request travels to the
//! controller, the controller makes it part of its plans, and the first plan that knows of it travels back. Signalling is never lost
//! and takes none of the capacity.
//!
//! * `requests` is the terminal's side: what it asks for.
//! * `controller` is the other: who gets what of a frame.
//! * `shares` divides fairly.
//! * `presets` are allocations by name.
//! * [`Link`](crate::Link) sends the packets (`link/framed.rs`).

pub(crate) mod config;
mod controller;
pub(crate) mod frames;
mod max_min;
pub mod presets;
mod requests;
