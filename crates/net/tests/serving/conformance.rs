//! What RFC 9114 and RFC 9204 require of a server when a client breaks them, one case each. The
//! table of the cases is in the book.
//!
//! A requirement says "stream error" or "connection error"; an endpoint may treat the first as the
//! second (RFC 9114, section 8).

use super::frames::{DATA, GOAWAY, HEADERS, SETTINGS, data, field, frame, get, headers, request};
use super::peer::{Peer, SOON};
use super::proxy::Proxied;
use super::{TestServer, book};
use bentpipe_net::Trust;
use bentpipe_net::serve::Server;
use noq::{ConnectionError, ReadError, ReadToEndError, VarInt};
use std::fmt;
use std::time::Duration;
use tokio::time::timeout;

const CANCEL_PUSH: u8 = 0x3;
const PUSH_PROMISE: u8 = 0x5;
const MAX_PUSH_ID: u8 = 0xd;

const STREAM_CREATION_ERROR: u64 = 0x103;
const CLOSED_CRITICAL_STREAM: u64 = 0x104;
const FRAME_UNEXPECTED: u64 = 0x105;
const FRAME_ERROR: u64 = 0x106;
const ID_ERROR: u64 = 0x108;
const SETTINGS_ERROR: u64 = 0x109;
const MISSING_SETTINGS: u64 = 0x10a;
const REQUEST_INCOMPLETE: u64 = 0x10d;
const MESSAGE_ERROR: u64 = 0x10e;
const DECOMPRESSION_FAILED: u64 = 0x200;
const ENCODER_STREAM_ERROR: u64 = 0x201;
const DECODER_STREAM_ERROR: u64 = 0x202;

/// How long a server that ignores a violation may take to show an error.
const QUIET: Duration = Duration::from_millis(300);

/// What the server did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// It closed the connection with a code.
    Connection(u64),
    /// It reset the request with a code.
    Stream(u64),
    /// It answered with another status than 200, which RFC 9114, section 4.1.2, permits before a
    /// stream error.
    Refused,
    /// It answered, or ignored what came.
    Accepted,
}
use Outcome::{Accepted, Connection, Refused, Stream};

/// Returns the name of an error code (RFC 9114 §8.1, RFC 9204 §6).
fn code_name(code: u64) -> String {
    let name = match code {
        STREAM_CREATION_ERROR => "H3_STREAM_CREATION_ERROR",
        CLOSED_CRITICAL_STREAM => "H3_CLOSED_CRITICAL_STREAM",
        FRAME_UNEXPECTED => "H3_FRAME_UNEXPECTED",
        FRAME_ERROR => "H3_FRAME_ERROR",
        ID_ERROR => "H3_ID_ERROR",
        SETTINGS_ERROR => "H3_SETTINGS_ERROR",
        MISSING_SETTINGS => "H3_MISSING_SETTINGS",
        REQUEST_INCOMPLETE => "H3_REQUEST_INCOMPLETE",
        MESSAGE_ERROR => "H3_MESSAGE_ERROR",
        DECOMPRESSION_FAILED => "QPACK_DECOMPRESSION_FAILED",
        ENCODER_STREAM_ERROR => "QPACK_ENCODER_STREAM_ERROR",
        DECODER_STREAM_ERROR => "QPACK_DECODER_STREAM_ERROR",
        _ => return format!("{code:#x}"),
    };
    name.to_owned()
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Connection(code) => write!(f, "connection error {}", code_name(code)),
            Stream(code) => write!(f, "stream error {}", code_name(code)),
            Refused => f.write_str("refused"),
            Accepted => f.write_str("accepted"),
        }
    }
}

/// What a client sends.
struct Case {
    section: &'static str,
    what: &'static str,
    /// On the control stream, after SETTINGS unless it says all.
    control: Vec<u8>,
    /// The control stream from its type on, instead.
    whole_control: Option<Vec<u8>>,
    /// Ends the control stream.
    ends_control: bool,
    /// Other unidirectional streams, and whether they end.
    uni: Vec<(Vec<u8>, bool)>,
    /// On the request stream, which then ends.
    request: Vec<u8>,
    /// Asks a proxy, which reads the content of requests.
    is_upload: bool,
    /// Required.
    must: Outcome,
    /// What it does instead, and why.
    known: Option<(Outcome, &'static str)>,
}

/// The proxy answers 400 where the library has counted, and ends the stream. (An upstream that has
/// begun to answer by then is cut off; that of these cases is slow.)
const ANSWERED: &str = "status 400; the upstream never gets the content as complete";
/// h3 0.0.8 accepts QPACK's streams and never reads them.
const UNREAD: &str = "no dynamic table is offered or used, so nothing on this stream has an effect";

fn case(section: &'static str, what: &'static str, must: Outcome) -> Case {
    Case {
        section,
        what,
        control: Vec::new(),
        whole_control: None,
        ends_control: false,
        uni: Vec::new(),
        request: get("/hello.txt"),
        is_upload: false,
        must,
        known: None,
    }
}

impl Case {
    fn request(self, bytes: Vec<u8>) -> Self {
        Self { request: bytes, ..self }
    }

    /// A request of the fields given, each a line of QPACK.
    fn fields(self, fields: &[&[u8]]) -> Self {
        self.request(headers(&fields.concat()))
    }

    /// On a request whose content is read.
    fn upload(self, frames: &[Vec<u8>]) -> Self {
        Self { is_upload: true, ..self.request(frames.concat()) }
    }

    fn known(self, outcome: Outcome, reason: &'static str) -> Self {
        Self { known: Some((outcome, reason)), ..self }
    }

    fn control(self, bytes: Vec<u8>) -> Self {
        Self { control: bytes, ..self }
    }

    fn whole_control(self, bytes: Vec<u8>) -> Self {
        Self { whole_control: Some(bytes), ..self }
    }

    fn uni(mut self, bytes: Vec<u8>, ends: bool) -> Self {
        self.uni.push((bytes, ends));
        self
    }
}

/// A frame with its payload.
fn with(kind: u8, payload: &[u8]) -> Vec<u8> {
    [&frame(kind, payload.len() as u32)[..], payload].concat()
}

/// A field with a literal name (RFC 9204, section 4.5.6).
fn literal(name: &[u8], value: &[u8]) -> Vec<u8> {
    let length = match name.len() {
        short @ 0..7 => vec![0x20 | short as u8],
        long => vec![0x27, (long - 7) as u8],
    };
    [&length[..], name, &[value.len() as u8], value].concat()
}

// Entries of the static table (RFC 9204, appendix A).
const METHOD_GET: &[u8] = &[0xc0 | 17];
const METHOD_CONNECT: &[u8] = &[0xc0 | 15];
const SCHEME_HTTPS: &[u8] = &[0xc0 | 23];
const STATUS_200: &[u8] = &[0xc0 | 25];

#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn cases() -> Vec<Case> {
    let path = field(1, b"/hello.txt");
    let authority = field(0, b"localhost");
    let whole: Vec<&[u8]> = vec![METHOD_GET, SCHEME_HTTPS, &path, &authority];
    let and = |more: &[u8]| headers(&[&whole.concat(), more].concat());
    let unexpected = Connection(FRAME_UNEXPECTED);
    let malformed = Stream(MESSAGE_ERROR);
    let mut cases = vec![
        // Frames on a request stream.
        case("4.1", "DATA before HEADERS", unexpected)
            .request([with(DATA, b"x"), get("/hello.txt")].concat()),
        case("4.1", "DATA after trailers", unexpected).upload(&[
            request(20, "/echo", &[]),
            with(DATA, b"x"),
            headers(&literal(b"a", b"b")),
            with(DATA, b"x"),
        ]),
        case("4.1", "a request without frames", Stream(REQUEST_INCOMPLETE)).request(Vec::new()),
        case("7.1", "a frame that the end of its stream cuts", Connection(FRAME_ERROR))
            .request([frame(HEADERS, 100), vec![0, 0]].concat()),
        case("7.2.3", "CANCEL_PUSH on a request", unexpected).request(with(CANCEL_PUSH, &[0])),
        case("7.2.4", "SETTINGS on a request", unexpected).request(with(SETTINGS, &[])),
        case("7.2.5", "PUSH_PROMISE of a client", unexpected)
            .request(with(PUSH_PROMISE, &[0, 0, 0])),
        case("7.2.6", "GOAWAY on a request", unexpected).request(with(GOAWAY, &[0])),
        case("7.2.7", "MAX_PUSH_ID on a request", unexpected).request(with(MAX_PUSH_ID, &[0])),
        case("9", "a reserved frame type on a request", Accepted)
            .request([with(0x21, b"x"), get("/hello.txt")].concat()),
        // The control stream.
        case("6.2.1", "a first frame other than SETTINGS", Connection(MISSING_SETTINGS))
            .whole_control([vec![0], with(GOAWAY, &[0])].concat()),
        case("6.2.1", "a second control stream", Connection(STREAM_CREATION_ERROR))
            .uni([vec![0], with(SETTINGS, &[])].concat(), false),
        Case {
            ends_control: true,
            ..case("6.2.1", "the end of the control stream", Connection(CLOSED_CRITICAL_STREAM))
        },
        case("7.2.1", "DATA on the control stream", unexpected).control(with(DATA, b"x")),
        case("7.2.2", "HEADERS on the control stream", unexpected).control(get("/")),
        case("7.2.4", "a second SETTINGS", unexpected).control(with(SETTINGS, &[])),
        case("7.2.4.1", "a setting of HTTP/2", Connection(SETTINGS_ERROR))
            .whole_control([vec![0], with(SETTINGS, &[0x2, 0])].concat()),
        case("7.2.4.1", "a reserved setting", Accepted)
            .whole_control([vec![0], with(SETTINGS, &[0x21, 5])].concat()),
        case("7.1", "SETTINGS that end inside a pair", Connection(FRAME_ERROR))
            .whole_control([vec![0], with(SETTINGS, &[0x6])].concat()),
        case("7.2.5", "PUSH_PROMISE on the control stream", unexpected)
            .control(with(PUSH_PROMISE, &[0, 0, 0])),
        case("7.1", "GOAWAY with more than an identifier", Connection(FRAME_ERROR))
            .control(with(GOAWAY, &[0, 0])),
        case("5.2", "a GOAWAY beyond the one before", Connection(ID_ERROR))
            .control([with(GOAWAY, &[1]), with(GOAWAY, &[2])].concat()),
        case("7.2.7", "a MAX_PUSH_ID below the one before", Connection(ID_ERROR))
            .control([with(MAX_PUSH_ID, &[2]), with(MAX_PUSH_ID, &[1])].concat()),
        case("7.2.3", "CANCEL_PUSH of a push that was not promised", Connection(ID_ERROR))
            .control(with(CANCEL_PUSH, &[5])),
        case("9", "a reserved frame type on the control stream", Accepted)
            .control(with(0x21, b"x")),
        // Unidirectional streams.
        case("6.2.2", "a push stream of a client", Connection(STREAM_CREATION_ERROR))
            .uni(vec![1, 0], false),
        case("6.2", "a stream of an unknown type", Accepted).uni(vec![0x21, 1, 2, 3], false),
        case("6.2", "a stream that ends before its type", Accepted).uni(Vec::new(), true),
        // Malformed requests.
        case("4.3.1", "no :method", malformed).fields(&[SCHEME_HTTPS, &path, &authority]),
        case("4.3.1", "no :scheme", malformed).fields(&[METHOD_GET, &path, &authority]),
        case("4.3.1", "no :path", malformed).fields(&[METHOD_GET, SCHEME_HTTPS, &authority]),
        case("4.3.1", "an empty :path", malformed).fields(&[
            METHOD_GET,
            SCHEME_HTTPS,
            &field(1, b""),
            &authority,
        ]),
        case("4.3.1", "neither :authority nor Host", malformed).fields(&[
            METHOD_GET,
            SCHEME_HTTPS,
            &path,
        ]),
        case("4.3.1", "a Host other than :authority", malformed)
            .request(and(&literal(b"host", b"elsewhere"))),
        case("4.3.1", "two :path", malformed).request(and(&field(1, b"/other"))),
        case("4.3", "an unknown pseudo-field", malformed).request(and(&literal(b":new", b"x"))),
        case("4.3", "a pseudo-field of responses", malformed).request(and(STATUS_200)),
        case("4.3", "a pseudo-field after a field", malformed).fields(&[
            METHOD_GET,
            SCHEME_HTTPS,
            &literal(b"a", b"b"),
            &path,
            &authority,
        ]),
        case("4.3", "a pseudo-field in trailers", malformed).upload(&[
            request(20, "/echo", &[]),
            with(DATA, b"x"),
            headers(STATUS_200),
        ]),
        case("4.2", "a name in capitals", malformed).request(and(&literal(b"Name", b"x"))),
        case("4.2", "a name with a space", malformed).request(and(&literal(b"a b", b"x"))),
        case("10.3", "a value with a line feed", malformed)
            .request(and(&literal(b"name", b"a\nb"))),
        case("10.3", "a value with a zero byte", malformed)
            .request(and(&literal(b"name", b"a\0b"))),
        case("4.2", "a Connection field", malformed)
            .request(and(&literal(b"connection", b"close"))),
        case("4.2", "a Transfer-Encoding field", malformed)
            .request(and(&literal(b"transfer-encoding", b"chunked"))),
        case("4.2", "TE other than trailers", malformed).request(and(&literal(b"te", b"gzip"))),
        case("4.1.2", "less content than announced", malformed)
            .upload(&[request(20, "/slow", &literal(b"content-length", b"9")), with(DATA, b"x")])
            .known(Refused, ANSWERED),
        case("4.1.2", "more content than announced", malformed)
            .upload(&[request(20, "/slow", &literal(b"content-length", b"1")), with(DATA, b"xx")])
            .known(Refused, ANSWERED),
        case("4.1.2", "content that a GET announces as empty", malformed)
            .request([and(&literal(b"content-length", b"0")), with(DATA, b"xx")].concat()),
        case("4.4", "CONNECT with :scheme and :path", malformed).fields(&[
            METHOD_CONNECT,
            SCHEME_HTTPS,
            &path,
            &authority,
        ]),
        // QPACK.
        case("9204 2.2.3", "a reference to an absent entry", Connection(DECOMPRESSION_FAILED))
            .request(with(HEADERS, &[0, 0, 0xff, 0xff, 0x01])),
        case("9204 3.2.3", "a dynamic entry beyond the capacity", Connection(DECOMPRESSION_FAILED))
            .request(with(HEADERS, &[2, 0, 0x80])),
        case("9204 4.2", "a second encoder stream", Connection(STREAM_CREATION_ERROR))
            .uni(vec![2], false)
            .uni(vec![2], false),
        case("9204 4.2", "the end of the encoder stream", Connection(CLOSED_CRITICAL_STREAM))
            .uni(vec![2], true)
            .known(Accepted, UNREAD),
        case("9204 4.2", "the end of the decoder stream", Connection(CLOSED_CRITICAL_STREAM))
            .uni(vec![3], true)
            .known(Accepted, UNREAD),
        case("9204 3.2.3", "a capacity beyond the limit", Connection(ENCODER_STREAM_ERROR))
            .uni(vec![2, 0x3f, 0xff, 0x7f], false)
            .known(Accepted, UNREAD),
        case("9204 4.4.3", "an increment of zero", Connection(DECODER_STREAM_ERROR))
            .uni(vec![3, 0x00], false)
            .known(Accepted, UNREAD),
    ];
    for (kind, what) in [
        (0x2, "PRIORITY of HTTP/2"),
        (0x6, "PING of HTTP/2"),
        (0x8, "WINDOW_UPDATE of HTTP/2"),
        (0x9, "CONTINUATION of HTTP/2"),
    ] {
        cases.push(case("7.2.8", what, unexpected).request(with(kind, b"x")));
    }
    cases
}

/// Plays a case and returns what the server did.
async fn play((server, trust): (&Server, &Trust), case: &Case) -> Outcome {
    let control = match &case.whole_control {
        Some(bytes) => bytes.clone(),
        None => [&[0][..], &with(SETTINGS, &[]), &case.control].concat(),
    };
    let mut peer = Peer::with_control(server, trust, &control).await;
    if case.ends_control {
        peer.control.finish().unwrap();
    }
    // Where the server has closed the connection by then, these fail.
    let mut kept = Vec::new();
    for (bytes, ends) in &case.uni {
        let Ok(mut uni) = peer.connection.open_uni().await else { continue };
        let _ = uni.write_all(bytes).await;
        if *ends {
            let _ = uni.finish();
        }
        kept.push(uni);
    }
    let (mut send, mut recv) = match peer.connection.open_bi().await {
        Ok(streams) => streams,
        Err(error) => return closed(&error),
    };
    let _ = send.write_all(&case.request).await;
    let _ = send.finish();
    let answer = timeout(SOON, recv.read_to_end(100_000)).await.expect("no answer");
    let outcome = match answer {
        Err(ReadToEndError::Read(ReadError::Reset(code))) => Stream(code.into_inner()),
        Err(ReadToEndError::Read(ReadError::ConnectionLost(error))) => closed(&error),
        Err(error) => panic!("{}: {error}", case.what),
        // The rest may still be refused.
        Ok(answer) => match timeout(QUIET, peer.connection.closed()).await {
            Ok(error) => closed(&error),
            Err(_) if data(&answer) == b"hello" => Accepted,
            Err(_) => Refused,
        },
    };
    peer.connection.close(VarInt::from_u32(0x100), b"");
    drop(kept);
    outcome
}

fn closed(error: &ConnectionError) -> Outcome {
    match error {
        ConnectionError::ApplicationClosed(close) => Connection(close.error_code.into_inner()),
        other => panic!("{other}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_does_what_http3_requires() {
    let site = TestServer::new().await;
    let proxied = Proxied::new(|upstream| upstream).await;
    let mut table = String::from(
        "| section | what a client sends | required | what the server does |\n|---|---|---|---|\n",
    );
    let (mut unexpected, mut known) = (Vec::new(), 0);
    let cases = cases();
    for case in &cases {
        let asked = match case.is_upload {
            true => (&proxied.server, &proxied.trust),
            false => (&site.server, &site.trust),
        };
        let did = play(asked, case).await;
        let must = case.must;
        let fine = match case.known {
            Some((instead, _)) => did == instead,
            None => did == must || matches!((must, did), (Stream(a), Connection(b)) if a == b),
        };
        if !fine {
            unexpected.push(format!("{}, {}: {did}", case.section, case.what));
        }
        known += usize::from(case.known.is_some());
        let section = match case.section.split_once(' ') {
            Some((rfc, section)) => format!("RFC {rfc} §{section}"),
            None => format!("§{}", case.section),
        };
        let at = if case.is_upload { ", to `proxy`" } else { "" };
        let did = match case.known {
            Some((_, reason)) => format!("**{did}**: {reason}"),
            None => did.to_string(),
        };
        table += &format!("| {section} | {}{at} | {must} | {did} |\n", case.what);
    }
    println!("{table}");
    assert!(unexpected.is_empty(), "{unexpected:#?}");
    let (all, fine) = (cases.len(), cases.len() - known);
    let total = format!("Of {all} cases, {fine} end as required; the others are in bold.\n");
    book::check_block("HTTP/3 conformance", &format!("{total}\n{table}"));
}
