//! One direction of one hop: policer, flow meter, queue, transmitter, frames, loss and delay.
//!
//! A [`Link`] is a pure state machine: it reads no clock, opens no file and does not inspect
//! payloads. The simulator and the emulator use the same type.
//!
//! # Stages
//!
//! A packet passes, in this order:
//!
//! 1. the **policer**, if configured: a token bucket that drops excess packets and never delays;
//! 2. the **flow meter**, if configured: flows that exceed it wait in a class of their own;
//! 3. the **queue**, limited in bytes, packets, time or bandwidth-delay products: its discipline
//!    ([`disciplines`]) decides which packet is sent next, and which are dropped or marked;
//! 4. the **transmitter**: one packet at a time, at a constant rate, a stepped rate, one that
//!    grows on demand, or the opportunities of a trace;
//! 5. the **frame**, if configured: packets whose transmission ends within a frame leave together
//!    at its end;
//! 6. the **loss** processes: a packet lost here has used the link's capacity, unlike one that the
//!    policer or the queue drops;
//! 7. the **delay**: constant, with jitter, scheduled, or set by the caller
//!    ([`DirectionModel::with_external_delay`]).
//!
//! Several ports share one queue and one transmitter, like terminals on one carrier. If the
//! carrier's capacity is allocated ([`Dama`]), each terminal has its own queue and sends in its
//! part of each frame, which replaces stages 2 to 5. The ports of a link with external delay are
//! its far ends, each with its own delay: [`Link::set_delay`] sets the delay and adds the port.
//!
//! # Order of calls
//!
//! * [`Link::enqueue`] offers a packet. Time never runs backwards between calls.
//! * [`Link::next_deadline`] then returns when to poll the link. It may change with every call, in
//!   either direction.
//! * [`Link::poll`] at or after that time returns packets delivered or lost, one per call, in order
//!   of time. Call it until it returns `None`, then ask for the next deadline. A delivery carries
//!   no time: it happens at the deadline, so a simulation polls exactly at deadlines.
//!
//! A simulation with many links may use [`Link::next_output`] instead, which skips transmissions
//! whose end has no visible effect. [`Link::withdraw`] removes packets from a link that goes down.
//!
//! A packet that is offered at the same instant at which another leaves the transmitter finds the
//! space that the other has freed, whether or not the caller has polled in between.
//!
//! ```
//! use bentpipe_link::{DirectionConfig, Ecn, Enqueue, Event, Link, LinkContext, Packet};
//! use bentpipe_units::{Rate, Span, Time};
//! use std::path::Path;
//!
//! // 12 Mbps: 1500 bytes take a millisecond.
//! let config = DirectionConfig::new(Rate::from_mbps(12), Span::from_millis(300));
//! let model = config.load(Path::new("."))?;
//! let rtt = Span::from_millis(600);
//! let context = LinkContext { rtt, seed: 1, run: 0, name: "forward".into() };
//! let mut link = Link::new(&model, &context, 1);
//!
//! for payload in ["first", "second"] {
//!     let packet = Packet::new(1500, Ecn::Ect0, payload);
//!     assert_eq!(link.enqueue(Time::ZERO, 0, packet), Enqueue::Queued);
//! }
//! let mut delivered = Vec::new();
//! while let Some(now) = link.next_deadline() {
//!     while let Some(event) = link.poll(now) {
//!         if let Event::Delivered { packet, .. } = event {
//!             delivered.push((now, packet.payload));
//!         }
//!     }
//! }
//! assert_eq!(delivered, [(Time::from_millis(301), "first"), (Time::from_millis(302), "second")]);
//! # Ok::<(), bentpipe_link::LinkError>(())
//! ```
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files as they need"))]

mod acm;
mod capacity_allocation;
mod counters;
mod delay;
mod direction;
mod dscp;
mod error;
mod extremes;
mod fields;
mod flow_meter;
mod input_files;
mod link;
pub mod loss;
mod model;
mod multi_format;
mod over_time;
mod packet;
mod policer;
mod queue;
pub mod random;
mod rate;
mod recorded;
mod recording;
mod registry_table;
mod schedule;
mod trace_file;

pub use acm::config::AcmConfig;
pub use acm::fade::{FadeConfig, FadeEvent, FadePoint, FadeRecording};
pub use acm::modcods::{Modcod, ModcodTable};
pub use capacity_allocation::config::CapacityAllocation;
pub use capacity_allocation::dama::Dama;
pub use capacity_allocation::frames::FrameShare;
pub use capacity_allocation::presets::CapacityAllocationPreset;
pub use counters::{Counters, PacketTotals};
pub use delay::config::{DelayConfig, Distribution, RecordedDelayConfig};
pub use direction::{DirectionConfig, DirectionPatch};
pub use dscp::Dscp;
pub use error::{ConfigError, LinkError};
pub use flow_meter::config::FlowMeterConfig;
pub use input_files::{InputFiles, MAX_INPUT_BYTES, ReadFiles, shown_line};
pub use link::{Link, LinkContext};
pub use loss::LossModel;
pub use loss::bursts::LongBursts;
pub use loss::config::{LossConfig, LossProcessConfig};
pub use loss::preset::{LossPreset, loss_presets};
pub use model::DirectionModel;
pub use packet::{DropCause, Ecn, Enqueue, Event, FlowKey, LossCause, Packet, Service};
pub use policer::PolicerConfig;
pub use queue::config::QueueConfig;
pub use queue::disciplines;
pub use queue::limit::QueueLimit;
pub use queue::littles_law::QueueTime;
pub use rate::config::RateConfig;
pub use rate::demand::{DemandConfig, Reset};
pub use recorded::clock::{AtEnd, ReplayClock};
pub use recorded::column::Gap;
pub use recorded::file::RecordedFile;
pub use recorded::source::RecordedSource;
pub use recording::{DropKind, LinkRecorder};
pub use schedule::{DelayStep, RateStep, Window};
