//! The path that the emulator builds.

use bentpipe_emu::{Hop, PathSpec, UtcPhase};
use bentpipe_quic::{IP_HEADER, UDP_HEADER};
use bentpipe_sim::{DatagramTraffic, FlowSpec, HopSpec, Reconfigured, RunSpec, Stack};
use bentpipe_units::Bytes;

/// Overhead of a TCP segment, in bytes: headers of IPv4 and TCP, and the timestamp option.
const TCP_OVERHEAD: u64 = 52;

/// Smallest MTU of an interface with IPv6 (RFC 8200 §5).
const SMALLEST_MTU: Bytes = Bytes::new(1280);

/// Returns the hops of `spec` in the emulator's types.
pub fn emulated_hops(spec: &RunSpec) -> PathSpec {
    let hop = |hop: &HopSpec| Hop {
        name: hop.name.clone(),
        forward: hop.forward.clone(),
        reverse: hop.reverse.clone(),
        shared: hop.shared,
    };
    PathSpec {
        hops: spec.hops.iter().map(hop).collect(),
        base_rtt: spec.base_rtt,
        seed: spec.seed,
        run: spec.run,
        utc: spec.reconfigurations.iter().find_map(utc),
    }
}

/// Returns when the changes of a hop take place, if that is said.
fn utc(hop: &Reconfigured) -> Option<UtcPhase> {
    let Reconfigured { first, period, phase, .. } = *hop;
    phase.map(|phase| UtcPhase { first, period, phase })
}

/// Returns the size of an IP packet with the largest QUIC packet that `max_mtu` allows.
pub(super) fn quic_packet(max_mtu: u16) -> Bytes {
    Bytes::new(u64::from(max_mtu) + u64::from(IP_HEADER + UDP_HEADER))
}

/// Returns the largest packet that any flow sends. The whole path has one MTU.
pub(super) fn mtu(spec: &RunSpec) -> Bytes {
    let size = |flow: &FlowSpec| match &flow.stack {
        Stack::Tcp(stack) => Bytes::new(u64::from(stack.tcp.segment) + TCP_OVERHEAD),
        Stack::Quic(settings) => quic_packet(settings.max_mtu),
        Stack::Program(stack) => stack.mtu,
        Stack::DatagramTraffic(
            DatagramTraffic::Constant { packet, .. } | DatagramTraffic::Ping { packet, .. },
        ) => *packet.max(&SMALLEST_MTU),
        // `check_supported` refuses others.
        _ => SMALLEST_MTU,
    };
    spec.flows.iter().map(size).max().unwrap_or_default()
}
