//! The QUIC endpoints of a server, one for each thread. They share its limits, its memory of paths,
//! its tokens and its counters.

use super::accept::accept;
use super::error::ServerError;
use super::gate::{decide_quic, handshake_limits};
use super::listen::Listening;
use super::shared::Shared;
use crate::admission::quic::QuicGate;
use crate::handover::Estate;
use crate::socket::{BoundSocket, MTU};
use crate::steering::Forwarding;
use crate::workers::Worker;
use bentpipe_quic::noq_proto::EndpointConfig;
use bentpipe_quic::{Acceptor, Admission, Endpoint};
use std::sync::{Arc, Mutex, PoisonError};

/// Returns what the threads drive, one for each of the sockets, which it takes, and what is kept to
/// hand over later, if the server can be handed over.
pub(super) fn prepare(
    shared: &Arc<Shared>,
    config: &EndpointConfig,
    listening: &mut Listening,
) -> Result<(Vec<Worker>, Option<Arc<Estate>>), ServerError> {
    let steering = listening.steering.clone();
    let forwarding = steering.forwarding(&listening.predecessors, &shared.metrics.forwarding);
    let inboxes = forwarding.first().map(Forwarding::senders).unwrap_or_default();
    let estate = listening.estate(inboxes)?;
    let sockets = std::mem::take(&mut listening.sockets);
    let forwards = sockets.len() > 1 || estate.is_some();
    let prepare = |(thread, (socket, forwarding)): (usize, (BoundSocket, _))| {
        let (mut config, generator) = (config.clone(), steering.generator(thread));
        let generator = generator.routable(shared.routable.clone());
        config.cid_generator(Arc::new(move || Box::new(generator.clone())));
        let endpoint = endpoint(shared, config, &socket);
        Worker { endpoint, socket, forwarding: forwards.then_some(forwarding) }
    };
    Ok((sockets.into_iter().zip(forwarding).enumerate().map(prepare).collect(), estate))
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
    let deciding = shared.clone();
    endpoint.set_gatekeeper(Box::new(move |remote, validated| {
        // The process that reads the sockets decides.
        if deciding.is_handed_over() {
            return Admission::Ignore;
        }
        let mut gate = gate.lock().unwrap_or_else(PoisonError::into_inner);
        decide_quic(&mut gate, &deciding.metrics, remote.ip(), validated)
    }));
    let reporting = shared.clone();
    endpoint.set_panic_handler(Box::new(move |remote, message| {
        reporting.report_panic(remote, message);
    }));
    endpoint
}
