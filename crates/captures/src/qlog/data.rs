//! What events say, in the words of all drafts and stacks.

use super::frame::{MAX_FRAMES, RawFrame};
use super::measure::{RawSize, number_on_path, size_of};
use crate::event::{Event, Metrics, Packet};
use crate::json::{FieldValue, FromObject, List, Object, Scalar};
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

impl FromObject for RawHeader {
    fn field<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        value: &mut FieldValue<'_, A>,
    ) -> Result<(), A::Error> {
        match key {
            "packet_type" | "type" => self.kind = value.get()?,
            "packet_number" => self.number = value.get()?,
            "packet_size" => self.size = value.get()?,
            "path_id" => self.path = value.get()?,
            _ => {}
        }
        Ok(())
    }
}

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
    new: Scalar,
    initiator: Scalar,
    lost_packets: Scalar,
    largest_lost: Scalar,
    parameters: Parameters,
}

/// Flow control of transport parameters.
#[derive(Debug, Default)]
struct Parameters {
    data: Scalar,
    bidi_local: Scalar,
    bidi_remote: Scalar,
    uni: Scalar,
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
            "initiator" | "owner" => self.initiator = value.get()?,
            "lost_packets" => self.lost_packets = value.get()?,
            "largest_lost_packet_num" => self.largest_lost = value.get()?,
            "initial_max_data" => self.parameters.data = value.get()?,
            "initial_max_stream_data_bidi_local" => self.parameters.bidi_local = value.get()?,
            "initial_max_stream_data_bidi_remote" => self.parameters.bidi_remote = value.get()?,
            "initial_max_stream_data_uni" => self.parameters.uni = value.get()?,
            _ => self.outer.field(key, value)?,
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

    /// Returns the event of this name on a path, if it is one that matters.
    pub fn into_event(self, name: &str, path: u64) -> Option<Event> {
        match Kind::of(name)? {
            Kind::Sent => Some(Event::Sent(self.into_packet(path)?)),
            Kind::Received => Some(Event::Received(self.into_packet(path)?)),
            Kind::Lost => {
                let packet = self.into_packet(path)?;
                packet.is_application.then_some(Event::Lost(packet.number))
            }
            Kind::SeveralLost => {
                let largest = self.largest_lost.integer()?;
                (self.lost_packets.integer() == Some(1))
                    .then(|| Event::Lost(number_on_path(path, largest)))
            }
            Kind::Metrics => {
                let bytes = |value: &Scalar| value.integer().map(Bytes::new);
                let metrics = Metrics {
                    window: bytes(&self.window),
                    in_flight: bytes(&self.in_flight),
                    ssthresh: bytes(&self.ssthresh),
                };
                (metrics != Metrics::default()).then_some(Event::Metrics(metrics))
            }
            Kind::State => Some(Event::State(self.new.text()?.to_ascii_lowercase())),
            Kind::Parameters => self.parameters(),
        }
    }

    /// Returns the peer's flow control.
    fn parameters(&self) -> Option<Event> {
        self.initiator.text().filter(|end| end.eq_ignore_ascii_case("remote"))?;
        let Parameters { data, bidi_local, bidi_remote, uni } = &self.parameters;
        let streams = [bidi_local, bidi_remote, uni];
        let stream = streams.into_iter().filter_map(Scalar::integer).max()?;
        Some(Event::PeerLimits { connection: data.integer()?, stream })
    }

    /// Returns the packet of an event; `None` without a number, as for Retry.
    fn into_packet(self, path: u64) -> Option<Packet> {
        let Self { header, outer, .. } = self;
        let number = header.number.integer().or_else(|| outer.number.integer())?;
        let kind = header.kind.text().or_else(|| outer.kind.text());
        let mut packet =
            Packet { is_application: kind.is_none_or(is_application), ..Packet::default() };
        packet.number = if packet.is_application { number_on_path(path, number) } else { number };
        for frame in self.frames.0 {
            frame.0.add_to(&mut packet);
        }
        let sizes = [&self.raw.length, &header.size, &outer.size];
        // Without a size: the stream data, a short header and the tag.
        let size = size_of(sizes).filter(|size| *size > 0);
        packet.bytes = size.unwrap_or_else(|| packet.stream_bytes() + 40);
        Some(packet)
    }
}

/// Returns true for packets of the application, and where a converter did not know.
fn is_application(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    kind.contains("rtt") || kind == "unknown"
}
