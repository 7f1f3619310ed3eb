//! What a flow's two endpoints are told: windows, datagram sizes, ACK frequency, controller.

use crate::ack::{AckBy, AckRule, Auto};
use bentpipe_congestion::{CongestionConfig, ControllerFactory, ParameterError, SavedParameters};
use bentpipe_units::{Bytes, Ratio, Span};
use noq_proto::congestion::{Bbr3Config, CubicConfig, NewRenoConfig};
use noq_proto::{AckFrequencyConfig, IdleTimeout, MtuDiscoveryConfig, TransportConfig, VarInt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use thiserror::Error;

/// Bytes of IPv4 and UDP headers in front of every QUIC datagram (RFC 791, RFC 768).
pub const IP_UDP_HEADER: u32 = IP_HEADER + UDP_HEADER;
/// Bytes of an IPv4 header without options.
pub const IP_HEADER: u32 = 20;
/// Bytes of a UDP header.
pub const UDP_HEADER: u32 = 8;
/// Smallest UDP payload a QUIC path must carry (RFC 9000 §14).
pub const MIN_UDP_PAYLOAD: u16 = 1200;

/// What runs above the QUIC streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Http {
    /// HTTP/3 (RFC 9114).
    #[default]
    H3,
    /// One bare stream per object: shows what HTTP/3 framing costs.
    Raw,
}

/// How a connection begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Handshake {
    /// A full handshake: the request leaves after one round trip.
    #[default]
    #[serde(rename = "1rtt")]
    OneRtt,
    /// Resumed: the request leaves with the first flight (RFC 9001 §4.6).
    #[serde(rename = "0rtt")]
    ZeroRtt,
}

/// How a server that resumes knows the path (draft-kuhn-quic-bdpframe-extension-05 §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ResumeVia {
    /// It remembers.
    #[default]
    Store,
    /// Its client keeps it in a sealed token.
    Token,
}

/// When a receiver's flow-control credit grows, and how far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowControlRule {
    /// Whether the connection's window follows what the path carries, from `connection_window` up
    /// to `most`; otherwise it stays what it is.
    pub tuned: bool,
    /// The largest window that tuning may reach.
    pub most: Bytes,
    /// Share of the window that must be consumed, or gained by tuning, before an update leaves: an
    /// eighth where the stack decides.
    pub after: Ratio,
    /// An update leaves at least this often while anything was consumed; none: only the share
    /// counts.
    pub every: Option<Span>,
}

impl FlowControlRule {
    /// Windows that follow the path, up to 64 MB (850 Mbps over 600 ms). Credit that waits for a
    /// sixteenth of the window is late by an eighth of what arrives in a round trip, since such a
    /// window is two of them: a sender that doubles has room for that. 50 ms as "QUIC & Satellite
    /// Return Link" (Fairhurst, Custura, Jones) suggests, so that what a trickle uses, and what a
    /// lost update said, is not missing for long.
    pub fn tuned() -> Self {
        let after = Ratio::new(1.0 / 16.0).unwrap_or_default();
        Self { tuned: true, after, every: Some(Span::from_millis(50)), ..Self::default() }
    }

    /// Whether the stack can do what it says by itself.
    pub(crate) fn is_stack(&self) -> bool {
        !self.tuned && self.every.is_none() && self.after == Self::default().after
    }
}

impl Default for FlowControlRule {
    fn default() -> Self {
        Self {
            tuned: false,
            most: Bytes::from_mb(64),
            after: Ratio::new(0.125).unwrap_or_default(),
            every: None,
        }
    }
}

/// The controllers of the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StockController {
    /// Its NewReno.
    NewReno,
    /// Its CUBIC.
    Cubic,
    /// Its BBR.
    Bbr,
}

impl StockController {
    /// What makes it.
    pub fn factory(self) -> Arc<dyn noq_proto::congestion::ControllerFactory + Send + Sync> {
        match self {
            Self::NewReno => Arc::new(NewRenoConfig::default()),
            Self::Cubic => Arc::new(CubicConfig::default()),
            Self::Bbr => Arc::new(Bbr3Config::default()),
        }
    }
}

/// Settings of both endpoints of one flow. Plain values: whoever builds them has already resolved
/// "auto".
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Controller of both senders, how it starts, what it does with a remembered path.
    pub congestion: CongestionConfig,
    /// A controller of the stack itself, with its own pacing, instead of all of `congestion`: a
    /// sender that is not ours. For studies, no scenario says it.
    pub stock: Option<StockController>,
    /// How a server knows a remembered path. A client that sends remembers by itself.
    pub resume_via: ResumeVia,
    /// What runs above QUIC.
    pub http: Http,
    /// When each receiver acknowledges.
    pub ack: AckRule,
    /// Who decides that.
    pub ack_by: AckBy,
    /// How `auto` is tuned: for studies, no scenario says it.
    pub ack_auto: Auto,
    /// Longest time an ACK may wait (RFC 9000 §18.2, max_ack_delay; 25 ms there), asked for with
    /// `ack`.
    pub max_ack_delay: Span,
    /// Round trip assumed before the first sample (RFC 9002 §6.2.2: 333 ms).
    pub initial_rtt: Span,
    /// Initial congestion window in datagrams (RFC 9002 §7.2: 10, at most 14,720 bytes or two
    /// datagrams).
    pub initial_window: u32,
    /// Whether what the window admits is spread over the round trip (RFC 9002 §7.7).
    pub pacing: bool,
    /// Flow-control window of a stream.
    pub stream_window: Bytes,
    /// Flow-control window of the connection.
    pub connection_window: Bytes,
    /// How the connection's window grows and is announced.
    pub credit: FlowControlRule,
    /// Most bytes written but not yet acknowledged, whatever the peer allows: the send buffer.
    pub send_window: Bytes,
    /// UDP payload the connection starts with, bytes.
    pub initial_mtu: u16,
    /// UDP payload that path MTU discovery may reach; where it equals `initial_mtu` nothing is
    /// probed.
    pub max_mtu: u16,
    /// Silence after which a connection is given up.
    pub idle_timeout: Span,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            congestion: CongestionConfig::default(),
            resume_via: ResumeVia::default(),
            http: Http::default(),
            ack: AckRule::default(),
            ack_by: AckRule::default().by(),
            ack_auto: Auto::default(),
            stock: None,
            credit: FlowControlRule::default(),
            max_ack_delay: Span::from_millis(25),
            initial_rtt: Span::from_millis(333),
            initial_window: 10,
            pacing: true,
            stream_window: Bytes::new(1_250_000),
            connection_window: Bytes::new(1_250_000),
            send_window: Bytes::from_mb(10),
            initial_mtu: 1472,
            max_mtu: 1472,
            idle_timeout: Span::from_secs(60),
        }
    }
}

/// A value that QUIC cannot express.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum SettingsError {
    /// A window or timeout beyond 2^62 (RFC 9000 §16).
    #[error("{name} of {value} does not fit a QUIC integer; allowed: at most 2^62 - 1")]
    TooLarge {
        /// Which setting.
        name: &'static str,
        /// Its value.
        value: u64,
    },
    /// A UDP payload below what QUIC needs.
    #[error("{name} of {value} bytes; allowed: {MIN_UDP_PAYLOAD} to 65527 bytes of UDP payload")]
    Mtu {
        /// Which setting.
        name: &'static str,
        /// Its value.
        value: u16,
    },
    /// An initial window of nothing.
    #[error("initial_window of {0} datagrams; allowed: 1 to 10000")]
    InitialWindow(u32),
    /// A parameter of a controller or a start.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
}

fn varint(name: &'static str, value: u64) -> Result<VarInt, SettingsError> {
    VarInt::from_u64(value).map_err(|_| SettingsError::TooLarge { name, value })
}

impl Settings {
    /// The stack's configuration, without controller observation and qlog, which the endpoint adds.
    ///
    /// # Errors
    /// A value that QUIC cannot express.
    pub fn transport(&self) -> Result<TransportConfig, SettingsError> {
        for (name, value) in [("initial_mtu", self.initial_mtu), ("max_mtu", self.max_mtu)] {
            if !(MIN_UDP_PAYLOAD..=65_527).contains(&value) {
                return Err(SettingsError::Mtu { name, value });
            }
        }
        let mut config = TransportConfig::default();
        let idle_ms = self.idle_timeout.as_nanos() / 1_000_000;
        config
            .initial_rtt(self.initial_rtt.into())
            .stream_receive_window(varint("stream_window", self.stream_window.get())?)
            .receive_window(varint("connection_window", self.connection_window.get())?)
            .send_window(self.send_window.get())
            .initial_mtu(self.initial_mtu)
            .max_idle_timeout(Some(IdleTimeout::from(varint("idle_timeout in ms", idle_ms)?)))
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
        self.ask(&mut config, None);
        Ok(config)
    }

    /// What a sender asks of its peer's acknowledgements, put into `config`. `saved`: what it
    /// remembers of the path.
    ///
    /// A ratio where that is the policy. With `auto`, of which a peer need know nothing, one that
    /// leaves twice as many ACKs a round trip of the remembered window as our own receiver sends at
    /// most, so that it takes nothing from that, and never sparser than 1:10, what an initial
    /// window bursts anyway; nothing where no path is remembered, since the ratio is fixed for the
    /// connection.
    pub fn ask(&self, config: &mut TransportConfig, saved: Option<&SavedParameters>) {
        let every = match (self.ack, self.ack_by) {
            (AckRule::Every(packets), AckBy::Sender) => Some(packets),
            (AckRule::Auto, _) => saved.filter(|saved| saved.is_usable()).and_then(|saved| {
                let packets = saved.window.get() as f64 / f64::from(self.initial_mtu);
                let every = (packets / (2.0 * self.ack_auto.most.max(1.0))).min(10.0) as u32;
                (every > 2).then_some(every)
            }),
            _ => None,
        };
        if let Some(packets) = every {
            let mut frequency = AckFrequencyConfig::default();
            // The frame's threshold counts the packets that may pass *without* an ACK: one less
            // than the ratio.
            frequency
                .ack_eliciting_threshold(VarInt::from_u32(packets.saturating_sub(1)))
                .max_ack_delay(Some(self.max_ack_delay.into()));
            config.ack_frequency_config(Some(frequency));
        }
    }

    /// What makes controllers, checked.
    ///
    /// # Errors
    /// A window of no datagrams, or of absurdly many; a parameter that does not exist or lies out
    /// of range.
    pub fn controller(&self) -> Result<ControllerFactory, SettingsError> {
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
        let settings = Settings { stream_window: Bytes::MAX, ..Settings::default() };
        assert!(settings.transport().unwrap_err().to_string().contains("18446744073709551615"));
    }

    #[test]
    fn auto_asks_for_few_acknowledgements_only_of_a_path_that_it_remembers_as_long() {
        let asks = |window| {
            let saved = SavedParameters {
                window: Bytes::new(window),
                rtt: Span::from_millis(600),
                valid_until: None,
            };
            let mut config = TransportConfig::default();
            Settings { ack: AckRule::Auto, ..Settings::default() }.ask(&mut config, Some(&saved));
            !format!("{config:?}").contains("ack_frequency_config: None")
        };
        assert!(asks(18_000_000));
        assert!(!asks(0) && !asks(200_000));
    }

    #[test]
    fn a_datagram_below_1200_bytes_is_refused() {
        let settings = Settings { initial_mtu: 1199, ..Settings::default() };
        assert!(settings.transport().is_err());
    }
}
