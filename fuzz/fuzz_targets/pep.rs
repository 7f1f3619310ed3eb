//! Untrusted input of the proxy: client handshakes, tunnel headers and authorities. No panic,
//! bounds are kept, and the result does not depend on how the input is split.
#![no_main]

use bentpipe_net::pep::{
    ClientHandshake, Credentials, Event, Header, MAX_HANDSHAKE, Target, read_header, write_header,
};
use libfuzzer_sys::fuzz_target;

/// Feeds `bytes` to a handshake in pieces of up to `piece` bytes. Returns what it sent and its last
/// event.
fn run(credentials: Option<&Credentials>, bytes: &[u8], piece: usize) -> (Vec<u8>, Event) {
    let mut handshake = ClientHandshake::new(credentials.cloned());
    let (mut sent, mut rest) = (Vec::new(), bytes);
    loop {
        match handshake.next_event() {
            Event::Send(answer) => sent.extend(answer),
            Event::NeedMore if rest.is_empty() => return (sent, Event::NeedMore),
            Event::NeedMore => {
                let (now, later) =
                    rest.split_at(piece.min(handshake.capacity()).clamp(1, rest.len()));
                handshake.receive(now);
                rest = later;
            }
            event => {
                assert!(sent.len() <= 4 && handshake.into_remainder().len() <= MAX_HANDSHAKE);
                return (sent, event);
            }
        }
    }
}

fuzz_target!(|input: (bool, u8, &[u8], &str)| {
    let (login, piece, bytes, text) = input;
    let credentials = login.then(|| Credentials::parse("user:pass")).flatten();
    let whole = run(credentials.as_ref(), bytes, usize::MAX);
    // A client may be refused before all of its input has arrived.
    let pieces = run(credentials.as_ref(), bytes, usize::from(piece).max(1));
    assert!(
        whole == pieces
            || matches!((&whole.1, &pieces.1), (Event::Refused(..), Event::Refused(..)))
    );
    if let Ok(Some(Header { window, target, length })) = read_header(bytes) {
        assert!(length <= bytes.len());
        let again = read_header(&write_header(window, &target)).ok().flatten();
        assert!(again.is_some_and(|again| again.target == target && again.window == window));
    }
    if let Ok(target) = Target::from_authority(text) {
        assert_eq!(Target::from_authority(&target.to_string()), Ok(target));
    }
});
