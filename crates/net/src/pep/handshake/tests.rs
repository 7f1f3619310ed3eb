//! Handshakes, whole and in pieces.

use super::*;
use proptest::prelude::*;

/// Runs a handshake with `bytes` in pieces of these lengths. Returns the replies and the last
/// event.
fn run(
    credentials: Option<&str>,
    bytes: &[u8],
    cuts: &[usize],
) -> (Vec<u8>, Event, ClientHandshake) {
    let mut handshake =
        ClientHandshake::new(credentials.map(|line| Credentials::parse(line).unwrap()));
    let (mut sent, mut rest, mut cuts) = (Vec::new(), bytes, cuts.iter().cycle());
    loop {
        match handshake.next_event() {
            Event::Send(answer) => sent.extend(answer),
            Event::NeedMore if rest.is_empty() => return (sent, Event::NeedMore, handshake),
            Event::NeedMore => {
                let limit = cuts
                    .next()
                    .copied()
                    .unwrap_or(usize::MAX)
                    .clamp(1, handshake.capacity().max(1));
                let (now, later) = rest.split_at(limit.min(rest.len()));
                handshake.receive(now);
                rest = later;
            }
            event => {
                let end = handshake.capacity().min(rest.len());
                handshake.receive(&rest[..end]);
                return (sent, event, handshake);
            }
        }
    }
}

fn connect_to(text: &str) -> Event {
    Event::Connect(Target::from_authority(text).unwrap())
}

#[test]
fn socks_without_authentication() {
    let bytes = b"\x05\x02\x02\x00\x05\x01\x00\x01\xc0\x00\x02\x07\x00\x50GET";
    let (sent, event, handshake) = run(None, bytes, &[usize::MAX]);
    assert_eq!((sent, event), (vec![5, 0], connect_to("192.0.2.7:80")));
    assert_eq!(handshake.protocol(), Some(Protocol::Socks5));
    assert_eq!(handshake.grant(), [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(handshake.refuse(Refusal::NotAllowed)[1], 2);
    assert_eq!(handshake.into_remainder(), b"GET");
}

#[test]
fn socks_with_name_and_password() {
    let hello = b"\x05\x01\x02\x01\x04user\x04pass\x05\x01\x00\x03\x0bexample.org\x01\xbb";
    let (sent, event, _) = run(Some("user:pass"), hello, &[3]);
    assert_eq!((sent, event), (vec![5, 2, 1, 0], connect_to("example.org:443")));
    let (sent, event, _) = run(Some("user:other"), hello, &[3]);
    assert_eq!(sent, [5, 2]);
    assert_eq!(event, Event::Refused(vec![1, 1], "wrong name or password"));
    // A client cannot avoid authentication by offering no other method.
    let (_, event, _) = run(Some("user:pass"), b"\x05\x01\x00", &[9]);
    assert!(matches!(event, Event::Refused(answer, _) if answer == [5, 0xff]));
}

#[test]
fn socks_has_no_other_commands_and_addresses() {
    let refused = |request: &[u8]| match run(None, &[b"\x05\x01\x00", request].concat(), &[99]).1 {
        Event::Refused(answer, _) => answer[1],
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(b"\x05\x02\x00\x01\xc0\x00\x02\x07\x00\x50"), 7, "BIND");
    assert_eq!(refused(b"\x05\x03\x00\x01\xc0\x00\x02\x07\x00\x50"), 7, "UDP ASSOCIATE");
    assert_eq!(refused(b"\x05\x01\x00\x09"), 8);
    assert_eq!(refused(b"\x05\x01\x00\x03\x03a b\x00\x50"), 1);
    assert_eq!(refused(b"\x05\x01\x00\x01\xc0\x00\x02\x07\x00\x00"), 1, "port 0");
    assert_eq!(refused(b"\x04"), 1);
}

#[test]
fn connect_keeps_the_bytes_after_the_request() {
    let bytes =
        b"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\nUser-Agent: x\r\n\r\nhello";
    let (sent, event, handshake) = run(None, bytes, &[7]);
    assert_eq!((sent.len(), event), (0, connect_to("example.org:443")));
    assert_eq!(handshake.protocol(), Some(Protocol::Connect));
    assert!(
        handshake.grant().starts_with(b"HTTP/1.1 200 ") && handshake.grant().ends_with(b"\r\n\r\n")
    );
    assert!(handshake.refuse(Refusal::TimedOut).starts_with(b"HTTP/1.1 504 "));
    assert_eq!(handshake.into_remainder(), b"hello");
}

#[test]
fn connect_refuses_other_requests() {
    let status =
        |credentials, request: &str| match run(credentials, request.as_bytes(), &[usize::MAX]).1 {
            Event::Refused(answer, _) => String::from_utf8(answer).unwrap()[9..12].to_owned(),
            other => panic!("{request}: {other:?}"),
        };
    for (wanted, request) in [
        ("405", "GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n"),
        ("400", "CONNECT example.org HTTP/1.1\r\nHost: example.org\r\n\r\n"),
        ("400", "CONNECT example.org:443 HTTP/1.1\r\n\r\n"),
        ("400", "CONNECT example.org:443 HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
        (
            "400",
            "CONNECT example.org:443 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        ),
        ("400", "CONNECT example.org:443 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n"),
        ("400", "\x16\x03\x01\x02\x00"),
    ] {
        assert_eq!(status(None, request), wanted, "{request}");
    }
    let request = "CONNECT example.org:443 HTTP/1.1\r\nHost: a\r\n\
         Proxy-Authorization: Basic dXNlcjpwYXNz\r\n\r\n";
    assert_eq!(status(Some("user:other"), request), "407");
    assert_eq!(run(Some("user:pass"), request.as_bytes(), &[99]).1, connect_to("example.org:443"));
    let many = format!("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n{}\r\n", "x: y\r\n".repeat(100));
    assert_eq!(status(None, &many), "431");
    let long = format!("CONNECT a:1 HTTP/1.1\r\nHost: a\r\nx: {}", "y".repeat(2 * MAX_HANDSHAKE));
    assert_eq!(status(None, &long), "431");
}

proptest! {
    #[test]
    fn pieces_change_nothing(
        socks: bool,
        name in "[a-z]{1,30}\\.[a-z]{2,9}",
        port in 1..=u16::MAX,
        after in "[a-z]{0,50}",
        cuts in prop::collection::vec(1usize..40, 1..9),
    ) {
        let target = Target::from_authority(&format!("{name}:{port}")).unwrap();
        let mut bytes = Vec::new();
        if socks {
            bytes.extend(b"\x05\x01\x00\x05\x01\x00");
            target.encode(&mut bytes);
        } else {
            let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n");
            bytes.extend(request.into_bytes());
        }
        bytes.extend(after.bytes());
        let (_, event, handshake) = run(None, &bytes, &cuts);
        prop_assert_eq!(event, Event::Connect(target));
        prop_assert_eq!(handshake.into_remainder(), after.into_bytes());
    }

    #[test]
    fn any_bytes_stay_within_the_bounds(
        login: bool,
        first in prop::sample::select(vec![5u8, b'C', 0]),
        bytes: Vec<u8>,
        cuts in prop::collection::vec(1usize..40, 1..5),
    ) {
        let bytes = [&[first][..], &bytes].concat();
        let (sent, _, handshake) = run(login.then_some("user:pass"), &bytes, &cuts);
        prop_assert!(sent.len() <= 4 && handshake.into_remainder().len() <= MAX_HANDSHAKE);
    }
}
