//! qlog traces kept in memory: the stack writes them with current names; older viewers get a second form.

use crate::clock::Clock;
use bentpipe_units::Time;
use noq_proto::{ConnectionId, QlogConfig, QlogFactory};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Receives the trace of each connection that is configured with it. Clones share what was received.
#[derive(Clone)]
pub struct QlogSink {
    bytes: Arc<Mutex<Vec<u8>>>,
    title: String,
    start: Instant,
}

impl QlogSink {
    /// A sink for the trace called `title`, whose times count from the run's beginning.
    pub fn new(title: &str, clock: Clock) -> Self {
        Self { bytes: Arc::default(), title: title.to_owned(), start: clock.instant(Time::ZERO) }
    }

    /// Takes what was written so far: JSON text sequences (RFC 7464).
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.bytes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl QlogFactory for QlogSink {
    fn for_connection(
        &self,
        _side: noq_proto::Side,
        _remote: SocketAddr,
        _initial_dst_cid: ConnectionId,
        _now: Instant,
    ) -> Option<QlogConfig> {
        let mut config = QlogConfig::new(Box::new(Writer(self.bytes.clone())));
        config.title(Some(self.title.clone())).start_time(self.start);
        Some(config)
    }
}

struct Writer(Arc<Mutex<Vec<u8>>>);

impl Write for Writer {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(data);
        Ok(data.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
