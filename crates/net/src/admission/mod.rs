//! Bounds on what clients may take: connections, memory, open files and descriptors.
//!
//! The server and the TCP proxy share this kit. A guard stands for each thing that a client was
//! given, and gives it back when it is dropped.
//!
//! - [`control`] counts connections, in total and for each client, and the memory reserved for
//!   them;
//! - [`quic`] admits the connections of a QUIC endpoint;
//! - [`client`] says which addresses count as one client;
//! - [`addresses`] are rules about who may connect and where to;
//! - [`buffers`] divides memory among the connections of the TCP proxy;
//! - [`send_memory`] divides the server's memory among the responses under way;
//! - [`request_rate`] bounds how many requests a client makes in a time;
//! - [`slots`] bounds the responses and the requests of an upstream that are under way, and
//!   [`activity`] says which of them wait for their clients;
//! - [`descriptors`] checks all of it against the limit of the process.

pub mod activity;
pub mod addresses;
pub mod buffers;
pub mod client;
pub mod control;
pub mod descriptors;
pub mod quic;
pub mod request_rate;
pub mod send_memory;
pub mod slots;
