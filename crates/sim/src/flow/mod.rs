//! Flows: a client, its server, and their visits one after the other, over any transport.

mod datagrams;
mod interface;
mod progress;
mod quic;
mod send_schedule;
mod shared;
mod tcp;
mod tcp_acks;

pub use interface::Flow;
pub use send_schedule::SendSchedule;
pub use shared::Shared;

use crate::error::SimError;
use crate::spec::{FlowSpec, Stack};
use datagrams::DatagramFlow;
use quic::QuicFlow;
use tcp::TcpFlow;

/// Creates a flow that has not started. `index` determines its addresses and random streams.
pub fn new(spec: FlowSpec, index: usize, shared: &Shared) -> Result<Box<dyn Flow>, SimError> {
    Ok(match spec.stack.clone() {
        Stack::Quic(settings) => Box::new(QuicFlow::new(spec, *settings, index, shared)?),
        Stack::DatagramTraffic(kind) => Box::new(DatagramFlow::new(spec, kind, index, shared)?),
        Stack::Tcp(stack) => Box::new(TcpFlow::new(spec, *stack, index, shared)?),
        Stack::Program(_) => {
            return Err(SimError::Spec(format!(
                "flow `{}` is a program, which needs the real clock",
                spec.name
            )));
        }
    })
}
