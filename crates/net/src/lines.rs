//! Lines of a log, written by a thread of their own, so that a slow disk or terminal holds up nobody.

use crate::server::LogFormat;
use std::io::Write;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::SystemTime;

/// Lines that wait to be written; more are lost, and counted.
const WAITING: usize = 4096;

/// Something that becomes a line, with its newline.
pub(crate) trait LogLine: Send + 'static {
    /// The line.
    fn format(&self, format: LogFormat) -> String;
}

/// RFC 3339, in UTC.
pub(crate) fn humane(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    bentpipe_units::Epoch::from_unix_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX)).to_string()
}

/// Where lines go. Clones are the same.
#[derive(Debug)]
pub(crate) struct Lines<L>(SyncSender<L>);

impl<L> Clone for Lines<L> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<L: LogLine> Lines<L> {
    /// Writes to `sink`; the thread ends with the last clone. `lost` is called for what could not be written.
    pub fn new(
        format: LogFormat,
        mut sink: Box<dyn Write + Send>,
        lost: impl Fn() + Send + 'static,
    ) -> std::io::Result<Self> {
        let (lines, inbox) = sync_channel::<L>(WAITING);
        std::thread::Builder::new().name("log".to_owned()).spawn(move || {
            while let Ok(line) = inbox.recv() {
                let mut text = line.format(format);
                // What waits goes with it: one write for all.
                text.extend(inbox.try_iter().take(255).map(|line| line.format(format)));
                if sink.write_all(text.as_bytes()).and_then(|()| sink.flush()).is_err() {
                    lost();
                }
            }
        })?;
        Ok(Self(lines))
    }

    /// False where too many wait already: the line is lost.
    pub fn write(&self, line: L) -> bool {
        self.0.try_send(line).is_ok()
    }
}
