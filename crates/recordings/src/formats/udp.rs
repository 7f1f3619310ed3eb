//! The fate of each packet of a UDP flow: when it was sent, when it came, and whether it was lost.

use crate::bounds::MAX_ROWS;
use crate::error::Fault;
use crate::format::Format;
use crate::measured::{Content, Measured, RateBin, Times};
use crate::table::{bounded, iso, number, shown};

const HEADER: &str = "seq,ts_sent,ts_rcvd,owd_ms,size,lost";
/// Bytes of IP and UDP headers.
const HEADERS: f64 = 28.0;
/// Bin of the rate in nanoseconds.
const BIN: i64 = 100_000_000;

/// Returns true if a line is the header.
pub fn is_header(line: &str) -> bool {
    line == HEADER
}

struct Row {
    sent: i64,
    received: Option<i64>,
    owd_ms: f64,
    bytes: f64,
}

/// Reads records of packets.
///
/// # Errors
/// A line has other fields.
pub fn read(text: &str) -> Result<Measured, Fault> {
    let mut rows: Vec<Row> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line_number = index + 1;
        let line = line.trim();
        if index == 0 {
            if line != HEADER {
                return Err(Fault::at(1, format!("the header is not `{HEADER}`")));
            }
            continue;
        }
        if line.is_empty() {
            continue;
        }
        bounded(rows.len(), line_number)?;
        rows.push(row(line, line_number)?);
    }
    let lost = rows.iter().filter(|row| row.received.is_none()).count();
    let received = || rows.iter().filter_map(|row| Some((row.received?, row)));
    let Some((first, last)) =
        received().map(|(at, _)| (at, at)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    else {
        return Err(Fault::whole("no packet was received"));
    };
    let count = usize::try_from((last - first) / BIN + 1).unwrap_or(usize::MAX);
    if count > MAX_ROWS {
        return Err(Fault::whole(format!(
            "its times span {:.1} h, {count} bins of 100 ms; allowed: up to {MAX_ROWS}, a part of \
                it",
            (last - first) as f64 / 3.6e12
        )));
    }
    let mut bits = vec![0.0; count];
    let mut delays_ms: Vec<Option<f64>> = vec![None; count];
    for (at, row) in received() {
        let bin = ((at - first) / BIN) as usize;
        bits[bin] += (row.bytes + HEADERS) * 8.0;
        let least = delays_ms[bin].map_or(row.owd_ms, |least| least.min(row.owd_ms));
        delays_ms[bin] = Some(least);
    }
    // A packet at the very start of a bin that ends with it would be a rate of terabits.
    if count > 1 && (last - first) % BIN < BIN / 2 {
        bits.pop();
        delays_ms.pop();
    }
    let rate = |(index, bits): (usize, &f64)| {
        let start = first + index as i64 * BIN;
        // The last bin ends with its last packet.
        let end = (start + BIN).min(last.max(start + 1));
        RateBin { start, end: start + BIN, bps: bits * 1e9 / (end - start) as f64 }
    };
    let bins: Vec<RateBin> = bits.iter().enumerate().map(rate).collect();
    let span = rows.iter().map(|row| row.sent).max().unwrap_or_default()
        - rows.iter().map(|row| row.sent).min().unwrap_or_default();
    let delays = received().map(|(_, row)| row.owd_ms);
    let (least, most) = delays.fold((f64::MAX, 0.0f64), |(a, b), ms| (a.min(ms), b.max(ms)));
    let notes = vec![
        format!(
            "{} sent in {:.3} s, {lost} lost, one-way delay {least:.2} to {most:.2} ms",
            rows.len(),
            span as f64 / 1e9
        ),
        "losses of a flow that fills the link are those of its queue: not used".to_owned(),
    ];
    let content = Content::Rates { bins, direction: None, delays_ms };
    Ok(Measured { format: Format::UdpRecords, content, times: Times::Utc, notes })
}

fn row(line: &str, line_number: usize) -> Result<Row, Fault> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let [sequence, sent, received, owd, size, lost] = fields.as_slice() else {
        let problem = format!("the line has {} fields; allowed: {HEADER}", fields.len());
        return Err(Fault::at(line_number, problem));
    };
    if sequence.parse::<u64>().is_err() {
        let problem = format!("{} is no sequence number", shown(sequence));
        return Err(Fault::at(line_number, problem));
    }
    let lost = match *lost {
        "true" => true,
        "false" => false,
        other => {
            let problem =
                format!("{} says not whether it was lost; allowed: true, false", shown(other));
            return Err(Fault::at(line_number, problem));
        }
    };
    let sent = iso(sent, line_number)?;
    let bytes = number(size, line_number, "size in bytes", (0.0, 65_535.0))?;
    if lost {
        return Ok(Row { sent, received: None, owd_ms: 0.0, bytes });
    }
    let owd_ms = number(owd, line_number, "delay in ms", (-86_400_000.0, 3_600_000.0))?;
    Ok(Row { sent, received: Some(iso(received, line_number)?), owd_ms, bytes })
}
