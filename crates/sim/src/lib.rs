//! The virtual clock: hosts, links, routes and one event queue.
//!
//! A [`RunSpec`] says what a run consists of, [`run`] plays it to its end and returns a [`RunOutcome`]. The
//! endpoints are those of `bentpipe-quic`, which do not know that the time is not real; the links are those of
//! `bentpipe-link`. Nothing here does I/O, reads a clock or draws unseeded randomness: the outcome is a function of
//! the spec.

mod agenda;
mod app;
mod capture;
mod chain;
mod checks;
mod datagram;
mod error;
mod flow;
mod hosts;
mod lines;
mod links;
mod lost;
mod mesh;
mod net;
mod outcome;
pub mod overhead;
mod parcels;
mod progress;
mod recorder;
mod spec;
mod world;

pub use error::SimError;
pub use outcome::{
    Acknowledgements, FlowOutcome, FlowTrace, LinkOutcome, LinkTrace, ObjectOutcome, PathOutcome, PathTrace,
    PepOutcome, QlogFile, ReturnBytes, RunOutcome, RunTrace, Series,
};
pub use spec::{
    Datagrams, Direction, Failure, FailureManner, FlowSpec, HandoverLoss, HopSpec, MeshSpec, Object, PepSpec,
    ProgramStack, RunSpec, Stack, TcpStack, Visit,
};
pub use world::run;
