//! Admits clients of the server, and counts those that are not.

use super::limits::Limits;
use super::metrics::Metrics;
use crate::admission::control::{AdmissionControl, ConnectionGuard, Denial, HandshakeLimits};
use crate::admission::quic::QuicGate;
use bentpipe_quic::Admission;
use std::net::IpAddr;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::time::sleep;

/// Returns the bounds on incomplete handshakes. Those from addresses that may be forged take at
/// most half of the places.
pub(super) fn handshake_limits(limits: &Limits) -> HandshakeLimits {
    HandshakeLimits {
        retry_from: limits.handshakes.min(limits.connections / 2),
        refuse_from: limits.handshakes.saturating_mul(4),
    }
}

/// Admits a TCP connection, whose handshake has validated the address.
pub(super) fn admit_tcp(
    admission: &AdmissionControl,
    metrics: &Metrics,
    address: IpAddr,
) -> Option<ConnectionGuard> {
    let admitted = admission.admit_before_handshake(address);
    admitted.inspect_err(|_| _ = metrics.refused.fetch_add(1, Relaxed)).ok()
}

/// Time between two tries to begin a handshake. Our choice: the handshakes before it take a few
/// milliseconds of processor time each.
const HANDSHAKE_RETRY: Duration = Duration::from_millis(20);

/// Waits until a TCP connection may begin its TLS handshake: those of its own client come first,
/// as many as it may have at a time. False if it is refused, because all together have too many.
pub(super) async fn begin_handshake(
    guard: &mut ConnectionGuard,
    limits: &Limits,
    metrics: &Metrics,
) -> bool {
    let limits = handshake_limits(limits);
    loop {
        match guard.begin_handshake(limits) {
            Ok(()) => return true,
            Err(Denial::Wait) => sleep(HANDSHAKE_RETRY).await,
            Err(Denial::Retry | Denial::Refuse(_)) => {
                metrics.refused.fetch_add(1, Relaxed);
                return false;
            }
        }
    }
}

/// Decides on a QUIC connection from `address`, and counts refusals.
pub(super) fn decide_quic(
    gate: &mut QuicGate,
    metrics: &Metrics,
    address: IpAddr,
    validated: bool,
) -> Admission {
    let decision = gate.decide(address, validated);
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
            guaranteed: limits.guaranteed(),
            memory: Bytes::MAX,
        });
        let metrics = Metrics::default();
        let mut gate = QuicGate::new(control.clone(), handshake_limits(&limits));
        let ip = |last: u8| IpAddr::from([192, 0, 2, last]);
        let mut quic = |last, validated| {
            let decision = decide_quic(&mut gate, &metrics, ip(last), validated);
            (decision, gate.take())
        };
        let (decision, first) = quic(1, false);
        assert_eq!(decision, Admission::Admit);
        assert_eq!(quic(9, false).0, Admission::Retry);
        let more = [quic(2, true).1, quic(3, true).1, quic(4, true).1];
        assert!(more.iter().all(Option::is_some));
        assert_eq!(quic(9, true).0, Admission::Refuse, "four times as many handshakes");
        first.unwrap().handshake_complete().unwrap();
        assert_eq!(quic(9, true).0, Admission::Admit);
        control.close();
        assert_eq!(quic(9, true).0, Admission::Refuse, "a shutdown");
        assert!(admit_tcp(&control, &metrics, ip(9)).is_none());
        assert_eq!((metrics.refused.into_inner(), metrics.retried.into_inner()), (3, 1));
    }

    #[test]
    fn forged_addresses_cannot_fill_a_small_server() {
        let limits = Limits { connections: 4, ..Limits::default() };
        let control = AdmissionControl::new(AdmissionLimits {
            connections: limits.connections,
            per_client: limits.per_client,
            guaranteed: limits.guaranteed(),
            memory: Bytes::MAX,
        });
        let mut gate = QuicGate::new(control, handshake_limits(&limits));
        let mut held = Vec::new();
        for last in 0..9 {
            let decision = gate.decide([192, 0, 2, last].into(), false);
            assert_eq!(decision == Admission::Admit, last < 2, "{last}: {decision:?}");
            held.extend(gate.take());
        }
        assert_eq!(gate.decide([192, 0, 2, 99].into(), true), Admission::Admit);
    }
}
