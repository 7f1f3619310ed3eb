//! Properties of the proxies that split a flow's TCP connections.

use crate::datagram::PathDirection;
use crate::spec::{Failure, PepSpec, TcpStack};
use bentpipe_quic::congestion::{CongestionConfig, FastStart, SenderMetrics, SlowStartName};
use bentpipe_tcp::{AckFilter, EcnSupport, MakeController, Relay, TcpSettings};
use bentpipe_units::{Bytes, Span, Time};
use std::sync::Arc;

/// Properties of a flow's proxies.
pub struct Pep {
    /// Index of the connection that crosses the proxies' hop, among those in series.
    pub middle: usize,
    /// The node on the client's side of the hop.
    pub near: u16,
    /// Settings of proxies on that connection, and on others.
    settings: [Arc<TcpSettings>; 2],
    /// Controllers on that connection, towards the client and towards the server.
    middle_make: [MakeController; 2],
    /// Controllers on others.
    make: MakeController,
    buffer: Bytes,
    /// Interval of the ACK filter, if there is one.
    pub ack_filter: Option<Span>,
    pub filter: Option<AckFilter>,
    pub failure: Option<Failure>,
    /// Time at which it fails in this visit.
    pub fails: Option<Time>,
    /// Maximum number of bytes buffered before it failed, towards the client and towards the
    /// server.
    pub held_before: [u64; 2],
}

impl Pep {
    /// Creates the proxies of `spec` and adds their nodes to `ends`.
    ///
    /// # Errors
    /// A proxy would coincide with the client or the server.
    pub fn new(
        spec: &PepSpec,
        stack: &TcpStack,
        last_node: u16,
        ends: &mut Vec<u16>,
    ) -> Result<Self, String> {
        let near = u16::try_from(spec.hop).ok().filter(|&hop| hop < last_node);
        let near = near.ok_or_else(|| {
            format!("hop {} of the proxy does not exist; the path has {last_node} hops", spec.hop)
        })?;
        if spec.terminal && near == 0 {
            return Err("a proxy at the terminal needs a hop between it and the client".to_owned());
        }
        if spec.gateway && near + 1 == last_node {
            return Err("a proxy at the gateway needs a hop between it and the server".to_owned());
        }
        let middle = usize::from(spec.terminal);
        ends.extend(spec.terminal.then_some(near));
        ends.extend(spec.gateway.then_some(near + 1));
        let make = |congestion: &CongestionConfig| -> Result<MakeController, String> {
            let factory = congestion.factory().map_err(|error| error.to_string())?;
            Ok(Arc::new(move |setup| factory.make(setup, FastStart::Allowed(None), None)))
        };
        let middle_make = [make(&spec.to_client)?, make(&spec.to_server)?];
        let make = make(&CongestionConfig {
            slow_start: SlowStartName::STANDARD,
            ..CongestionConfig::default()
        })?;
        let others = TcpSettings {
            segment: stack.tcp.segment,
            ack: spec.ack,
            // The proxies' own controllers are none for L4S.
            ecn: match stack.tcp.ecn {
                EcnSupport::Accurate { .. } => EcnSupport::Accurate { l4s: false },
                other => other,
            },
            ..TcpSettings::default()
        };
        let settings =
            [TcpSettings { initial_window: spec.initial_window, ..others.clone() }, others]
                .map(Arc::new);
        Ok(Self {
            middle,
            near,
            settings,
            middle_make,
            make,
            buffer: spec.buffer,
            ack_filter: spec.ack_filter,
            filter: spec.ack_filter.map(AckFilter::new),
            failure: spec.failure,
            fails: None,
            held_before: [0; 2],
        })
    }

    /// Creates proxy number `end`. `metrics` records its sender in direction `toward`.
    pub fn relay(
        &self,
        now: Time,
        end: usize,
        toward: PathDirection,
        metrics: Option<SenderMetrics>,
    ) -> Relay {
        // Its client side is on connection `end` - 1, its server side on connection `end`.
        let in_middle = [end - 1, end].map(|segment| segment == self.middle);
        let settings = in_middle.map(|inside| self.settings[usize::from(!inside)].clone());
        let mut make = self.middle_make.clone();
        for (make, _) in make.iter_mut().zip(in_middle).filter(|(_, inside)| !inside) {
            *make = self.make.clone();
        }
        let metrics = match toward {
            PathDirection::ToClient => [metrics, None],
            PathDirection::ToServer => [None, metrics],
        };
        Relay::new(now, settings, make, metrics, self.buffer)
    }
}
