//! The flows of a scenario: visits, and settings with `BDP` and `auto` turned into bytes.

use super::path::Resolved;
use super::tcp::tcp;
use crate::error::Problem;
use crate::profiles::queue_bytes;
use crate::scenario::{
    ConnectionWindow, Direction, Flow, ProgramSection, Scenario, Spoken, Transport, VisitSection, Window, Workload,
};
use bentpipe_quic::congestion::PathChangeResponse;
use bentpipe_quic::congestion::{CongestionConfig, ResumeName};
use bentpipe_quic::{AckBy, AckRule, CreditRule, Handshake, Http, Settings};
use bentpipe_sim::{DatagramTraffic, FlowSpec, Object, ProgramStack, Stack, Visit};
use bentpipe_tcp::http::page;
use bentpipe_units::{Bytes, Rate, Span};
use serde_spanned::Spanned;

/// Smallest window that `auto` gives.
const SMALLEST_AUTO_WINDOW: Bytes = Bytes::from_mb(1);
/// Size of an object that a flow never gets to the end of.
const ENDLESS: Bytes = Bytes::new(1 << 60);
/// IP packets of a ping whose 56 bytes of content are what `ping` sends where it is not told.
const PING_PACKET: Bytes = Bytes::new(84);
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
    scenario: &Scenario,
) -> Result<FlowSpec, Problem> {
    let mtu = *scenario.path.get_ref().mtu.get_ref();
    let spoken = keys.spoken()?;
    let acknowledges = keys.acknowledges(spoken)?;
    let datagrams = matches!(spoken, Spoken::Cbr | Spoken::Ping);
    let keys = if datagrams { &Transport::default() } else { keys };
    let mut visits = visits(work, keys.handshake.unwrap_or_default(), keys.resume.unwrap_or_default(), path, scenario);
    let direction = visits.first().map_or(Direction::Download, |visit| visit.direction.into());
    let sizes = sizes(path, direction, mtu);
    let mut stack = match spoken {
        Spoken::Cbr | Spoken::Ping => {
            let sent = own.map_or(DatagramTraffic::Ping { interval: Span::MAX, packet: PING_PACKET }, |own| {
                datagrams_of(own, mtu)
            });
            for visit in &mut visits {
                // There is nothing to ask for, and it is the client that pings.
                visit.objects.clear();
                if spoken == Spoken::Ping {
                    visit.direction = Direction::Upload.into();
                }
            }
            Stack::DatagramTraffic(sent)
        }
        Spoken::Program => Stack::Program(Box::new(program(keys, scenario)?)),
        Spoken::Quic(http) => Stack::quic(settings(keys, http, acknowledges, sizes, mtu)?),
        Spoken::Tcp(version) => {
            let objects = visits.iter().map(|visit| visit.objects.len()).max().unwrap_or_default();
            Stack::Tcp(Box::new(tcp(keys, version, sizes, path, scenario, objects)?))
        }
    };
    let ends = path.orbit.as_ref().and_then(|orbit| orbit.ends(name));
    if let Some(congestion) = congestion_mut(&mut stack) {
        congestion.distance_m = ends.map(|ends| ends.distance_m as u64);
    }
    Ok(FlowSpec {
        ends: own.and_then(|own| crossed(own, path)).or(ends.map(|ends| ends.stations)),
        name: name.to_owned(),
        terminal: own.and_then(|own| own.terminal.as_ref()).map_or(0, |terminal| *terminal.get_ref()),
        server: own.and_then(|own| own.server.clone()).unwrap_or_else(|| "server".to_owned()),
        start: own.and_then(|own| own.at).unwrap_or_default(),
        stack,
        visits,
    })
}

/// The recipe of the data's sender, where something controls congestion.
fn congestion_mut(stack: &mut Stack) -> Option<&mut CongestionConfig> {
    match stack {
        Stack::Quic(settings) => Some(&mut settings.congestion),
        Stack::Tcp(stack) => Some(&mut stack.congestion),
        Stack::DatagramTraffic(_) | Stack::Program(_) => None,
    }
}

/// The commands of `transport = "program"`.
fn program(keys: &Transport, scenario: &Scenario) -> Result<ProgramStack, Problem> {
    let mtu = *scenario.path.get_ref().mtu.get_ref();
    match &keys.program {
        Some(program) => {
            let ProgramSection { server, client } = program.get_ref().clone();
            Ok(ProgramStack { server, client, mtu })
        }
        None => {
            let place = keys.transport.as_ref().map_or(0..0, Spanned::span);
            let message = "transport = \"program\" does not say which; allowed: `program`, with its commands";
            Err(Problem::new(place, message)
                .help("program = { server = \"caddy …\", client = \"curl -o {output} {url}\" }"))
        }
    }
}

/// The nodes between which a flow goes that does not cross the whole path.
fn crossed(flow: &Flow, path: &Resolved) -> Option<(usize, usize)> {
    let place = |name: &Spanned<String>| path.hops.iter().position(|hop| hop.name == *name.get_ref());
    match flow.hops.as_ref()?.get_ref().as_slice() {
        [first, last] => Some((place(first)?, place(last)? + 1)),
        _ => None,
    }
}

/// What a flow sends that nothing controls.
fn datagrams_of(flow: &Flow, mtu: Bytes) -> DatagramTraffic {
    let packet = flow.packet.as_ref().map(|packet| *packet.get_ref());
    match (&flow.rate, &flow.interval) {
        (Some(rate), _) => DatagramTraffic::Constant {
            rate: *rate.get_ref(),
            packet: packet.unwrap_or(mtu),
            bursts: flow.on.as_ref().zip(flow.off.as_ref()).map(|(on, off)| (*on.get_ref(), *off.get_ref())),
        },
        (None, interval) => DatagramTraffic::Ping {
            interval: interval.as_ref().map_or(Span::MAX, |interval| *interval.get_ref()),
            packet: packet.unwrap_or(PING_PACKET),
        },
    }
}

/// BDP and queue of the bottleneck in the direction of the data.
pub(super) fn sizes(path: &Resolved, direction: Direction, mtu: Bytes) -> Sizes {
    let bottleneck = path.links(direction).into_iter().min_by_key(|(rate, _)| *rate);
    bottleneck.map_or(Sizes { bdp: Bytes::ZERO, queue: Bytes::ZERO }, |(rate, limit): (Rate, _)| Sizes {
        bdp: rate.bytes_in(path.rtt),
        queue: queue_bytes(limit, rate, path.rtt, mtu),
    })
}

impl Sizes {
    /// A window that never limits: what fits on the path and in its queue, twice, since credit returns a round trip late.
    pub fn auto(&self) -> Bytes {
        (self.bdp + self.queue).mul_f64(2.0).max(SMALLEST_AUTO_WINDOW)
    }

    /// The window that `key` asks for, or `otherwise`.
    pub fn window(&self, key: Option<Window>, otherwise: Bytes, mtu: Bytes) -> Bytes {
        match key {
            None => otherwise,
            Some(Window::Auto) => self.auto(),
            Some(Window::Bytes(bytes)) => bytes,
            // Never below a packet: a window of nothing would wait for ever.
            Some(Window::Bdp(factor)) => self.bdp.mul_f64(factor).max(mtu),
        }
    }
}

/// Controller, start and resumption that `keys` ask for.
pub(super) fn congestion(keys: &Transport, sizes: Sizes, mtu: Bytes) -> CongestionConfig {
    CongestionConfig {
        controller: keys.congestion.unwrap_or_default(),
        slow_start: keys.start.unwrap_or_default(),
        resume: keys.resume.unwrap_or_default(),
        parameters: keys.parameters.as_ref().map(|parameters| parameters.get_ref().clone()).unwrap_or_default(),
        distance_m: None,
        path_change: keys.hints.map(PathChangeResponse::from).unwrap_or_default(),
        max_window: keys.max_window.map(|window| sizes.window(Some(window), Bytes::MAX, mtu)),
    }
}

/// Windows of a stream and of the connection.
pub(super) fn stream_windows(keys: &Transport, sizes: Sizes, mtu: Bytes) -> (Bytes, Bytes) {
    let preset = keys.windows.map(|name| name.preset());
    let stream = preset.map_or(sizes.auto(), |preset| preset.stream_window);
    let connection = preset.map_or(sizes.auto(), |preset| preset.connection_window);
    (
        sizes.window(keys.stream_window, stream, mtu),
        sizes.window(keys.connection_window.map(ConnectionWindow::given), connection, mtu),
    )
}

/// How QUIC's credit grows.
fn credit(keys: &Transport) -> CreditRule {
    let tuned = keys.connection_window == Some(ConnectionWindow::Tuned);
    let default = if tuned { CreditRule::tuned() } else { CreditRule::default() };
    CreditRule {
        tuned,
        most: keys.window_most.as_ref().map_or(default.most, |most| *most.get_ref()),
        after: keys.credit_after.as_ref().map_or(default.after, |after| *after.get_ref()),
        every: keys.credit_every.as_ref().map(|every| *every.get_ref()).or(default.every),
    }
}

/// Initial window in packets.
pub(super) fn initial_window(keys: &Transport, default: u32) -> u32 {
    let window = keys.initial_window.as_ref();
    window.map_or(default, |window| u32::try_from(*window.get_ref()).unwrap_or(u32::MAX))
}

fn settings(
    keys: &Transport,
    http: Http,
    (ack, ack_by): (AckRule, AckBy),
    sizes: Sizes,
    mtu: Bytes,
) -> Result<Settings, Problem> {
    let largest = payload(mtu);
    let discovery = keys.mtu_discovery.unwrap_or(false);
    let default = Settings::default();
    // Without discovery the path's size is known; with it, it starts from what every path carries (RFC 9000 §14).
    let initial = keys.initial_mtu.as_ref().map(|bytes| u16::try_from(bytes.get_ref().get()).unwrap_or(largest));
    let initial = initial.unwrap_or(if discovery { 1200 } else { largest });
    let (mut stream_window, mut connection_window) = stream_windows(keys, sizes, mtu);
    let credit = credit(keys);
    if credit.tuned {
        connection_window = keys.window_first.as_ref().map_or(default.connection_window, |first| *first.get_ref());
        if connection_window > credit.most {
            let place = keys.window_first.as_ref().or(keys.window_most.as_ref()).map_or(0..0, Spanned::span);
            let message = format!(
                "a window cannot begin at {connection_window} and grow to {}; allowed: a `window_first` up to `window_most`",
                credit.most
            );
            return Err(Problem::new(place, message));
        }
        if keys.stream_window.is_none() {
            // The stack cannot change it later: it is the connection's that limits.
            stream_window = credit.most;
        }
    } else if matches!(
        (keys.connection_window, keys.windows),
        (None, None) | (Some(ConnectionWindow::Given(Window::Auto)), _)
    ) {
        // What waits behind a hole for the round trip of its repair is withheld from it: once more what fits, or `auto` would limit.
        connection_window = connection_window.mul_f64(1.5);
    }
    Ok(Settings {
        congestion: congestion(keys, sizes, mtu),
        resume_via: keys.resume_via.unwrap_or_default(),
        http,
        pacing: keys.pacing.unwrap_or(true),
        ack,
        ack_by,
        ack_auto: default.ack_auto,
        stock: None,
        credit,
        max_ack_delay: keys.max_ack_delay.unwrap_or(default.max_ack_delay),
        initial_rtt: keys.initial_rtt.as_ref().map_or(default.initial_rtt, |rtt| *rtt.get_ref()),
        initial_window: initial_window(keys, default.initial_window),
        stream_window,
        connection_window,
        send_window: sizes.window(keys.send_window, sizes.auto(), mtu),
        initial_mtu: initial,
        max_mtu: if discovery { largest } else { initial },
        idle_timeout: default.idle_timeout,
    })
}

fn payload(mtu: Bytes) -> u16 {
    let headers = crate::scenario::HEADERS;
    u16::try_from(mtu.get().saturating_sub(headers)).unwrap_or(u16::MAX)
}

fn visits(
    work: &Workload,
    handshake: Handshake,
    resume: ResumeName,
    path: &Resolved,
    scenario: &Scenario,
) -> Vec<Visit> {
    let mtu = *scenario.path.get_ref().mtu.get_ref();
    if let Some(sections) = &work.visits {
        let sections = sections.get_ref().iter().map(Spanned::get_ref).enumerate();
        return sections
            .map(|(index, section)| explicit_visit(section, index == 0, handshake, scenario.seed))
            .collect();
    }
    let (direction, objects) = transfer(
        work.download.as_ref(),
        work.upload.as_ref(),
        work.objects.as_ref(),
        work.page.as_ref(),
        work.lasts.as_ref(),
        work.direction.as_ref(),
        scenario.seed,
    );
    let visit = Visit {
        duration: work.lasts.as_ref().map(|lasts| *lasts.get_ref()),
        handshake,
        idle_before: Span::ZERO,
        start_jitter: Span::ZERO,
        direction: direction.into(),
        objects,
        measured: true,
    };
    if handshake == Handshake::OneRtt && resume == ResumeName::default() {
        return vec![visit];
    }
    // A first visit gets the ticket and the token, and fills the path so that there is something to remember: slow start
    // alone takes about two BDP.
    let fill = sizes(path, direction, mtu).bdp.mul_f64(FILL_BDP).max(Bytes::from_mb(1));
    let first = Visit {
        duration: None,
        handshake: Handshake::OneRtt,
        objects: vec![Object::new("first-visit", fill)],
        measured: false,
        ..visit.clone()
    };
    let wait = work.wait.as_ref().map_or(DEFAULT_WAIT, |wait| *wait.get_ref());
    vec![first, Visit { idle_before: wait, ..visit }]
}

fn explicit_visit(section: &VisitSection, first: bool, handshake: Handshake, seed: u64) -> Visit {
    let (direction, objects) = transfer(
        section.download.as_ref(),
        section.upload.as_ref(),
        section.objects.as_ref(),
        section.page.as_ref(),
        section.lasts.as_ref(),
        section.direction.as_ref(),
        seed,
    );
    let later = if first { Handshake::OneRtt } else { handshake };
    Visit {
        duration: section.lasts.as_ref().map(|lasts| *lasts.get_ref()),
        handshake: section.handshake.as_ref().map_or(later, |handshake| *handshake.get_ref()),
        idle_before: section.wait.unwrap_or_default(),
        start_jitter: Span::ZERO,
        direction: direction.into(),
        objects,
        measured: section.report.unwrap_or(true),
    }
}

fn transfer(
    download: Option<&Spanned<Bytes>>,
    upload: Option<&Spanned<Bytes>>,
    objects: Option<&Spanned<Vec<crate::scenario::Object>>>,
    page_objects: Option<&Spanned<u64>>,
    lasts: Option<&Spanned<Span>>,
    direction: Option<&Spanned<Direction>>,
    seed: u64,
) -> (Direction, Vec<Object>) {
    let single = |size: &Spanned<Bytes>| vec![Object::new("object", *size.get_ref())];
    let given = direction.map_or(Direction::Download, |direction| *direction.get_ref());
    if lasts.is_some() {
        return (given, vec![Object::new("endless", ENDLESS)]);
    }
    match (download, upload, page_objects) {
        (Some(size), _, _) => (Direction::Download, single(size)),
        (None, Some(size), _) => (Direction::Upload, single(size)),
        (None, None, Some(count)) => {
            // The same page in every run: what differs is the path.
            let page = page(*count.get_ref() as usize, seed);
            let objects = page.into_iter().map(|page| Object {
                name: page.name,
                bytes: page.object.bytes,
                after: page.object.after,
                delay: page.object.delay,
            });
            (Direction::Download, objects.collect())
        }
        (None, None, None) => {
            let all: &[crate::scenario::Object] = objects.map_or(&[], |objects| objects.get_ref());
            let place = |name: &Spanned<String>| all.iter().position(|object| object.name == *name.get_ref());
            let objects = all.iter().map(|object| Object {
                name: object.name.clone(),
                bytes: *object.size.get_ref(),
                after: object.after.iter().filter_map(place).collect(),
                delay: object.delay.unwrap_or_default(),
            });
            (given, objects.collect())
        }
    }
}
