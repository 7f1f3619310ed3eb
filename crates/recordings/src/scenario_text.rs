//! The files of an import: recordings, the scenario that replays them, and where they are from.

use crate::measured::Direction;
use bentpipe_units::Epoch;
use std::fmt::Write;

/// A row of a recording: time in nanoseconds since its start, delay in nanoseconds, loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    pub at: i64,
    pub delay: Option<i64>,
    pub loss: Option<f64>,
}

/// Comments at the head of a recording.
pub struct Head<'a> {
    pub direction: Direction,
    pub start: Option<i64>,
    pub origin: &'a [String],
}

impl Head<'_> {
    fn text(&self) -> String {
        let mut text = format!("# direction: {}\n", self.direction.name());
        if let Some(start) = self.start {
            let start = Epoch::from_unix_millis(u64::try_from(start / 1_000_000).unwrap_or(0));
            text.push_str(&format!("# start: {start}\n"));
        }
        for origin in self.origin {
            // A name may have a line end, after which a row would begin.
            let origin: String = origin.chars().filter(|c| !c.is_control()).collect();
            text.push_str(&format!("# origin: {origin}\n"));
        }
        text
    }
}

/// Returns a recording of delays and losses. Loss has a column only if something was lost.
pub fn delays(head: &Head<'_>, rows: &[Row]) -> String {
    let loss = rows.iter().any(|row| row.loss.is_some_and(|loss| loss > 0.0));
    let mut text = head.text();
    text.push_str(if loss { "time_s,delay_ms,loss\n" } else { "time_s,delay_ms\n" });
    for row in rows {
        let delay = row.delay.map_or_else(String::new, |ns| decimal(ns, 1_000_000));
        let _ = write!(text, "{},{delay}", decimal(row.at, 1_000_000_000));
        if loss {
            let _ = write!(text, ",{}", row.loss.map_or_else(String::new, |loss| loss.to_string()));
        }
        text.push('\n');
    }
    text
}

/// Returns a recording of rates: times in nanoseconds since its start, bits per second.
pub fn rates(head: &Head<'_>, rows: &[(i64, f64)]) -> String {
    let mut text = head.text();
    text.push_str("time_s,rate_bps\n");
    for (at, bps) in rows {
        let _ = writeln!(text, "{},{:.0}", decimal(*at, 1_000_000_000), bps);
    }
    text
}

/// Returns the trace of delivery opportunities as text.
pub fn trace(millis: &[u32]) -> String {
    let mut text = String::with_capacity(millis.len() * 7);
    for at in millis {
        let _ = writeln!(text, "{at}");
    }
    text
}

/// Returns `value / unit`, `unit` a power of ten, with all digits that are not zero.
fn decimal(value: i64, unit: i64) -> String {
    let digits = unit.ilog10() as usize;
    let (whole, rest) = (value / unit, value % unit);
    let fraction = format!("{rest:0digits$}");
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() { whole.to_string() } else { format!("{whole}.{fraction}") }
}

/// What the scenario says of one direction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DirectionKeys {
    /// Keys and values in the notation of TOML.
    pub keys: Vec<(&'static str, String)>,
}

/// What the scenario says.
pub struct ScenarioText<'a> {
    pub files: &'a [String],
    pub down: DirectionKeys,
    pub up: DirectionKeys,
    pub recorded: bool,
    pub period: Option<&'static str>,
    pub hold: bool,
}

impl ScenarioText<'_> {
    /// Returns the scenario.
    pub fn text(&self) -> String {
        let direction = |keys: &DirectionKeys| {
            let keys: Vec<String> =
                keys.keys.iter().map(|(key, value)| format!("{key} = {value}")).collect();
            format!("{{ {} }}", keys.join(", "))
        };
        let mut text =
            "# Written by `bentpipe import`. No file says how long the queues are: edit \
            them.\nname = \"imported\"\n"
                .to_owned();
        let title = format!("Recorded: {}", self.files.join(", "));
        let title: String = title.chars().filter(|c| !c.is_control()).take(120).collect();
        let _ = writeln!(text, "title = {}", quoted(&title));
        let _ = writeln!(text, "repeat = 10\n\n[path]\nforward = {}", direction(&self.down));
        let _ = writeln!(text, "return = {}", direction(&self.up));
        if self.recorded {
            text.push_str("\n[path.recording]\nstart = \"random\"\n");
            if let Some(period) = self.period {
                let _ = writeln!(text, "period = \"{period}\"");
            }
            if self.hold {
                text.push_str("fill = \"hold\"\n");
            }
        }
        text.push_str("\n[workload]\ndownload = \"10 MB\"\n");
        text
    }
}

/// Returns a text in the notation of TOML.
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_is_no_row() {
        let origin = ["a\n9,9\r.txt".to_owned()];
        let head = Head { direction: Direction::Up, start: None, origin: &origin };
        let text = rates(&head, &[(0, 1e6)]);
        assert_eq!(text, "# direction: up\n# origin: a9,9.txt\ntime_s,rate_bps\n0,1000000\n");
    }

    #[test]
    fn decimals_are_exact() {
        for (value, text) in [(0, "0"), (1_500_000_000, "1.5"), (100_000_001, "0.100000001")] {
            assert_eq!(decimal(value, 1_000_000_000), text);
        }
        assert_eq!(decimal(20_850_500, 1_000_000), "20.8505");
        assert_eq!(quoted("a\"b\\c"), "\"a\\\"b\\\\c\"");
    }
}
