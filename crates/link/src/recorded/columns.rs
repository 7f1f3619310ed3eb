//! What a direction takes of its recordings.

use super::clock::ReplayClock;
use super::column::Column;
use super::file::RecordedFile;
use super::source::{RecordedSource, missing};
use crate::LinkError;
use crate::acm::config::AcmConfig;
use crate::acm::recorded::RecordedFade;
use crate::delay::config::RecordedDelayConfig;
use crate::delay::model::DelayModel;
use crate::input_files::ReadFiles;
use crate::loss::process::LoadedLoss;
use crate::rate::delivery_trace::DeliveryTrace;
use crate::rate::model::RateModel;
use bentpipe_units::{Rate, Span};
use std::path::Path;
use std::sync::Arc;

/// What a direction replays, with the columns that it takes.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Recorded {
    pub sources: Vec<RecordedSource>,
    pub rate: Option<(Arc<RecordedFile>, f64)>,
    pub delay: Option<RecordedDelay>,
    pub trace: Option<Arc<DeliveryTrace>>,
    pub fade: Option<RecordedFade>,
    /// Number of loss processes before that of the fade, if it has one.
    pub losses: usize,
}

/// A recorded delay and what is done with it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecordedDelay {
    pub file: Arc<RecordedFile>,
    pub config: RecordedDelayConfig,
}

impl Recorded {
    /// Reads a recorded rate.
    ///
    /// # Errors
    /// The file cannot be read, contains an invalid line, or has no rates.
    pub fn rate(
        &mut self,
        files: &dyn ReadFiles,
        name: &Path,
        scale: f64,
    ) -> Result<RateModel, LinkError> {
        let file = Arc::new(RecordedFile::load(files, name)?);
        let Some(column) = &file.rate else { return Err(missing(files, name, "rate_bps")) };
        let clock = ReplayClock::repeating(file.length);
        let model = rate(column, scale, &clock);
        self.sources.push(RecordedSource::of_file(name, &file, column.gap));
        self.rate = Some((file, scale));
        Ok(model)
    }

    /// Returns rates and losses of the carrier `acm`, and reads its fade if that is recorded.
    ///
    /// # Errors
    /// The file cannot be read, contains an invalid line, or has no attenuation.
    pub fn carrier(
        &mut self,
        files: &dyn ReadFiles,
        acm: &AcmConfig,
    ) -> Result<(RateModel, Option<LoadedLoss>), LinkError> {
        let name = match acm.timeline() {
            Ok(timeline) => {
                let (highest, loss) = (timeline.highest(), timeline.loss(acm.loss));
                return Ok((timeline.rate(highest), loss));
            }
            Err(name) => name,
        };
        let file = RecordedFile::load(files, name)?;
        let Some(attenuation) = &file.attenuation else {
            return Err(missing(files, name, "attenuation_db"));
        };
        self.sources.push(RecordedSource::of_file(name, &file, attenuation.gap));
        let fade = RecordedFade { attenuation: attenuation.clone(), acm: acm.clone() };
        let carrier = fade.replayed(&ReplayClock::repeating(file.length));
        self.fade = Some(fade);
        Ok(carrier)
    }

    /// Reads a recorded delay.
    ///
    /// # Errors
    /// The file cannot be read, contains an invalid line, or has no delays.
    pub fn delay(
        &mut self,
        files: &dyn ReadFiles,
        config: &RecordedDelayConfig,
    ) -> Result<DelayModel, LinkError> {
        let name = &config.file;
        let file = Arc::new(RecordedFile::load(files, name)?);
        let Some(column) = &file.delay else { return Err(missing(files, name, "delay_ms")) };
        self.sources.push(RecordedSource::of_file(name, &file, column.gap));
        let clock = ReplayClock::repeating(file.length);
        let delay = RecordedDelay { file: Arc::clone(&file), config: config.clone() };
        let model = delay.replayed(column, &clock);
        self.delay = Some(delay);
        Ok(model)
    }
}

/// Returns the recorded rate times `scale`.
pub(super) fn rate(column: &Column<Rate>, scale: f64, clock: &ReplayClock) -> RateModel {
    let scaled = |rate: Rate| if scale == 1.0 { rate } else { rate.mul_f64(scale) };
    let (timeline, rates) = column.steps(clock);
    // Bits in the common length, by which links are sized, as that of a trace: its highest rate
    // lasts for a step.
    let bits = column
        .weighted(clock.length)
        .map(|(held, rate)| u128::from(held.as_nanos()) * u128::from(rate.as_bps()));
    let mean = bits.sum::<u128>() / u128::from(clock.length.as_nanos().max(1));
    RateModel::Schedule {
        timeline: Arc::new(timeline),
        nominal: scaled(Rate::from_bps(u64::try_from(mean).unwrap_or(u64::MAX))),
        rates: rates.into_iter().map(scaled).collect(),
        modcods: Arc::default(),
    }
}

impl RecordedDelay {
    pub(super) fn replayed(&self, column: &Column<Span>, clock: &ReplayClock) -> DelayModel {
        let RecordedDelayConfig { interpolate, keep_order, scale, offset, .. } = self.config;
        let scaled = |delay: Span| {
            let delay = if scale == 1.0 { delay } else { delay.mul_f64(scale) };
            delay + offset
        };
        let (timeline, delays) =
            if interpolate { column.lines(clock) } else { column.steps(clock) };
        DelayModel::Schedule {
            timeline: Arc::new(timeline),
            base: scaled(median(column, clock.length)),
            delays: delays.into_iter().map(scaled).collect(),
            jitter: None,
            interpolate,
            keep_order,
        }
    }
}

/// Returns the delay that half of the time is not exceeded: the same for all runs, which begin at
/// different times.
fn median(column: &Column<Span>, length: Span) -> Span {
    let mut held: Vec<(Span, Span)> =
        column.weighted(length).map(|(held, delay)| (delay, held)).collect();
    held.sort_unstable();
    let mut passed = Span::ZERO;
    let half = length / 2;
    let median = held.iter().find(|(_, held)| {
        passed += *held;
        passed >= half
    });
    median.or(held.last()).map_or(Span::ZERO, |(delay, _)| *delay)
}
