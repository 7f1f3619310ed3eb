//! A run as it is stored: its results and recording, in memory and as bytes.

use crate::plan::{Plan, Task};
use bentpipe_report::Trace;
use bentpipe_results::Run;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::Path;
use thiserror::Error;

/// Results and recording of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRun {
    /// Results of the run.
    pub run: Run,
    /// What was recorded besides; `None` if nothing was.
    pub recording: Option<StoredRecording>,
    /// Time that the run took, in seconds, from which later ones are estimated.
    pub seconds: f64,
}

/// Time series, qlog files and captures of one run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StoredRecording {
    /// Index of the time series, whose offsets begin at 0.
    pub trace: Option<Trace>,
    /// Points of the time series, which `trace` indexes.
    #[serde(skip)]
    pub points: Vec<u8>,
    /// End of the run in nanoseconds since its start.
    pub end_ns: u64,
    /// Other files.
    pub files: Vec<RunFile>,
}

/// A file of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunFile {
    pub kind: FileKind,
    /// Name without directory and extension. Empty if the run has one file of the kind.
    pub name: String,
    #[serde(skip)]
    pub content: Vec<u8>,
}

/// Kind of a recorded file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    Qlog,
    Qvis,
    Capture,
}

impl StoredRun {
    /// Gives the record the names of `task`, which has the same identity as the task that it is of.
    pub(crate) fn rename(&mut self, plan: &Plan, task: Task) {
        let case = &plan.cases[task.case];
        self.run.variant.clone_from(&case.variant);
        self.run.point.clone_from(&case.point);
        self.run.run = task.run;
        if let Some(trace) = self.recording.iter_mut().find_map(|record| record.trace.as_mut()) {
            trace.variant.clone_from(&case.variant);
            trace.point.clone_from(&case.point);
            trace.run = task.run;
        }
    }
}

/// Bytes that are no record of this version.
#[derive(Debug, Error)]
#[error("not the record of a run of this version of Bentpipe: {0}")]
pub struct DecodeError(String);

/// Returns `run` as bytes, from which [`decode_run`] returns an equal one.
pub fn encode_run(run: &Run) -> Vec<u8> {
    // Fails for maps with keys that are no text, which a run does not have.
    serde_json::to_vec(run).unwrap_or_default()
}

/// Returns the run that [`encode_run`] has encoded.
pub fn decode_run(bytes: &[u8]) -> Result<Run, DecodeError> {
    serde_json::from_slice(bytes).map_err(|error| DecodeError(error.to_string()))
}

/// Largest ratio of a text to its compressed form (Snappy: copies of 64 bytes in 3).
const MOST_COMPRESSED: usize = 22;

/// Description of a recording, before its contents.
#[derive(Serialize, Deserialize)]
struct Header {
    recording: StoredRecording,
    points: usize,
    files: Vec<Stored>,
}

/// A file as it is stored.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Stored {
    bytes: usize,
    is_compressed: bool,
}

/// Returns `content` compressed, or as it is if it is too long for that. Events of qlog repeat
/// their names: an eighth remains, which is written faster than the whole.
fn compress(content: &[u8]) -> (Cow<'_, [u8]>, Stored) {
    let compressed = snap::raw::Encoder::new().compress_vec(content);
    let (content, is_compressed) = match compressed {
        Ok(compressed) => (Cow::Owned(compressed), true),
        Err(_) => (Cow::Borrowed(content), false),
    };
    let bytes = content.len();
    (content, Stored { bytes, is_compressed })
}

fn decompress(content: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let failed = |error: snap::Error| DecodeError(error.to_string());
    let length = snap::raw::decompress_len(content).map_err(failed)?;
    if length > content.len().saturating_mul(MOST_COMPRESSED) {
        return Err(DecodeError(format!("{} bytes cannot become {length}", content.len())));
    }
    snap::raw::Decoder::new().decompress_vec(content).map_err(failed)
}

/// Returns `recording` as bytes, from which [`decode_recording`] returns an equal one.
pub fn encode_recording(recording: &StoredRecording) -> Vec<u8> {
    let files: Vec<_> = recording.files.iter().map(|file| compress(&file.content)).collect();
    let header = Header {
        points: recording.points.len(),
        files: files.iter().map(|(_, stored)| *stored).collect(),
        recording: StoredRecording {
            trace: recording.trace.clone(),
            points: Vec::new(),
            end_ns: recording.end_ns,
            files: recording
                .files
                .iter()
                .map(|file| RunFile { content: Vec::new(), name: file.name.clone(), ..*file })
                .collect(),
        },
    };
    let mut bytes = Vec::new();
    append(&mut bytes, &serde_json::to_vec(&header).unwrap_or_default());
    bytes.extend(&recording.points);
    files.iter().for_each(|(content, _)| bytes.extend_from_slice(content));
    bytes
}

/// Returns the recording that [`encode_recording`] has encoded.
pub fn decode_recording(bytes: &[u8]) -> Result<StoredRecording, DecodeError> {
    let mut rest = bytes;
    let header: Header = serde_json::from_slice(take_sized(&mut rest)?)
        .map_err(|error| DecodeError(error.to_string()))?;
    let mut recording = header.recording;
    recording.points = take(&mut rest, header.points)?.to_vec();
    if header.files.len() != recording.files.len() {
        return Err(DecodeError("the number of files differs".to_owned()));
    }
    for (file, stored) in recording.files.iter_mut().zip(header.files) {
        // Records come from other machines, too, and their files get these names.
        if !file.name.is_empty() && Path::new(&file.name).file_name() != Some(file.name.as_ref()) {
            return Err(DecodeError(format!("`{}` is not the name of a file", file.name)));
        }
        let content = take(&mut rest, stored.bytes)?;
        file.content = if stored.is_compressed { decompress(content)? } else { content.to_vec() };
    }
    Ok(recording)
}

/// Appends the length of `part` and `part`.
fn append(bytes: &mut Vec<u8>, part: &[u8]) {
    bytes.extend((part.len() as u64).to_le_bytes());
    bytes.extend(part);
}

/// Removes and returns what [`append`] has appended first.
fn take_sized<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], DecodeError> {
    let size = u64::from_le_bytes(take(rest, 8)?.try_into().unwrap_or_default());
    take(rest, usize::try_from(size).unwrap_or(usize::MAX))
}

/// Removes and returns the first `size` bytes of `rest`.
fn take<'a>(rest: &mut &'a [u8], size: usize) -> Result<&'a [u8], DecodeError> {
    let (first, after) =
        rest.split_at_checked(size).ok_or_else(|| DecodeError("it is cut off".to_owned()))?;
    *rest = after;
    Ok(first)
}

impl StoredRun {
    /// Returns the record as bytes, for another process.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.seconds.to_le_bytes().to_vec();
        append(&mut bytes, &encode_run(&self.run));
        bytes.extend(self.recording.as_ref().map(encode_recording).unwrap_or_default());
        bytes
    }

    /// Returns the record of which [`StoredRun::to_bytes`] has made `bytes`.
    ///
    /// # Errors
    /// The bytes are cut off, or come from another version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut rest = bytes;
        let seconds = f64::from_le_bytes(take(&mut rest, 8)?.try_into().unwrap_or_default());
        let run = decode_run(take_sized(&mut rest)?)?;
        let recording = if rest.is_empty() { None } else { Some(decode_recording(rest)?) };
        Ok(Self { run, recording, seconds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TWO_VARIANTS, plan, records};

    #[test]
    fn a_decoded_record_equals_the_encoded_one() {
        let plan = plan(&format!("{TWO_VARIANTS}\n[output]\nqlog = true\n"));
        let records = records(&plan);
        assert!(records[0].recording.as_ref().is_some_and(|own| !own.files.is_empty()));
        assert!(records[1].recording.is_none());
        for record in records {
            let bytes = record.to_bytes();
            assert_eq!(StoredRun::from_bytes(&bytes).unwrap(), record);
            for length in [0, 7, 8, bytes.len() / 2, bytes.len() - 1] {
                assert!(StoredRun::from_bytes(&bytes[..length]).is_err(), "{length} bytes");
            }
        }
    }

    #[test]
    fn a_file_with_a_name_that_leads_elsewhere_is_refused() {
        let decoded = |name: &str| {
            let file = RunFile { kind: FileKind::Qlog, name: name.to_owned(), content: vec![1] };
            let recording = StoredRecording { files: vec![file], ..StoredRecording::default() };
            decode_recording(&encode_recording(&recording)).map(|decoded| decoded == recording)
        };
        for name in ["", "main-visit1-client", ".x"] {
            assert!(decoded(name).unwrap(), "{name}");
        }
        for name in ["..", "../../x", "/etc/x", "a/b", "a/", "."] {
            assert!(decoded(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_length_that_the_bytes_cannot_have_is_refused() {
        let text = vec![b'a'; 1_000_000];
        let (compressed, stored) = compress(&text);
        assert!(stored.is_compressed && stored.bytes < 60_000);
        assert_eq!(decompress(&compressed).unwrap(), text);
        // A length of 4 GB before nothing.
        assert!(decompress(&[0xff, 0xff, 0xff, 0xff, 0x0f]).is_err());
    }
}
