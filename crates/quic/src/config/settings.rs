//! The settings of a flow's two endpoints: windows, datagram sizes, ACK policy, controller.

use super::headers::MIN_UDP_PAYLOAD;
use super::loss_detection::{LossDetection, LossDetectionError};
use super::options::{EcnMode, Http, ResumeVia};
use super::stock::StockController;
use crate::ack::{AckBy, AckRule, Auto};
use crate::flow_control::FlowControlRule;
use bentpipe_congestion::{CongestionConfig, ControllerFactory, ParameterError, SavedParameters};
use bentpipe_units::{Bytes, Span};
use noq_proto::{AckFrequencyConfig, MtuDiscoveryConfig, TransportConfig, VarInt};
use thiserror::Error;

/// Settings of both endpoints of one flow. Plain values: the caller has resolved every "auto".
#[derive(Debug, Clone, PartialEq)]
pub struct QuicSettings {
    /// Congestion control of both senders: controller, slow start, resumption.
    pub congestion: CongestionConfig,
    /// A controller of the stack itself, with its own pacing, that replaces all of `congestion`.
    /// For studies only; scenarios have no key for it.
    pub stock: Option<StockController>,
    /// Where the saved parameters of a path are, for a server that sends. A client that sends has
    /// its own path memory.
    pub resume_via: ResumeVia,
    /// The protocol above QUIC.
    pub http: Http,
    /// ACK policy of each receiver.
    pub ack: AckRule,
    /// The side that decides when to acknowledge.
    pub ack_by: AckBy,
    /// Parameters of `auto`. For studies only; scenarios have no key for them.
    pub ack_auto: Auto,
    /// Longest delay of an ACK (RFC 9000 §18.2, max_ack_delay; 25 ms there), requested together
    /// with `ack`.
    pub max_ack_delay: Span,
    /// RTT assumed before the first sample (RFC 9002 §6.2.2: 333 ms).
    pub initial_rtt: Span,
    /// When packets are declared lost.
    pub loss_detection: LossDetection,
    /// Initial congestion window in datagrams (RFC 9002 §7.2: 10, at most 14,720 bytes or two
    /// datagrams).
    pub initial_window: u32,
    /// Whether the sender paces the window over the RTT (RFC 9002 §7.7).
    pub pacing: bool,
    /// Flow-control window of a stream.
    pub stream_window: Bytes,
    /// Flow-control window of the connection.
    pub connection_window: Bytes,
    /// How the connection's window grows and is announced.
    pub flow_control: FlowControlRule,
    /// Size of the send buffer: most bytes written and not yet acknowledged, whatever the peer
    /// allows.
    pub send_buffer: Bytes,
    /// UDP payload at the start of the connection, in bytes.
    pub initial_mtu: u16,
    /// Largest UDP payload that path MTU discovery probes, in bytes. `initial_mtu` disables it.
    pub max_mtu: u16,
    /// Idle time after which a connection ends; [`Span::MAX`]: never.
    pub idle_timeout: Span,
    /// ECN field of packets, for [`Endpoint::set_ecn`](crate::Endpoint::set_ecn).
    pub ecn: EcnMode,
}

impl Default for QuicSettings {
    fn default() -> Self {
        Self {
            congestion: CongestionConfig::default(),
            resume_via: ResumeVia::default(),
            http: Http::default(),
            ack: AckRule::default(),
            ack_by: AckRule::default().by(),
            ack_auto: Auto::default(),
            stock: None,
            flow_control: FlowControlRule::default(),
            max_ack_delay: Span::from_millis(25),
            initial_rtt: Span::from_millis(333),
            loss_detection: LossDetection::RFC,
            initial_window: 10,
            pacing: true,
            stream_window: Bytes::new(1_250_000),
            connection_window: Bytes::new(1_250_000),
            send_buffer: Bytes::from_mb(10),
            initial_mtu: 1472,
            max_mtu: 1472,
            idle_timeout: Span::from_secs(60),
            ecn: EcnMode::default(),
        }
    }
}

/// A setting that QUIC cannot express.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum SettingsError {
    /// A window or timeout beyond 2^62 (RFC 9000 §16).
    #[error("{name} of {value} exceeds a QUIC integer; allowed: at most 2^62 - 1")]
    TooLarge {
        /// Name of the setting.
        name: &'static str,
        /// Its value.
        value: u64,
    },
    /// A UDP payload below the minimum of QUIC, or above that of UDP.
    #[error(
        "{name} of {value} bytes is out of range; allowed: {MIN_UDP_PAYLOAD} to 65527 bytes of UDP \
            payload"
    )]
    Mtu {
        /// Name of the setting.
        name: &'static str,
        /// Its value.
        value: u16,
    },
    /// An initial window of no datagrams, or of too many.
    #[error("initial_window of {0} datagrams is out of range; allowed: 1 to 10000")]
    InitialWindow(u32),
    /// A threshold of loss detection.
    #[error(transparent)]
    LossDetection(#[from] LossDetectionError),
    /// A parameter of the congestion control.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
}

/// Initial RTT from which a server dates its tickets for long flights: endpoints that expect it may
/// meet an RTT of a minute, above which other servers refuse early data.
const LONG_FLIGHT: Span = Span::from_secs(10);

fn varint(name: &'static str, value: u64) -> Result<VarInt, SettingsError> {
    VarInt::from_u64(value).map_err(|_| SettingsError::TooLarge { name, value })
}

impl QuicSettings {
    /// Checks the settings, as [`crate::ConnectionConfig::new`] does.
    ///
    /// # Errors
    /// QUIC cannot express a setting, or a parameter of the congestion control is invalid.
    pub fn check(&self) -> Result<(), SettingsError> {
        self.transport()?;
        self.controller().map(drop)
    }

    /// Returns true if a simulated server takes early data at any RTT
    /// ([`server_for_long_flights`](crate::tls::server_for_long_flights)).
    pub fn expects_long_flights(&self) -> bool {
        self.initial_rtt >= LONG_FLIGHT
    }

    /// Returns the transport configuration, without congestion control and qlog.
    pub(super) fn transport(&self) -> Result<TransportConfig, SettingsError> {
        for (name, value) in [("initial_mtu", self.initial_mtu), ("max_mtu", self.max_mtu)] {
            if !(MIN_UDP_PAYLOAD..=65_527).contains(&value) {
                return Err(SettingsError::Mtu { name, value });
            }
        }
        let mut config = TransportConfig::default();
        self.loss_detection.check()?;
        self.loss_detection.apply(&mut config, self.initial_mtu, None);
        let idle_timeout = match self.idle_timeout {
            Span::MAX => None,
            span => Some(varint("idle_timeout in ms", span.as_nanos() / 1_000_000)?.into()),
        };
        config
            .initial_rtt(self.initial_rtt.into())
            .stream_receive_window(varint("stream_window", self.stream_window.get())?)
            .receive_window(varint("connection_window", self.connection_window.get())?)
            .send_window(self.send_buffer.get())
            .initial_mtu(self.initial_mtu)
            .max_idle_timeout(idle_timeout)
            .max_concurrent_bidi_streams(VarInt::from_u32(1000))
            .max_concurrent_uni_streams(VarInt::from_u32(100))
            .datagram_receive_buffer_size(None);
        if self.max_mtu > self.initial_mtu {
            let mut discovery = MtuDiscoveryConfig::default();
            discovery.upper_bound(self.max_mtu);
            config.mtu_discovery_config(Some(discovery));
        } else {
            config.mtu_discovery_config(None);
        }
        Ok(config)
    }

    /// Sets in `config` what depends on the saved parameters of the path.
    pub(super) fn apply_saved(
        &self,
        config: &mut TransportConfig,
        saved: Option<&SavedParameters>,
    ) {
        self.request_ack_frequency(config, saved);
        self.loss_detection.apply(config, self.initial_mtu, saved);
    }

    /// Requests acknowledgements from the peer (ACK_FREQUENCY) in `config`. `saved`: the saved
    /// parameters of the path.
    ///
    /// A ratio is requested if it is the policy and the sender decides. With `auto`, which a peer
    /// need not know, the request leaves twice as many ACKs per RTT of the saved window as our own
    /// receiver sends at most, so it does not limit that, and is never sparser than 1:10, which an
    /// initial window bursts anyway. Without saved parameters `auto` requests nothing, since the
    /// ratio is fixed for the connection.
    fn request_ack_frequency(&self, config: &mut TransportConfig, saved: Option<&SavedParameters>) {
        let every = match (self.ack, self.ack_by) {
            (AckRule::Every(packets), AckBy::Sender) => Some(packets),
            (AckRule::Auto, _) => saved.filter(|saved| saved.is_usable()).and_then(|saved| {
                let packets = saved.window.get() as f64 / f64::from(self.initial_mtu);
                let every = (packets / (2.0 * self.ack_auto.max.max(1.0))).min(10.0) as u32;
                (every > 2).then_some(every)
            }),
            _ => None,
        };
        if let Some(packets) = every {
            let mut frequency = AckFrequencyConfig::default();
            // The threshold counts the packets that may pass *without* an ACK: one less than the
            // ratio.
            frequency
                .ack_eliciting_threshold(VarInt::from_u32(packets.saturating_sub(1)))
                .max_ack_delay(Some(self.max_ack_delay.into()));
            config.ack_frequency_config(Some(frequency));
        }
    }

    /// Returns the factory of the congestion controller.
    pub(super) fn controller(&self) -> Result<ControllerFactory, SettingsError> {
        if !(1..=10_000).contains(&self.initial_window) {
            return Err(SettingsError::InitialWindow(self.initial_window));
        }
        Ok(self.congestion.factory()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_beyond_a_quic_integer_is_refused_with_its_value() {
        let settings = QuicSettings { stream_window: Bytes::MAX, ..QuicSettings::default() };
        assert!(settings.transport().unwrap_err().to_string().contains("18446744073709551615"));
    }

    #[test]
    fn auto_requests_few_acks_only_with_a_large_saved_window() {
        let requests = |window| {
            let saved = SavedParameters::new(Bytes::new(window), Span::from_millis(600));
            let mut config = TransportConfig::default();
            QuicSettings { ack: AckRule::Auto, ..QuicSettings::default() }
                .request_ack_frequency(&mut config, Some(&saved));
            !format!("{config:?}").contains("ack_frequency_config: None")
        };
        assert!(requests(18_000_000));
        assert!(!requests(0) && !requests(200_000));
    }

    #[test]
    fn a_datagram_below_1200_bytes_is_refused() {
        let settings = QuicSettings { initial_mtu: 1199, ..QuicSettings::default() };
        assert!(settings.transport().is_err());
    }
}
