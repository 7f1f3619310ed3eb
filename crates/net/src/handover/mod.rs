//! A server that hands its sockets over to a new process of its program, so that a restart loses
//! nothing.
//!
//! **Sockets.** Both processes have the same UDP sockets, so no datagram is refused while one of
//! them ends. At any time one process reads them; both send through them.
//!
//! **Connections** stay with the process that made them. A connection ID says which one that is
//! (`steering`): the process that reads passes what is for an older one on, through a pair of
//! sockets that only the two have. Nothing is passed on once the older one has ended.
//!
//! **A new process that fails** leaves the sockets to the latest one before it that still lives,
//! whose way to it is closed then. That one reads again, for its own connections and those of older
//! ones, and [`Server::finish`](crate::serve::Server::finish) says so, so that another process can
//! be started. If the new process was told to stop, it says that first.
//!
//! **Order.** The new process starts up to the point where it would read, and says that it is
//! ready. The old one stops reading and hands over. What arrives between waits in the kernel. If
//! the new one fails until it has said that it serves, the old one reads again and continues.
//!
//! ```text
//! old                                 new
//!  |  sockets, keys, generations       |
//!  | --------------------------------> |  prepares everything but its threads
//!  | <------------------------- ready  |
//!  |  stops reading; yours             |
//!  | --------------------------------> |  starts its threads
//!  | <----------------------- serving  |
//!  |  finishes its connections         |
//! ```

mod error;
mod estate;
mod inheritance;
mod message;
mod predecessors;
mod successor;

pub use error::HandOverError;
pub use estate::SuccessorState;
pub use inheritance::Inheritance;
pub use successor::Successor;

pub(crate) use estate::{Estate, PassedOn};
pub(crate) use inheritance::Waiting;
pub(crate) use predecessors::Predecessors;
