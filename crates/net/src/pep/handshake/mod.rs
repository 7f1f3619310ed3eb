//! How a client of an explicit proxy names its destination: by SOCKS5 or HTTP CONNECT on one port.
//! The first byte tells them apart.

mod connect;
pub(super) mod credentials;
pub(super) mod machine;
mod socks;
