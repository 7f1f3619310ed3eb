//! What comes to the proxy from outside, in any pieces: clients that enter, headers of the tunnel.
//! No panic, bounds kept, pieces change nothing.
#![no_main]

use bentpipe_net::pep::{ClientHandshake, Credentials, Event, Header, MAX_HANDSHAKE, Target, read_header, write_header};
use libfuzzer_sys::fuzz_target;

/// Plays `bytes` in pieces of up to `piece` bytes; what was sent, and how it ended.
fn play(credentials: Option<&Credentials>, bytes: &[u8], piece: usize) -> (Vec<u8>, Event) {
    let mut handshake = ClientHandshake::new(credentials.cloned());
    let (mut sent, mut rest) = (Vec::new(), bytes);
    loop {
        match handshake.next_event() {
            Event::Send(answer) => sent.extend(answer),
            Event::NeedMore if rest.is_empty() => return (sent, Event::NeedMore),
            Event::NeedMore => {
                let (now, later) = rest.split_at(piece.min(handshake.capacity()).clamp(1, rest.len()));
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
    let whole = play(credentials.as_ref(), bytes, usize::MAX);
    // Whoever is refused may be so before the rest has come.
    let pieces = play(credentials.as_ref(), bytes, usize::from(piece).max(1));
    assert!(whole == pieces || matches!((&whole.1, &pieces.1), (Event::Refused(..), Event::Refused(..))));
    if let Ok(Some(Header { window, target, length })) = read_header(bytes) {
        assert!(length <= bytes.len());
        let again = read_header(&write_header(window, &target)).ok().flatten();
        assert!(again.is_some_and(|again| again.target == target && again.window == window));
    }
    if let Ok(target) = Target::from_authority(text) {
        assert_eq!(Target::from_authority(&target.to_string()), Ok(target));
    }
});
