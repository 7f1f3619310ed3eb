//! A log of the kernel's sockets of TCP in words and as JSON.

use super::words::{data, seconds, significant, span};
use crate::output::{counted, printable};
use bentpipe_captures::{TcpInfoLog, TcpInfoSocket, TcpInfoSummary};
use bentpipe_units::{Bytes, Rate, Span};
use serde_json::{Value, json};
use std::fmt::Write;

/// Most sockets in the text.
const MOST: usize = 10;
/// Smallest share of the busy time that is named.
const SMALLEST_SHARE: f64 = 0.005;

/// Returns what held each socket back, those with the most data first.
pub(super) fn text(log: &TcpInfoLog) -> String {
    let mut sockets: Vec<_> = log.sockets.iter().map(|one| (one, one.summary())).collect();
    sockets.sort_by_key(|(_, summary)| std::cmp::Reverse(moved(summary)));
    let mut text = String::new();
    for (socket, summary) in sockets.iter().take(MOST) {
        text.push_str(&socket_text(socket, summary));
        text.push('\n');
    }
    if sockets.len() > MOST {
        let _ = writeln!(text, "and {} with less data; --json has all\n", sockets.len() - MOST);
    }
    let packets = "samples of the kernel have no packets: where data was lost, and how fast the \
        path is beyond what was sent, is in a capture";
    for note in log.notes.iter().map(String::as_str).chain([packets]) {
        let _ = writeln!(text, "note: {note}\n");
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn moved(summary: &TcpInfoSummary) -> u64 {
    summary.acked.get().saturating_add(summary.received.get())
}

fn socket_text(socket: &TcpInfoSocket, summary: &TcpInfoSummary) -> String {
    let controller = socket.samples.iter().rev().find_map(|one| one.congestion.as_deref());
    let controller = controller.map_or_else(String::new, |name| format!(" ({})", printable(name)));
    let mut text = format!(
        "{} to {}{controller}: {} acknowledged, {} received",
        printable(&socket.local),
        printable(&socket.peer),
        data(summary.acked),
        data(summary.received)
    );
    match summary.duration.filter(|duration| !duration.is_zero()) {
        Some(duration) => {
            let rate = Rate::over(Bytes::new(moved(summary)), duration);
            let _ = writeln!(
                text,
                " in {} s ({} Mbps)",
                seconds(duration.as_secs_f64()),
                significant(rate.as_mbps_f64())
            );
        }
        None => {
            let _ = writeln!(text, ", in {}", counted(summary.samples, "sample"));
        }
    }
    if let Some(busy) = summary.busy {
        text.push_str(&busy_text(busy, summary));
    }
    text.push_str(&path_text(summary));
    text
}

/// Returns what the busy time was spent on.
fn busy_text(busy: Span, summary: &TcpInfoSummary) -> String {
    let window = |size: Option<Bytes>| {
        size.map_or_else(String::new, |size| format!(", at most {}", data(size)))
    };
    let mut parts = [
        (
            summary.rwnd_limited,
            format!("by the peer's receive window{}", window(summary.largest_peer_window)),
        ),
        (summary.sndbuf_limited, "by the send buffer of this end".to_owned()),
        (
            summary.window_limited().unwrap_or_default(),
            format!("by the congestion window{} or the path", window(summary.largest_window)),
        ),
    ];
    parts.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
    let least = busy.mul_f64(SMALLEST_SHARE);
    let parts: Vec<_> = parts
        .iter()
        .filter(|(time, _)| !time.is_zero() && *time >= least)
        .map(|(time, what)| format!("{} s {what}", seconds(time.as_secs_f64())))
        .collect();
    let idle = summary.idle().filter(|idle| *idle >= least && !idle.is_zero());
    let idle = idle.map_or_else(String::new, |idle| {
        format!("; {} s nothing to send", seconds(idle.as_secs_f64()))
    });
    let held =
        if parts.is_empty() { String::new() } else { format!(": held back {}", parts.join(", ")) };
    format!("busy {} s{held}{idle}\n", seconds(busy.as_secs_f64()))
}

fn path_text(summary: &TcpInfoSummary) -> String {
    let mut parts = Vec::new();
    if let Some(rtt) = summary.min_rtt {
        let largest = summary
            .largest_rtt
            .map_or_else(String::new, |largest| format!(", smoothed up to {}", span(largest)));
        parts.push(format!("RTT {}{largest}", span(rtt)));
    }
    if let Some(rate) = summary.delivery_rate {
        parts.push(format!("delivery rate up to {} Mbps", significant(rate.as_mbps_f64())));
    }
    let again = usize::try_from(summary.retransmissions).unwrap_or(usize::MAX);
    if again > 0 {
        let spurious = match summary.spurious {
            0 => String::new(),
            count => format!(" ({count} without need)"),
        };
        parts.push(format!("{} sent again{spurious}", counted(again, "segment")));
    }
    if parts.is_empty() { String::new() } else { format!("{}\n", parts.join("; ")) }
}

/// Returns the sockets as JSON.
pub(super) fn document(log: &TcpInfoLog) -> Value {
    let of = |socket: &TcpInfoSocket| {
        let summary = socket.summary();
        let seconds = |span: Option<Span>| span.map(Span::as_secs_f64);
        let ms = |span: Option<Span>| span.map(Span::as_millis_f64);
        let bytes = |bytes: Option<Bytes>| bytes.map(Bytes::get);
        json!({
            "local": socket.local,
            "peer": socket.peer,
            "samples": summary.samples,
            "app_limited_samples": summary.app_limited_samples,
            "duration_s": seconds(summary.duration),
            "acked_bytes": summary.acked.get(),
            "received_bytes": summary.received.get(),
            "retransmitted_bytes": summary.repeated.get(),
            "retransmissions": summary.retransmissions,
            "spurious_retransmissions": summary.spurious,
            "busy_s": seconds(summary.busy),
            "receive_window_limited_s": summary.rwnd_limited.as_secs_f64(),
            "send_buffer_limited_s": summary.sndbuf_limited.as_secs_f64(),
            "congestion_window_limited_s": seconds(summary.window_limited()),
            "idle_s": seconds(summary.idle()),
            "min_rtt_ms": ms(summary.min_rtt),
            "smoothed_rtt_max_ms": ms(summary.largest_rtt),
            "congestion_window_max_bytes": bytes(summary.largest_window),
            "receive_window_max_bytes": bytes(summary.largest_peer_window),
            "delivery_rate_mbps": summary.delivery_rate.map(|rate| rate.as_mbps_f64()),
        })
    };
    json!({
        "kind": "tcp_info",
        "sockets": log.sockets.iter().map(of).collect::<Vec<_>>(),
        "notes": log.notes,
    })
}
