//! Observation of a connection's packets inside the packet protection: the number, the sizes and
//! the frames of every packet, and counters of them.
//!
//! The stack reports neither packet numbers nor frame sizes. It does pass each packet in the clear
//! to the configured cryptography: a [`PacketObserver`] wraps that and reads each packet without
//! changing a byte. From it, a receiver's ACK policy knows gaps exactly, [`TrafficStats`] counts
//! the return path exactly by layer, and a page can plot packet numbers.
//!
//! If there is a trace (qlog), each packet is also written to it, with its frames one by one.
//!
//! [`crate::ConnectionConfig`] wraps a connection's cryptography with an observer if something
//! needs one. The [`Endpoint`](crate::Endpoint) takes the observed packets after every datagram and
//! every transmission, so that few wait here at any time.

mod detail;
mod first_packet;
mod frames;
mod keys;
mod packet_info;
mod packet_log;
mod packet_observer;
mod parameters;
mod peer_windows;
mod per_ack;
mod sizes;
mod small_frames;
mod traffic;

pub use detail::each_frame;
pub(crate) use first_packet::FirstPacket;
pub use frames::Frames;
pub(crate) use frames::{Kind, split};
pub use packet_info::{PacketInfo, Space};
pub use packet_observer::PacketObserver;
pub use peer_windows::PeerWindows;
pub use per_ack::PerAck;
pub use sizes::Sizes;
pub use small_frames::SmallFrames;
pub(crate) use small_frames::StreamFrame;
pub use traffic::{Layers, Numbers, TrafficCounts, TrafficSeries, TrafficStats};
