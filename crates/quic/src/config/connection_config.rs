//! The configuration of one connection.

use super::settings::{QuicSettings, SettingsError};
use crate::ack::{AckBy, Acknowledger};
use crate::clock::Clock;
use crate::controller::{
    ConnectionSignals, LossLog, MakeController, SenderReports, controller_factory,
};
use crate::endpoint::{AddressLimit, Attachments, StartLease};
use crate::flow_control::FlowControlReport;
use crate::observer::{PacketObserver, TrafficStats};
use crate::path_memory::PathLease;
use crate::path_memory::token::Tokens;
use crate::tls::wrapped;
use bentpipe_congestion::algorithms::prague;
use bentpipe_congestion::{
    ControllerFactory, FastStart, PathChangeFeed, ResumeHandle, SenderMetrics,
};
use bentpipe_qlog::QlogSink;
use bentpipe_units::{Span, Time};
use noq_proto::{ClientConfig, ServerConfig, TransportConfig, VarInt, congestion, crypto};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Receive buffer of datagrams, in bytes. The application reads them at once, so that few wait. Our
/// choice: the largest datagram that a peer may send.
const RECEIVED_DATAGRAMS: usize = 65_535;

/// Everything that one side of a connection is built from: transport parameters, flow-control
/// windows, congestion control, ACK policy, resumption and observers.
///
/// Checked by [`ConnectionConfig::new`]. Clone it for each connection, add the parts of that
/// connection, and finish with [`ConnectionConfig::client`] or [`ConnectionConfig::server`].
#[derive(Clone)]
pub struct ConnectionConfig {
    settings: QuicSettings,
    clock: Clock,
    transport: TransportConfig,
    controller: ControllerFactory,
    fast_start: bool,
    attachments: Attachments,
}

impl std::fmt::Debug for ConnectionConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConnectionConfig").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl ConnectionConfig {
    /// A connection with these settings, without path memory, tokens, qlog and observers, on an
    /// endpoint with that clock. Peers may open 1000 bidirectional and 100 unidirectional streams.
    ///
    /// # Errors
    /// QUIC cannot express a setting, or a parameter of the congestion control is invalid.
    pub fn new(settings: QuicSettings, clock: Clock) -> Result<Self, SettingsError> {
        let transport = settings.transport()?;
        let controller = settings.controller()?;
        let attachments = Attachments {
            send_buffer: Some(settings.send_buffer),
            flow_control: Some((settings.connection_window, settings.flow_control)),
            ..Attachments::default()
        };
        Ok(Self { settings, clock, transport, controller, fast_start: true, attachments })
    }

    /// Returns the settings.
    pub fn settings(&self) -> &QuicSettings {
        &self.settings
    }

    /// Returns the factory of its congestion controller.
    pub fn controller(&self) -> &ControllerFactory {
        &self.controller
    }

    /// Returns the handle to the saved parameters of its path, if it has a lease of them.
    pub fn resume_handle(&self) -> Option<ResumeHandle> {
        self.attachments.path_lease.as_ref().map(PathLease::resume_handle)
    }

    /// Takes its leases of saved parameters and of a start, whether the client's address is
    /// validated or not: for a program with an endpoint of its own, which does not say when it is.
    pub fn confirm_address(&self, now: Time) {
        self.attachments.confirm_address(now);
    }

    /// Limits the streams that the peer may have open.
    #[must_use]
    pub fn with_stream_limits(mut self, bidirectional: u32, unidirectional: u32) -> Self {
        self.transport
            .max_concurrent_bidi_streams(VarInt::from_u32(bidirectional))
            .max_concurrent_uni_streams(VarInt::from_u32(unidirectional));
        self
    }

    /// Sends a PING after each `interval` without packets.
    #[must_use]
    pub fn with_keep_alive(mut self, interval: Span) -> Self {
        self.transport.keep_alive_interval(Some(interval.into()));
        self
    }

    /// Sends and receives datagrams (RFC 9221). Those that wait to be sent take at most
    /// `send_buffer` bytes.
    #[must_use]
    pub fn with_datagrams(mut self, send_buffer: usize) -> Self {
        self.transport
            .datagram_receive_buffer_size(Some(RECEIVED_DATAGRAMS))
            .datagram_send_buffer_size(send_buffer);
        self
    }

    /// Replaces the congestion control of the settings.
    #[must_use]
    pub fn with_controller(mut self, controller: ControllerFactory) -> Self {
        self.controller = controller;
        self
    }

    /// Announces changes of the path to the congestion controller.
    #[must_use]
    pub fn with_path_changes(mut self, feed: PathChangeFeed) -> Self {
        self.controller = self.controller.with_path_changes(feed);
        self
    }

    /// Never starts fast. Without this and without a [`StartLease`], it may.
    #[must_use]
    pub fn without_fast_start(mut self) -> Self {
        self.fast_start = false;
        self
    }

    /// Starts fast only if `lease` allows it.
    #[must_use]
    pub fn with_start_lease(mut self, lease: Option<StartLease>) -> Self {
        self.attachments.start_lease = lease;
        self
    }

    /// Uses the saved parameters of the path, and saves those that it measures.
    #[must_use]
    pub fn with_path_lease(mut self, lease: Option<PathLease>) -> Self {
        self.attachments.path_lease = lease;
        self
    }

    /// Exchanges path tokens.
    #[must_use]
    pub fn with_tokens(mut self, tokens: Option<Tokens>) -> Self {
        self.attachments.tokens = tokens;
        self
    }

    /// Records the sender in `metrics`.
    #[must_use]
    pub fn with_metrics(mut self, metrics: SenderMetrics) -> Self {
        self.attachments.metrics = Some(metrics);
        self
    }

    /// Writes its events to `sink`. For one connection only.
    #[must_use]
    pub fn with_qlog(mut self, sink: Option<QlogSink>) -> Self {
        self.attachments.qlog = sink;
        self
    }

    /// Applies the ACK policy of the settings to the acknowledgements of this side, if the receiver
    /// decides.
    #[must_use]
    pub fn with_acknowledger(mut self) -> Self {
        let QuicSettings { ack, ack_by, max_ack_delay, ack_auto, .. } = self.settings;
        self.attachments.acknowledger =
            (ack_by == AckBy::Receiver).then(|| Acknowledger::with(ack, max_ack_delay, ack_auto));
        self
    }

    /// Counts its packets in `traffic`.
    #[must_use]
    pub fn with_traffic(mut self, traffic: Option<TrafficStats>) -> Self {
        self.attachments.traffic = traffic;
        self
    }

    /// Records the flow control of the data that it receives in `received`, and of the data that it
    /// sends in `sent`.
    #[must_use]
    pub fn with_flow_control_reports(
        mut self,
        received: Option<FlowControlReport>,
        sent: Option<FlowControlReport>,
    ) -> Self {
        self.attachments.flow_control_received = received;
        self.attachments.flow_control_sent = sent;
        self
    }

    /// Builds a client's connection. The caller may still set the parts of [`ClientConfig`] other
    /// than cryptography and transport.
    pub fn client(mut self, crypto: Arc<dyn crypto::ClientConfig>) -> (ClientConfig, Attachments) {
        let crypto = match self.observe() {
            Some(observer) => observer.client(crypto),
            None => crypto,
        };
        let crypto = wrapped::client(crypto, self.attachments.small_frames.clone());
        let mut config = ClientConfig::new(crypto);
        let (transport, attachments) = self.build();
        config.transport_config(Arc::new(transport));
        (config, attachments)
    }

    /// Builds a server's connection: `base`, with the transport configuration of this connection.
    pub fn server(mut self, base: &ServerConfig) -> (Arc<ServerConfig>, Attachments) {
        let mut config = base.clone();
        if let Some(observer) = self.observe() {
            config.crypto = observer.server(config.crypto);
        }
        config.crypto = wrapped::server(config.crypto, self.attachments.small_frames.clone());
        // Outermost: what it leaves out of a packet, the others do not see.
        let limit = AddressLimit::default();
        config.crypto = wrapped::server(config.crypto, limit.clone());
        self.attachments.address_limit = Some(limit);
        let (transport, attachments) = self.build();
        config.transport_config(Arc::new(transport));
        (Arc::new(config), attachments)
    }

    /// Builds the congestion control alone, for a program with an endpoint of its own. With a path
    /// lease it is for one connection: the second controller that it makes is taken for that of a
    /// migration, which neither uses the saved set nor saves what it observes before
    /// [`PathLease::set_remote`].
    pub fn sender(&self) -> Arc<dyn congestion::ControllerFactory + Send + Sync> {
        if let Some(stock) = self.settings.stock {
            return stock.factory();
        }
        let (controller, fast_start) = (self.controller.clone(), self.fast_start);
        let Attachments { start_lease, path_lease, .. } = &self.attachments;
        let (lease, path_lease) = (start_lease.clone(), path_lease.clone());
        let migrated = AtomicBool::new(false);
        let make: MakeController = Arc::new(move |config| {
            // The stack makes another controller when the connection migrates (RFC 9000 §9.4).
            let migrated = migrated.swap(true, Ordering::Relaxed);
            let resume_handle = path_lease.as_ref().map(|path_lease| {
                if migrated { path_lease.begin_path() } else { path_lease.resume_handle() }
            });
            let fast = match &lease {
                Some(lease) => lease.enter(config.now),
                None if fast_start => FastStart::Allowed(None),
                None => FastStart::Refused,
            };
            controller.make(config, fast, resume_handle)
        });
        let QuicSettings { initial_window, pacing, .. } = self.settings;
        let Attachments { metrics, qlog, observer, signals, .. } = &self.attachments;
        let log = qlog.clone().zip(observer.clone());
        let log = log.map(|(sink, observer)| LossLog::new(sink, observer));
        let signals = signals.clone();
        let reports = SenderReports { metrics: metrics.clone(), log, observer: observer.clone() };
        controller_factory(self.clock, initial_window, pacing, signals, reports, make)
    }

    /// Adds an observer if a part needs one, and connects the parts that write events.
    fn observe(&mut self) -> Option<PacketObserver> {
        let controller = self.settings.congestion.controller;
        // `prague` and controllers of programs answer to the number of marks.
        let counts_marks = controller.as_str() == prague::NAME || !controller.is_built_in();
        let attachments = &mut self.attachments;
        let needed = counts_marks
            || attachments.qlog.is_some()
            || attachments.acknowledger.is_some()
            || attachments.traffic.is_some()
            || attachments.flow_control_received.is_some()
            || attachments.flow_control_sent.is_some();
        attachments.observer = needed.then(PacketObserver::default);
        if let (Some(sink), Some(observer)) = (&attachments.qlog, &attachments.observer) {
            observer.set_qlog(sink.clone());
            let metrics =
                attachments.metrics.get_or_insert_with(|| SenderMetrics::new(None)).clone();
            metrics.set_qlog(sink.clone());
            if let Some(lease) = &attachments.path_lease {
                lease.resume_handle().set_qlog(sink.clone());
            }
        }
        attachments.observer.clone()
    }

    fn build(mut self) -> (TransportConfig, Attachments) {
        // Of this connection alone, not of the one that this configuration was cloned from.
        self.attachments.signals = ConnectionSignals::default();
        let saved = self.resume_handle().and_then(|handle| handle.resume_state().offered);
        self.settings.apply_saved(&mut self.transport, saved.as_ref());
        let sender = self.sender();
        self.transport.congestion_controller_factory(sender);
        (self.transport, self.attachments)
    }
}
