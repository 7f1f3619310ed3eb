//! A socket of a log.

use super::sample::TcpInfoSample;

/// A socket with its samples.
#[derive(Debug, Clone, PartialEq)]
pub struct TcpInfoSocket {
    /// Address and port of this end.
    pub local: String,
    /// Address and port of the other end.
    pub peer: String,
    /// Its samples, in the order of the file.
    pub samples: Vec<TcpInfoSample>,
}
