//! The exchange of tokens on a connection.
//!
//! **The server** opens one stream, once it has measured the path, and sends at most [`MAX_TOKENS`]
//! on it: for the first observation of the path, and for later ones that differ by more than a
//! quarter. It reissues an accepted token at once, with the same expiry, so that the client has one
//! whenever the connection ends. If the set meets congestion, the tokens issued so far on this
//! connection are revoked (RFC 9959 §3.5: the set must be deleted).
//!
//! The stream has the priority of the data, not a lower one: the stack sends lower priorities only
//! when nothing else is left, so a token would wait for the end of a download, and arrive after the
//! client has closed. A token and its frames take some hundred bytes.
//!
//! **The client** sends its token on a stream of its own first thing on the connection, in 0-RTT if
//! it can, and stores the newest that the server sends.
//!
//! The peer's input is bounded: one stream, and [`MAX_BYTES`] of it. Whatever is wrong with it, the
//! connection continues.

use super::connection::{Tokens, verify};
use super::format::{MAX_TOKEN, ReadToken};
use super::server::TokenServer;
use super::stream::{Decoder, StreamError, encode, encode_type};
use crate::connection::Conn;
use crate::stream::RecvStream;
use bentpipe_congestion::SavedParameters;
use bentpipe_congestion::resume::ResumeState;
use h3::error::Code;
use h3::quic::RecvStream as _;
use noq_proto::{Dir, StreamId};
use std::future::poll_fn;

/// Most tokens that a server sends on one connection. Our choice: a window that doubles from the
/// smallest worth saving is reported four or five times before it has filled a fast path, which
/// leaves enough for a path that changes.
const MAX_TOKENS: usize = 16;
/// Most bytes read of a peer's stream of tokens. Our choice, with room for future frame types.
const MAX_BYTES: u64 = 65_536;
/// Relative change of window or RTT that is worth a new token.
const SIGNIFICANT: f64 = 0.25;

/// Sends the tokens of this side, as a task beside the application.
pub(crate) async fn exchange(conn: Conn, tokens: Tokens) {
    match tokens {
        Tokens::Server { server, .. } => send(conn, &server).await,
        Tokens::Client { client, server, windows } => {
            let Some(token) = client.take(&server) else { return };
            if let Ok(read) = ReadToken::parse(&token) {
                conn.raise_receive_window(windows.for_token(&read), windows.present);
            }
            let mut bytes = Vec::new();
            encode_type(&mut bytes);
            if encode(&token, &mut bytes).is_err() {
                return;
            }
            if let Some(stream) = open(&conn).await
                && write(&conn, stream, &bytes).await
            {
                // A stream that the peer has stopped needs no end.
                let _ = conn.finish(stream);
            }
        }
    }
}

async fn open(conn: &Conn) -> Option<StreamId> {
    poll_fn(|cx| conn.poll_open(Dir::Uni, cx)).await.ok()
}

/// Writes `bytes`. Returns false if the peer has stopped the stream, or the connection has ended.
async fn write(conn: &Conn, stream: StreamId, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        match poll_fn(|cx| conn.poll_write(stream, bytes, cx)).await {
            Ok(written) => bytes = &bytes[written..],
            Err(_) => return false,
        }
    }
    true
}

/// The next action of a server.
#[derive(Debug, PartialEq)]
enum Next {
    /// Sends a token.
    Send(SavedParameters),
    /// Revokes the tokens sent: their set was wrong.
    Revoke,
}

fn next(resume_state: &ResumeState, sent: Option<&SavedParameters>, revoked: bool) -> Option<Next> {
    if resume_state.retreated && !revoked {
        return Some(Next::Revoke);
    }
    let offered = resume_state.offered.filter(|_| !resume_state.retreated);
    let known = resume_state.observed.or(offered)?;
    let differs = |a: f64, b: f64| (a - b).abs() > SIGNIFICANT * b;
    let significant = sent.is_none_or(|sent| {
        differs(known.window.get() as f64, sent.window.get() as f64)
            || differs(known.rtt.as_secs_f64(), sent.rtt.as_secs_f64())
            || known.first_rtt.is_some() != sent.first_rtt.is_some()
    });
    significant.then_some(Next::Send(known))
}

/// Sends tokens as the path is measured.
async fn send(conn: Conn, server: &TokenServer) {
    // RFC 9000 §8: no token for an address that may not be the peer's.
    if poll_fn(|cx| conn.poll_validated(cx)).await.is_err() {
        return;
    }
    let (mut stream, mut last, mut revoked, mut issued) = (None, None, false, Vec::new());
    // A migration starts with another path: the tokens so far remain those of the old one.
    let mut path = 0;
    // A retreat counts even if no more tokens may be sent.
    let full = |count: usize, next: &Next| count >= MAX_TOKENS && *next != Next::Revoke;
    let mut count = 0;
    loop {
        let wanted = |known: &ResumeState| {
            let same = known.path == path;
            next(known, last.as_ref().filter(|_| same), revoked && same)
                .filter(|next| !full(count, next))
                .map(|next| (known.path, next))
        };
        let Ok((current, found)) = poll_fn(|cx| conn.poll_resume_state(wanted, cx)).await else {
            return;
        };
        if current != path {
            (path, revoked) = (current, false);
            issued.clear();
        }
        let saved = match found {
            Next::Revoke => {
                server.revoke(&issued);
                (revoked, last) = (true, None);
                issued.clear();
                continue;
            }
            Next::Send(saved) => saved,
        };
        last = Some(saved);
        let Some(token) =
            conn.remote_ip().and_then(|remote| server.seal(&saved, remote, conn.now()))
        else {
            continue;
        };
        let mut bytes = Vec::with_capacity(MAX_TOKEN);
        let stream = match stream {
            Some(stream) => stream,
            None => {
                let Some(opened) = open(&conn).await else { return };
                encode_type(&mut bytes);
                *stream.insert(opened)
            }
        };
        if encode(&token, &mut bytes).is_err() || !write(&conn, stream, &bytes).await {
            return;
        }
        issued.push(token);
        count += 1;
    }
}

/// Reads the peer's stream `id` of tokens, after its type; refuses a second one.
pub(crate) fn receive(conn: &Conn, id: StreamId) {
    match conn.tokens_once() {
        Some(tokens) => conn.spawn(read(conn.clone(), id, tokens)),
        None => conn.stop(id, Code::H3_STREAM_CREATION_ERROR.value()),
    }
}

async fn read(conn: Conn, id: StreamId, tokens: Tokens) {
    // The type has eight bytes.
    let mut stream = RecvStream::starting_at(conn.clone(), id, MAX_BYTES, 8);
    let (mut decoder, mut bytes) = (Decoder::default(), 0u64);
    while let Ok(Some(data)) = poll_fn(|cx| stream.poll_data(cx)).await {
        bytes = bytes.saturating_add(data.len() as u64);
        let mut input = &data[..];
        loop {
            let token = match decoder.next(&mut input) {
                Ok(None) => break,
                Ok(Some(token)) => Ok(token),
                Err(StreamError::Token(length) | StreamError::Skipped(length)) => {
                    Err(usize::try_from(length).unwrap_or(usize::MAX))
                }
            };
            let invalid = token.is_err();
            match &tokens {
                // Only the first counts: a token is for one connection.
                Tokens::Server { server, resume_handle, outcome } => {
                    conn.stop(id, Code::H3_NO_ERROR.value());
                    if poll_fn(|cx| conn.poll_validated(cx)).await.is_ok()
                        && let Some(remote) = conn.remote_ip()
                    {
                        let token = token.as_ref().map(Vec::as_slice).map_err(|length| *length);
                        verify((server, resume_handle, outcome), token, remote, conn.now());
                    }
                    return;
                }
                Tokens::Client { client, server, .. } => {
                    token.iter().for_each(|token| client.keep(server, token));
                }
            }
            if invalid {
                return conn.stop(id, Code::H3_STREAM_CREATION_ERROR.value());
            }
        }
        if bytes > MAX_BYTES {
            return conn.stop(id, Code::H3_EXCESSIVE_LOAD.value());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_units::{Bytes, Span};

    fn saved(window: u64) -> SavedParameters {
        SavedParameters::new(Bytes::new(window), Span::from_millis(600))
    }

    fn knows(offered: Option<u64>, observed: Option<u64>, retreated: bool) -> ResumeState {
        ResumeState {
            offered: offered.map(saved),
            observed: observed.map(saved),
            retreated,
            path: 0,
        }
    }

    #[test]
    fn a_change_of_over_a_quarter_sends_a_token() {
        assert_eq!(next(&knows(None, None, false), None, false), None);
        assert_eq!(
            next(&knows(None, Some(1000), false), None, false),
            Some(Next::Send(saved(1000)))
        );
        for (window, sent) in [(1250, false), (1251, true), (750, false), (749, true)] {
            let found = next(&knows(None, Some(window), false), Some(&saved(1000)), false);
            assert_eq!(found.is_some(), sent, "{window}");
        }
    }

    #[test]
    fn an_accepted_token_is_reissued_until_its_set_meets_congestion() {
        assert_eq!(
            next(&knows(Some(1000), None, false), None, false),
            Some(Next::Send(saved(1000)))
        );
        assert_eq!(
            next(&knows(Some(1000), None, true), Some(&saved(1000)), false),
            Some(Next::Revoke)
        );
        assert_eq!(next(&knows(Some(1000), None, true), None, true), None);
        assert_eq!(
            next(&knows(Some(1000), Some(500), true), None, true),
            Some(Next::Send(saved(500)))
        );
    }
}
