//! Code shared by both versions of BBR.

mod aggregation;
mod arithmetic;
mod full_pipe;
mod probe_jitter;
mod resume_probe;

pub use aggregation::Aggregation;
pub use arithmetic::{first_pacing_rate, send_quantum, volume};
pub use full_pipe::FullPipe;
pub use probe_jitter::ProbeJitter;
pub use resume_probe::ResumeProbe;
