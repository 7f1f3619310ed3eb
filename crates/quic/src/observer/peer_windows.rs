//! The flow-control windows with which a client begins (RFC 9000 §18.2).

use super::packet_info::Space;
use super::parameters::{integer, read};
use crate::tls::wrapped::{self, WrapKeys};
use bentpipe_units::Bytes;
use noq_proto::crypto::{PacketKey, ServerConfig};
use noq_proto::transport_parameters::TransportParameters;
use std::sync::{Arc, Mutex, PoisonError};

/// Receives the client's windows once its transport parameters have arrived. Clones are of the same
/// connection.
#[derive(Debug, Clone, Default)]
pub struct PeerWindows(Arc<Mutex<Option<(Bytes, Bytes)>>>);

impl PeerWindows {
    /// Wraps `config` so that the client of its next connection is observed.
    pub fn server(&self, config: Arc<dyn ServerConfig>) -> Arc<dyn ServerConfig> {
        wrapped::server(config, self.clone())
    }

    /// Returns the window of a stream, the largest of any kind, and that of the connection.
    pub fn get(&self) -> Option<(Bytes, Bytes)> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WrapKeys for PeerWindows {
    fn packet(&self, key: Box<dyn PacketKey>, _space: Space) -> Box<dyn PacketKey> {
        key
    }

    fn on_remote_parameters(&self, parameters: &TransportParameters, _restored: bool) {
        let parameters = read(parameters);
        let window = |name| Bytes::new(integer(&parameters, name).unwrap_or(0));
        let stream = window("initial_max_stream_data_bidi_local")
            .max(window("initial_max_stream_data_bidi_remote"))
            .max(window("initial_max_stream_data_uni"));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((stream, window("initial_max_data")));
    }
}
