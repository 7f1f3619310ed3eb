//! Admission of QUIC connections: the endpoint asks about an address, and then for the connection.

use super::control::{AdmissionControl, ConnectionGuard, Denial, HandshakeLimits};
use bentpipe_quic::Admission;
use std::net::IpAddr;

/// Admits the connections of a QUIC endpoint. The endpoint's gatekeeper calls
/// [`QuicGate::decide`]; its acceptor, which the endpoint calls next for an admitted connection,
/// takes the guard.
#[derive(Debug)]
pub(crate) struct QuicGate {
    control: AdmissionControl,
    limits: HandshakeLimits,
    admitted: Option<ConnectionGuard>,
}

impl QuicGate {
    pub fn new(control: AdmissionControl, limits: HandshakeLimits) -> Self {
        Self { control, limits, admitted: None }
    }

    /// Decides on a connection from `address`. `validated`: it is known to be the client's own.
    pub fn decide(&mut self, address: IpAddr, validated: bool) -> Admission {
        match self.control.admit(address, validated, self.limits) {
            Ok(guard) => {
                self.admitted = Some(guard);
                Admission::Admit
            }
            Err(Denial::Retry) => Admission::Retry,
            Err(Denial::Refuse(_)) => Admission::Refuse,
        }
    }

    /// Returns the guard of the connection that was admitted last.
    pub fn take(&mut self) -> Option<ConnectionGuard> {
        self.admitted.take()
    }
}
