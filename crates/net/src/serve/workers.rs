//! The QUIC endpoints of a server, one for each thread. They share its limits, its memory of paths,
//! its tokens and its counters.

use super::accept::accept;
use super::gate::{decide_quic, handshake_limits};
use super::shared::Shared;
use crate::admission::quic::QuicGate;
use crate::socket::{BoundSocket, MTU};
use crate::steering::Steering;
use crate::workers::Worker;
use bentpipe_quic::noq_proto::EndpointConfig;
use bentpipe_quic::{Acceptor, Endpoint};
use std::sync::{Arc, Mutex, PoisonError};

/// Returns what the threads drive, one for each of `sockets`.
pub(super) fn prepare(
    shared: &Arc<Shared>,
    config: &EndpointConfig,
    steering: &Arc<Steering>,
    sockets: Vec<BoundSocket>,
) -> Vec<Worker> {
    let several = sockets.len() > 1;
    let forwarding = steering.forwarding(&shared.metrics.forwarding);
    let prepare = |(thread, (socket, forwarding)): (usize, (BoundSocket, _))| {
        let (mut config, generator) = (config.clone(), steering.generator(thread));
        config.cid_generator(Arc::new(move || Box::new(generator.clone())));
        let endpoint = endpoint(shared, config, &socket);
        Worker { endpoint, socket, forwarding: several.then_some(forwarding) }
    };
    sockets.into_iter().zip(forwarding).enumerate().map(prepare).collect()
}

fn endpoint(shared: &Arc<Shared>, config: EndpointConfig, socket: &BoundSocket) -> Endpoint {
    let gate = QuicGate::new(shared.admission.clone(), handshake_limits(&shared.limits));
    let gate = Arc::new(Mutex::new(gate));
    let (accepting, admitted) = (shared.clone(), gate.clone());
    let acceptor = Box::new(move |remote| {
        let guard = admitted.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        accept(&accepting, remote, guard)
    });
    let server = Some((Arc::new(shared.config.clone()), acceptor as Acceptor));
    let segments = socket.max_segments(MTU.1);
    let mut endpoint = Endpoint::new(config, shared.clock.base(), server, segments);
    let metrics = shared.metrics.clone();
    endpoint.set_gatekeeper(Box::new(move |remote, validated| {
        let mut gate = gate.lock().unwrap_or_else(PoisonError::into_inner);
        decide_quic(&mut gate, &metrics, remote.ip(), validated)
    }));
    let reporting = shared.clone();
    endpoint.set_panic_handler(Box::new(move |remote, message| {
        reporting.report_panic(remote, message);
    }));
    endpoint
}
