//! Transport keys of `[defaults]`, `[[variant]]` and `[[flow]]`.
//!
//! The schema extension `x-accepted-by` lists what a key applies to: `quic`, `tcp`, an HTTP
//! version, `datagrams`, or `external` programs. Without it, to QUIC and TCP. `x-real-clock` lists
//! the values that QUIC supports on the real clock, where `bentpipe serve` and `bentpipe get` are
//! its endpoints. An empty list allows any value; a key without the extension is not supported
//! there.

use super::section::{keys, section};
use super::tcp_ecn::TcpEcn;
use super::window::{ConnectionWindow, Window};
use crate::error::nearest;
use crate::idle_timeout::IdleTimeout;
use crate::packet_threshold::PacketThreshold;
use bentpipe_link::Dscp;
use bentpipe_quic::congestion::config::Parameters;
use bentpipe_quic::congestion::{ChangeProbe, PathChangeResponse};
use bentpipe_quic::congestion::{ControllerName, LossFilterName, ResumeName, SlowStartName};
use bentpipe_quic::{AckBy, AckRule, EcnMode, Handshake};
use bentpipe_units::{Bytes, Ratio, Span};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_spanned::Spanned;

/// Transport keys of a flow. A key that is not set has the value of the `preset`, or else the
/// default stated here.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transport {
    /// Values of all keys that are not set: `bentpipe` (the default; those of `bentpipe serve` and
    /// `bentpipe get`), `rfc` (a plain RFC 9002 endpoint with CUBIC), `draft` (the same with any
    /// controller, whose parameters are those of its document) or `deep-space` (the path's rate,
    /// for delays of minutes).
    #[schemars(extend("x-real-clock" = ["bentpipe"]))]
    pub preset: Option<PresetName>,
    /// Transport protocol: `quic` or `tcp`; by default, the one that `http` runs over, or QUIC.
    #[schemars(with = "Option<TransportKind>", extend("x-real-clock" = []))]
    pub transport: Option<Spanned<TransportKind>>,
    /// Application protocol: `h3` over QUIC, `h2` or `h1` over TLS and TCP, or `raw` over either
    /// (QUIC: one stream per object; TCP: a request of 17 bytes without TLS).
    #[schemars(with = "Option<HttpKind>", extend("x-real-clock" = ["h3"]))]
    pub http: Option<Spanned<HttpKind>>,
    /// Order in which a server of HTTP/3 or HTTP/2 sends the objects of a web page: `none` (the
    /// default) sends them in turn, `rfc9218` by their urgency, and those of one urgency one after
    /// the other unless they are incremental.
    #[schemars(extend("x-accepted-by" = ["quic", "h2"]))]
    pub http_priorities: Option<HttpPriorities>,
    /// Congestion controller of the data sender (`bentpipe controllers` lists them). For external
    /// programs: that of the kernel's TCP, if they choose none.
    #[schemars(extend("x-real-clock" = [], "x-accepted-by" = ["quic", "tcp", "external"]))]
    pub congestion: Option<ControllerName>,
    /// Slow-start algorithm: `auto` (the best one that is safe), `standard`, or another one that
    /// `bentpipe controllers` lists.
    #[schemars(extend("x-real-clock" = []))]
    pub slow_start: Option<SlowStartName>,
    /// Filter of the losses that the controller learns of: `none`; `chance`, which spares the
    /// window for losses that no queue explains; or `auto`: `chance` for CUBIC and NewReno with
    /// `slow_start = "auto"`.
    #[schemars(extend("x-real-clock" = []))]
    pub loss_filter: Option<LossFilterName>,
    /// Parameters of controllers, slow-start algorithms and resumption, by name;
    /// `bentpipe controllers` lists them.
    #[schemars(
        with = "Option<std::collections::BTreeMap<String, std::collections::BTreeMap<String, f64>>>"
    )]
    pub parameters: Option<Spanned<Parameters>>,
    /// Response of the sender to announced path changes (`path_change_notice`): `none`; `reset`
    /// shifts the minimum RTT filters by what the path grows; `hold` does not treat losses caused
    /// by the change as congestion; `drain` shrinks the window in advance; `all` does all three.
    /// With BBRv1, `probe` measures the minimum RTT at each change, and `restart` the whole path.
    pub path_change_response: Option<PathChangeResponseName>,
    /// Handshake: `1rtt` or `0rtt`. `0rtt` needs a session ticket and so implies visit = "repeat".
    #[schemars(extend("x-real-clock" = []))]
    pub handshake: Option<Handshake>,
    /// Visit that is measured if the workload lists no `visits`: the `first` (the default), or a
    /// `repeat` visit after an unmeasured first one that fills the path.
    #[schemars(extend("x-real-clock" = []))]
    pub visit: Option<MeasuredVisit>,
    /// Use of the saved path by the data sender: `none`, `careful` (RFC 9959), or `jump`, which
    /// starts with the full saved window and is unsafe.
    #[schemars(extend("x-real-clock" = []))]
    pub resume: Option<ResumeName>,
    /// ACK policy of the receiver: `stack` (every second packet), `1:N`, `1:2 for 100, then 1:10`,
    /// `rtt/4` or `auto`.
    #[schemars(with = "Option<AckRule>", extend("x-real-clock" = ["auto"]))]
    pub ack: Option<Spanned<AckRule>>,
    /// Maximum delay of an ACK.
    pub max_ack_delay: Option<Span>,
    /// Initial congestion window in packets.
    #[schemars(with = "Option<u64>", range(min = 1, max = 10_000))]
    pub initial_window: Option<Spanned<u64>>,
    /// Maximum congestion window; unlimited by default.
    pub max_window: Option<Window>,
    /// DSCP of all packets of the flow, for queues with `aqm = "priority"`: a name such as `EF`, or
    /// 0 to 63; `CS0` by default.
    #[schemars(extend("x-accepted-by" = ["quic", "tcp", "datagrams"]))]
    pub dscp: Option<Dscp>,
    /// Receive windows and the send buffer.
    #[serde(default)]
    #[schemars(extend("x-accepted-by" = ["quic", "h2"]))]
    pub flow_control: FlowControl,
    /// Keys for QUIC.
    #[serde(default)]
    #[schemars(extend("x-accepted-by" = ["quic"]))]
    pub quic: QuicKeys,
    /// Keys for TCP.
    #[serde(default)]
    #[schemars(extend("x-accepted-by" = ["tcp"]))]
    pub tcp: TcpKeys,
}
section!(Transport, FlowControl, QuicKeys, TcpKeys);

impl Transport {
    /// Returns true if windows and buffers are those of `bentpipe` or `auto`, with no size given.
    pub fn has_default_windows(&self) -> bool {
        let FlowControl {
            preset,
            stream_window,
            connection_window,
            initial_receive_window,
            max_receive_window,
            send_buffer,
            ..
        } = &self.flow_control;
        let sizes = [*stream_window, *send_buffer, self.tcp.receive_buffer, self.max_window];
        let connection = connection_window.map(ConnectionWindow::given);
        let is_given = |window: Window| window != Window::Auto;
        let program = matches!(preset, Some(FlowControlPreset::Program(_)));
        let tuned = initial_receive_window.is_some() || max_receive_window.is_some();
        !program && !tuned && !sizes.into_iter().chain([connection]).flatten().any(is_given)
    }
}

/// The nested tables of [`Transport`].
pub(super) const NESTED: [&str; 3] = ["flow_control", "quic", "tcp"];

/// Returns the dotted path of the nested key that is most similar to `name`.
pub(super) fn nested(name: &str) -> Option<String> {
    let tables = [keys::<FlowControl>(), keys::<QuicKeys>(), keys::<TcpKeys>()];
    NESTED
        .iter()
        .zip(tables)
        .find_map(|(table, keys)| Some(format!("{table}.{}", nearest(name, &keys)?)))
}

/// Receive windows and the send buffer.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowControl {
    /// Stream and connection windows of a well-known program; `auto` by default. `stream_window`
    /// and `connection_window` override it.
    #[schemars(extend("x-real-clock" = ["bentpipe"]))]
    pub preset: Option<FlowControlPreset>,
    /// Flow-control window of a stream.
    pub stream_window: Option<Window>,
    /// Flow-control window of a connection; `tuned` (QUIC) follows the delivery rate.
    #[schemars(extend("x-real-clock" = ["tuned"]))]
    pub connection_window: Option<ConnectionWindow>,
    /// Initial size of a tuned window, announced in the handshake; 1.25 MB by default.
    #[schemars(with = "Option<Bytes>", extend("x-accepted-by" = ["quic"], "x-real-clock" = ["4 \
        MB"]))]
    pub initial_receive_window: Option<Spanned<Bytes>>,
    /// Maximum size of a tuned window; 64 MB by default.
    #[schemars(with = "Option<Bytes>", extend("x-accepted-by" = ["quic"], "x-real-clock" = ["64 \
        MB"]))]
    pub max_receive_window: Option<Spanned<Bytes>>,
    /// Fraction of the connection window that is consumed before the receiver sends an update: an
    /// eighth by default, a sixteenth for a tuned window.
    #[schemars(with = "Option<Ratio>", extend("x-accepted-by" = ["quic"]))]
    pub window_update_fraction: Option<Spanned<Ratio>>,
    /// Maximum time between two window updates while data is consumed; unlimited by default.
    #[schemars(with = "Option<Span>", extend("x-accepted-by" = ["quic"]))]
    pub window_update_interval: Option<Spanned<Span>>,
    /// Maximum amount of unacknowledged data that the sender buffers.
    #[schemars(extend("x-accepted-by" = ["quic", "tcp"]))]
    pub send_buffer: Option<Window>,
}

/// Keys for QUIC.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuicKeys {
    /// Endpoint that decides when to acknowledge: the `sender`, which can only request `stack`,
    /// `1:N` or `auto`, or the `receiver`.
    #[schemars(with = "Option<AckBy>")]
    pub ack_by: Option<Spanned<AckBy>>,
    /// Where the state of the path is stored: at the `server`, or in a sealed `token` at the
    /// client.
    #[schemars(extend("x-real-clock" = []))]
    pub resume_state: Option<ResumeState>,
    /// RTT assumed before the first sample.
    #[schemars(with = "Option<Span>")]
    pub initial_rtt: Option<Spanned<Span>>,
    /// Idle time after which a connection ends: a time, `none`, or `auto` (the default), which is
    /// 60 s, or three times the sum of the path's longest RTT and gap if that is longer.
    pub idle_timeout: Option<IdleTimeout>,
    /// Packets sent later of which one is acknowledged before a packet is declared lost: a number
    /// of at least 3 (the default), `none`, or `auto`: 32, or a sixty-fourth of the remembered
    /// window if that is more.
    pub packet_threshold: Option<PacketThreshold>,
    /// RTTs after which a packet sent before an acknowledged one is declared lost; 1.125 by
    /// default.
    #[schemars(with = "Option<f64>", range(min = 1.0, max = 1000.0))]
    pub time_threshold: Option<Spanned<f64>>,
    /// Collapse the window if all packets of three probe timeouts are lost; true by default.
    pub persistent_congestion: Option<bool>,
    /// Pace packets over the RTT; true by default.
    pub pacing: Option<bool>,
    /// Initial maximum size of UDP payloads; by default, the maximum that fits `path.mtu`.
    #[schemars(with = "Option<Bytes>")]
    pub initial_mtu: Option<Spanned<Bytes>>,
    /// Probe for larger packets; false by default.
    #[schemars(extend("x-real-clock" = ["true"]))]
    pub mtu_discovery: Option<bool>,
    /// ECN field of packets: `off`, `ect0`, or `ect1` for L4S (RFC 9331), which
    /// `aqm = "dualpi2"` needs; `ect1` by default with `congestion = "prague"`, otherwise `ect0`.
    #[schemars(extend("x-real-clock" = ["ect0"]))]
    pub ecn: Option<EcnMode>,
}

/// Keys for TCP.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TcpKeys {
    /// Performance-enhancing proxy, configured in `[path.pep]`: `none`; `gateway` splits
    /// connections on the server's side of its hop; `both` splits them on both sides; `filter`
    /// only drops redundant ACKs.
    #[schemars(with = "Option<PepMode>", extend("x-accepted-by" = ["tcp", "external"]))]
    pub pep: Option<Spanned<PepMode>>,
    /// Maximum number of parallel connections for `h1`; 6 by default.
    #[schemars(with = "Option<u64>", range(min = 1, max = 64), extend("x-accepted-by" = ["h1"]))]
    pub connections: Option<Spanned<u64>>,
    /// Maximum size of the receive buffer. Half of it is receive window, as in Linux. `6 MiB` is
    /// the default of Linux; `auto` never limits.
    #[schemars(extend("x-accepted-by" = ["tcp", "external"]))]
    pub receive_buffer: Option<Window>,
    /// Let the receive buffer grow with the data that the application reads; true by default.
    /// Otherwise, it has its full size from the start.
    pub receive_autotune: Option<bool>,
    /// How buffers are counted, and how the receive window grows; `payload` by default.
    #[schemars(with = "Option<TcpBuffers>")]
    pub buffers: Option<TcpBuffers>,
    /// Interval within which arriving segments are coalesced and acknowledged once, as with
    /// receive offload.
    pub coalesce: Option<Span>,
    /// Negotiate ECN: `true` for that of RFC 3168, or `accurate` for AccECN (RFC 9768), whose
    /// acknowledgements count marks; `accurate`, and ECT(1), by default with
    /// `congestion = "prague"`, otherwise false.
    pub ecn: Option<TcpEcn>,
    /// Shrink the congestion window while idle (RFC 5681 §4.1); true by default, as in Linux.
    pub idle_restart: Option<bool>,
}

/// How TCP counts buffers, and how its receive window grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TcpBuffers {
    /// Buffers count payload, and half of the receive buffer is window.
    #[default]
    Payload,
    /// As in Linux 6.18: buffers count the memory of packets, and the receive window grows with
    /// each segment, which is acknowledged at once meanwhile.
    Linux,
}

/// Order in which servers send objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HttpPriorities {
    /// In turn.
    #[default]
    None,
    /// By their priorities (RFC 9218).
    Rfc9218,
}

/// The visit that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MeasuredVisit {
    /// The first visit.
    #[default]
    First,
    /// The second visit, after one that filled the path.
    Repeat,
}

/// A set of values for transport keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PresetName {
    /// The values of `bentpipe serve` and `bentpipe get`.
    #[default]
    Bentpipe,
    /// A plain RFC 9002 endpoint: CUBIC, an initial window of ten packets, slow start until loss,
    /// an ACK for every second packet, and no path memory. Flow control and pacing are those of
    /// `bentpipe`.
    Rfc,
    /// As `rfc`, but with the controller of the scenario: controllers exactly as their documents
    /// specify them, with their own slow start and the parameters of the document.
    Draft,
    /// An endpoint of a path with delays of minutes: it sends at the path's rate from the first
    /// packet on, and no silence ends a connection or its window.
    #[serde(rename = "deep-space")]
    DeepSpace,
}

impl PresetName {
    /// Returns the name in scenarios.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bentpipe => "bentpipe",
            Self::Rfc => "rfc",
            Self::Draft => "draft",
            Self::DeepSpace => "deep-space",
        }
    }
}

/// A transport protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TransportKind {
    /// QUIC (RFC 9000).
    #[default]
    Quic,
    /// TCP (RFC 9293).
    Tcp,
}

/// Where the state of a path is stored between visits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ResumeState {
    /// At the server.
    #[default]
    Server,
    /// At the client, in a sealed token.
    Token,
}

impl From<ResumeState> for bentpipe_quic::ResumeVia {
    fn from(state: ResumeState) -> Self {
        match state {
            ResumeState::Server => Self::Store,
            ResumeState::Token => Self::Token,
        }
    }
}

/// Application protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HttpKind {
    /// HTTP/3 (RFC 9114), over QUIC.
    H3,
    /// HTTP/2 (RFC 9113), over TLS and TCP.
    H2,
    /// HTTP/1.1 (RFC 9112), over TLS and TCP.
    H1,
    /// Minimal framing, over QUIC or TCP.
    Raw,
}

/// Mode of a performance-enhancing proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PepMode {
    /// No proxy.
    #[default]
    None,
    /// Splits connections at the gateway.
    Gateway,
    /// Splits connections at the terminal and at the gateway.
    Both,
    /// Forwards segments and drops redundant ACKs.
    Filter,
}

/// Response of a sender to announced path changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PathChangeResponseName {
    /// No response.
    #[default]
    None,
    /// Restart the minimum RTT filter.
    Reset,
    /// Do not treat losses and marks just after a change as congestion.
    Hold,
    /// Shrink the window before a change to a shorter or slower path.
    Drain,
    /// Reset, hold and drain.
    All,
    /// BBRv1 measures the minimum RTT at each change, as SatPipe does.
    Probe,
    /// BBRv1 starts again at each change, as LeoCC does.
    Restart,
}

impl From<PathChangeResponseName> for PathChangeResponse {
    fn from(response: PathChangeResponseName) -> Self {
        let all = response == PathChangeResponseName::All;
        Self {
            shift_rtt: all || response == PathChangeResponseName::Reset,
            suppress_loss: all || response == PathChangeResponseName::Hold,
            pre_drain: all || response == PathChangeResponseName::Drain,
            probe: match response {
                PathChangeResponseName::Probe => ChangeProbe::MinRtt,
                PathChangeResponseName::Restart => ChangeProbe::Model,
                _ => ChangeProbe::None,
            },
        }
    }
}

/// Stream and connection windows.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum FlowControlPreset {
    /// `auto`: derived from the path and large enough never to limit.
    #[default]
    Auto,
    /// `bentpipe`: a tuned connection window that starts with 4 MB.
    Bentpipe,
    /// The windows of a well-known HTTP/2 program.
    Program(bentpipe_tcp::http::FlowControlPresetName),
}

impl FlowControlPreset {
    fn names() -> Vec<&'static str> {
        ["auto", "bentpipe"]
            .into_iter()
            .chain(bentpipe_tcp::http::FlowControlPresetName::all())
            .collect()
    }
}

impl<'de> Deserialize<'de> for FlowControlPreset {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        match name.as_str() {
            "auto" => Ok(Self::Auto),
            "bentpipe" => Ok(Self::Bentpipe),
            name => name.parse().map(Self::Program).map_err(|_| {
                let allowed = Self::names().join(", ");
                serde::de::Error::custom(format!(
                    "`{name}` is not a flow-control preset; allowed: {allowed}"
                ))
            }),
        }
    }
}

impl JsonSchema for FlowControlPreset {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FlowControlPreset".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "enum": Self::names() })
    }
}
