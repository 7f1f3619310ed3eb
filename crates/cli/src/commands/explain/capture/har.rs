//! An HTTP Archive as a table of requests and as JSON.

use super::words::{data, seconds};
use crate::output::{counted, printable};
use crate::tables::{Align, Table};
use bentpipe_captures::{HarLog, HarPhases, HarRequest};
use bentpipe_units::{Bytes, Span};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Most requests in the table.
const MOST: usize = 20;
/// Longest URL in the table.
const MAX_URL: usize = 60;

/// A phase, with its name in sentences.
type Phase = (&'static str, fn(&HarPhases) -> Option<Span>);
const PHASES: [Phase; 6] = [
    ("waiting for the first byte", |phases| phases.wait),
    ("receiving", |phases| phases.receive),
    ("waiting for a connection or in the browser's queue", |phases| phases.blocked),
    ("making connections", |phases| phases.connect),
    ("resolving names", |phases| phases.dns),
    ("sending", |phases| phases.send),
];

/// Returns the requests of a page in words: what they add up to, and the longest.
pub(super) fn text(log: &HarLog) -> String {
    let requests = &log.requests;
    let end = requests.iter().map(|one| one.started + one.total).max().unwrap_or_default();
    let servers: BTreeSet<_> = requests.iter().filter_map(|one| one.server.as_deref()).collect();
    let size = requests.iter().filter_map(|one| one.transfer_bytes).fold(0, u64::saturating_add);
    let creator = match printable(&log.creator) {
        creator if creator.is_empty() => "HTTP Archive".to_owned(),
        creator => creator,
    };
    let to = if servers.is_empty() {
        String::new()
    } else {
        format!(" to {}", counted(servers.len(), "server"))
    };
    let mut text = format!(
        "{creator}: {}{to}, {} in {} s\n\n",
        counted(requests.len(), "request"),
        data(Bytes::new(size)),
        seconds(end.since_start().as_secs_f64())
    );
    let mut sums: Vec<_> = PHASES.iter().map(|(name, of)| (sum(requests, *of), *name)).collect();
    sums.retain(|(sum, _)| *sum >= 0.0005);
    sums.sort_by(|a, b| b.0.total_cmp(&a.0));
    let sums: Vec<_> =
        sums.iter().map(|(sum, name)| format!("{} s {name}", seconds(*sum))).collect();
    if !sums.is_empty() {
        let overlap = if requests.len() > 1 { ", much of it at the same time" } else { "" };
        let _ = writeln!(text, "requests took, added up{overlap}: {}\n", sums.join(", "));
    }
    text.push_str(&table(requests));
    let packets = "an HTTP Archive has no packets: why a request waited, and how fast the path is, \
        is in a capture, or in a NetLog of the browser (chrome://net-export)";
    for note in log.notes.iter().map(String::as_str).chain([packets]) {
        let _ = writeln!(text, "\nnote: {note}");
    }
    text
}

fn sum(requests: &[HarRequest], of: fn(&HarPhases) -> Option<Span>) -> f64 {
    requests.iter().filter_map(|one| of(&one.phases)).map(Span::as_secs_f64).sum()
}

/// Returns a table of the longest requests, in the order of their starts.
fn table(requests: &[HarRequest]) -> String {
    let mut longest: Vec<usize> = (0..requests.len()).collect();
    longest.sort_by_key(|index| std::cmp::Reverse(requests[*index].total));
    longest.truncate(MOST);
    longest.sort_unstable();
    let mut table = Table::new(&[("request", Align::Right)]);
    for head in ["start, s", "queue, s", "connect, s", "wait, s", "receive, s", "took, s", "size"] {
        table.column(head.to_owned(), Align::Right);
    }
    table.column("URL".to_owned(), Align::Left);
    let time = |span: Option<Span>| {
        span.map_or_else(|| "–".to_owned(), |span| format!("{:.3}", span.as_secs_f64()))
    };
    for index in longest {
        let one = &requests[index];
        let phases = &one.phases;
        let connect = [phases.dns, phases.connect].into_iter().flatten().reduce(|a, b| a + b);
        let url = printable(&one.url);
        let size = one.transfer_bytes.or(one.content_bytes).map(Bytes::new);
        table.row([
            (index + 1).to_string(),
            time(Some(one.started.since_start())),
            time(phases.blocked),
            time(connect),
            time(phases.wait),
            time(phases.receive),
            time(Some(one.total)),
            size.map_or_else(|| "–".to_owned(), data),
            url.chars().take(MAX_URL).collect(),
        ]);
    }
    let more = requests.len().saturating_sub(MOST);
    let more =
        if more > 0 { format!("and {more} shorter; --json has all\n") } else { String::new() };
    format!("{}{more}", table.render(false))
}

/// Returns the requests as JSON.
pub(super) fn document(log: &HarLog) -> Value {
    let seconds = |span: Option<Span>| span.map(Span::as_secs_f64);
    let of = |one: &HarRequest| {
        let HarPhases { blocked, dns, connect, ssl, send, wait, receive } = one.phases;
        json!({
            "start_s": one.started.since_start().as_secs_f64(),
            "total_s": one.total.as_secs_f64(),
            "method": one.method,
            "url": one.url,
            "http_version": one.version,
            "status": one.status,
            "blocked_s": seconds(blocked),
            "dns_s": seconds(dns),
            "connect_s": seconds(connect),
            "tls_s": seconds(ssl),
            "send_s": seconds(send),
            "wait_s": seconds(wait),
            "receive_s": seconds(receive),
            "transfer_bytes": one.transfer_bytes,
            "content_bytes": one.content_bytes,
            "connection": one.connection,
            "server": one.server,
        })
    };
    json!({
        "kind": "har",
        "creator": log.creator,
        "requests": log.requests.iter().map(of).collect::<Vec<_>>(),
        "notes": log.notes,
    })
}
