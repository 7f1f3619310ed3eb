//! The flows of a scenario: visits, and settings with `BDP` and `auto` turned into bytes.

use super::path::Resolved;
use crate::profiles::queue_bytes;
use crate::scenario::{Direction, Flow, Transport, VisitSection, Window, Workload};
use bentpipe_quic::congestion::{Recipe, ResumeName};
use bentpipe_quic::{Handshake, Settings};
use bentpipe_sim::{FlowSpec, Object, Visit};
use bentpipe_units::{Bytes, Rate, Span};
use serde_spanned::Spanned;

/// Smallest window that `auto` gives.
const SMALLEST_AUTO_WINDOW: Bytes = Bytes::from_mb(1);
/// Wait between the implied first visit and the one that is measured.
const DEFAULT_WAIT: Span = Span::from_secs(10);

/// What the implied first visit fetches, in BDP: slow start and a few round trips at the path's full rate.
const FILL_BDP: f64 = 10.0;

/// The sizes that windows are made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub bdp: Bytes,
    queue: Bytes,
}

pub(super) fn flow(
    name: &str,
    own: Option<&Flow>,
    work: &Workload,
    keys: &Transport,
    path: &Resolved,
    mtu: Bytes,
) -> FlowSpec {
    let visits = visits(work, keys.handshake.unwrap_or_default(), keys.resume.unwrap_or_default(), path, mtu);
    let direction = visits.first().map_or(Direction::Download, |visit| visit.direction.into());
    FlowSpec {
        name: name.to_owned(),
        terminal: own.and_then(|own| own.terminal.as_ref()).map_or(0, |terminal| *terminal.get_ref()),
        server: own.and_then(|own| own.server.clone()).unwrap_or_else(|| "server".to_owned()),
        start: own.and_then(|own| own.at).unwrap_or_default(),
        settings: settings(keys, sizes(path, direction, mtu), mtu),
        visits,
    }
}

/// BDP and queue of the bottleneck in the direction of the data.
pub(super) fn sizes(path: &Resolved, direction: Direction, mtu: Bytes) -> Sizes {
    let links = path.hops.iter().zip(&path.configs).map(|(hop, (forward, reverse))| match direction {
        Direction::Download => (hop.forward.nominal_rate(), forward.queue.limit),
        Direction::Upload => (hop.reverse.nominal_rate(), reverse.queue.limit),
    });
    let bottleneck = links.min_by_key(|(rate, _)| *rate);
    bottleneck.map_or(Sizes { bdp: Bytes::ZERO, queue: Bytes::ZERO }, |(rate, limit): (Rate, _)| Sizes {
        bdp: rate.bytes_in(path.rtt),
        queue: queue_bytes(limit, rate, path.rtt, mtu),
    })
}

fn settings(keys: &Transport, sizes: Sizes, mtu: Bytes) -> Settings {
    // A window that never limits: what fits on the path and in its queue, twice, since credit returns a round trip late.
    let auto = (sizes.bdp + sizes.queue).mul_f64(2.0).max(SMALLEST_AUTO_WINDOW);
    let window = |key: Option<Window>| match key.unwrap_or_default() {
        Window::Auto => auto,
        Window::Bytes(bytes) => bytes,
        // Never below a packet: a window of nothing would wait for ever.
        Window::Bdp(factor) => sizes.bdp.mul_f64(factor).max(mtu),
    };
    let largest = payload(mtu);
    let discovery = keys.mtu_discovery.unwrap_or(false);
    let default = Settings::default();
    // Without discovery the path's size is known; with it, it starts from what every path carries (RFC 9000 §14).
    let initial = keys.initial_mtu.as_ref().map(|bytes| u16::try_from(bytes.get_ref().get()).unwrap_or(largest));
    let initial = initial.unwrap_or(if discovery { 1200 } else { largest });
    Settings {
        congestion: Recipe {
            controller: keys.congestion.unwrap_or_default(),
            start: keys.start.unwrap_or_default(),
            resume: keys.resume.unwrap_or_default(),
            parameters: keys.parameters.as_ref().map(|parameters| parameters.get_ref().clone()).unwrap_or_default(),
            distance_m: None,
        },
        resume_via: keys.resume_via.unwrap_or_default(),
        http: keys.http.unwrap_or_default(),
        ack: keys.ack.unwrap_or_default(),
        max_ack_delay: keys.max_ack_delay.unwrap_or(default.max_ack_delay),
        initial_rtt: keys.initial_rtt.as_ref().map_or(default.initial_rtt, |rtt| *rtt.get_ref()),
        initial_window: keys
            .initial_window
            .as_ref()
            .map_or(default.initial_window, |window| u32::try_from(*window.get_ref()).unwrap_or(u32::MAX)),
        stream_window: window(keys.stream_window),
        connection_window: window(keys.connection_window),
        send_window: window(keys.send_window),
        initial_mtu: initial,
        max_mtu: if discovery { largest } else { initial },
        idle_timeout: default.idle_timeout,
    }
}

fn payload(mtu: Bytes) -> u16 {
    let headers = crate::scenario::HEADERS;
    u16::try_from(mtu.get().saturating_sub(headers)).unwrap_or(u16::MAX)
}

fn visits(work: &Workload, handshake: Handshake, resume: ResumeName, path: &Resolved, mtu: Bytes) -> Vec<Visit> {
    if let Some(sections) = &work.visits {
        let sections = sections.get_ref().iter().map(Spanned::get_ref).enumerate();
        return sections.map(|(index, section)| explicit_visit(section, index == 0, handshake)).collect();
    }
    let (direction, objects) =
        transfer(work.download.as_ref(), work.upload.as_ref(), work.objects.as_ref(), work.direction.as_ref());
    let visit =
        Visit { handshake, wait: Span::ZERO, think: Span::ZERO, direction: direction.into(), objects, reported: true };
    if handshake == Handshake::OneRtt && resume == ResumeName::default() {
        return vec![visit];
    }
    // A first visit gets the ticket and the token, and fills the path so that there is something to remember: slow start
    // alone takes about two BDP.
    let fill = sizes(path, direction, mtu).bdp.mul_f64(FILL_BDP).max(Bytes::from_mb(1));
    let first = Visit {
        handshake: Handshake::OneRtt,
        objects: vec![Object { name: "first-visit".to_owned(), bytes: fill }],
        reported: false,
        ..visit.clone()
    };
    let wait = work.wait.as_ref().map_or(DEFAULT_WAIT, |wait| *wait.get_ref());
    vec![first, Visit { wait, ..visit }]
}

fn explicit_visit(section: &VisitSection, first: bool, handshake: Handshake) -> Visit {
    let (direction, objects) = transfer(
        section.download.as_ref(),
        section.upload.as_ref(),
        section.objects.as_ref(),
        section.direction.as_ref(),
    );
    let later = if first { Handshake::OneRtt } else { handshake };
    Visit {
        handshake: section.handshake.as_ref().map_or(later, |handshake| *handshake.get_ref()),
        wait: section.wait.unwrap_or_default(),
        think: Span::ZERO,
        direction: direction.into(),
        objects,
        reported: section.report.unwrap_or(true),
    }
}

fn transfer(
    download: Option<&Spanned<Bytes>>,
    upload: Option<&Spanned<Bytes>>,
    objects: Option<&Spanned<Vec<crate::scenario::Object>>>,
    direction: Option<&Spanned<Direction>>,
) -> (Direction, Vec<Object>) {
    let single = |size: &Spanned<Bytes>| vec![Object { name: "object".to_owned(), bytes: *size.get_ref() }];
    match (download, upload, objects) {
        (Some(size), _, _) => (Direction::Download, single(size)),
        (None, Some(size), _) => (Direction::Upload, single(size)),
        (None, None, objects) => (
            direction.map_or(Direction::Download, |direction| *direction.get_ref()),
            objects
                .iter()
                .flat_map(|objects| objects.get_ref())
                .map(|object| Object { name: object.name.clone(), bytes: *object.size.get_ref() })
                .collect(),
        ),
    }
}
