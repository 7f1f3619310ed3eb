//! The discrete-event simulator: hosts, links, routes and one event queue.
//!
//! [`run`] executes a [`RunSpec`] to its end and returns a [`RunOutcome`]. The endpoints are those
//! of `bentpipe-quic`, which run unchanged on virtual time, and the links are those of
//! `bentpipe-link`. No code here does I/O, reads a clock or draws unseeded randomness: the outcome
//! is a function of the specification.
//!
//! A [`Runner`] does the same on any clock: [`Simulator`] here, and `RealClock` of
//! `bentpipe-realclock`.

mod app;
mod capture;
mod checks;
mod datagram;
mod emulation;
mod error;
mod event_queue;
mod flow;
mod hop_ends;
mod hop_path;
mod hosts;
mod link_state;
mod loss_reason;
mod mesh;
mod mesh_spec;
pub mod node;
mod object_state;
mod outcome;
pub mod overhead;
mod packet_arena;
mod packet_network;
mod page_progress;
mod path_nodes;
mod runner;
mod simulation;
mod spec;
pub mod time_budget;
mod timing_wheel;
mod udp_payload;
mod visit_progress;

pub use emulation::{EmulatedDirection, EmulatedProxy, EmulationOutcome};
pub use error::SimError;
pub use flow::{MediaDirection, SendSchedule, call_media, finish_call};
pub use loss_reason::LossReason;
pub use mesh::{MeshDriver, MeshRecords, PacketFate};
pub use outcome::{
    Acknowledgements, Arrivals, CallStream, FlowOutcome, LinkOutcome, ObjectOutcome, OriginOutcome,
    PageOutcome, PathOutcome, PepOutcome, QlogFile, ReverseBytes, RunOutcome,
};
pub use runner::{RunError, Runner, Simulator};
pub use simulation::{run, run_with_nodes};
pub use spec::{
    CallCarrier, CallDirections, CallTraffic, CapturePoint, ConnectionProbe, DatagramTraffic,
    Direction, Failure, FlowSpec, Framing, HopEnd, HopSpec, Marking, MeshSpec, Object, PepSpec,
    Pieces, ProgramStack, Reconfigured, RunSpec, SatelliteLinks, Stack, TcpStack, Visit,
};
pub use time_budget::Episode;
