//! Decides whether a client may connect to the server.

use super::limits::Limits;
use super::metrics::Metrics;
use crate::admission::control::{AdmissionControl, HandshakeLimits};
use bentpipe_quic::Admission;
use std::net::IpAddr;
use std::sync::atomic::Ordering::Relaxed;

/// Decides on a connection from `address` and counts refusals. `validated`: the address is known to
/// be the client's own.
pub(super) fn decide(
    admission: &AdmissionControl,
    limits: &Limits,
    metrics: &Metrics,
    address: IpAddr,
    validated: bool,
) -> Admission {
    let handshakes = HandshakeLimits {
        retry_from: limits.handshakes,
        refuse_from: limits.handshakes.saturating_mul(4),
    };
    let decision = match admission.check(address) {
        Ok(()) => handshakes.decide(admission.handshakes(), validated),
        Err(_) => Admission::Refuse,
    };
    match decision {
        Admission::Refuse => _ = metrics.refused.fetch_add(1, Relaxed),
        Admission::Retry => _ = metrics.retried.fetch_add(1, Relaxed),
        Admission::Admit | Admission::Ignore => {}
    }
    decision
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::control::AdmissionLimits;
    use bentpipe_units::Bytes;

    #[test]
    fn refusals_and_retries_are_counted() {
        let limits = Limits { connections: 5, handshakes: 1, ..Limits::default() };
        let control = AdmissionControl::new(AdmissionLimits {
            connections: limits.connections,
            per_client: limits.per_client,
            memory: Bytes::MAX,
        });
        let metrics = Metrics::default();
        let ip = |last: u8| IpAddr::from([192, 0, 2, last]);
        let gate = |validated| decide(&control, &limits, &metrics, ip(9), validated);
        let mut guard = control.admit(ip(1));
        assert_eq!((gate(false), gate(true)), (Admission::Retry, Admission::Admit));
        let more = [control.admit(ip(2)), control.admit(ip(3)), control.admit(ip(4))];
        assert_eq!(gate(true), Admission::Refuse, "four times as many handshakes");
        guard.handshake_complete();
        assert_eq!(gate(true), Admission::Admit);
        let fifth = control.admit(ip(5));
        drop(more);
        control.close();
        assert_eq!(gate(true), Admission::Refuse, "a shutdown");
        assert_eq!((metrics.refused.into_inner(), metrics.retried.into_inner()), (2, 1));
        drop((guard, fifth));
    }
}
