//! The JSON of HTTP Archives.

use super::initiator::Initiator;
use super::request::{HarHints, HarPhases, HarRequest};
use crate::calendar::seconds_of_iso;
use crate::json::{Elements, FieldValue, Fields, FromObject, ListInto, Scalar, from_object};
use bentpipe_units::{Span, Time};
use serde::de::MapAccess;

/// Most requests that are read. Tests need not write so many.
pub const MAX_REQUESTS: usize = if cfg!(test) { 1_000 } else { 100_000 };
/// Longest time between requests, and of one, in seconds.
pub const MAX_SECONDS: f64 = 1e6;
/// Longest text that is kept, in bytes.
const MAX_TEXT: usize = 2048;

/// Gives a type fields that are read from those of an object with the same meaning.
macro_rules! object {
    ($(#[$about:meta])* $name:ident { $($field:ident: $key:literal),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Debug, Default)]
        pub struct $name {
            $($field: Scalar,)+
        }

        from_object!($name { $($key => $field: get),+ });
    };
}

object!(
    /// Program that wrote the file.
    Creator { name: "name", version: "version" }
);
object!(
    /// A request.
    Request { method: "method", url: "url", version: "httpversion" }
);
object!(
    /// The content of a response.
    Content { size: "size", kind: "mimetype" }
);
object!(
    /// What a page's events have taken since its start, in milliseconds.
    PageTimings { on_load: "onload" }
);
object!(
    /// The phases, in milliseconds; -1 where one does not apply.
    Timings {
        blocked: "blocked",
        dns: "dns",
        connect: "connect",
        ssl: "ssl",
        send: "send",
        wait: "wait",
        receive: "receive",
    }
);

/// A response.
#[derive(Debug, Default)]
struct Response {
    status: Scalar,
    version: Scalar,
    header: Scalar,
    body: Scalar,
    /// Of Chromium.
    transfer: Scalar,
    content: Content,
}

from_object!(Response {
    "status" => status: get,
    "httpversion" => version: get,
    "headerssize" => header: get,
    "bodysize" => body: get,
    "_transfersize" => transfer: get,
    "content" => content: object,
});

/// A page.
#[derive(Debug, Default)]
struct Page {
    id: Scalar,
    started: Scalar,
    timings: PageTimings,
}

from_object!(Page {
    "id" => id: get,
    "starteddatetime" => started: get,
    "pagetimings" => timings: object,
});

/// A request with its response and times.
#[derive(Debug, Default)]
pub struct Entry {
    started: Scalar,
    total: Scalar,
    request: Request,
    response: Response,
    timings: Timings,
    connection: Scalar,
    server: Scalar,
    page: Scalar,
    /// Of Chromium and WebPageTest.
    initiator: Initiator,
    priority: Scalar,
    /// Of Chromium.
    kind: Scalar,
    from_cache: Scalar,
    /// Of WebPageTest.
    bytes_in: Scalar,
    render_blocking: Scalar,
}

from_object!(Entry {
    "starteddatetime" => started: get,
    "time" => total: get,
    "request" => request: object,
    "response" => response: object,
    "timings" => timings: object,
    "connection" => connection: get,
    "serveripaddress" => server: get,
    "pageref" => page: get,
    "_initiator" => initiator: get,
    "_priority" => priority: get,
    "_resourcetype" => kind: get,
    "_fromcache" => from_cache: get,
    "_bytesin" => bytes_in: get,
    "_renderblocking" => render_blocking: get,
});

impl Entry {
    /// Returns the request with its start in seconds since 1970; `None` without a start.
    pub fn request(&self) -> Option<(f64, HarRequest)> {
        let started = seconds_of_iso(self.started.text()?)?;
        let Timings { blocked, dns, connect, ssl, send, wait, receive } = &self.timings;
        let phases = HarPhases {
            blocked: span(blocked),
            dns: span(dns),
            connect: span(connect),
            ssl: span(ssl),
            send: span(send),
            wait: span(wait),
            receive: span(receive),
        };
        let parts = [phases.blocked, phases.dns, phases.connect, phases.send, phases.wait];
        let sum = parts.into_iter().chain([phases.receive]).flatten();
        let sum = sum.fold(Span::ZERO, |sum, part| sum + part);
        let response = &self.response;
        let size = |value: &Scalar| value.integer().filter(|size| *size > 0);
        let on_wire = response
            .body
            .integer()
            .map(|body| body.saturating_add(response.header.integer().unwrap_or_default()));
        let versions = [&self.request.version, &response.version].into_iter();
        Some((
            started,
            HarRequest {
                started: Time::ZERO,
                method: text(&self.request.method).unwrap_or_default(),
                url: text(&self.request.url).unwrap_or_default(),
                version: versions
                    .filter_map(text)
                    .find(|text| !text.is_empty())
                    .unwrap_or_default(),
                status: response
                    .status
                    .integer()
                    .and_then(|status| status.try_into().ok())
                    .filter(|status| *status > 0),
                total: span(&self.total).unwrap_or(sum),
                phases,
                transfer_bytes: size(&response.transfer)
                    .or_else(|| size(&self.bytes_in))
                    .or(on_wire),
                content_bytes: response.content.size.integer(),
                connection: text(&self.connection).filter(|name| !name.is_empty()),
                server: text(&self.server).filter(|name| !name.is_empty()),
                hints: self.hints(),
            },
        ))
    }

    fn hints(&self) -> HarHints {
        HarHints {
            entry: 0,
            page: text(&self.page),
            initiator: text(self.initiator.url()),
            priority: text(&self.priority),
            kind: text(&self.kind),
            content_type: text(&self.response.content.kind),
            from_cache: self.from_cache.is_some(),
            render_blocking: text(&self.render_blocking).map(|text| text.starts_with("blocking")),
        }
    }
}

/// Returns a time that is written in milliseconds; negative ones do not apply.
fn span(value: &Scalar) -> Option<Span> {
    let seconds = value.float()? / 1e3;
    (0.0..=MAX_SECONDS).contains(&seconds).then(|| Span::from_secs_f64(seconds))
}

fn text(value: &Scalar) -> Option<String> {
    let mut text = value.name()?;
    if text.len() > MAX_TEXT {
        let end = (0..=MAX_TEXT).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or_default());
    }
    Some(text)
}

/// What a document has in `log`.
#[derive(Debug, Default)]
pub struct Log {
    creator: Creator,
    pages: Vec<Page>,
    pub entries: Vec<Entry>,
}

impl Log {
    pub fn creator(&self) -> String {
        let parts = [&self.creator.name, &self.creator.version];
        let parts: Vec<_> = parts.into_iter().filter_map(text).collect();
        parts.join(" ")
    }

    /// Returns the name of the first page, and the time of its `load` event in seconds since 1970.
    pub fn page(&self) -> Option<(String, Option<f64>)> {
        let page = self.pages.first()?;
        let on_load = page.timings.on_load.float().filter(|time| *time > 0.0);
        let started = page.started.text().and_then(seconds_of_iso);
        Some((text(&page.id)?, started.zip(on_load).map(|(start, after)| start + after / 1e3)))
    }
}

impl FromObject for Log {
    fn field<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        value: &mut FieldValue<'_, A>,
    ) -> Result<(), A::Error> {
        match key {
            "creator" => self.creator = value.object()?,
            "pages" => value.with(ListInto(&mut Elements(&mut self.pages, 1)))?,
            "entries" => value.with(ListInto(&mut Elements(&mut self.entries, MAX_REQUESTS)))?,
            _ => {}
        }
        Ok(())
    }
}

/// A document.
#[derive(Debug, Default)]
pub struct Archive {
    pub log: Log,
}

impl FromObject for Archive {
    fn field<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        value: &mut FieldValue<'_, A>,
    ) -> Result<(), A::Error> {
        if key == "log" { value.with(Fields(&mut self.log)) } else { Ok(()) }
    }
}
