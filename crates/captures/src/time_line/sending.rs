//! The data of the transfer at its sender, and the RTT at either end.

use crate::account::CapturedTransfer;
use crate::event::{CapturedConnection, Packet};
use bentpipe_timeseries::{BoundedSeries, Series, SeriesLimit};
use bentpipe_units::Time;
use std::collections::BTreeMap;

/// A packet that is not acknowledged yet.
#[derive(Debug, Clone, Copy)]
struct Outstanding {
    at: Time,
    /// Bytes of data up to its end, repeats included.
    position: u64,
}

/// Packets that this end sent, at their position among all bytes sent: repeats included.
#[derive(Debug)]
pub(super) struct Sending<'a> {
    is_encrypted: bool,
    /// When packets were lost, and whether at a full queue, in order.
    losses: &'a [(Time, bool)],
    outstanding: BTreeMap<(bool, u64), Outstanding>,
    /// End of the data of each stream that was sent.
    ends: BTreeMap<u64, u64>,
    position: u64,
    acknowledged: u64,
    sent: BoundedSeries,
    again: BoundedSeries,
    acked: BoundedSeries,
    lost: BoundedSeries,
    lost_at_queue: BoundedSeries,
    limit: BoundedSeries,
    rtt: BoundedSeries,
    in_flight: BoundedSeries,
}

impl<'a> Sending<'a> {
    pub fn new(
        trace: &CapturedConnection,
        recorded: &'a CapturedTransfer,
        limit: SeriesLimit,
    ) -> Self {
        let new = || BoundedSeries::new(limit);
        Self {
            is_encrypted: trace.is_encrypted,
            losses: if recorded.is_sender { &recorded.losses } else { &[] },
            outstanding: BTreeMap::new(),
            ends: BTreeMap::new(),
            position: 0,
            acknowledged: 0,
            sent: new(),
            again: new(),
            acked: new(),
            lost: new(),
            lost_at_queue: new(),
            limit: new(),
            rtt: new(),
            in_flight: new(),
        }
    }

    pub fn sent(&mut self, at: Time, packet: &Packet) {
        let mut repeats = true;
        for part in packet.data.iter().filter(|_| packet.is_application) {
            let end = part.offset.saturating_add(part.length);
            let known = self.ends.entry(part.stream).or_default();
            repeats &= end <= *known;
            *known = (*known).max(end);
            self.position = self.position.saturating_add(part.length);
        }
        let position = self.position;
        self.outstanding
            .insert((packet.is_application, packet.number), Outstanding { at, position });
        if packet.stream_bytes() == 0 || !packet.is_application {
            return;
        }
        let series = if repeats { &mut self.again } else { &mut self.sent };
        series.push(at, position as f64);
        while let Some(((when, at_queue), rest)) = self.losses.split_first()
            && *when <= at
        {
            let series = if *at_queue { &mut self.lost_at_queue } else { &mut self.lost };
            series.push(at, position as f64);
            self.losses = rest;
        }
        self.in_flight.push(at, position.saturating_sub(self.acknowledged) as f64);
    }

    pub fn received(&mut self, at: Time, packet: &Packet) {
        if let Some(limit) = packet.max_data {
            self.limited(at, limit);
        }
        let kind = packet.is_application;
        let newest = packet.acknowledged.iter().max_by_key(|range| range.1);
        // Of encrypted packets, what they acknowledge is an estimate.
        let Some(range) = newest.filter(|_| !self.is_encrypted || !kind) else { return };
        let Some(found) = self.outstanding.remove(&(kind, range.1)) else { return };
        if !packet.is_ambiguous(range) && at > found.at {
            self.rtt.push(at, at.since(found.at).as_millis_f64());
        }
        // Those before it are acknowledged, lost, or late.
        if kind && found.position > self.acknowledged {
            self.acknowledged = found.position;
            self.acked.push(at, found.position as f64);
            self.in_flight.push(at, self.position.saturating_sub(found.position) as f64);
        }
    }

    /// Takes a limit of flow control that arrived.
    pub fn limited(&mut self, at: Time, limit: u64) {
        let limit = limit as f64;
        if self.limit.last().is_none_or(|(_, last)| last < limit) {
            self.limit.push(at, limit);
        }
    }

    /// Returns the RTT alone.
    pub fn into_rtt(self) -> Option<Series> {
        Some(Series::new("rtt", "ms", self.rtt.into_points()))
    }

    /// Returns the series, those of the RTT and of the bytes in flight if they are asked for.
    pub fn into_series(self, with_rtt: bool, with_flight: bool) -> Vec<Series> {
        let with_flight = with_flight && !self.is_encrypted;
        [
            (true, "sent", "B", self.sent),
            (true, "sent_again", "B", self.again),
            (true, "acked", "B", self.acked),
            (true, "lost", "B", self.lost),
            (true, "lost_at_queue", "B", self.lost_at_queue),
            (true, "flow_control_limit_at_sender", "B", self.limit),
            (with_rtt, "rtt", "ms", self.rtt),
            (with_flight, "bytes_in_flight", "B", self.in_flight),
        ]
        .into_iter()
        .filter(|(is_wanted, ..)| *is_wanted)
        .map(|(_, name, unit, series)| Series::new(name, unit, series.into_points()))
        .collect()
    }
}
