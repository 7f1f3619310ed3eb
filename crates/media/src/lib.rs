//! What the applications of real-time media do, without I/O, so that both clocks run the same.
//!
//! [`Sender`] cuts the audio and video frames of one direction of a call into packets and says when
//! each is due. [`Receiver`] takes them at the other end: it plays frames after a playout delay,
//! measures their delays, and asks for keyframes. [`e_model`] converts delay and loss to the
//! quality that listeners would give. [`Adaptation`] says how a video adapts its rate. [`abr`] has
//! the player of an adaptive video, and [`responsiveness`] the test of latency under load.

pub mod abr;
mod adaptation;
pub mod e_model;
mod frame_clock;
mod freezes;
mod jitter;
mod packet;
mod playout;
mod receiver;
pub mod responsiveness;
mod sender;
mod settings;
mod stream;
pub mod wire;

pub use adaptation::{Feedback, FeedbackRecorder};
pub use packet::Packet;
pub use receiver::{Receiver, StreamOutcome};
pub use sender::Sender;
pub use settings::{
    AUDIO_FRAMES, Adaptation, Algorithm, Audio, Call, HEADERS, MAX_PAYLOAD, MediaKind, Playout,
    REQUEST_BYTES, Video,
};
