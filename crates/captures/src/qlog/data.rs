//! What events say, in the words of all drafts and stacks.

use super::frame::{MAX_FRAMES, RawFrame};
use super::http::RawHttpFrame;
use super::measure::{RawSize, number_on_path, size_of, span};
use super::parameters::RawParameters;
use crate::event::{Event, Metrics, Packet};
use crate::json::{FieldValue, FromObject, List, Object, Scalar, from_object};
use bentpipe_units::Bytes;
use serde::de::MapAccess;

/// The header of a packet.
#[derive(Debug, Clone, Default)]
struct RawHeader {
    kind: Scalar,
    number: Scalar,
    size: Scalar,
    path: Scalar,
}

from_object!(RawHeader {
    "packet_type" | "type" => kind: get,
    "packet_number" => number: get,
    "packet_size" => size: get,
    "path_id" => path: get,
});

/// The data of an event: the fields of all kinds of events that matter.
#[derive(Debug, Default)]
pub struct Data {
    header: RawHeader,
    /// The same fields, where drafts before 02 have some of them.
    outer: RawHeader,
    raw: RawSize,
    frames: List<Object<RawFrame>, MAX_FRAMES>,
    pub trigger: Scalar,
    window: Scalar,
    in_flight: Scalar,
    ssthresh: Scalar,
    latest_rtt: Scalar,
    smoothed_rtt: Scalar,
    min_rtt: Scalar,
    new: Scalar,
    mtu: Scalar,
    number_space: Scalar,
    lost_packets: Scalar,
    largest_lost: Scalar,
    is_mtu_probe: Scalar,
    stream: Scalar,
    frame: RawHttpFrame,
    parameters: RawParameters,
}

impl FromObject for Data {
    fn field<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        value: &mut FieldValue<'_, A>,
    ) -> Result<(), A::Error> {
        match key {
            "header" => self.header = value.object()?,
            "raw" => self.raw = value.object()?,
            "frames" => self.frames = value.get()?,
            "trigger" => self.trigger = value.get()?,
            "congestion_window" | "cwnd" | "current_cwnd" => self.window = value.get()?,
            "bytes_in_flight" => self.in_flight = value.get()?,
            "ssthresh" => self.ssthresh = value.get()?,
            "new" => self.new = value.get()?,
            "mtu" => self.mtu = value.get()?,
            "latest_rtt" => self.latest_rtt = value.get()?,
            "smoothed_rtt" => self.smoothed_rtt = value.get()?,
            "min_rtt" => self.min_rtt = value.get()?,
            "packet_number_space" => self.number_space = value.get()?,
            "is_mtu_probe_packet" => self.is_mtu_probe = value.get()?,
            "stream_id" => self.stream = value.get()?,
            "frame" => self.frame = value.object()?,
            "lost_packets" => self.lost_packets = value.get()?,
            "largest_lost_packet_num" => self.largest_lost = value.get()?,
            "packet_type" | "packet_number" | "packet_size" | "path_id" => {
                self.outer.field(key, value)?;
            }
            _ => self.parameters.field(key, value)?,
        }
        Ok(())
    }
}

/// What an event is, by its name without the category in small letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Sent,
    Received,
    Lost,
    /// Packets that were lost together, of which the largest is named (mvfst).
    SeveralLost,
    Metrics,
    State,
    Parameters,
    SpuriousLoss,
    Mtu,
    /// A frame of HTTP/3 that this end made.
    HttpCreated,
    /// A frame of HTTP/3 of the peer.
    HttpParsed,
}

impl Kind {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "packet_sent" | "packet_tx" => Self::Sent,
            "packet_received" | "packet_rx" => Self::Received,
            "packet_lost" => Self::Lost,
            "packets_lost" => Self::SeveralLost,
            "metrics_updated"
            | "recovery_metrics_updated"
            | "metric_update"
            | "congestion_metric_update" => Self::Metrics,
            "congestion_state_updated" | "congestion_state_update" | "cc_state_update" => {
                Self::State
            }
            "parameters_set" | "transport_parameters_update" => Self::Parameters,
            "spurious_loss" => Self::SpuriousLoss,
            "mtu_updated" => Self::Mtu,
            "frame_created" => Self::HttpCreated,
            "frame_parsed" => Self::HttpParsed,
            _ => return None,
        })
    }
}

/// Returns true if the data of events of this name matter, or if the name is not known yet.
pub fn is_relevant(name: &str) -> bool {
    name.is_empty() || Kind::of(name).is_some()
}

impl Data {
    /// Returns the number of the path that it belongs to, if it names one.
    pub fn path(&self) -> Option<u64> {
        [&self.header.path, &self.outer.path].into_iter().find_map(Scalar::integer)
    }

    /// Returns the events that those of this name are, on a path: those that matter. Times are in
    /// units of so many seconds.
    pub fn into_events(self, name: &str, path: u64, unit: f64) -> [Option<Event>; 2] {
        let Some(kind) = Kind::of(name) else { return [None, None] };
        if kind == Kind::Parameters {
            return [self.parameters.peer_limits(), self.parameters.parameters()];
        }
        [self.into_event(kind, path, unit), None]
    }

    fn into_event(self, kind: Kind, path: u64, unit: f64) -> Option<Event> {
        Some(match kind {
            Kind::Sent => Event::Sent(self.into_packet(path, unit)?),
            Kind::Received => Event::Received(self.into_packet(path, unit)?),
            Kind::Lost => Event::Lost(self.application_number(path)?),
            Kind::SpuriousLoss => Event::SpuriousLoss(self.application_number(path)?),
            Kind::SeveralLost => {
                self.lost_packets.integer().filter(|count| *count == 1)?;
                Event::Lost(number_on_path(path, self.largest_lost.integer()?))
            }
            Kind::Metrics => Event::Metrics(self.metrics(unit)?),
            Kind::State => Event::State(self.new.text()?.to_ascii_lowercase()),
            Kind::Mtu => {
                let size = size_of([&self.new, &self.mtu]).filter(|size| *size > 0)?;
                Event::Mtu(Bytes::new(size))
            }
            Kind::HttpCreated | Kind::HttpParsed => {
                let message =
                    self.frame.message(self.stream.integer()?, kind == Kind::HttpCreated)?;
                Event::Http(Box::new(message))
            }
            Kind::Parameters => return None,
        })
    }

    fn metrics(&self, unit: f64) -> Option<Metrics> {
        let bytes = |value: &Scalar| value.integer().map(Bytes::new);
        let metrics = Metrics {
            window: bytes(&self.window),
            in_flight: bytes(&self.in_flight),
            ssthresh: bytes(&self.ssthresh),
            latest_rtt: span(&self.latest_rtt, unit),
            smoothed_rtt: span(&self.smoothed_rtt, unit),
            min_rtt: span(&self.min_rtt, unit),
        };
        (metrics != Metrics::default()).then_some(metrics)
    }

    /// Returns the number of the packet, if it is one of the application.
    fn application_number(&self, path: u64) -> Option<u64> {
        let number = self.header.number.integer().or_else(|| self.outer.number.integer())?;
        let is_of_handshake =
            self.number_space.text().is_some_and(|space| ["initial", "handshake"].contains(&space));
        (self.is_application() && !is_of_handshake).then(|| number_on_path(path, number))
    }

    /// Returns true for packets of the application, and where nobody says.
    fn is_application(&self) -> bool {
        let kind = self.header.kind.text().or_else(|| self.outer.kind.text());
        kind.is_none_or(|kind| {
            let kind = kind.to_ascii_lowercase();
            kind.contains("rtt") || kind == "unknown"
        })
    }

    /// Returns the packet of an event; `None` without a number, as for Retry.
    fn into_packet(self, path: u64, unit: f64) -> Option<Packet> {
        let is_application = self.is_application();
        let trigger = self.trigger.text().unwrap_or_default().to_ascii_lowercase();
        let Self { header, outer, .. } = self;
        let number = header.number.integer().or_else(|| outer.number.integer())?;
        let mut packet = Packet {
            is_application,
            number: if is_application { number_on_path(path, number) } else { number },
            ..Packet::default()
        };
        let (is_probe, is_mtu_probe) = (trigger == "pto_probe", self.is_mtu_probe.is_true());
        if is_probe || is_mtu_probe {
            (packet.details.is_probe, packet.details.is_mtu_probe) = (is_probe, is_mtu_probe);
        }
        for frame in self.frames.0 {
            frame.0.add_to(&mut packet, unit);
        }
        let sizes = [&self.raw.length, &header.size, &outer.size];
        // Without a size: the stream data, a short header and the tag.
        let size = size_of(sizes).filter(|size| *size > 0);
        packet.bytes = size.unwrap_or_else(|| packet.stream_bytes() + 40);
        Some(packet)
    }
}
