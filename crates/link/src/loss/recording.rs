//! Losses with the ratios of a recording.

use super::model::{Model, Process};
use crate::fields::{Field, Fields, Kind};
use crate::random::Stream;
use crate::recorded::clock::ReplayClock;
use crate::recorded::column::Column;
use crate::recorded::file::RecordedFile;
use crate::recorded::source::{RecordedSource, missing};
use crate::schedule::{Segment, Timeline};
use crate::{ConfigError, LinkError, ReadFiles};
use bentpipe_units::{Ratio, Time};
use std::path::PathBuf;
use std::sync::Arc;

/// Independent losses whose ratio follows the `loss` column of a recording.
///
/// Ratios of 0 and 1 in short steps keep bursts as they were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// The file, relative to the scenario.
    pub file: PathBuf,
}

impl Model for Recording {
    const NAME: &'static str = "recording";
    const FIELDS: &'static [Field] = &[Field {
        name: "file",
        kind: Kind::Path,
        about: "recording: a recording, of which the column loss is used.",
    }];
    type Process = RecordingProcess;

    fn from_fields(fields: &Fields) -> Result<Self, ConfigError> {
        fields.expect(&["file"], &[])?;
        Ok(Self { file: fields.path("file").unwrap_or_default() })
    }

    fn to_fields(&self) -> Fields {
        Fields::new(Self::NAME).with("file", self.file.clone())
    }

    fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }

    fn load(&self, files: &dyn ReadFiles) -> Result<RecordingProcess, LinkError> {
        let file = Arc::new(RecordedFile::load(files, &self.file)?);
        let Some(column) = &file.loss else { return Err(missing(files, &self.file, "loss")) };
        let source = RecordedSource::of_file(&self.file, &file, column.gap);
        let clock = ReplayClock::repeating(file.length);
        Ok(RecordingProcess::new(column, &clock, Arc::new((source, file.clone()))))
    }
}

/// The running process of [`Recording`].
#[derive(Debug, Clone, PartialEq)]
pub struct RecordingProcess {
    timeline: Arc<Timeline>,
    ratios: Arc<[Ratio]>,
    current: Segment,
    source: Arc<(RecordedSource, Arc<RecordedFile>)>,
}

impl RecordingProcess {
    fn new(
        column: &Column<Ratio>,
        clock: &ReplayClock,
        source: Arc<(RecordedSource, Arc<RecordedFile>)>,
    ) -> Self {
        let (timeline, ratios) = column.steps(clock);
        Self {
            current: timeline.segment(Time::ZERO),
            timeline: Arc::new(timeline),
            ratios: ratios.into(),
            source,
        }
    }

    /// Returns the recording that the process follows.
    pub(crate) fn source(&self) -> &RecordedSource {
        &self.source.0
    }

    /// Returns the process as `clock` replays the recording.
    pub(crate) fn replayed(&self, clock: &ReplayClock) -> Self {
        match &self.source.1.loss {
            Some(column) => Self::new(column, clock, self.source.clone()),
            None => self.clone(),
        }
    }

    /// Returns when the ratio changes for the last time: `None` for never.
    pub(crate) fn last_change(&self) -> Option<Time> {
        self.timeline.last_change()
    }
}

impl Process for RecordingProcess {
    fn start(&mut self, _: &mut Stream) {}

    #[inline]
    fn loses(&mut self, at: Time, random: &mut Stream) -> bool {
        if !self.current.holds(at) {
            self.current = self.timeline.segment(at);
        }
        random.chance(self.ratios[self.current.index].get())
    }
}

#[cfg(test)]
mod tests {
    use crate::loss::testing::lost;

    #[test]
    fn the_ratio_follows_the_file() {
        // A packet leaves each millisecond from 1 ms on; all are lost from 20 ms to 30 ms of each
        // 40 ms.
        let recording = "{ model = \"recording\", file = \"tests/data/recorded.csv\" }";
        let expected: Vec<usize> =
            (0..100).filter(|number| (20..30).contains(&((number + 1) % 40))).collect();
        assert_eq!(lost(recording, 100), expected);
    }
}
