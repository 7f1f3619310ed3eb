//! The QUIC connections of one UDP socket, without the socket.

mod accept;
mod address_limit;
mod attachments;
mod batches;
mod entry;
mod network_starts;
mod responses;
mod retry_packets;
mod run;
mod sans_io;
mod simultaneous_starts;
mod transmit;
mod version_negotiation;
mod wake;

pub use accept::{Accept, Acceptor, Admission, Gatekeeper, PanicHandler, panic_message};
pub use address_limit::AddressLimit;
pub use attachments::Attachments;
pub use sans_io::Endpoint;
pub use simultaneous_starts::{SimultaneousStarts, StartLease};
pub use transmit::Transmit;
