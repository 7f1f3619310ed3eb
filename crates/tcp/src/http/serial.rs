//! One exchange at a time on a persistent connection: HTTP/1.1 (RFC 9112), and bare requests.

use super::message::Message;
use super::schedule::Schedule;
use super::tls::RECORD_CONTENT;
use super::types::{Role, Version};
use bentpipe_units::Time;

/// Header of a request for a part of a page, as a browser sends it: 470 bytes. The fields are those
/// of Chrome 130 on Linux, without cookies and client hints; names and path are made up. A PUT has
/// lines about its content in place of some of these, and is assumed to have the same length.
const H1_REQUEST: &str = concat!(
    "GET /assets/images/photo-0001.webp HTTP/1.1\r\n",
    "Host: www.example.com\r\n",
    "Connection: keep-alive\r\n",
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, \
     like Gecko) Chrome/130.0.0.0 Safari/537.36\r\n",
    "Accept: image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8\r\n",
    "Sec-Fetch-Site: same-origin\r\n",
    "Sec-Fetch-Mode: no-cors\r\n",
    "Sec-Fetch-Dest: image\r\n",
    "Referer: https://www.example.com/\r\n",
    "Accept-Encoding: gzip, deflate, br, zstd\r\n",
    "Accept-Language: en-US,en;q=0.9\r\n",
    "\r\n",
);
/// Header of a response for a file, as nginx sends it with caching and transport security enabled:
/// 316 bytes.
const H1_RESPONSE: &str = concat!(
    "HTTP/1.1 200 OK\r\n",
    "Server: nginx\r\n",
    "Date: Tue, 01 Oct 2024 12:00:00 GMT\r\n",
    "Content-Type: image/webp\r\n",
    "Content-Length: 1000000\r\n",
    "Last-Modified: Tue, 01 Oct 2024 10:00:00 GMT\r\n",
    "Connection: keep-alive\r\n",
    "ETag: \"66fbc8a0-f4240\"\r\n",
    "Strict-Transport-Security: max-age=31536000\r\n",
    "Cache-Control: max-age=31536000\r\n",
    "Accept-Ranges: bytes\r\n",
    "\r\n",
);
/// A bare request: direction, object, size, as on the bare QUIC streams.
const RAW_REQUEST: u64 = 1 + 8 + 8;
/// The bare response if no content marks the end: to an upload, and to a request for zero bytes.
const RAW_RESPONSE: u64 = 1;

/// Both ends of a connection that has one exchange at a time.
#[derive(Debug)]
pub(super) struct Serial {
    raw: bool,
    upload: bool,
    work: Option<ActiveExchange>,
}

/// The current exchange.
#[derive(Debug)]
struct ActiveExchange {
    object: usize,
    /// Whether the request and the response are still to be written.
    request: bool,
    response: bool,
    /// When the server answers, if it works on the request first.
    answer: Option<Time>,
    /// Content still to be written by the current sender.
    content: u64,
    /// Content read up to now.
    got: u64,
}

impl Serial {
    /// Creates a connection without an exchange.
    pub(super) fn new(version: Version, upload: bool) -> Self {
        Self { raw: version == Version::Raw, upload, work: None }
    }

    /// Returns true if another exchange may start.
    pub(super) fn is_idle(&self) -> bool {
        self.work.is_none()
    }

    /// Returns when the server answers a request that it is still working on.
    pub(super) fn next_answer(&self) -> Option<Time> {
        self.work.as_ref()?.answer
    }

    /// Lets the server answer if that is due `now`. Returns true if so.
    pub(super) fn release_answer(&mut self, now: Time) -> bool {
        let due = self.work.as_mut().and_then(|work| work.answer.take_if(|due| *due <= now));
        due.is_some()
    }

    /// Starts an exchange.
    pub(super) fn begin(&mut self, object: usize) {
        self.work = Some(ActiveExchange {
            object,
            request: true,
            response: false,
            answer: None,
            content: 0,
            got: 0,
        });
    }

    /// Returns the next message of `side`, with at most `most` bytes of content, and its size in
    /// bytes.
    pub(super) fn next(
        &mut self,
        side: Role,
        most: u64,
        schedule: &Schedule,
    ) -> Option<(u64, Message)> {
        let (raw, upload) = (self.raw, self.upload);
        let work = self.work.as_mut()?;
        if side == Role::Server && work.answer.is_some() {
            return None;
        }
        let head = match side {
            Role::Client if work.request => Some((
                if raw { RAW_REQUEST } else { H1_REQUEST.len() as u64 },
                Message::Request(work.object),
            )),
            Role::Server if work.response => Some((
                if raw { RAW_RESPONSE } else { H1_RESPONSE.len() as u64 },
                Message::Response(work.object),
            )),
            Role::Client | Role::Server => None,
        };
        if let Some((bytes, message)) = head {
            if bytes > most {
                return None;
            }
            match side {
                Role::Client => {
                    work.request = false;
                    work.content = if upload { schedule.bytes(work.object) } else { 0 };
                }
                Role::Server => work.response = false,
            }
            return Some((bytes, message));
        }
        // Until the request arrives, `content` is the client's; afterwards, in a download, the
        // server's.
        let writer = if upload { Role::Client } else { Role::Server };
        let bytes = work.content.min(most).min(RECORD_CONTENT);
        if side != writer || bytes == 0 {
            return None;
        }
        work.content -= bytes;
        Some((
            bytes,
            if raw { Message::Bare(work.object) } else { Message::Content(work.object, bytes) },
        ))
    }

    /// Handles a message that a side has read. Returns true if a side may have something new to
    /// write.
    pub(super) fn read(&mut self, now: Time, message: Message, schedule: &mut Schedule) -> bool {
        let (raw, upload) = (self.raw, self.upload);
        let Some(work) = &mut self.work else { return false };
        let object = work.object;
        let bytes = schedule.bytes(object);
        match message {
            Message::Request(_) if upload => work.response = bytes == 0,
            Message::Request(_) => {
                work.response = !raw || bytes == 0;
                work.content = bytes;
                let server_time = schedule.source(object).server_time;
                work.answer = (!server_time.is_zero()).then(|| now + server_time);
            }
            Message::Response(_) if upload || bytes == 0 => {
                self.work = None;
                schedule.ended(now, object);
            }
            Message::Content(_, content) => {
                work.got += content;
                let all = work.got == bytes;
                schedule.received(object, content);
                if !all {
                    return false;
                }
                if upload {
                    work.response = true;
                } else {
                    self.work = None;
                    schedule.ended(now, object);
                }
            }
            // `Bare` arrives here as `Content`; the rest belongs to HTTP/2.
            _ => {}
        }
        true
    }
}
