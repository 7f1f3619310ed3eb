//! Keys of flows that nothing controls: which go with `transport = "cbr"` and `"ping"`, and with nothing else.

use super::{Flow, Transport, TransportKind};
use crate::error::{Problem, quoted};
use bentpipe_units::{Bytes, Span};
use serde_spanned::Spanned;
use std::ops::Range;

/// Smallest IP packet with something in it, after the headers of IP and UDP or ICMP.
const SMALLEST_PACKET: u64 = super::HEADERS + 1;
/// Bursts and silences are not shorter in the mean: each is drawn.
const SHORTEST_BURST: Span = Span::from_millis(1);

/// Datagrams are one flow's business: what all flows do would leave nobody to look at.
pub(super) fn only_flows(keys: &Transport) -> Result<(), Problem> {
    match &keys.transport {
        Some(kind) if kind.get_ref().is_datagrams() => Err(Problem::new(
            kind.span(),
            "datagrams are one flow's transport, not that of all; allowed here: `quic`, `tcp`",
        )
        .help("[[flow]]\nname = \"cross\"\ntransport = \"cbr\"\nrate = \"5 Mbps\"\nlasts = \"60 s\"")),
        _ => Ok(()),
    }
}

/// Refuses keys of datagrams on other flows, and other keys on theirs.
pub(super) fn check(flow: &Spanned<Flow>) -> Result<(), Problem> {
    let (section, whole) = (flow.get_ref(), flow.span());
    let kind = section.transport.as_ref();
    let name = kind.filter(|kind| kind.get_ref().is_datagrams()).map(Spanned::span);
    let own: &[&str] = match kind.map(|kind| *kind.get_ref()) {
        Some(TransportKind::Cbr) => &["rate", "packet", "on", "off"],
        Some(TransportKind::Ping) => &["interval", "packet"],
        _ => &[],
    };
    let owner = |key: &str| if key == "interval" { "\"ping\"" } else { "\"cbr\"" };
    for (key, span) in datagram_keys(section) {
        if let Some(span) = span.filter(|_| !own.contains(&key)) {
            let message = format!("`{key}` belongs to another transport; allowed: transport = {}", owner(key));
            return Err(Problem::new(span, message));
        }
    }
    let Some(name) = name else { return Ok(()) };
    let transport = kind.map_or("", |kind| if *kind.get_ref() == TransportKind::Ping { "ping" } else { "cbr" });
    if let Some((key, span)) = foreign(section) {
        let allowed: Vec<&str> = own.iter().copied().chain(["lasts", "at", "think", "terminal", "hops"]).collect();
        let message = format!("`{key}` says nothing of transport = \"{transport}\"; allowed: {}", quoted(&allowed));
        return Err(Problem::new(span.unwrap_or(name), message));
    }
    if section.lasts.is_none() {
        let message = format!("transport = \"{transport}\" needs to know when to end; allowed: `lasts`");
        return Err(Problem::new(whole, message).help("lasts = \"60 s\""));
    }
    if let Some(packet) = &section.packet
        && !(SMALLEST_PACKET..=65_535).contains(&packet.get_ref().get())
    {
        let message = format!("IP packets of {packet}; allowed: {} to 65535 B", Bytes::new(SMALLEST_PACKET));
        return Err(Problem::new(packet.span(), message));
    }
    match kind.map(|kind| *kind.get_ref()) {
        Some(TransportKind::Ping) => match &section.interval {
            Some(interval) => super::check::above_zero("interval", interval),
            None => {
                Err(Problem::new(whole, "transport = \"ping\" needs an `interval`; allowed: interval = \"100 ms\""))
            }
        },
        _ => constant(section, whole),
    }
}

fn constant(section: &Flow, whole: Range<usize>) -> Result<(), Problem> {
    match &section.rate {
        Some(rate) if rate.get_ref().is_zero() => {
            return Err(Problem::new(rate.span(), format!("a `rate` of {rate} sends nothing; allowed: above zero")));
        }
        Some(_) => {}
        None => {
            return Err(Problem::new(whole, "transport = \"cbr\" needs a `rate`; allowed: rate = \"5 Mbps\""));
        }
    }
    match (&section.on, &section.off) {
        (Some(on), None) => Err(Problem::new(on.span(), "`on` stands without `off`; allowed: both, or none of them")),
        (None, Some(off)) => Err(Problem::new(off.span(), "`off` stands without `on`; allowed: both, or none of them")),
        (on, off) => match [("on", on), ("off", off)].into_iter().find_map(|(key, span)| {
            span.as_ref().filter(|span| *span.get_ref() < SHORTEST_BURST).map(|span| (key, span))
        }) {
            Some((key, span)) => Err(Problem::new(
                span.span(),
                format!("`{key}` of {span} is too short; allowed: {SHORTEST_BURST} or longer"),
            )),
            None => Ok(()),
        },
    }
}

/// The keys that only datagrams have.
fn datagram_keys(flow: &Flow) -> [(&'static str, Option<Range<usize>>); 5] {
    [
        ("rate", flow.rate.as_ref().map(Spanned::span)),
        ("packet", flow.packet.as_ref().map(Spanned::span)),
        ("on", flow.on.as_ref().map(Spanned::span)),
        ("off", flow.off.as_ref().map(Spanned::span)),
        ("interval", flow.interval.as_ref().map(Spanned::span)),
    ]
}

/// The first key given that means something to controlled flows alone, with its place where that is known.
fn foreign(flow: &Flow) -> Option<(&'static str, Option<Range<usize>>)> {
    let ping = flow.transport.as_ref().is_some_and(|kind| *kind.get_ref() == TransportKind::Ping);
    let direction = flow.direction.as_ref().filter(|_| ping);
    let placed = [
        ("download", flow.download.as_ref().map(Spanned::span)),
        ("upload", flow.upload.as_ref().map(Spanned::span)),
        ("objects", flow.objects.as_ref().map(Spanned::span)),
        ("page", flow.page.as_ref().map(Spanned::span)),
        ("visits", flow.visits.as_ref().map(Spanned::span)),
        ("wait", flow.wait.as_ref().map(Spanned::span)),
        ("direction", direction.map(Spanned::span)),
        ("http", flow.http.as_ref().map(Spanned::span)),
        ("connections", flow.connections.as_ref().map(Spanned::span)),
        ("pep", flow.pep.as_ref().map(Spanned::span)),
        ("ack", flow.ack.as_ref().map(Spanned::span)),
        ("ack_by", flow.ack_by.as_ref().map(Spanned::span)),
        ("parameters", flow.parameters.as_ref().map(Spanned::span)),
        ("initial_rtt", flow.initial_rtt.as_ref().map(Spanned::span)),
        ("initial_window", flow.initial_window.as_ref().map(Spanned::span)),
        ("initial_mtu", flow.initial_mtu.as_ref().map(Spanned::span)),
    ];
    let bare = [
        ("server", flow.server.is_some()),
        ("congestion", flow.congestion.is_some()),
        ("start", flow.start.is_some()),
        ("handshake", flow.handshake.is_some()),
        ("resume", flow.resume.is_some()),
        ("resume_via", flow.resume_via.is_some()),
        ("max_ack_delay", flow.max_ack_delay.is_some()),
        ("max_window", flow.max_window.is_some()),
        ("mtu_discovery", flow.mtu_discovery.is_some()),
        ("windows", flow.windows.is_some()),
        ("stream_window", flow.stream_window.is_some()),
        ("connection_window", flow.connection_window.is_some()),
        ("send_window", flow.send_window.is_some()),
        ("receive_buffer", flow.receive_buffer.is_some()),
        ("receive_autotune", flow.receive_autotune.is_some()),
        ("coalesce", flow.coalesce.is_some()),
        ("ecn", flow.ecn.is_some()),
        ("idle_restart", flow.idle_restart.is_some()),
    ];
    let placed = placed.into_iter().find_map(|(key, span)| Some((key, Some(span?))));
    placed.or_else(|| bare.into_iter().find(|(_, given)| *given).map(|(key, _)| (key, None)))
}
