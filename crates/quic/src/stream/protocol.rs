//! Protocols of extended CONNECT (RFC 9220 §3), as `h3` names them.
//!
//! h3 0.0.8 knows two protocols, and refuses a request for a WebSocket as malformed. So the value
//! of `:protocol` is changed before the library reads it: `websocket` is read as `connect-udp`
//! ([`WEBSOCKET`]), and whatever else, which nobody offers here, as `webtransport`: a protocol that
//! a server does not have gets 501 (RFC 9220 §3), and is no malformed request.

use super::pseudo_fields::short_text;
use bytes::{BufMut, BytesMut};
use h3::ext::Protocol;
use std::ops::Range;

/// The protocol of a request for a WebSocket, in the extensions of requests that a server receives.
pub const WEBSOCKET: Protocol = Protocol::CONNECT_UDP;

/// Most bytes of a name here, so that its length takes one.
const MAX_NAME: usize = 63;

/// Returns the field section `fields` with another name for the protocol at `value`. `None` if it
/// stays as it is.
pub(super) fn renamed(fields: &[u8], value: Range<usize>) -> Option<BytesMut> {
    let name = match short_text(fields.get(value.clone())?).as_deref() {
        Some(b"") => return None,
        Some(b"websocket") => WEBSOCKET.as_str().as_bytes(),
        // Too long for a protocol here, or with characters that none has.
        None | Some(_) => Protocol::WEB_TRANSPORT.as_str().as_bytes(),
    };
    let (before, after) = (fields.get(..value.start)?, fields.get(value.end..)?);
    let mut section = BytesMut::with_capacity(fields.len() + MAX_NAME);
    section.put_slice(before);
    section.put_u8(name.len() as u8);
    section.put_slice(name);
    section.put_slice(after);
    Some(section)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_websocket_is_what_nothing_else_is() {
        for (text, read) in [
            (&b"websocket"[..], Some("connect-udp")),
            (b"connect-udp", Some("webtransport")),
            (b"webtransport", Some("webtransport")),
            (b"connect-ip", Some("webtransport")),
            (b"a-protocol-with-a-long-name", Some("webtransport")),
            (b"", None),
        ] {
            let fields = [b"ab", &[text.len() as u8][..], text, b"cd"].concat();
            let expected = read.map(|name| format!("ab{}{name}cd", char::from(name.len() as u8)));
            let renamed = renamed(&fields, 2..fields.len() - 2);
            assert_eq!(renamed.as_deref(), expected.as_ref().map(String::as_bytes));
        }
        // `foo`, encoded by Huffman: its `f` is in no name here.
        let foo = [0x83, 0x94, 0xe7, 0x7f];
        assert!(renamed(&foo, 0..foo.len()).is_some_and(|new| new.ends_with(b"webtransport")));
    }
}
