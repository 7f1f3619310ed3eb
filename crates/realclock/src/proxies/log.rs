//! What a proxy wrote: its connection log, and its last words.

use bentpipe_sim::EmulatedProxy;
use serde::Deserialize;
use std::path::Path;

/// Lines of a failed program's output that an error quotes.
const TAIL_LINES: usize = 5;

/// A line of the connection log of `bentpipe pep --log json`, without the unused fields.
#[derive(Debug, Deserialize)]
struct Line {
    bytes_to_server: u64,
    bytes_to_client: u64,
    end: String,
}

/// Returns the report of proxy `name` from its standard output.
pub(super) fn report(name: &str, text: &str) -> EmulatedProxy {
    let mut report = EmulatedProxy {
        name: name.to_owned(),
        connections: 0,
        incomplete: 0,
        bytes_to_server: 0,
        bytes_to_client: 0,
    };
    // The first line has the address that it listens on.
    for line in text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok()) {
        report.connections += 1;
        report.incomplete += u64::from(line.end != "complete");
        report.bytes_to_server += line.bytes_to_server;
        report.bytes_to_client += line.bytes_to_client;
    }
    report
}

/// Returns the last lines of `file`, in the form that an error message appends.
pub(super) fn tail(file: &Path) -> String {
    let bytes = std::fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    // Control characters of a program must not reach the user's terminal.
    let clean = |line: &str| line.chars().filter(|c| !c.is_control()).collect::<String>();
    let mut lines: Vec<String> =
        text.lines().map(clean).filter(|line| !line.trim().is_empty()).collect();
    let last = lines.split_off(lines.len().saturating_sub(TAIL_LINES));
    if last.is_empty() { String::new() } else { format!(": {}", last.join(" | ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_connection_log_is_summed_up() {
        let line = |end: &str, up: u64, down: u64| {
            format!(
                r#"{{"client":"198.18.0.1:4","how":"transparent","bytes_to_server":{up},"bytes_to_client":{down},"seconds":1.0,"end":"{end}"}}"#
            )
        };
        let text = format!(
            "{}\n{}\n{}\nnot a line\n",
            r#"{"listening":"127.0.0.1:8118"}"#,
            line("complete", 100, 3000),
            line("reset-by-client", 20, 0),
        );
        let expected = EmulatedProxy {
            name: "gateway".to_owned(),
            connections: 2,
            incomplete: 1,
            bytes_to_server: 120,
            bytes_to_client: 3000,
        };
        assert_eq!(report("gateway", &text), expected);
    }

    #[test]
    fn the_tail_has_the_last_lines_without_control_characters() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("err");
        assert_eq!(tail(&file), "");
        let text: String = (0..9).map(|line| format!("line {line}\x1b\n\n")).collect();
        std::fs::write(&file, text).unwrap();
        assert_eq!(tail(&file), ": line 4 | line 5 | line 6 | line 7 | line 8");
    }
}
