//! qlog: the events of a connection, whatever its transport
//! (draft-ietf-quic-qlog-main-schema, draft-ietf-quic-qlog-quic-events,
//! draft-ietf-quic-qlog-h3-events).
//!
//! - [`Event`] and [`Packet`] are the events, as plain values that know no protocol stack;
//! - [`QlogSink`] writes them to memory as a JSON text sequence (RFC 7464), in one or both of two
//!   [forms](Form): the current schema, and qlog 0.3 as the qvis viewer reads it;
//! - [`PacketTexts`] holds packets that are not sent yet;
//! - [`check`] is a checker of such traces for tests.
//!
//! Events of TCP have no standard schema. Segments are events of a namespace of our own, `tcp:`;
//! recovery and congestion are the events of `quic:`, whose data do not depend on the transport.

pub mod check;
mod event;
mod form;
mod frame;
mod head;
mod http3;
mod json;
mod packet;
mod sink;
mod trace;
mod write;

pub use event::{
    CarefulResume, CloseTrigger, ConnectionClosed, Event, Initiator, Metrics, Parameters,
    RecoveryParameters, Restored, TcpFlags, TcpPacket,
};
pub use form::{Form, Forms};
pub use frame::{Ack, EcnCounts, Frame};
pub use head::{
    CAREFUL_RESUME_SCHEMA, HTTP3_SCHEMA, LOGLEVEL_SCHEMA, QUIC_SCHEMA, Side, TCP_SCHEMA, Transport,
};
pub use http3::{Http3Frame, Http3StreamType};
pub use packet::{Packet, PacketText, PacketTexts, PacketType, PacketWriter};
pub use sink::QlogSink;
