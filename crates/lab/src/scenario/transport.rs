//! The keys that say how a flow is transported, shared by `[defaults]`, `[[variant]]` and `[[flow]]`.

use crate::error::Problem;
use bentpipe_quic::congestion::PathChangeResponse;
use bentpipe_quic::congestion::config::Parameters;
use bentpipe_quic::{AckBy, AckRule, Http};
use bentpipe_tcp::http::Version;
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
            /// The transport protocol; where left out, what `http` runs over, or QUIC.
            #[schemars(with = "Option<crate::scenario::TransportKind>")]
            pub transport: Option<serde_spanned::Spanned<$crate::scenario::TransportKind>>,
            /// Of `transport = "program"`: the commands of server and client.
            #[schemars(with = "Option<crate::scenario::ProgramSection>")]
            pub program: Option<serde_spanned::Spanned<$crate::scenario::ProgramSection>>,
            /// What fetches the objects: `h3` over QUIC, `h2` or `h1` over TLS and TCP, or `raw` over either (QUIC: one stream for each object;
            /// TCP: a request of 17 bytes and no TLS).
            #[schemars(with = "Option<crate::scenario::HttpKind>")]
            pub http: Option<serde_spanned::Spanned<$crate::scenario::HttpKind>>,
            /// Most connections at the same time, for `h1`; 6 where left out.
            #[schemars(with = "Option<u64>", range(min = 1, max = 64))]
            pub connections: Option<serde_spanned::Spanned<u64>>,
            /// A performance-enhancing proxy for TCP, as `[path.pep]` describes it: `none`; `gateway`, which splits connections on the
            /// server's side of its hop; `both`, which splits them on both sides; `filter`, which only thins acknowledgements.
            #[schemars(with = "Option<crate::scenario::PepMode>")]
            pub pep: Option<serde_spanned::Spanned<$crate::scenario::PepMode>>,
            /// The congestion controller of the data sender.
            pub congestion: Option<bentpipe_quic::congestion::ControllerName>,
            /// How the controller starts: `auto` (the best there is where it is safe), `standard`, or another of those that
            /// `bentpipe controllers` lists.
            pub start: Option<bentpipe_quic::congestion::SlowStartName>,
            /// Parameters of controllers, starts and resumption by part and name; `bentpipe controllers` lists them.
            #[schemars(with = "Option<std::collections::BTreeMap<String, std::collections::BTreeMap<String, f64>>>")]
            pub parameters: Option<serde_spanned::Spanned<bentpipe_quic::congestion::config::Parameters>>,
            /// What the sender does with announced changes of an orbit's path, where `path.orbit.hints` announces them: `none`; `reset`, its smallest
            /// round trip begins anew; `hold`, losses of a round trip are not taken for congestion; `drain`, it slows before; `all`.
            pub hints: Option<$crate::scenario::Hints>,
            /// `1rtt`, or `0rtt`: measured on a second visit, with tickets from a first one.
            pub handshake: Option<bentpipe_quic::Handshake>,
            /// What the sender does with what it remembers of the path: `none`, `careful` (RFC 9959), or `jump`, straight to
            /// the remembered window, which is unsafe.
            pub resume: Option<bentpipe_quic::congestion::ResumeName>,
            /// How a server that resumes knows the path: `store`, it remembers; `token`, its client keeps it in a sealed token.
            pub resume_via: Option<bentpipe_quic::ResumeVia>,
            /// When the receiver acknowledges: `stack`, `1:N`, `1:2 for 100, then 1:10`, `rtt/4` or `auto`.
            #[schemars(with = "Option<bentpipe_quic::AckRule>")]
            pub ack: Option<serde_spanned::Spanned<bentpipe_quic::AckRule>>,
            /// Who decides that: `sender`, who can ask for `1:N` only, or `receiver`, for all of them.
            #[schemars(with = "Option<bentpipe_quic::AckBy>")]
            pub ack_by: Option<serde_spanned::Spanned<bentpipe_quic::AckBy>>,
            /// Longest time that an acknowledgement is held back.
            pub max_ack_delay: Option<bentpipe_units::Span>,
            /// Round-trip time assumed before the first sample.
            #[schemars(with = "Option<bentpipe_units::Span>")]
            pub initial_rtt: Option<serde_spanned::Spanned<bentpipe_units::Span>>,
            /// Initial congestion window in packets.
            #[schemars(with = "Option<u64>", range(min = 1))]
            pub initial_window: Option<serde_spanned::Spanned<u64>>,
            /// Whether QUIC spreads what its window admits over the round trip; true where left out.
            pub pacing: Option<bool>,
            /// Largest congestion window; none where left out.
            pub max_window: Option<$crate::scenario::Window>,
            /// First UDP payload size; the size that the path carries where left out.
            #[schemars(with = "Option<bentpipe_units::Bytes>")]
            pub initial_mtu: Option<serde_spanned::Spanned<bentpipe_units::Bytes>>,
            /// Probe for larger packets.
            pub mtu_discovery: Option<bool>,
            /// Flow-control windows of HTTP/2 and QUIC as a program has them; `stream_window` and `connection_window` win over it.
            pub windows: Option<bentpipe_tcp::http::FlowControlPresetName>,
            /// Flow-control window of a stream of HTTP/2 or QUIC.
            pub stream_window: Option<crate::scenario::Window>,
            /// Flow-control window of an HTTP/2 or QUIC connection; `tuned` (QUIC) follows what arrives.
            pub connection_window: Option<crate::scenario::ConnectionWindow>,
            /// Where a tuned window begins, which goes into the handshake; 1.25 MB where left out.
            #[schemars(with = "Option<bentpipe_units::Bytes>")]
            pub window_first: Option<serde_spanned::Spanned<bentpipe_units::Bytes>>,
            /// What a tuned window may grow to; 64 MB where left out.
            #[schemars(with = "Option<bentpipe_units::Bytes>")]
            pub window_most: Option<serde_spanned::Spanned<bentpipe_units::Bytes>>,
            /// Share of a QUIC connection's window that is consumed before the sender hears of new credit; an eighth where left out, a sixteenth of a tuned one.
            #[schemars(with = "Option<bentpipe_units::Ratio>")]
            pub credit_after: Option<serde_spanned::Spanned<bentpipe_units::Ratio>>,
            /// And it hears of it at least this often while anything is consumed; 50 ms with a tuned window, otherwise only the share counts.
            #[schemars(with = "Option<bentpipe_units::Span>")]
            pub credit_every: Option<serde_spanned::Spanned<bentpipe_units::Span>>,
            /// Most data that the sender holds unacknowledged.
            pub send_window: Option<crate::scenario::Window>,
            /// What TCP's receive buffer may grow to, of which half is window, as with Linux; `6 MiB` is Linux' default, `auto` never limits.
            pub receive_buffer: Option<crate::scenario::Window>,
            /// Whether TCP's receive buffer grows with what the application takes; true where left out. Otherwise it has its size from the beginning.
            pub receive_autotune: Option<bool>,
            /// Segments that reach a TCP receiver within this time of each other are acknowledged once, as receive offload does.
            pub coalesce: Option<bentpipe_units::Span>,
            /// Whether TCP negotiates ECN.
            pub ecn: Option<bool>,
            /// Whether TCP's window shrinks while nothing is sent (RFC 5681 §4.1); true where left out, as with Linux.
            pub idle_restart: Option<bool>,
        }

        impl $name {
            /// The transport keys alone.
            pub fn transport_keys(&self) -> $crate::scenario::Transport {
                $crate::scenario::Transport {
                    transport: self.transport.clone(),
                    program: self.program.clone(),
                    http: self.http.clone(),
                    connections: self.connections.clone(),
                    pep: self.pep.clone(),
                    congestion: self.congestion,
                    start: self.start,
                    parameters: self.parameters.clone(),
                    hints: self.hints,
                    handshake: self.handshake,
                    resume: self.resume,
                    resume_via: self.resume_via,
                    ack: self.ack.clone(),
                    ack_by: self.ack_by.clone(),
                    max_ack_delay: self.max_ack_delay,
                    initial_rtt: self.initial_rtt.clone(),
                    initial_window: self.initial_window.clone(),
                    pacing: self.pacing,
                    initial_mtu: self.initial_mtu.clone(),
                    mtu_discovery: self.mtu_discovery,
                    max_window: self.max_window,
                    windows: self.windows,
                    stream_window: self.stream_window,
                    connection_window: self.connection_window,
                    window_first: self.window_first.clone(),
                    window_most: self.window_most.clone(),
                    credit_after: self.credit_after.clone(),
                    credit_every: self.credit_every.clone(),
                    send_window: self.send_window,
                    receive_buffer: self.receive_buffer,
                    receive_autotune: self.receive_autotune,
                    coalesce: self.coalesce,
                    ecn: self.ecn,
                    idle_restart: self.idle_restart,
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
            transport: self.transport.clone().or_else(|| base.transport.clone()),
            program: self.program.clone().or_else(|| base.program.clone()),
            http: self.http.clone().or_else(|| base.http.clone()),
            connections: self.connections.clone().or_else(|| base.connections.clone()),
            pep: self.pep.clone().or_else(|| base.pep.clone()),
            congestion: self.congestion.or(base.congestion),
            start: self.start.or(base.start),
            parameters: merged(self.parameters.as_ref(), base.parameters.as_ref()),
            hints: self.hints.or(base.hints),
            handshake: self.handshake.or(base.handshake),
            resume: self.resume.or(base.resume),
            resume_via: self.resume_via.or(base.resume_via),
            ack: self.ack.clone().or_else(|| base.ack.clone()),
            ack_by: self.ack_by.clone().or_else(|| base.ack_by.clone()),
            max_ack_delay: self.max_ack_delay.or(base.max_ack_delay),
            initial_rtt: self.initial_rtt.clone().or_else(|| base.initial_rtt.clone()),
            initial_window: self.initial_window.clone().or_else(|| base.initial_window.clone()),
            pacing: self.pacing.or(base.pacing),
            initial_mtu: self.initial_mtu.clone().or_else(|| base.initial_mtu.clone()),
            mtu_discovery: self.mtu_discovery.or(base.mtu_discovery),
            stream_window: self.stream_window.or(base.stream_window),
            connection_window: self.connection_window.or(base.connection_window),
            window_first: self.window_first.clone().or_else(|| base.window_first.clone()),
            window_most: self.window_most.clone().or_else(|| base.window_most.clone()),
            credit_after: self.credit_after.clone().or_else(|| base.credit_after.clone()),
            credit_every: self.credit_every.clone().or_else(|| base.credit_every.clone()),
            send_window: self.send_window.or(base.send_window),
            max_window: self.max_window.or(base.max_window),
            windows: self.windows.or(base.windows),
            receive_buffer: self.receive_buffer.or(base.receive_buffer),
            receive_autotune: self.receive_autotune.or(base.receive_autotune),
            coalesce: self.coalesce.or(base.coalesce),
            ecn: self.ecn.or(base.ecn),
            idle_restart: self.idle_restart.or(base.idle_restart),
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
    /// UDP at a constant rate, or in bursts: of a flow of a list only.
    Cbr,
    /// ICMP echo from the client: of a flow of a list only.
    Ping,
    /// Any server and client, by `program`: under the wall clock.
    Program,
}

impl TransportKind {
    /// True where nothing controls how much is sent.
    pub fn is_datagrams(self) -> bool {
        matches!(self, Self::Cbr | Self::Ping)
    }
}

/// Programs at both ends. `/bin/sh` runs the commands, in a directory of their own; in braces may stand: `server`, `client`, `server6`, `client6` (addresses), `port`,
/// `url` (of the object, https), `dir` (what is to be served), `file` (the object's name in it), `bytes` (its size), `output` (what the client is to write; its standard
/// output where the command does not name it), `cert`, `key` (PEM files of the server), `bentpipe` (this program).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgramSection {
    /// Runs at the server's end, until the client has ended.
    pub server: String,
    /// Runs at the client's end. The transfer is complete once it ends with status 0 and has written so many bytes as were asked for.
    pub client: String,
}

/// What fetches the objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HttpKind {
    /// HTTP/3 (RFC 9114), over QUIC.
    H3,
    /// HTTP/2 (RFC 9113), over TLS and TCP.
    H2,
    /// HTTP/1.1 (RFC 9112), over TLS and TCP.
    H1,
    /// As little as possible, over either.
    Raw,
}

/// What a performance-enhancing proxy does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PepMode {
    /// There is none.
    #[default]
    None,
    /// It splits connections at the gateway.
    Gateway,
    /// It splits them at the terminal and at the gateway.
    Both,
    /// It passes segments on and thins acknowledgements.
    Filter,
}

/// What a sender does with announced changes of path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Hints {
    /// Nothing.
    #[default]
    None,
    /// Filters of the smallest round trip begin anew at a change.
    Reset,
    /// Losses and marks just after a change are not taken for congestion.
    Hold,
    /// The window shrinks before a change to a shorter or slower path.
    Drain,
    /// All of that.
    All,
}

impl From<Hints> for PathChangeResponse {
    fn from(hints: Hints) -> Self {
        let all = hints == Hints::All;
        Self {
            shift_rtt: all || hints == Hints::Reset,
            suppress_loss: all || hints == Hints::Hold,
            pre_drain: all || hints == Hints::Drain,
        }
    }
}

impl Transport {
    /// What is spoken.
    ///
    /// # Errors
    /// HTTP that does not run over the transport asked for.
    pub(crate) fn spoken(&self) -> Result<Spoken, Problem> {
        let transport = self.transport.as_ref().map(|transport| *transport.get_ref());
        let http = self.http.as_ref().map(|http| *http.get_ref());
        let spoken = match (transport, http) {
            (None | Some(TransportKind::Quic), None | Some(HttpKind::H3)) => Spoken::Quic(Http::H3),
            (None | Some(TransportKind::Quic), Some(HttpKind::Raw)) => Spoken::Quic(Http::Raw),
            (None | Some(TransportKind::Tcp), Some(HttpKind::H2)) | (Some(TransportKind::Tcp), None) => {
                Spoken::Tcp(Version::H2)
            }
            (None | Some(TransportKind::Tcp), Some(HttpKind::H1)) => Spoken::Tcp(Version::H1),
            (Some(TransportKind::Tcp), Some(HttpKind::Raw)) => Spoken::Tcp(Version::Raw),
            (Some(TransportKind::Tcp), Some(HttpKind::H3)) | (Some(TransportKind::Quic), Some(_)) => {
                let place = self.http.as_ref().map_or(0..0, Spanned::span);
                let (transport, allowed) = match transport {
                    Some(TransportKind::Tcp) => ("tcp", "`h1`, `h2`, `raw`"),
                    _ => ("quic", "`h3`, `raw`"),
                };
                let message = format!("this does not run over transport = \"{transport}\"; allowed: {allowed}");
                return Err(Problem::new(place, message));
            }
            (Some(TransportKind::Cbr), _) => Spoken::Cbr,
            (Some(TransportKind::Ping), _) => Spoken::Ping,
            (Some(TransportKind::Program), _) => Spoken::Program,
        };
        Ok(spoken)
    }
}

impl Transport {
    /// When receivers acknowledge, and who decides it, over `spoken`.
    ///
    /// # Errors
    /// A policy that the transport does not have, or that a sender cannot ask for.
    pub(crate) fn acknowledges(&self, spoken: Spoken) -> Result<(AckRule, AckBy), Problem> {
        let rule = self.ack.as_ref().map_or_else(AckRule::default, |rule| *rule.get_ref());
        let by = self.ack_by.as_ref().map_or(rule.by(), |by| *by.get_ref());
        let fail = |place: Option<std::ops::Range<usize>>, message: String| {
            Err(Problem::new(place.unwrap_or_default(), message))
        };
        let place = self.ack.as_ref().map(Spanned::span);
        let asked = matches!(rule, AckRule::Stack | AckRule::Every(_));
        match (spoken, &self.ack_by) {
            (Spoken::Tcp(_), Some(by)) => fail(
                Some(by.span()),
                "`ack_by` is for QUIC: a TCP receiver decides by itself; allowed: nothing".to_owned(),
            ),
            (Spoken::Tcp(_), None) if !asked => {
                fail(place, format!("`{rule}` is a policy of QUIC; allowed for TCP: \"stack\" or \"1:N\""))
            }
            (Spoken::Quic(_), Some(_)) if by == AckBy::Sender && !asked && rule != AckRule::Auto => fail(
                place,
                format!(
                    "a sender cannot ask for `{rule}`; allowed with ack_by = \"sender\": \"stack\", \"1:N\" or \"auto\""
                ),
            ),
            _ => Ok((rule, by)),
        }
    }
}

/// Transport and what runs over it, which go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spoken {
    /// Over QUIC.
    Quic(Http),
    /// Over TCP.
    Tcp(Version),
    /// Nothing, in UDP.
    Cbr,
    /// ICMP echo.
    Ping,
    /// Whatever programs speak.
    Program,
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
