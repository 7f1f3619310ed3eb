//! Losses listed in a file.

use super::model::{Model, Process};
use crate::fields::{Field, Fields, Kind};
use crate::random::Stream;
use crate::trace_file;
use crate::{ConfigError, LinkError, ReadFiles};
use bentpipe_units::Time;
use std::path::PathBuf;
use std::sync::Arc;

/// Losses listed in a file: one `0` (received) or `1` (lost) per packet.
///
/// Spaces and line ends may appear anywhere, and `#` starts a comment. The file repeats from its
/// end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The file, relative to the scenario.
    pub file: PathBuf,
}

impl Model for Trace {
    const NAME: &'static str = "trace";
    const FIELDS: &'static [Field] = &[Field {
        name: "file",
        kind: Kind::Path,
        about: "trace: a file with one 0 (received) or 1 (lost) per packet.",
    }];
    type Process = TraceProcess;

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

    fn is_random(&self) -> bool {
        false
    }

    fn load(&self, files: &dyn ReadFiles) -> Result<TraceProcess, LinkError> {
        let lost = trace_file::read(files, &self.file, parse)?;
        Ok(TraceProcess { lost: lost.into(), next: 0 })
    }
}

fn parse(text: &str) -> Result<Vec<bool>, (usize, ConfigError)> {
    let mut lost = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let content = line.split('#').next().unwrap_or_default();
        for outcome in content.chars().filter(|c| !c.is_whitespace()) {
            lost.push(match outcome {
                '0' => false,
                '1' => true,
                other => {
                    let allowed = "0 for a received packet, 1 for a lost one, # before a comment";
                    return Err((
                        index + 1,
                        ConfigError::refused(other, "is neither 0 nor 1", allowed),
                    ));
                }
            });
        }
    }
    if lost.is_empty() {
        return Err((1, ConfigError::refused("", "contains no packet", "at least one 0 or 1")));
    }
    Ok(lost)
}

/// The running process of [`Trace`].
#[derive(Debug, Clone, PartialEq)]
pub struct TraceProcess {
    lost: Arc<[bool]>,
    next: usize,
}

impl Process for TraceProcess {
    fn start(&mut self, _: &mut Stream) {}

    #[inline]
    fn loses(&mut self, _: Time, _: &mut Stream) -> bool {
        let lost = self.lost[self.next];
        self.next = if self.next + 1 == self.lost.len() { 0 } else { self.next + 1 };
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::testing::lost;

    #[test]
    fn a_file_consists_of_zeros_and_ones() {
        assert_eq!(parse("01 # two\n1\n").unwrap(), [false, true, true]);
        assert_eq!(parse("0\n2").unwrap_err().0, 2);
        assert!(parse("# nothing\n").is_err());
    }

    #[test]
    fn losses_follow_the_file_and_repeat() {
        let trace = "{ model = \"trace\", file = \"tests/data/loss.trace\" }";
        assert_eq!(lost(trace, 55), [5, 6, 19, 30, 31, 44]);
    }
}
