//! The player of an adaptive video, which decides on the sizes of objects and when to request them.

use crate::visit_outcome::ApplicationOutcome;
use bentpipe_media::abr::{AdaptiveVideo, Player, PlayerSeries};
use bentpipe_sim::Object;
use bentpipe_timeseries::{Series, SeriesLimit};
use bentpipe_units::Time;
use std::sync::Arc;

/// A player, with the objects that it requests one after the other.
pub(super) struct VideoPlayer {
    player: Player,
    /// Bytes of each object: of the lowest bitrate, until it is requested.
    sizes: Vec<u64>,
    /// When to request the next one.
    due: Time,
}

impl VideoPlayer {
    /// Creates a player that starts `now`. With a limit, it records time series.
    pub fn new(
        video: &Arc<AdaptiveVideo>,
        objects: &[Object],
        now: Time,
        series: Option<SeriesLimit>,
    ) -> Self {
        Self {
            player: Player::new(video.clone(), now, series),
            sizes: objects.iter().map(|object| object.bytes.get()).collect(),
            due: now,
        }
    }

    /// Returns when to request the next object.
    pub fn due(&self) -> Time {
        self.due
    }

    /// Returns the bytes of an object.
    pub fn size(&self, object: usize) -> u64 {
        self.sizes.get(object).copied().unwrap_or_default()
    }

    /// Requests an object `now`.
    pub fn requested(&mut self, object: usize, now: Time) {
        let bytes = self.player.request(now);
        if let Some(size) = self.sizes.get_mut(object) {
            *size = bytes;
        }
    }

    /// Handles that the requested object has arrived.
    pub fn arrived(&mut self, now: Time) {
        self.due = self.player.arrived(now).unwrap_or(now);
    }

    /// Ends the visit, and returns what was played.
    pub fn finish(&mut self, now: Time) -> ApplicationOutcome {
        let player = Some(self.player.finish(now));
        let series = self.player.take_series().into_iter().flat_map(PlayerSeries::into_series);
        let series =
            series.map(|(name, unit, points)| Series::new(name, unit, points.into_points()));
        let series = series.collect();
        let sizes = std::mem::take(&mut self.sizes);
        ApplicationOutcome { player, sizes, series, ..ApplicationOutcome::default() }
    }
}
