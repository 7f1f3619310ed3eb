//! The page of an HTTP Archive: what its objects wait for, where they come from, and what they are
//! for the page.

use super::{HarLog, HarRequest};
use bentpipe_units::{Span, Time};
use std::collections::BTreeMap;
use std::fmt;

/// Most objects of a page. Each is an object of the results.
const MAX_OBJECTS: usize = 2_000;
/// Most origins of a page. Each has connections of its own.
const MAX_ORIGINS: usize = 200;
/// Largest object, in bytes.
const MAX_BYTES: u64 = 1_000_000_000;

/// A page as an HTTP Archive shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HarPage {
    /// Hosts with ports, in the order of their first requests. Hosts at the same address are one
    /// origin, which has the name of the first.
    pub origins: Vec<String>,
    /// The objects, in the order of their requests; the first is the root.
    pub objects: Vec<HarObject>,
    /// What the page lacks or what was assumed, each a sentence.
    pub notes: Vec<String>,
}

/// An object of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HarObject {
    /// Its URL without scheme, unique in the page.
    pub name: String,
    /// Bytes on the wire.
    pub bytes: u64,
    /// Index of its origin.
    pub origin: usize,
    /// Index of the earlier object that must be complete before it is requested; `None` for the
    /// root.
    pub after: Option<usize>,
    /// Time from there to the request.
    pub delay: Span,
    /// Time that its server took.
    pub server_time: Span,
    /// What it is.
    pub kind: HarKind,
    /// Urgency of its priority in the browser, from 0; `None` if the file does not have it.
    pub urgency: Option<u8>,
    /// True if nothing is shown before it is complete.
    pub blocks_render: bool,
    /// True if it was requested after the page's `load` event.
    pub after_load: bool,
}

/// What an object of a page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HarKind {
    /// HTML.
    Document,
    /// A style sheet.
    Style,
    /// A script.
    Script,
    /// A font.
    Font,
    /// An image.
    Image,
    /// Video or audio.
    Media,
    /// What a script has fetched.
    Data,
    /// Anything else.
    Other,
}

/// Why an HTTP Archive is no page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HarPageError {
    /// An entry cannot be read.
    Entry(usize),
    /// None of its requests was answered over the network.
    Empty,
    /// It has too many objects.
    TooManyObjects(usize),
    /// It has too many origins.
    TooManyOrigins(usize),
    /// An object is too large.
    TooLarge {
        /// Number of its entry, from 1.
        entry: usize,
        /// Its bytes.
        bytes: u64,
    },
    /// The URL of an entry has no host.
    NoHost {
        /// Number of the entry, from 1.
        entry: usize,
        /// The URL.
        url: String,
    },
}

impl fmt::Display for HarPageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entry(entry) => write!(
                f,
                "entry {entry} is cut off or has no `startedDateTime`; allowed: a whole file, with \
                 times as in \"2026-11-28T19:00:00.250Z\""
            ),
            Self::Empty => write!(
                f,
                "no request of its first page was answered over the network; allowed: at least \
                 one with a `status`, recorded without the browser's cache"
            ),
            Self::TooManyObjects(count) => {
                write!(f, "its first page has {count} requests; allowed: at most {MAX_OBJECTS}")
            }
            Self::TooManyOrigins(count) => {
                write!(f, "its first page has {count} origins; allowed: at most {MAX_ORIGINS}")
            }
            Self::TooLarge { entry, bytes } => {
                write!(f, "entry {entry} has {bytes} bytes; allowed: at most {MAX_BYTES}")
            }
            Self::NoHost { entry, url } => write!(
                f,
                "entry {entry}: `{url}` has no host; allowed: a URL as in \
                 \"https://example.com/a.css\""
            ),
        }
    }
}

impl std::error::Error for HarPageError {}

impl HarPage {
    /// Returns the first page of an archive.
    ///
    /// # Errors
    /// An entry cannot be read, or the page is empty or too large.
    pub fn of(log: &HarLog) -> Result<Self, HarPageError> {
        if let Some(entry) = log.unreadable {
            return Err(HarPageError::Entry(entry));
        }
        let requests = requests(log);
        if requests.is_empty() {
            return Err(HarPageError::Empty);
        }
        if requests.len() > MAX_OBJECTS {
            return Err(HarPageError::TooManyObjects(requests.len()));
        }
        let mut notes = left_out(log, requests.len());
        let hosts = requests.iter().map(|one| host(one)).collect::<Result<Vec<_>, _>>()?;
        let (origins, of_request) = origins(&requests, &hosts);
        if origins.len() > MAX_ORIGINS {
            return Err(HarPageError::TooManyOrigins(origins.len()));
        }
        let trips = round_trips(&requests, &of_request, origins.len());
        let mut names = BTreeMap::new();
        let mut objects: Vec<HarObject> = Vec::with_capacity(requests.len());
        let (mut unsized_, mut unpacked) = (0, 0);
        for (index, request) in requests.iter().enumerate() {
            let bytes = request.transfer_bytes.or(request.content_bytes);
            unsized_ += usize::from(bytes.is_none());
            unpacked += usize::from(request.transfer_bytes.is_none() && bytes.is_some());
            let bytes = bytes.unwrap_or_default();
            if bytes > MAX_BYTES {
                return Err(HarPageError::TooLarge { entry: request.hints.entry, bytes });
            }
            let after = parent(&requests, index);
            let origin = of_request[index];
            let wait = request.phases.wait.unwrap_or_default();
            let kind = kind(request);
            let mut object = HarObject {
                name: name(request, &mut names),
                bytes,
                origin,
                after,
                delay: after
                    .map_or(Span::ZERO, |parent| request.started.since(end(requests[parent]))),
                server_time: wait.saturating_sub(trips[origin]),
                kind,
                urgency: urgency(request),
                blocks_render: false,
                after_load: log.on_load.is_some_and(|load| request.started > load)
                    || after.is_some_and(|parent| objects[parent].after_load),
            };
            object.blocks_render = blocks_render(&object, &requests, &objects);
            objects.push(object);
        }
        let mut note = |count: usize, what: &str| {
            if count > 0 {
                notes.push(format!("{count} requests {what}"));
            }
        };
        note(unsized_, "have no size, and count as empty");
        note(unpacked, "have the size of their content alone, without compression and header");
        Ok(Self { origins, objects, notes })
    }
}

/// Returns the requests of the first page that were answered over the network.
fn requests(log: &HarLog) -> Vec<&HarRequest> {
    let of_page = |one: &&HarRequest| match (&log.page, &one.hints.page) {
        (Some(first), Some(own)) => first == own,
        _ => true,
    };
    let answered = |one: &&HarRequest| {
        let local = ["data:", "blob:", "about:", "file:", "chrome-extension:", "ws:", "wss:"];
        one.status.is_some()
            && !one.hints.from_cache
            && !local.iter().any(|scheme| one.url.starts_with(scheme))
    };
    log.requests.iter().filter(of_page).filter(answered).collect()
}

fn left_out(log: &HarLog, used: usize) -> Vec<String> {
    let mut notes = Vec::new();
    let others = log.requests.len() - used;
    if others > 0 {
        notes.push(format!(
            "{others} requests are left out: of other pages, from the cache, or without an answer"
        ));
    }
    notes
}

/// Returns the host of a request, with the port if its URL has one.
fn host(request: &HarRequest) -> Result<String, HarPageError> {
    let rest = request.url.split_once("://").map(|(_, rest)| rest);
    let authority = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    let host = authority.map(|text| text.rsplit('@').next().unwrap_or_default());
    match host.filter(|host| !host.is_empty()) {
        Some(host) => Ok(host.to_ascii_lowercase()),
        None => {
            let url = request.url.chars().take(60).collect();
            Err(HarPageError::NoHost { entry: request.hints.entry, url })
        }
    }
}

/// Returns the names of the origins, and the index of that of each request.
fn origins(requests: &[&HarRequest], hosts: &[String]) -> (Vec<String>, Vec<usize>) {
    let mut names: Vec<String> = Vec::new();
    let (mut by_host, mut by_address) = (BTreeMap::new(), BTreeMap::new());
    let mut of_request = Vec::with_capacity(requests.len());
    for (request, host) in requests.iter().zip(hosts) {
        let address = request.server.as_deref();
        let known = by_host.get(host).or_else(|| by_address.get(address?)).copied();
        let index = known.unwrap_or_else(|| {
            names.push(host.clone());
            names.len() - 1
        });
        by_host.entry(host).or_insert(index);
        if let Some(address) = address {
            by_address.entry(address).or_insert(index);
        }
        of_request.push(index);
    }
    (names, of_request)
}

/// Returns the RTT to each origin when the page was recorded: the shortest handshake of TCP, or
/// the shortest wait for an answer if that is less.
fn round_trips(requests: &[&HarRequest], of_request: &[usize], origins: usize) -> Vec<Span> {
    let mut trips = vec![None; origins];
    for (request, &origin) in requests.iter().zip(of_request) {
        let phases = &request.phases;
        let tcp = phases.connect.zip(phases.ssl).map(|(all, tls)| all.saturating_sub(tls));
        for trip in [tcp, phases.wait].into_iter().flatten().filter(|trip| !trip.is_zero()) {
            let least = trips[origin].get_or_insert(trip);
            *least = trip.min(*least);
        }
    }
    trips.into_iter().map(Option::unwrap_or_default).collect()
}

fn end(request: &HarRequest) -> Time {
    request.started + request.total
}

/// Returns the object that request `index` waits for: its initiator, or else what ended last before
/// it, or else the root.
fn parent(requests: &[&HarRequest], index: usize) -> Option<usize> {
    let own = requests[index];
    let before = &requests[..index];
    let initiator = own.hints.initiator.as_deref();
    let named = initiator.and_then(|url| before.iter().rposition(|one| one.url == url));
    if index == 0 || named.is_some() {
        return named;
    }
    let ended = before.iter().enumerate().filter(|(_, one)| end(one) <= own.started);
    Some(ended.max_by_key(|(_, one)| end(one)).map_or(0, |(last, _)| last))
}

/// Returns the URL without scheme, with a number if another request has the same.
fn name(request: &HarRequest, names: &mut BTreeMap<String, u32>) -> String {
    let url = request.url.split_once("://").map_or(request.url.as_str(), |(_, rest)| rest);
    let short: String = url.chars().take(200).collect();
    let count = names.entry(short.clone()).or_default();
    *count += 1;
    if *count == 1 { short } else { format!("{short} ({count})") }
}

fn kind(request: &HarRequest) -> HarKind {
    let hints = &request.hints;
    let by_resource = match hints.kind.as_deref() {
        Some("document") => Some(HarKind::Document),
        Some("stylesheet") => Some(HarKind::Style),
        Some("script") => Some(HarKind::Script),
        Some("font") => Some(HarKind::Font),
        Some("image") => Some(HarKind::Image),
        Some("media") => Some(HarKind::Media),
        Some("xhr" | "fetch") => Some(HarKind::Data),
        _ => None,
    };
    let by_content = || {
        let content = hints.content_type.as_deref()?.to_ascii_lowercase();
        let found = [
            ("text/html", HarKind::Document),
            ("text/css", HarKind::Style),
            ("javascript", HarKind::Script),
            ("font", HarKind::Font),
            ("image/", HarKind::Image),
            ("video/", HarKind::Media),
            ("audio/", HarKind::Media),
            ("json", HarKind::Data),
        ];
        found.iter().find(|(part, _)| content.contains(part)).map(|(_, kind)| *kind)
    };
    by_resource.or_else(by_content).unwrap_or(HarKind::Other)
}

/// Returns the urgency of Chromium's priority (RFC 9218 has eight).
fn urgency(request: &HarRequest) -> Option<u8> {
    let names = ["veryhigh", "high", "medium", "low", "verylow"];
    let name = request.hints.priority.as_deref()?.to_ascii_lowercase();
    // Of WebPageTest and Firefox.
    let name = match name.as_str() {
        "highest" => "veryhigh",
        "lowest" | "idle" => "verylow",
        other => other,
    };
    names.iter().position(|one| *one == name).map(|place| place as u8)
}

/// Returns true if nothing is shown before an object is complete: the root with what leads there,
/// and style sheets and scripts of the root that the browser does not defer.
fn blocks_render(object: &HarObject, requests: &[&HarRequest], before: &[HarObject]) -> bool {
    let Some(parent) = object.after else { return true };
    let (by, from) = (&before[parent], requests[parent].status);
    if from.is_some_and(|status| (300..400).contains(&status)) {
        // Where a redirect leads is what was asked for.
        return by.blocks_render;
    }
    if object.after_load {
        return false;
    }
    if let Some(says) = requests[before.len()].hints.render_blocking {
        return says;
    }
    let deferred = |from: u8| object.urgency.is_some_and(|urgency| urgency >= from);
    by.blocks_render
        && match object.kind {
            HarKind::Style => !deferred(3) && by.kind != HarKind::Script,
            HarKind::Script => !deferred(2) && by.kind == HarKind::Document,
            _ => false,
        }
}
