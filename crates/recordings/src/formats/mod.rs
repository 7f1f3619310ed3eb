//! The readers of the formats: a file each, and how one format is told from another.

mod atlas;
mod dish;
mod foreign;
mod iperf3;
mod iperf3_json;
mod irtt;
mod leoreplayer;
mod ping;
mod ping_line;
mod ping_table;
mod udp;

use crate::error::{Fault, ImportError};
use crate::format::Format;
use crate::measured::Measured;
use std::borrow::Cow;

/// Number of characters that are looked at to tell a format.
const LOOK: usize = 4096;
/// Largest file, compressed or not.
const MAX_BYTES: u64 = 256 << 20;

/// Reads the file called `name`, of which errors speak. A file compressed with gzip or Zstandard is
/// read as its content. Without `format` the content tells it.
///
/// # Errors
/// The format is unknown, or a line is invalid.
pub fn read(name: &str, bytes: Vec<u8>, format: Option<Format>) -> Result<Measured, ImportError> {
    parsed(bytes, format).map_err(|fault| fault.in_file(name))
}

fn parsed(bytes: Vec<u8>, format: Option<Format>) -> Result<Measured, Fault> {
    let bytes = bentpipe_captures::decompressed(bytes, MAX_BYTES)
        .map_err(|error| Fault::whole(error.to_string()))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Fault::whole(format!("it has more than {MAX_BYTES} bytes; allowed: a part")));
    }
    foreign::bytes(&bytes)?;
    let text = text(&bytes)?;
    let text = text.trim_start_matches('\u{feff}');
    let format = match format {
        Some(format) => format,
        None => recognised(text)?,
    };
    let result = of_format(format, text).or_else(|fault| without_cut_line(format, text, fault));
    result.map_err(|fault| {
        // Every refusal says what would be taken.
        if fault.problem.contains("allowed: ") {
            return fault;
        }
        let problem = format!("{}; allowed: {}", fault.problem, format.description());
        Fault { problem, ..fault }
    })
}

fn of_format(format: Format, text: &str) -> Result<Measured, Fault> {
    match format {
        Format::Ping => ping::read(text),
        Format::PingTable => ping_table::read(text),
        Format::Irtt => irtt::read(text),
        Format::Atlas => atlas::read(text),
        Format::Iperf3 => iperf3::read(text),
        Format::Mahimahi => leoreplayer::opportunities(text),
        Format::LeoReplayer => leoreplayer::delays(text),
        Format::Dish => dish::read(text),
        Format::UdpRecords => udp::read(text),
    }
}

/// Reads a text without its last line if that is the one at fault and has no end: the program that
/// wrote it was stopped.
fn without_cut_line(format: Format, text: &str, fault: Fault) -> Result<Measured, Fault> {
    let by_lines = !text.starts_with(['{', '[']) || format == Format::Ping;
    let last = text.lines().count();
    let cut = text.rfind('\n').filter(|_| !text.ends_with('\n') && fault.line == Some(last));
    let (true, Some(end)) = (by_lines || iperf3_json::is_stream(text), cut) else {
        return Err(fault);
    };
    let mut measured = of_format(format, &text[..=end]).map_err(|_| fault)?;
    measured.notes.push(format!("line {last}, the last, has no end: not used"));
    Ok(measured)
}

/// Returns the text of a file. Shells of Windows write UTF-16, and its ping writes the code page of
/// the console, of which letters that are not ASCII do not matter.
fn text(bytes: &[u8]) -> Result<Cow<'_, str>, Fault> {
    let wide = |unit: fn([u8; 2]) -> u16| {
        let units = bytes[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
        char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    if bytes.starts_with(&[0xff, 0xfe]) {
        return Ok(Cow::Owned(wide(u16::from_le_bytes)));
    }
    if bytes.starts_with(&[0xfe, 0xff]) {
        return Ok(Cow::Owned(wide(u16::from_be_bytes)));
    }
    let error = match std::str::from_utf8(bytes) {
        Ok(text) => return Ok(Cow::Borrowed(text)),
        Err(error) => error,
    };
    let text = String::from_utf8_lossy(bytes);
    let is_plain = !bytes.iter().any(|byte| *byte < 32 && !b"\t\r\n".contains(byte));
    if is_plain && ping::is_format(&text.chars().take(LOOK).collect::<String>()) {
        return Ok(text);
    }
    let before = &bytes[..error.valid_up_to()];
    let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
    let problem = "it is no text; allowed: files that `bentpipe import --help` lists";
    Err(Fault::at(line, problem))
}

/// Tells the format of a text.
fn recognised(text: &str) -> Result<Format, Fault> {
    let start = text.trim_start();
    let look: String = start.chars().take(LOOK).collect();
    let first = look.lines().find(|line| !line.starts_with('#')).unwrap_or_default().trim();
    foreign::text(&look)?;
    if look.starts_with('{') || look.starts_with('[') && !ping_line::is_ping(first) {
        return json(text);
    }
    let format = if ping::is_format(&look) {
        Format::Ping
    } else if dish::is_header(first) {
        Format::Dish
    } else if udp::is_header(first) {
        Format::UdpRecords
    } else if first.starts_with("time_s,") {
        let problem = "it is a recording already; allowed: `recording = \"FILE\"` in a direction \
            of a scenario";
        return Err(Fault::at(1, problem));
    } else if ping_table::is_first(first) {
        Format::PingTable
    } else if leoreplayer::is_trace(text) {
        Format::Mahimahi
    } else if leoreplayer::is_number(first) {
        Format::LeoReplayer
    } else {
        return Err(Fault::at(1, unknown()));
    };
    Ok(format)
}

/// Tells the tool that wrote a document of JSON.
fn json(text: &str) -> Result<Format, Fault> {
    let has = |key: &str| text.contains(&format!("\"{key}\""));
    if has("round_trips") {
        Ok(Format::Irtt)
    } else if has("test_start") || has("intervals") || iperf3_json::is_stream(text) {
        Ok(Format::Iperf3)
    } else if has("dishGetHistory") || has("popPingLatencyMs") {
        Ok(Format::Dish)
    } else if has("prb_id") || has("msm_id") {
        Ok(Format::Atlas)
    } else if has("qlog_version") || has("qlog_format") {
        let problem = "it is qlog; `bentpipe explain FILE --scenario NEW.toml` makes a scenario \
            of one";
        Err(Fault::whole(problem))
    } else {
        Err(Fault::at(1, unknown()))
    }
}

fn unknown() -> String {
    let names: Vec<&str> = Format::ALL.iter().map(|(_, name)| *name).collect();
    format!("its format is none that is known; allowed: {}, or `--format`", names.join(", "))
}
