//! Connections as others recorded them: qlog files of any QUIC stack, captures of TCP and QUIC, the
//! path that they show, and where the time of the transfer went.
//!
//! A [`Recording`] is a file with its connections. It reads the forms that stacks write: text
//! sequences and whole documents, events as objects and as arrays, drafts 00 to 13; NetLogs of
//! Chromium; of captures, the headers of packets. [`account`] divides the time of the main
//! transfer. A [`HarLog`] has the requests of a page, and a [`TcpInfoLog`] what the kernel says of
//! its sockets, both without packets.
//!
//! A trace shows one end. What the other end and the path did is inferred from it;
//! [`CapturedTransfer::notes`] says what could not be.

#![forbid(unsafe_code)]

mod account;
mod both;
mod calendar;
mod decompress;
mod error;
mod event;
mod file_kind;
mod foreign_file;
mod har;
mod http;
mod json;
mod list;
mod logged;
mod logs;
mod netlog;
mod other_json;
mod pcap;
mod qlog;
mod recording;
mod source;
mod summary;
mod tcp_info;
mod time_line;

pub use account::{
    BothEnds, CapturedTransfer, Evidence, Exchange, FlowLimit, Interval, LimitChange, LimitKind,
    OneWay, PathEstimate, Reading, RequestAccount, SenderLimit, account, account_of_both,
    sender_limits,
};
pub use both::is_same_connection;
pub use calendar::seconds_of_iso;
pub use decompress::decompressed;
pub use error::CaptureError;
pub use event::{
    CapturedConnection, Details, EcnCounts, Event, HttpMessage, Metrics, Packet, PacketDetails,
    Side, StreamEnd, StreamPart, Transport, TransportParameters,
};
pub use foreign_file::ForeignFile;
pub use har::{HarHints, HarKind, HarLog, HarObject, HarPage, HarPageError, HarPhases, HarRequest};
pub use list::List;
pub use recording::Recording;
pub use summary::{ConnectionSummary, Protocol, Traffic};
pub use tcp_info::{TcpInfoLog, TcpInfoSample, TcpInfoSocket, TcpInfoSummary};
pub use time_line::{TimeLine, time_line};
