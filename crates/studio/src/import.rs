//! Measurements that become a scenario, as `bentpipe import` makes it.

use crate::files::{Directory, FileError};
use bentpipe_recordings::{Direction, Import, Input, Options, options};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Largest number of files of an import.
pub const MAX_FILES: usize = 16;
/// Largest size of all files of an import together.
pub const MAX_BYTES: usize = 64 << 20;
/// Longest name of a file.
const MAX_NAME: usize = 200;

/// Why measurements do not become a scenario.
#[derive(Debug, Error)]
pub enum Refused {
    /// What was asked or measured cannot be used. The message says what can.
    #[error("{0}")]
    Content(String),
    /// The directory cannot be made.
    #[error(transparent)]
    File(#[from] FileError),
}

/// What the page asks for. The contents of the files follow each other in the request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// Name of the directory to make.
    to: String,
    files: Vec<AskedFile>,
    /// What the options of `bentpipe import` say; empty as if they were not given.
    #[serde(default)]
    rate: String,
    #[serde(default)]
    offset: String,
    #[serde(default)]
    interval: String,
    #[serde(default)]
    phase: String,
    #[serde(default)]
    licence: String,
    direction: Option<AskedDirection>,
}

/// A file, whose content has a number of bytes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AskedFile {
    name: String,
    bytes: usize,
    direction: Option<AskedDirection>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum AskedDirection {
    Up,
    Down,
}

/// What was made.
#[derive(Debug, Serialize)]
pub struct Imported {
    /// The scenario.
    file: String,
    /// Names of all files in its directory.
    files: Vec<String>,
    /// What was found: headings with lines.
    summary: Vec<(&'static str, Vec<String>)>,
}

/// Makes a scenario of measurements in a new directory.
pub fn import(directory: &Directory, asked: Asked, content: &[u8]) -> Result<Imported, Refused> {
    let options = asked.options()?;
    let inputs = asked.inputs(content)?;
    // Before the work, of which nothing would come.
    directory.check_new(&asked.to)?;
    let import = Import::new(inputs, &options).map_err(|error| refused(error.to_string()))?;
    directory.make(&asked.to, &import.files)?;
    let summary = import.summary.blocks();
    Ok(Imported {
        file: format!("{}/scenario.toml", asked.to),
        files: import.files.iter().map(|(name, _)| name.clone()).collect(),
        summary: summary.map(|(heading, lines)| (heading, lines.to_vec())).collect(),
    })
}

fn refused(reason: impl Into<String>) -> Refused {
    Refused::Content(reason.into())
}

impl From<AskedDirection> for Direction {
    fn from(direction: AskedDirection) -> Self {
        match direction {
            AskedDirection::Up => Self::Up,
            AskedDirection::Down => Self::Down,
        }
    }
}

impl Asked {
    fn options(&self) -> Result<Options, Refused> {
        Ok(Options {
            offset: read("offset", &self.offset, options::offset)?,
            interval: read("interval", &self.interval, options::interval)?,
            direction: self.direction.map(Direction::from),
            phase: read("phase", &self.phase, options::phase)?.flatten(),
            rate: read("rate", &self.rate, |text| text.parse().map_err(shown))?,
            transfers: [None; 2],
            licence: Some(self.licence.clone()).filter(|text| !text.is_empty()),
        })
    }

    /// Cuts the content into the files.
    fn inputs(&self, content: &[u8]) -> Result<Vec<Input>, Refused> {
        if self.files.is_empty() || self.files.len() > MAX_FILES {
            let given = self.files.len();
            return Err(refused(format!("{given} files; allowed: 1 to {MAX_FILES} at a time")));
        }
        let mut rest = content;
        let mut inputs = Vec::new();
        for file in &self.files {
            let name = &file.name;
            if name.len() > MAX_NAME
                || name.contains(['/', '\\'])
                || name.contains(char::is_control)
            {
                let allowed = format!("up to {MAX_NAME} bytes without control characters and /");
                return Err(refused(format!("{name:?} is no name; allowed: {allowed}")));
            }
            let (bytes, behind) = rest
                .split_at_checked(file.bytes)
                .ok_or_else(|| refused(format!("{name}: its content is cut off")))?;
            rest = behind;
            let direction = file.direction.map(Direction::from);
            inputs.push(Input {
                name: name.clone(),
                bytes: bytes.to_vec(),
                format: None,
                direction,
            });
        }
        if rest.is_empty() {
            Ok(inputs)
        } else {
            Err(refused("the request has more than its files; allowed: their contents"))
        }
    }
}

fn shown(error: impl ToString) -> String {
    error.to_string()
}

/// Reads the value of an option, unless it is empty.
fn read<T>(
    name: &str,
    text: &str,
    value: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, Refused> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    value(text).map(Some).map_err(|error| refused(format!("`--{name}`: {error}")))
}
