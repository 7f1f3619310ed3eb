//! The data of the transfer at its receiver.

use crate::event::Packet;
use bentpipe_timeseries::{BoundedSeries, Series, SeriesLimit};
use bentpipe_units::Time;
use std::collections::BTreeMap;

/// Packets that this end received, at their position among all new bytes.
#[derive(Debug)]
pub(super) struct Receiving {
    /// End of the data of each stream.
    ends: BTreeMap<u64, u64>,
    position: u64,
    received: BoundedSeries,
    /// Data that filled a gap, or came twice.
    late: BoundedSeries,
    limit: BoundedSeries,
}

impl Receiving {
    pub fn new(limit: SeriesLimit) -> Self {
        let new = || BoundedSeries::new(limit);
        Self { ends: BTreeMap::new(), position: 0, received: new(), late: new(), limit: new() }
    }

    pub fn received(&mut self, at: Time, packet: &Packet) {
        if packet.stream_bytes() == 0 || !packet.is_application {
            return;
        }
        let mut is_late = true;
        for part in &packet.data {
            let end = part.offset.saturating_add(part.length);
            let known = self.ends.entry(part.stream).or_default();
            is_late &= end <= *known;
            // The bytes of a gap count with the data behind it.
            self.position = self.position.saturating_add(end.saturating_sub(*known));
            *known = (*known).max(end);
        }
        let series = if is_late { &mut self.late } else { &mut self.received };
        series.push(at, self.position as f64);
    }

    pub fn sent(&mut self, at: Time, packet: &Packet) {
        if let Some(limit) = packet.max_data {
            let limit = limit as f64;
            if self.limit.last().is_none_or(|(_, last)| last < limit) {
                self.limit.push(at, limit);
            }
        }
    }

    /// Returns the series. `losses` are the times at which lost data came after all.
    pub fn into_series(self, losses: &[(Time, bool)], limit: SeriesLimit) -> Vec<Series> {
        let mut lost = BoundedSeries::new(limit);
        let mut points = self.received.iter().chain(self.late.iter()).collect::<Vec<_>>();
        points.sort_by_key(|(at, _)| *at);
        for (when, _) in losses {
            let before = points.partition_point(|(at, _)| at <= when);
            let position = before.checked_sub(1).and_then(|index| points.get(index));
            lost.push(*when, position.map_or(0.0, |(_, position)| *position));
        }
        [
            ("received", "B", self.received),
            ("received_late", "B", self.late),
            ("repaired", "B", lost),
            ("flow_control_limit", "B", self.limit),
        ]
        .map(|(name, unit, series)| Series::new(name, unit, series.into_points()))
        .into()
    }
}
