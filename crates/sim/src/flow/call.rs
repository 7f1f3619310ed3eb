//! Calls over UDP: audio and video in one or both directions, without congestion control, or with
//! that of SCReAM at the senders.

use super::current_visit::VisitStart;
use super::media_direction::{self, MediaDirection};
use super::progress::FlowProgress;
use super::report::{ReverseReport, VisitReport};
use super::shared::Shared;
use super::transport::{Outbox, Outgoing, Transport, side};
use crate::datagram::{Body, Datagram, Media, PathDirection, Role};
use crate::error::SimError;
use crate::outcome::ReverseBytes;
use crate::packet_arena::PacketId;
use crate::spec::{CallTraffic, FlowSpec};
use crate::visit_progress::VisitProgress;
use bentpipe_link::{Ecn, Packet};
use bentpipe_media::{HEADERS, REQUEST_BYTES};
use bentpipe_quic::{IP_HEADER, SenderMetrics, UDP_HEADER};
use bentpipe_units::{Span, Time};

/// A call over UDP.
pub struct CallTransport {
    traffic: CallTraffic,
    last_node: u16,
    /// ECN field of packets of media.
    ecn: Ecn,
    visit: Option<ActiveVisit>,
}

/// The active visit.
struct ActiveVisit {
    data_direction: PathDirection,
    progress: VisitProgress,
    /// The directions that carry media.
    media: Vec<MediaDirection>,
    /// Bytes of packets that each end has sent: towards the client, then towards the server.
    sent: [u64; 2],
    metrics: SenderMetrics,
}

impl CallTransport {
    /// Creates the transport of a call that has not started.
    pub fn new(traffic: CallTraffic, spec: &FlowSpec, shared: &Shared) -> Result<Self, SimError> {
        media_direction::check(spec)?;
        let ecn = spec.marking.ecn;
        Ok(Self { traffic, last_node: shared.last_node, ecn, visit: None })
    }
}

impl ActiveVisit {
    /// Returns the next packet in a direction, with the size of the IP packet.
    fn next(&mut self, now: Time, toward: PathDirection) -> Option<(Media, u32)> {
        for media in &mut self.media {
            if media.toward == toward {
                if let Some(packet) = media.sender.poll(now) {
                    return Some((Media::Packet(packet), packet.payload + HEADERS));
                }
            } else if std::mem::take(&mut media.requests_keyframe) {
                return Some((Media::KeyframeRequest, REQUEST_BYTES));
            } else if let Some(report) = media.feedback.as_mut().and_then(|all| all.poll(now)) {
                return Some((Media::Feedback(report), report.bytes()));
            }
        }
        None
    }

    /// Counts a packet of `bytes` of the data's direction, and returns its position in the bytes of
    /// its direction.
    fn count(&mut self, now: Time, toward: PathDirection, bytes: u32) -> f64 {
        let sent = &mut self.sent[usize::from(toward == PathDirection::ToServer)];
        *sent += u64::from(bytes);
        let position = *sent as f64;
        if toward == self.data_direction {
            let mut stats = self.metrics.stats();
            stats.packets_sent += 1;
            stats.bytes_sent += u64::from(bytes);
            if let Some(series) = &mut stats.series {
                series.sent.push(now, position);
            }
        }
        position
    }
}

impl Transport for CallTransport {
    fn begin(
        &mut self,
        start: &VisitStart,
        progress: &mut FlowProgress,
        shared: &Shared,
    ) -> Result<(), SimError> {
        self.visit = Some(ActiveVisit {
            data_direction: start.data_direction,
            progress: start.progress.clone(),
            media: media_direction::all(&self.traffic, &progress.spec.name, start, shared),
            sent: [0; 2],
            metrics: SenderMetrics::new(start.series),
        });
        Ok(())
    }

    fn report(&mut self, now: Time, _progress: &FlowProgress) -> Option<VisitReport> {
        let visit = self.visit.take()?;
        let (call, series) = media_direction::finish(now, visit.media);
        let reverse = ReverseReport { series, ..ReverseReport::default() };
        Some(VisitReport { reverse, call, ..VisitReport::new(visit.metrics) })
    }

    fn end(&mut self, _now: Time, _timed: bool) {}

    fn deliver(&mut self, now: Time, _node: u16, ecn: Ecn, datagram: &mut Datagram) {
        let Body::Media(media) = datagram.body else { return };
        let Some(visit) = &mut self.visit else { return };
        let toward = datagram.toward;
        match media {
            Media::Packet(packet) => {
                if toward == visit.data_direction {
                    visit.progress.received(0, packet.payload as usize, now);
                }
                let direction = visit.media.iter_mut().find(|media| media.toward == toward);
                if let Some(direction) = direction {
                    direction.requests_keyframe |= direction.receiver.received(now, &packet);
                    if let Some(feedback) = &mut direction.feedback {
                        feedback.received(now, &packet, ecn);
                    }
                }
            }
            Media::KeyframeRequest => {
                let others = visit.media.iter_mut().filter(|media| media.toward != toward);
                others.for_each(|media| media.sender.request_keyframe());
            }
            Media::Feedback(report) => {
                let others = visit.media.iter_mut().filter(|media| media.toward != toward);
                others.for_each(|media| media.sender.on_feedback(now, &report));
            }
        }
    }

    fn wake(&mut self, _now: Time, _node: u16) {}

    fn next_timeout(&self, node: u16) -> Option<Time> {
        let (visit, side) = (self.visit.as_ref()?, side(node, self.last_node)?);
        // Requests are sent at once, without a timer.
        let due = |media: &MediaDirection| {
            if media.toward.source() == side {
                media.sender.due()
            } else {
                media.feedback.as_ref()?.due()
            }
        };
        visit.media.iter().filter_map(due).min()
    }

    fn poll_transmit(&mut self, outbox: &mut Outbox<'_>) -> Option<Packet<PacketId>> {
        let (visit, toward) = (self.visit.as_mut()?, PathDirection::leaving(outbox.side()?));
        let (media, bytes) = visit.next(outbox.now, toward)?;
        let packet = Outgoing {
            toward,
            to: if outbox.side() == Some(Role::Client) { self.last_node } else { 0 },
            bytes,
            ecn: if matches!(media, Media::Packet(_)) { self.ecn } else { Ecn::NotEct },
            position: visit.count(outbox.now, toward, bytes),
            answers: false,
            connection: 0,
            held: Span::ZERO,
            body: Body::Media(media),
        };
        Some(outbox.send(packet, || ReverseBytes {
            ip: u64::from(IP_HEADER),
            udp: u64::from(UDP_HEADER),
            payload: u64::from(bytes - IP_HEADER - UDP_HEADER),
            total: u64::from(bytes),
            ..ReverseBytes::default()
        }))
    }
}
