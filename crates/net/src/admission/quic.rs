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
            // The client sends its first packet again (RFC 9002 §6.2.4).
            Err(Denial::Wait) => Admission::Ignore,
            Err(Denial::Refuse(_)) => Admission::Refuse,
        }
    }

    /// Returns the guard of the connection that was admitted last.
    pub fn take(&mut self) -> Option<ConnectionGuard> {
        self.admitted.take()
    }
}

#[cfg(test)]
mod tests {
    use super::super::control::AdmissionLimits;
    use super::*;
    use bentpipe_units::Bytes;

    #[test]
    fn the_guard_of_an_admitted_connection_is_taken_once() {
        let ip = |last: u8| IpAddr::from([192, 0, 2, last]);
        let limits =
            AdmissionLimits { connections: 9, per_client: 9, guaranteed: 9, memory: Bytes::ZERO };
        let control = AdmissionControl::new(limits);
        let handshakes = HandshakeLimits { retry_from: 1, refuse_from: 2 };
        let mut gate = QuicGate::new(control.clone(), handshakes);
        assert!(gate.take().is_none(), "nothing was asked");
        assert!(matches!(gate.decide(ip(1), false), Admission::Admit));
        let first = gate.take();
        assert!(first.is_some() && gate.take().is_none());
        assert!(matches!(gate.decide(ip(2), false), Admission::Retry));
        assert!(gate.take().is_none(), "a Retry admits nothing");
        assert!(matches!(gate.decide(ip(2), true), Admission::Admit));
        let second = gate.take();
        assert!(matches!(gate.decide(ip(3), true), Admission::Refuse));
        assert!(gate.take().is_none(), "a refusal admits nothing");
        assert_eq!(control.connections(), 2);
        drop((first, second));
        assert_eq!(control.connections(), 0);
    }
}
