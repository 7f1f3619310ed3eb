//! Recordings as CSV files.

use super::column::Column;
use crate::input_files::{ReadFiles, shown_line};
use crate::trace_file;
use crate::{ConfigError, LinkError};
use bentpipe_units::{Epoch, Rate, Ratio, Span};
use std::path::Path;

/// Largest number of lines with values.
const MAX_LINES: usize = 2_000_000;
/// Longest recording: a week.
const MAX_LENGTH: Span = Span::from_secs(7 * 86_400);
/// Bits of the packet that a line's rate must be able to send.
const PACKET_BITS: f64 = 12_000.0;
const COLUMNS: &str = "time_s and any of rate_bps, delay_ms, loss, attenuation_db";
/// Highest attenuation in dB, as of the points of a fade.
const MAX_DB: f64 = 300.0;

/// What was measured of one direction of a path over time.
///
/// A text file: lines that begin with `#` are comments, of which `# start: TIME` gives the time of
/// `time_s = 0` in UTC; the first other line names the columns, `time_s` and any of `rate_bps`,
/// `delay_ms`, `loss` and `attenuation_db`. Times rise. An empty field has not been measured.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedFile {
    pub(crate) length: Span,
    pub(crate) start: Option<Epoch>,
    pub(crate) rate: Option<Column<Rate>>,
    pub(crate) delay: Option<Column<Span>>,
    pub(crate) loss: Option<Column<Ratio>>,
    pub(crate) attenuation: Option<Column<f64>>,
}

impl RecordedFile {
    /// Reads the recording `name` of `files`.
    ///
    /// # Errors
    /// The file cannot be read, or contains an invalid line.
    pub fn load<F: ReadFiles + ?Sized>(files: &F, name: &Path) -> Result<Self, LinkError> {
        trace_file::read(&files, name, Self::parse)
    }

    /// Returns the time from the start to the end, one median step after the last line.
    pub fn length(&self) -> Span {
        self.length
    }

    /// Returns the start in UTC, if the file gives it.
    pub fn start(&self) -> Option<Epoch> {
        self.start
    }

    /// Returns true if the file has measured rates.
    pub fn has_rate(&self) -> bool {
        self.rate.is_some()
    }

    /// Returns true if the file has measured delays.
    pub fn has_delay(&self) -> bool {
        self.delay.is_some()
    }

    /// Returns true if the file has measured losses.
    pub fn has_loss(&self) -> bool {
        self.loss.is_some()
    }

    /// Reads a recording from its text.
    ///
    /// # Errors
    /// The first invalid line, from 1, and what is allowed.
    pub fn parse(text: &str) -> Result<Self, (usize, ConfigError)> {
        let mut start = None;
        let mut header: Option<Header> = None;
        let mut rows = Rows::default();
        for (index, line) in text.lines().enumerate() {
            let refused = |error: ConfigError| (index + 1, error);
            let line = line.trim_end_matches('\r');
            if let Some(comment) = line.strip_prefix('#') {
                start = start.or(start_of(comment).map_err(refused)?);
            } else if line.trim().is_empty() {
            } else if let Some(header) = &header {
                rows.add(header, line, index + 1).map_err(refused)?;
            } else {
                header = Some(Header::parse(line).map_err(refused)?);
            }
        }
        let last = text.lines().count().max(1);
        rows.finish(start).map_err(|(line, error)| (line.unwrap_or(last), error))
    }
}

/// Returns the start that a comment gives.
fn start_of(comment: &str) -> Result<Option<Epoch>, ConfigError> {
    let Some(start) = comment.trim().strip_prefix("start:") else { return Ok(None) };
    let allowed = "UTC such as # start: 2026-05-01T12:00:00Z";
    start
        .trim()
        .parse()
        .map(Some)
        .map_err(|_| ConfigError::refused(shown_line(start.trim()), "is not a time", allowed))
}

/// A column of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quantity {
    Time,
    Rate,
    Delay,
    Loss,
    Attenuation,
}

/// The columns of a file, in order.
struct Header(Vec<Quantity>);

impl Header {
    fn parse(line: &str) -> Result<Self, ConfigError> {
        let mut columns = Vec::new();
        for name in line.split(',').map(str::trim) {
            let column = match name {
                "time_s" => Quantity::Time,
                "rate_bps" => Quantity::Rate,
                "delay_ms" => Quantity::Delay,
                "loss" => Quantity::Loss,
                "attenuation_db" => Quantity::Attenuation,
                _ => {
                    let plain = |c: char| c.is_ascii_lowercase() || c == '_';
                    let plain = name.len() <= 20 && name.chars().all(plain);
                    let shown = if plain { name } else { "the line" };
                    return Err(ConfigError::refused(shown, "is not a column", COLUMNS));
                }
            };
            if columns.contains(&column) {
                return Err(ConfigError::refused(name, "stands there twice", COLUMNS));
            }
            columns.push(column);
        }
        match columns.as_slice() {
            columns if !columns.contains(&Quantity::Time) => {
                Err(ConfigError::refused("the header", "has no time_s", COLUMNS))
            }
            [_] => Err(ConfigError::refused("time_s", "is the only column", COLUMNS)),
            _ => Ok(Self(columns)),
        }
    }
}

/// The measured values of a file, with their times and lines.
#[derive(Default)]
struct Rows {
    times: Vec<Span>,
    rates: Vec<(Span, Rate, usize)>,
    delays: Vec<(Span, Span, usize)>,
    losses: Vec<(Span, Ratio, usize)>,
    attenuations: Vec<(Span, f64, usize)>,
}

impl Rows {
    /// Adds the text of line number `line`.
    fn add(&mut self, header: &Header, text: &str, line: usize) -> Result<(), ConfigError> {
        if self.times.len() == MAX_LINES {
            let allowed = format!("up to {MAX_LINES} lines; use longer steps");
            return Err(ConfigError::refused("the line", "is one too many", allowed));
        }
        let fields: Vec<&str> = text.split(',').map(str::trim).collect();
        if fields.len() != header.0.len() {
            let problem = format!("has {} fields", fields.len());
            let allowed = format!("{}, as in the header", header.0.len());
            return Err(ConfigError::refused(shown_line(text), problem, allowed));
        }
        let columns = || header.0.iter().zip(&fields);
        let time = columns().find(|(column, _)| **column == Quantity::Time);
        let at = self.time(time.map_or("", |(_, text)| *text))?;
        self.times.push(at);
        for (column, text) in columns().filter(|(_, text)| !text.is_empty()) {
            match column {
                Quantity::Time => {}
                Quantity::Rate => {
                    let bps = number(text, "0 to 1e15 bit/s", 1e15)?.round() as u64;
                    self.rates.push((at, Rate::from_bps(bps), line));
                }
                Quantity::Delay => {
                    let ms = number(text, "0 to 86400000 ms", 86_400_000.0)?;
                    // In whole nanoseconds: a double has more digits than any clock.
                    let delay = Span::from_nanos((ms * 1e6).round() as u64);
                    self.delays.push((at, delay, line));
                }
                Quantity::Loss => {
                    let ratio = Ratio::new(number(text, "a ratio from 0 to 1", 1.0)?)?;
                    self.losses.push((at, ratio, line));
                }
                Quantity::Attenuation => {
                    self.attenuations.push((at, number(text, "0 to 300 dB", MAX_DB)?, line));
                }
            }
        }
        Ok(())
    }

    /// Reads a time, which must be later than the one before it.
    fn time(&self, text: &str) -> Result<Span, ConfigError> {
        let allowed = format!("seconds from 0 to {}", MAX_LENGTH.as_secs_f64());
        let secs = number(text, &allowed, MAX_LENGTH.as_secs_f64())?;
        let at = Span::from_nanos((secs * 1e9).round() as u64);
        match self.times.last() {
            Some(last) if at <= *last => {
                let problem = format!("does not come after the line above, {}", last.as_secs_f64());
                Err(ConfigError::refused(shown_line(text), problem, "times that rise"))
            }
            _ => Ok(at),
        }
    }

    /// Checks and returns the whole. Errors without a line are about the end of the file.
    fn finish(self, start: Option<Epoch>) -> Result<RecordedFile, (Option<usize>, ConfigError)> {
        let refused = |problem: &str, allowed: &str| {
            (None, ConfigError::refused("the recording", problem, allowed))
        };
        let mut steps: Vec<Span> = self.times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let middle = steps.len() / 2;
        if steps.is_empty() {
            return Err(refused("has fewer than two lines", "a header and at least two lines"));
        }
        let step = *steps.select_nth_unstable(middle).1;
        let length = self.times.last().copied().unwrap_or_default() + step;
        if length < Span::from_millis(1) {
            return Err(refused("is shorter than 1 ms", "at least 1 ms"));
        }
        if let Some((_, rate, line)) = too_short(&self.rates, step) {
            let problem = format!("sends less than a packet of 1500 bytes in a step of {step}");
            let allowed = "longer steps, or rate = { trace = \"FILE\" }";
            return Err((Some(line), ConfigError::refused(rate, problem, allowed)));
        }
        if !self.rates.is_empty() && self.rates.iter().all(|(_, rate, _)| rate.is_zero()) {
            return Err(refused("never sends anything", "at least one rate above 0"));
        }
        let recorded = RecordedFile {
            length,
            start,
            rate: Column::new(&self.rates, length, step),
            delay: Column::new(&self.delays, length, step),
            loss: Column::new(&self.losses, length, step),
            attenuation: Column::new(&self.attenuations, length, step),
        };
        match recorded {
            RecordedFile { rate: None, delay: None, loss: None, attenuation: None, .. } => {
                Err(refused("has no value", "values in at least one column"))
            }
            recorded => Ok(recorded),
        }
    }
}

/// Returns the median of the rates above zero if `step` is too short for it.
fn too_short(rates: &[(Span, Rate, usize)], step: Span) -> Option<(Span, Rate, usize)> {
    let mut sending: Vec<_> = rates.iter().filter(|(_, rate, _)| !rate.is_zero()).collect();
    let middle = sending.len() / 2;
    if sending.is_empty() {
        return None;
    }
    let (at, rate, line) = **sending.select_nth_unstable_by_key(middle, |(_, rate, _)| *rate).1;
    (rate.as_bps() as f64 * step.as_secs_f64() < PACKET_BITS).then_some((at, rate, line))
}

/// Reads a number from 0 to `most`.
fn number(text: &str, allowed: &str, most: f64) -> Result<f64, ConfigError> {
    let value: f64 = text
        .parse()
        .map_err(|_| ConfigError::refused(shown_line(text), "is no number", allowed))?;
    if (0.0..=most).contains(&value) {
        // Negative zero is zero.
        Ok(value.abs())
    } else {
        Err(ConfigError::refused(shown_line(text), "is out of range", allowed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_may_be_in_any_order_and_fields_empty() {
        let text = "# start: 2023-11-14T22:13:20Z\n# origin: invented\n\
                    delay_ms,time_s,loss\n20,0,\n,0.1,1\n# more\n22.5,0.2,0\r\n";
        let file = RecordedFile::parse(text).unwrap();
        assert_eq!(file.length(), Span::from_millis(300));
        assert_eq!(file.start(), Some(Epoch::from_unix_secs(1_700_000_000)));
        assert!(file.has_delay() && file.has_loss() && !file.has_rate());
        let delays: Vec<_> = file.delay.unwrap().weighted(file.length).collect();
        let held = |ms, micros| (Span::from_millis(ms), Span::from_micros(micros));
        assert_eq!(delays, [held(200, 20_000), held(100, 22_500)]);
    }

    #[test]
    fn wrong_lines_are_named() {
        for (text, line, word) in [
            ("time_s,delay_ms\n0,1\n0.1,x\n", 3, "`the line` is no number"),
            ("time_s,delay_ms\n0,1\n0.1,-1\n", 3, "`-1` is out of range"),
            ("time_s,delay_ms\n0,1\n0.1,nan\n", 3, "out of range"),
            ("time_s,attenuation_db\n0,0\n1,-0.1\n", 3, "`-0.1` is out of range"),
            ("time_s,attenuation_db\n0,300.1\n", 2, "0 to 300 dB"),
            ("time_s,loss\n0,0\n0.1,1.01\n", 3, "`1.01` is out of range"),
            ("time_s,loss\n0.1,0\n0.1,1\n", 3, "does not come after"),
            ("time_s,loss\n0,0,0\n", 2, "has 3 fields"),
            ("time_s,loss,loss\n", 1, "twice"),
            ("time_s\n", 1, "only column"),
            ("loss\n", 1, "no time_s"),
            ("time_s,root:$y$secretsecretsecret\n", 1, "`the line` is not a column"),
            ("# start: now\ntime_s,loss\n", 1, "not a time"),
            ("time_s,loss\n0,1\n", 2, "fewer than two lines"),
            ("", 1, "fewer than two lines"),
            ("time_s,loss\n0,\n1,\n", 3, "has no value"),
            ("time_s,rate_bps\n0,0\n1,0\n", 3, "never sends"),
            ("time_s,rate_bps\n0,1e6\n0.01,1e6\n", 2, "less than a packet"),
            ("time_s,loss\n0,1\n1e-9,1\n", 3, "shorter than 1 ms"),
        ] {
            let (at, error) = RecordedFile::parse(text).unwrap_err();
            assert_eq!(at, line, "{text:?}: {error}");
            assert!(error.to_string().contains(word), "{text:?}: {error}");
        }
    }
}
