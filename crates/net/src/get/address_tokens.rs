//! The tokens with which servers recognise a client's address.

use bentpipe_quic::noq_proto::TokenStore;
use bytes::Bytes;
use std::sync::Arc;

/// The tokens of servers at one port, in a store of all: the stack names a server by its host
/// alone, and a token is for the server that sent it (RFC 9000 §8.1.3).
pub(super) struct AddressTokens {
    all: Arc<dyn TokenStore>,
    port: u16,
}

impl AddressTokens {
    pub const fn new(all: Arc<dyn TokenStore>, port: u16) -> Self {
        Self { all, port }
    }

    fn name(&self, host: &str) -> String {
        format!("{host}:{}", self.port)
    }
}

impl TokenStore for AddressTokens {
    fn insert(&self, host: &str, token: Bytes) {
        self.all.insert(&self.name(host), token);
    }

    fn take(&self, host: &str) -> Option<Bytes> {
        self.all.take(&self.name(host))
    }
}
