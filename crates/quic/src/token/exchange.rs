//! Tokens between connections: who sends which when.
//!
//! **The server** opens one stream, once it has something to say, and sends at most [`MOST_TOKENS`]
//! on it: the first observation of the path, and later ones that differ by over a quarter. A token
//! that it accepted is given anew at once, with the same end, so that the client holds one whenever
//! the connection ends; should the set meet congestion, the tokens given so far in this connection
//! are revoked (RFC 9959 §3.5: the set must be deleted).
//!
//! The stream has the priority of the data, not a lower one: the stack sends lower priorities only
//! when nothing else is left, so that a token would wait for the end of a download, and arrive when
//! the client has gone. A token and its frames are some hundred bytes.
//!
//! **The client** sends the token it has on a stream of its own as the first thing of the
//! connection, in 0-RTT where it can, and keeps the newest that the server sends.
//!
//! What the peer sends is bounded: one stream, [`MOST_BYTES`] of it. Whatever is wrong with it, the
//! connection goes on.

use super::sides::judge;
use super::stream::{Decoder, StreamError, encode, encode_type};
use super::{MAX_TOKEN, ReadToken, TokenServer, Tokens};
use crate::conn::Conn;
use crate::stream::RecvStream;
use bentpipe_congestion::SavedParameters;
use bentpipe_congestion::resume::ResumeState;
use h3::error::Code;
use h3::quic::RecvStream as _;
use noq_proto::{Dir, StreamId};
use std::future::poll_fn;

/// Tokens that a server sends in one connection. Our choice: a window that doubles from the least
/// worth saving is told four or five times before it has filled a fast path, which leaves enough
/// for a path that changes.
const MOST_TOKENS: usize = 16;
/// Bytes that are read of a peer's stream of tokens: our choice, with room for frames of types to
/// come.
const MOST_BYTES: u64 = 65_536;
/// Change of window or round trip that is worth a new token.
const WORTH: f64 = 0.25;

/// What a connection's own part sends, as a task beside its application.
pub(crate) async fn exchange(conn: Conn, tokens: Tokens) {
    match tokens {
        Tokens::Server { server, .. } => issue(conn, &server).await,
        Tokens::Client { client, server, windows } => {
            let Some(token) = client.take(&server) else { return };
            if let Ok(read) = ReadToken::parse(&token) {
                conn.raise_receive_window(windows.after(&read), windows.present);
            }
            let mut bytes = Vec::new();
            encode_type(&mut bytes);
            if encode(&token, &mut bytes).is_err() {
                return;
            }
            if let Some(stream) = open(&conn).await
                && write(&conn, stream, &bytes).await
            {
                // A stream that the peer does not want needs no end.
                let _ = conn.finish(stream);
            }
        }
    }
}

async fn open(conn: &Conn) -> Option<StreamId> {
    poll_fn(|cx| conn.poll_open(Dir::Uni, cx)).await.ok()
}

/// False where the peer does not want the stream, or the connection has ended.
async fn write(conn: &Conn, stream: StreamId, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        match poll_fn(|cx| conn.poll_write(stream, bytes, cx)).await {
            Ok(written) => bytes = &bytes[written..],
            Err(_) => return false,
        }
    }
    true
}

/// What a server does next.
#[derive(Debug, PartialEq)]
enum Next {
    /// Sends a token.
    Tell(SavedParameters),
    /// Revokes those sent: they said what was wrong.
    Revoke,
}

fn next(resume_state: &ResumeState, told: Option<&SavedParameters>, revoked: bool) -> Option<Next> {
    if resume_state.retreated && !revoked {
        return Some(Next::Revoke);
    }
    let offered = resume_state.offered.filter(|_| !resume_state.retreated);
    let known = resume_state.observed.or(offered)?;
    let differs = |a: f64, b: f64| (a - b).abs() > WORTH * b;
    let worth = told.is_none_or(|told| {
        differs(known.window.get() as f64, told.window.get() as f64)
            || differs(known.rtt.as_secs_f64(), told.rtt.as_secs_f64())
    });
    worth.then_some(Next::Tell(known))
}

/// Sends tokens as the path becomes known.
async fn issue(conn: Conn, server: &TokenServer) {
    // RFC 9000 §8: nothing is said of an address that may not be the peer's.
    if poll_fn(|cx| conn.poll_validated(cx)).await.is_err() {
        return;
    }
    let (mut stream, mut told, mut revoked, mut given) = (None, None, false, Vec::new());
    // A retreat is watched for even when no more is to be told.
    let full = |given: usize, next: &Next| given >= MOST_TOKENS && *next != Next::Revoke;
    let mut count = 0;
    loop {
        let wanted = |known: &ResumeState| {
            next(known, told.as_ref(), revoked).filter(|next| !full(count, next))
        };
        let Ok(found) = poll_fn(|cx| conn.poll_knowledge(wanted, cx)).await else { return };
        let saved = match found {
            Next::Revoke => {
                server.revoke(&given);
                (revoked, told) = (true, None);
                given.clear();
                continue;
            }
            Next::Tell(saved) => saved,
        };
        told = Some(saved);
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
        given.push(token);
        count += 1;
    }
}

/// Reads the peer's stream `id` of tokens, whose type was read already; a second one is turned
/// down.
pub(crate) fn receive(conn: &Conn, id: StreamId) {
    match conn.tokens_once() {
        Some(tokens) => conn.spawn(read(conn.clone(), id, tokens)),
        None => conn.stop(id, Code::H3_STREAM_CREATION_ERROR.value()),
    }
}

async fn read(conn: Conn, id: StreamId, tokens: Tokens) {
    // The type has eight bytes.
    let mut stream = RecvStream::from(conn.clone(), id, MOST_BYTES, 8);
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
            let broken = token.is_err();
            match &tokens {
                // The first counts: it is for one connection.
                Tokens::Server { server, notes, verdict } => {
                    conn.stop(id, Code::H3_NO_ERROR.value());
                    if poll_fn(|cx| conn.poll_validated(cx)).await.is_ok()
                        && let Some(remote) = conn.remote_ip()
                    {
                        let token = token.as_ref().map(Vec::as_slice).map_err(|length| *length);
                        judge((server, notes, verdict), token, remote, conn.now());
                    }
                    return;
                }
                Tokens::Client { client, server, .. } => {
                    token.iter().for_each(|token| client.keep(server, token));
                }
            }
            if broken {
                return conn.stop(id, Code::H3_STREAM_CREATION_ERROR.value());
            }
        }
        if bytes > MOST_BYTES {
            return conn.stop(id, Code::H3_EXCESSIVE_LOAD.value());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_units::{Bytes, Span};

    fn saved(window: u64) -> SavedParameters {
        SavedParameters {
            window: Bytes::new(window),
            rtt: Span::from_millis(600),
            valid_until: None,
        }
    }

    fn knows(offered: Option<u64>, observed: Option<u64>, retreated: bool) -> ResumeState {
        ResumeState { offered: offered.map(saved), observed: observed.map(saved), retreated }
    }

    #[test]
    fn a_change_of_over_a_quarter_is_told() {
        assert_eq!(next(&knows(None, None, false), None, false), None);
        assert_eq!(
            next(&knows(None, Some(1000), false), None, false),
            Some(Next::Tell(saved(1000)))
        );
        for (window, told) in [(1250, false), (1251, true), (750, false), (749, true)] {
            let found = next(&knows(None, Some(window), false), Some(&saved(1000)), false);
            assert_eq!(found.is_some(), told, "{window}");
        }
    }

    #[test]
    fn what_was_brought_is_given_anew_until_it_meets_congestion() {
        assert_eq!(
            next(&knows(Some(1000), None, false), None, false),
            Some(Next::Tell(saved(1000)))
        );
        assert_eq!(
            next(&knows(Some(1000), None, true), Some(&saved(1000)), false),
            Some(Next::Revoke)
        );
        assert_eq!(next(&knows(Some(1000), None, true), None, true), None);
        assert_eq!(
            next(&knows(Some(1000), Some(500), true), None, true),
            Some(Next::Tell(saved(500)))
        );
    }
}
