//! The QUIC connections of one UDP socket, without the socket.

mod accept;
mod attachments;
mod entry;
mod run;
mod sans_io;
mod start_limiter;
mod transmit;
mod wake;

pub use accept::{Accept, Acceptor, Admission, Gatekeeper, PanicHandler, panic_message};
pub use attachments::Attachments;
pub use sans_io::Endpoint;
pub use start_limiter::{StartLease, StartLimiter};
pub use transmit::Transmit;
