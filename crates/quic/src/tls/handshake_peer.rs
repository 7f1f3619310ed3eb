//! The peer of the handshake that is read now, for stores of sessions, which rustls does not tell.

use std::cell::Cell;
use std::net::IpAddr;

thread_local! {
    static PEER: Cell<Option<IpAddr>> = const { Cell::new(None) };
}

/// Returns the address of the client whose handshake this thread reads now, at a server. `None`
/// outside of that.
pub fn handshake_peer() -> Option<IpAddr> {
    PEER.get()
}

/// Does `work`, which reads the handshake of `peer`.
pub(crate) fn with_handshake_peer<T>(peer: Option<IpAddr>, work: impl FnOnce() -> T) -> T {
    /// Also ends it if the work panics.
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            PEER.set(None);
        }
    }
    PEER.set(peer);
    let _end = End;
    work()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peer_is_known_while_its_handshake_is_read() {
        let peer = Some(IpAddr::from([192, 0, 2, 1]));
        assert_eq!(with_handshake_peer(peer, handshake_peer), peer);
        assert_eq!(handshake_peer(), None);
    }
}
