//! NetLogs of Chromium, as chrome://net-export and `--log-net-log` write them: the QUIC sessions in
//! them.

mod event;
mod session;
#[cfg(test)]
mod tests;

use crate::error::CaptureError;
use crate::event::CapturedConnection;
use crate::json::{FieldValue, Fields, FromList, FromObject, ListInto, from_object};
use crate::logged::{Logged, with_starts};
use bentpipe_units::Time;
use event::{EventTypes, RawEvent};
use serde::de::{DeserializeSeed, MapAccess, SeqAccess};
use session::Session;
use std::collections::BTreeMap;

/// Name that no other file has at its start or end, and how far from there.
const MARK: &[u8] = b"\"logEventTypes\"";
const MARK_WITHIN: usize = 256 * 1024;
/// Most events of all sessions, about 400 MB of memory. Tests need not write so many.
const MAX_EVENTS: usize = if cfg!(test) { 20_000 } else { 2_000_000 };
/// Most sessions.
const MAX_SESSIONS: usize = 1000;

/// Returns true for a NetLog.
pub(crate) fn is_netlog(bytes: &[u8]) -> bool {
    let has_mark = |part: &[u8]| part.windows(MARK.len()).any(|window| window == MARK);
    let start = &bytes[..bytes.len().min(MARK_WITHIN)];
    let end = &bytes[bytes.len().saturating_sub(MARK_WITHIN)..];
    bytes.trim_ascii_start().starts_with(b"{") && (has_mark(start) || has_mark(end))
}

/// Reads the QUIC sessions of a NetLog, each with its start since that of the first. What was read
/// before the text ends counts.
///
/// # Errors
/// It has no QUIC session with packets.
pub(crate) fn connections(bytes: &[u8]) -> Result<Vec<(Time, CapturedConnection)>, CaptureError> {
    let mut head = Head::default();
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let _ = Fields(&mut head).deserialize(&mut json);
    let mut log = Log { types: &head.constants.types, sessions: BTreeMap::new(), count: 0 };
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let result = Fields(&mut log).deserialize(&mut json);
    let is_full = log.is_full();
    let mut connections: Vec<_> =
        log.sessions.into_values().filter_map(Session::connection).collect();
    for Logged { connection, .. } in &mut connections {
        if result.is_err() {
            connection.notes.push("the file is cut off: later events are missing".to_owned());
        }
        if is_full {
            connection
                .notes
                .push(format!("the file has more than {MAX_EVENTS} events: the rest was not read"));
        }
    }
    if connections.is_empty() {
        return Err(CaptureError::Empty(
            "it is a NetLog of Chromium without a QUIC session; of other connections it has no \
             packets",
        ));
    }
    Ok(with_starts(connections))
}

/// The meaning of numbers.
#[derive(Debug, Default)]
struct Constants {
    types: EventTypes,
}

from_object!(Constants {
    "logeventtypes" => types: object,
});

/// A NetLog without its events. Older versions write the constants behind them.
#[derive(Debug, Default)]
struct Head {
    constants: Constants,
}

impl FromObject for Head {
    fn field<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        value: &mut FieldValue<'_, A>,
    ) -> Result<(), A::Error> {
        if key == "constants" { value.with(Fields(&mut self.constants)) } else { Ok(()) }
    }
}

/// The sessions of a NetLog whose constants are known.
struct Log<'a> {
    types: &'a EventTypes,
    sessions: BTreeMap<u64, Session>,
    count: usize,
}

impl Log<'_> {
    fn is_full(&self) -> bool {
        self.count >= MAX_EVENTS
    }

    fn add(&mut self, event: &RawEvent) {
        let kind = event.number.integer().and_then(|number| self.types.0.get(&number));
        let (Some(kind), Some(id), Some(now)) = (kind, event.session(), event.time.integer())
        else {
            return;
        };
        if self.sessions.len() >= MAX_SESSIONS && !self.sessions.contains_key(&id) {
            return;
        }
        let session = self.sessions.entry(id).or_default();
        session.handle(now, *kind, &event.params);
        self.count += 1;
    }
}

impl FromObject for Log<'_> {
    fn field<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        value: &mut FieldValue<'_, A>,
    ) -> Result<(), A::Error> {
        if key == "events" { value.with(ListInto(self)) } else { Ok(()) }
    }
}

/// Events are handled one by one.
impl FromList for Log<'_> {
    fn elements<'de, A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<(), A::Error> {
        while !self.is_full() {
            let mut event = RawEvent::default();
            if list.next_element_seed(Fields(&mut event))?.is_none() {
                break;
            }
            self.add(&event);
        }
        Ok(())
    }
}
