//! A QUIC session of a NetLog: events that are parts of packets become packets.
//!
//! Chromium logs the frames of a packet that it sends before the packet, and those of a packet that
//! it received behind the packet's header. A packet that came before its keys is logged again when
//! it is read.

use super::event::{Kind, Params};
use crate::event::{
    CapturedConnection, EcnCounts, Event, HttpMessage, Packet, Side, StreamEnd, StreamPart,
    Transport, TransportParameters,
};
use crate::json::Scalar;
use crate::logged::Logged;
use bentpipe_units::{Span, Time};
use std::collections::BTreeMap;

/// Largest packet, in bytes (RFC 768).
const MAX_PACKET: u64 = 65_535;
/// Longest session, in milliseconds: days.
const MAX_MS: u64 = 1_000_000_000;
/// A packet is not logged longer than this after it was sent, in milliseconds.
const LOG_DELAY: u64 = 10_000;
/// Most frames of a packet that shares its datagram with others.
const SHARED: usize = 16;
/// Stream of the handshake in Google's QUIC before TLS.
const GOOGLE_CRYPTO_STREAM: u64 = 1;

/// A session that is being read.
#[derive(Debug, Default)]
pub struct Session {
    host: Option<String>,
    self_address: Option<String>,
    peer_address: Option<String>,
    /// True for Google's QUIC: stream 1 has the handshake, and stream 0 stands for the connection.
    is_google: bool,
    /// Events with their times in milliseconds.
    events: Vec<(u64, Event)>,
    /// Frames of the packet that is sent next.
    next: Packet,
    /// The packet whose frames are being received, and the size of its datagram.
    current: Option<usize>,
    datagram: Option<(u64, u64)>,
    received: BTreeMap<(bool, u64), usize>,
    /// Largest packet that each end has acknowledged.
    largest_acknowledged: u64,
    largest_received: u64,
}

impl Session {
    /// Handles an event at a time in milliseconds.
    pub fn handle(&mut self, now: u64, kind: Kind, params: &Params) {
        match kind {
            Kind::Session => self.host = host(params).or(self.host.take()),
            Kind::PacketSent => self.sent(now, params),
            Kind::PacketReceived => {
                self.self_address = self.self_address.take().or(params.self_address.name());
                self.peer_address = self.peer_address.take().or(params.peer_address.name());
                self.datagram = params.size.integer().map(|size| (now, size.min(MAX_PACKET)));
                self.current = None;
            }
            Kind::HeaderReceived => self.header(now, params),
            Kind::PacketLost => {
                self.events
                    .extend(params.packet.integer().map(|number| (now, Event::Lost(number))));
            }
            Kind::StreamSent => add_data(&mut self.next, params),
            Kind::StreamReceived => self.with_received(|packet| add_data(packet, params)),
            Kind::AckSent => {
                let acknowledged = acknowledgement(params, &mut self.largest_received);
                if let Some(acknowledged) = acknowledged {
                    self.next.acknowledged = acknowledged.into();
                    self.next.details.ack_delay = ack_delay(params);
                }
            }
            Kind::AckReceived => self.acknowledged(params),
            Kind::WindowSent | Kind::WindowReceived => {
                self.window(kind == Kind::WindowSent, params);
            }
            Kind::BlockedSent => self.next.is_blocked = true,
            Kind::BlockedReceived => self.with_received(|packet| packet.is_blocked = true),
            Kind::ResetSent => add_end(&mut self.next, params, StreamEnd::Reset),
            Kind::ResetReceived => {
                self.with_received(|packet| add_end(packet, params, StreamEnd::Reset));
            }
            Kind::StopSent => add_end(&mut self.next, params, StreamEnd::Stopped),
            Kind::StopReceived => {
                self.with_received(|packet| add_end(packet, params, StreamEnd::Stopped));
            }
            Kind::HandshakeDone => self.with_received(|packet| packet.handshake_done = true),
            Kind::ParametersSent | Kind::ParametersReceived => {
                let text = params.parameters.text().unwrap_or_default();
                let parameters = parameters(text, kind == Kind::ParametersSent);
                let limits = peer_limits(&parameters);
                let events = limits.into_iter().chain([Event::Parameters(Box::new(parameters))]);
                self.events.extend(events.map(|event| (now, event)));
            }
            Kind::HttpSent | Kind::HttpReceived => {
                let message = message(params, kind == Kind::HttpSent);
                self.events.extend(message.map(|message| (now, Event::Http(Box::new(message)))));
            }
        }
    }

    fn sent(&mut self, now: u64, params: &Params) {
        let mut packet = std::mem::take(&mut self.next);
        let Some(number) = params.packet.integer() else { return };
        let level = params.level.text().unwrap_or_default();
        packet.number = number;
        packet.is_application = !matches!(level, "ENCRYPTION_INITIAL" | "ENCRYPTION_HANDSHAKE");
        packet.bytes = params.size.integer().unwrap_or_default().min(MAX_PACKET);
        let why = params.transmission.text().unwrap_or_default();
        if ["PTO_", "TLP_", "RTO_"].iter().any(|start| why.starts_with(start)) {
            packet.details.is_probe = true;
        }
        // When it was sent, not when that was logged; in whole milliseconds like everything else.
        let sent = params.sent_time_us.integer().map(|time| time / 1000);
        let at = sent.filter(|sent| now.saturating_sub(LOG_DELAY) <= *sent && *sent <= now);
        self.events.push((at.unwrap_or(now), Event::Sent(packet)));
    }

    fn header(&mut self, now: u64, params: &Params) {
        let Some(number) = params.packet.integer() else { return };
        self.is_google |= params.format.text() == Some("GOOGLE_QUIC_PACKET");
        let long_header = params.long_header.text().unwrap_or_default();
        let is_application = !matches!(long_header, "INITIAL" | "HANDSHAKE" | "RETRY");
        let key = (is_application, number);
        let index = *self.received.entry(key).or_insert(self.events.len());
        self.current = Some(index);
        if index < self.events.len() {
            return;
        }
        // Of the packets of a datagram, the first counts with all of it.
        let (at, bytes) = self.datagram.take().unwrap_or((now, 0));
        let packet = Packet { is_application, number, bytes, ..Packet::default() };
        self.events.push((at, Event::Received(packet)));
    }

    /// Changes the packet whose frames are being received.
    fn with_received(&mut self, change: impl FnOnce(&mut Packet)) {
        let event = self.current.and_then(|index| self.events.get_mut(index));
        if let Some((_, Event::Received(packet))) = event {
            change(packet);
        }
    }

    fn acknowledged(&mut self, params: &Params) {
        let acknowledged = acknowledgement(params, &mut self.largest_acknowledged);
        let Some(acknowledged) = acknowledged else { return };
        self.with_received(|packet| {
            packet.acknowledged = acknowledged.into();
            packet.details.ack_delay = ack_delay(params);
            packet.details.ecn = EcnCounts::of(params.ecn.each_ref().map(Scalar::integer));
        });
    }

    fn window(&mut self, is_sent: bool, params: &Params) {
        let Some(limit) = params.byte_offset.integer() else { return };
        let stream = params.stream.integer().filter(|stream| *stream < u64::from(u32::MAX));
        let stream = stream.filter(|stream| *stream > 0 || !self.is_google);
        let change = |packet: &mut Packet| match stream {
            Some(stream) => packet.details.max_stream_data.push((stream, limit)),
            None => packet.max_data = Some(limit),
        };
        if is_sent { change(&mut self.next) } else { self.with_received(change) }
    }

    /// Returns the connection, if it has packets.
    pub fn connection(mut self) -> Option<Logged> {
        self.events.iter().find(|(_, event)| is_packet(event))?;
        self.events.sort_by_key(|(at, _)| *at);
        let start = self.events.first().map_or(0, |(at, _)| *at);
        let is_google = self.is_google;
        let events = self.events.into_iter().map(|(at, mut event)| {
            if let Event::Sent(packet) | Event::Received(packet) = &mut event {
                packet.data.retain(|part| !is_google || part.stream != GOOGLE_CRYPTO_STREAM);
                packet.bytes = packet.bytes.max(packet.stream_bytes());
            }
            (Time::ZERO + Span::from_millis((at - start).min(MAX_MS)), event)
        });
        let address = self.self_address.unwrap_or_default();
        // A session of Chromium begins with its host; servers of its toolkit have none.
        let is_server = self.host.is_none() && address.ends_with(":443");
        let connection = CapturedConnection {
            transport: Transport::Quic,
            title: self.host.or(self.peer_address).unwrap_or_default(),
            ids: Vec::new(),
            side: if is_server { Side::Server } else { Side::Client },
            is_encrypted: false,
            events: events.collect(),
            unreadable: 0,
            notes: vec!["a NetLog has times in whole milliseconds".to_owned()],
        };
        Some(Logged { start: start as f64 / 1e3, trace: 0, connection })
    }
}

fn is_packet(event: &Event) -> bool {
    matches!(event, Event::Sent(_) | Event::Received(_))
}

fn host(params: &Params) -> Option<String> {
    let host = params.host.name()?;
    Some(params.port.integer().map_or(host.clone(), |port| format!("{host}:{port}")))
}

fn add_data(packet: &mut Packet, params: &Params) {
    let length = params.length.integer().filter(|length| *length <= MAX_PACKET);
    let part = params.stream.integer().zip(length).map(|(stream, length)| StreamPart {
        stream,
        offset: params.offset.integer().unwrap_or_default(),
        length,
    });
    // Frames of packets that share a datagram are logged twice.
    let is_again = packet.data.iter().rev().take(SHARED).any(|known| Some(*known) == part);
    if is_again {
        return;
    }
    packet.data.extend(part);
    if params.fin.is_true() {
        add_end(packet, params, StreamEnd::Fin);
    }
}

fn add_end(packet: &mut Packet, params: &Params, end: StreamEnd) {
    packet.details.stream_ends.extend(params.stream.integer().map(|stream| (stream, end)));
}

/// Returns what an acknowledgement acknowledges, and notes the largest of all.
fn acknowledgement(params: &Params, largest_yet: &mut u64) -> Option<Vec<(u64, u64)>> {
    let largest = params.largest.integer()?;
    let mut missing: Vec<u64> = params.missing.0.iter().filter_map(Scalar::integer).collect();
    missing.sort_unstable();
    // Older versions do not name the first: what came before the last report is known.
    let first = missing.first().copied().unwrap_or(u64::MAX);
    let after_last = largest_yet.saturating_add(1).min(largest);
    let smallest = params.smallest.integer().unwrap_or(after_last.min(first));
    *largest_yet = (*largest_yet).max(largest);
    Some(ranges(smallest, largest, &missing))
}

fn ack_delay(params: &Params) -> Option<Span> {
    let delay = params.ack_delay_us.integer().filter(|delay| *delay < MAX_MS);
    delay.map(Span::from_micros)
}

/// Returns the ranges from `smallest` to `largest` without the missing numbers, which are sorted.
fn ranges(smallest: u64, largest: u64, missing: &[u64]) -> Vec<(u64, u64)> {
    let mut ranges = Vec::new();
    let mut first = smallest;
    for &number in missing.iter().filter(|number| (smallest..=largest).contains(number)) {
        if first < number {
            ranges.push((first, number - 1));
        }
        first = number.saturating_add(1);
    }
    if first <= largest {
        ranges.push((first, largest));
    }
    ranges
}

/// Reads transport parameters as Chromium prints them: `[Server max_idle_timeout 30000 …]`.
fn parameters(text: &str, is_local: bool) -> TransportParameters {
    let words: Vec<&str> = text.split(['[', ']', ' ']).filter(|word| !word.is_empty()).collect();
    let number = |name: &str| {
        let at = words.iter().position(|word| *word == name)?;
        words.get(at + 1)?.parse::<u64>().ok()
    };
    let ms = |name: &str| number(name).filter(|ms| *ms <= MAX_MS).map(Span::from_millis);
    TransportParameters {
        is_local,
        max_idle_timeout: ms("max_idle_timeout"),
        max_udp_payload_size: number("max_udp_payload_size"),
        initial_max_data: number("initial_max_data"),
        initial_max_stream_data_bidi_local: number("initial_max_stream_data_bidi_local"),
        initial_max_stream_data_bidi_remote: number("initial_max_stream_data_bidi_remote"),
        initial_max_stream_data_uni: number("initial_max_stream_data_uni"),
        initial_max_streams_bidi: number("initial_max_streams_bidi"),
        ack_delay_exponent: number("ack_delay_exponent"),
        max_ack_delay: ms("max_ack_delay"),
    }
}

fn peer_limits(parameters: &TransportParameters) -> Option<Event> {
    let streams = [
        parameters.initial_max_stream_data_bidi_local,
        parameters.initial_max_stream_data_bidi_remote,
        parameters.initial_max_stream_data_uni,
    ];
    let stream = streams.into_iter().flatten().max().filter(|_| !parameters.is_local)?;
    Some(Event::PeerLimits { connection: parameters.initial_max_data?, stream })
}

/// Reads a header section: a list of texts `name: value`.
fn message(params: &Params, is_sent: bool) -> Option<HttpMessage> {
    let stream = params.stream.integer()?;
    let fields = params.headers.0.iter().filter_map(|field| {
        let text = field.text()?;
        let (name, value) = text.get(1..)?.split_once(": ")?;
        Some((text.get(..name.len() + 1)?, Scalar::Text(value.to_owned())))
    });
    let fields: Vec<_> = fields.collect();
    let fields = fields.iter().map(|(name, value)| (*name, value));
    Some(crate::http::message(stream, is_sent, fields))
}
