//! The keys that say how a flow is transported, shared by `[defaults]`, `[[variant]]` and `[[flow]]`.

use bentpipe_quic::congestion::recipe::Parameters;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_spanned::Spanned;

/// Declares a struct with its own fields and, after them, every transport key, and how to take those out.
///
/// A macro, because serde's `flatten` would lose the spans that errors point at.
macro_rules! keys {
    ($(#[$meta:meta])* pub struct $name:ident { $($own:tt)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($own)*
            /// The transport protocol.
            pub transport: Option<$crate::scenario::TransportKind>,
            /// What speaks HTTP: `h3`, or `raw` (one stream for each object and no HTTP framing).
            pub http: Option<bentpipe_quic::Http>,
            /// The congestion controller of the data sender.
            pub congestion: Option<bentpipe_quic::congestion::ControllerName>,
            /// How the controller starts: `auto` (the best there is where it is safe), `standard`, or another of those that
            /// `bentpipe controllers` lists.
            pub start: Option<bentpipe_quic::congestion::StartName>,
            /// Parameters of controllers, starts and resumption by part and name; `bentpipe controllers` lists them.
            #[schemars(with = "Option<std::collections::BTreeMap<String, std::collections::BTreeMap<String, f64>>>")]
            pub parameters: Option<serde_spanned::Spanned<bentpipe_quic::congestion::recipe::Parameters>>,
            /// `1rtt`, or `0rtt`: measured on a second visit, with tickets from a first one.
            pub handshake: Option<bentpipe_quic::Handshake>,
            /// What the sender does with what it remembers of the path: `none`, `careful` (RFC 9959), or `jump`, straight to
            /// the remembered window, which is unsafe.
            pub resume: Option<bentpipe_quic::congestion::ResumeName>,
            /// How a server that resumes knows the path: `store`, it remembers; `token`, its client keeps it in a sealed token.
            pub resume_via: Option<bentpipe_quic::ResumeVia>,
            /// How many packets the data sender asks the receiver to acknowledge at once: `stack` or `1:N`.
            pub ack: Option<bentpipe_quic::AckRatio>,
            /// Longest time that an acknowledgement is held back.
            pub max_ack_delay: Option<bentpipe_units::Span>,
            /// Round-trip time assumed before the first sample.
            #[schemars(with = "Option<bentpipe_units::Span>")]
            pub initial_rtt: Option<serde_spanned::Spanned<bentpipe_units::Span>>,
            /// Initial congestion window in packets.
            #[schemars(with = "Option<u64>", range(min = 1))]
            pub initial_window: Option<serde_spanned::Spanned<u64>>,
            /// First UDP payload size; the size that the path carries where left out.
            #[schemars(with = "Option<bentpipe_units::Bytes>")]
            pub initial_mtu: Option<serde_spanned::Spanned<bentpipe_units::Bytes>>,
            /// Probe for larger packets.
            pub mtu_discovery: Option<bool>,
            /// Flow-control window of a stream.
            pub stream_window: Option<$crate::scenario::Window>,
            /// Flow-control window of the connection.
            pub connection_window: Option<$crate::scenario::Window>,
            /// Most data that the sender holds unacknowledged.
            pub send_window: Option<$crate::scenario::Window>,
        }

        impl $name {
            /// The transport keys alone.
            pub fn transport_keys(&self) -> $crate::scenario::Transport {
                $crate::scenario::Transport {
                    transport: self.transport,
                    http: self.http,
                    congestion: self.congestion,
                    start: self.start,
                    parameters: self.parameters.clone(),
                    handshake: self.handshake,
                    resume: self.resume,
                    resume_via: self.resume_via,
                    ack: self.ack,
                    max_ack_delay: self.max_ack_delay,
                    initial_rtt: self.initial_rtt.clone(),
                    initial_window: self.initial_window.clone(),
                    initial_mtu: self.initial_mtu.clone(),
                    mtu_discovery: self.mtu_discovery,
                    stream_window: self.stream_window,
                    connection_window: self.connection_window,
                    send_window: self.send_window,
                }
            }
        }
    };
}
pub(crate) use keys;

keys! {
    /// How a flow is transported. What is left out has the default stated with the key.
    #[derive(Default)]
    pub struct Transport {}
}

impl Transport {
    /// These keys, and `base`'s where these say nothing.
    pub fn or(&self, base: &Self) -> Self {
        Self {
            transport: self.transport.or(base.transport),
            http: self.http.or(base.http),
            congestion: self.congestion.or(base.congestion),
            start: self.start.or(base.start),
            parameters: merged(self.parameters.as_ref(), base.parameters.as_ref()),
            handshake: self.handshake.or(base.handshake),
            resume: self.resume.or(base.resume),
            resume_via: self.resume_via.or(base.resume_via),
            ack: self.ack.or(base.ack),
            max_ack_delay: self.max_ack_delay.or(base.max_ack_delay),
            initial_rtt: self.initial_rtt.clone().or_else(|| base.initial_rtt.clone()),
            initial_window: self.initial_window.clone().or_else(|| base.initial_window.clone()),
            initial_mtu: self.initial_mtu.clone().or_else(|| base.initial_mtu.clone()),
            mtu_discovery: self.mtu_discovery.or(base.mtu_discovery),
            stream_window: self.stream_window.or(base.stream_window),
            connection_window: self.connection_window.or(base.connection_window),
            send_window: self.send_window.or(base.send_window),
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
}

/// Parameters of both, those of `own` first.
fn merged(own: Option<&Spanned<Parameters>>, base: Option<&Spanned<Parameters>>) -> Option<Spanned<Parameters>> {
    let (Some(own), Some(base)) = (own, base) else { return own.or(base).cloned() };
    let mut all = base.get_ref().clone();
    for (part, values) in own.get_ref() {
        all.entry(part.clone()).or_default().extend(values.clone());
    }
    Some(Spanned::new(own.span(), all))
}
