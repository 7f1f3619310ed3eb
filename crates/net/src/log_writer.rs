//! Lines of a log, written by a thread of their own, so that a slow disk or terminal holds up
//! nobody.

use crate::server::LogFormat;
use std::io::Write;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, SystemTime};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Lines that wait to be written; more are lost, and counted.
const WAITING: usize = 4096;
/// How long whoever ends waits for a sink that takes nothing: our choice.
const PATIENCE: Duration = Duration::from_secs(1);

/// What the thread is given.
#[derive(Debug)]
enum Item<L> {
    Line(L),
    /// Whoever wants to know when what came before is written.
    Written(oneshot::Sender<()>),
}

/// Something that becomes a line, with its newline.
pub(crate) trait LogLine: Send + 'static {
    /// The line.
    fn format(&self, format: LogFormat) -> String;
}

/// RFC 3339, in UTC.
pub(crate) fn humane(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    bentpipe_units::Epoch::from_unix_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
        .to_string()
}

/// Where lines go. Clones are the same.
#[derive(Debug)]
pub(crate) struct LogWriter<L>(SyncSender<Item<L>>);

impl<L> Clone for LogWriter<L> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<L: LogLine> LogWriter<L> {
    /// Writes to `sink`; the thread ends with the last clone. `lost` is called for what could not
    /// be written.
    pub fn new(
        format: LogFormat,
        mut sink: Box<dyn Write + Send>,
        lost: impl Fn() + Send + 'static,
    ) -> std::io::Result<Self> {
        let (lines, inbox) = sync_channel::<Item<L>>(WAITING);
        std::thread::Builder::new().name("log".to_owned()).spawn(move || {
            while let Ok(first) = inbox.recv() {
                let (mut text, mut asked) = (String::new(), Vec::new());
                // What waits goes with it: one write for all.
                for item in std::iter::once(first).chain(inbox.try_iter().take(255)) {
                    match item {
                        Item::Line(line) => text.push_str(&line.format(format)),
                        Item::Written(tell) => asked.push(tell),
                    }
                }
                if !text.is_empty()
                    && sink.write_all(text.as_bytes()).and_then(|()| sink.flush()).is_err()
                {
                    lost();
                }
                // Who asked may have lost patience.
                asked.into_iter().for_each(|tell| _ = tell.send(()));
            }
        })?;
        Ok(Self(lines))
    }

    /// False where too many wait already: the line is lost.
    pub fn write(&self, line: L) -> bool {
        self.0.try_send(Item::Line(line)).is_ok()
    }

    /// Waits until the lines so far are written, for whoever is about to end the process; not for
    /// long, where nobody takes them.
    pub async fn settle(&self) {
        let (tell, told) = oneshot::channel();
        if self.0.try_send(Item::Written(tell)).is_ok() {
            // Either they are written, or they will not be.
            let _ = timeout(PATIENCE, told).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, channel};
    use std::sync::{Arc, Mutex};

    impl LogLine for &'static str {
        fn format(&self, _: LogFormat) -> String {
            format!("{self}\n")
        }
    }

    /// Takes a write each time that it may.
    struct Reluctant {
        may: Receiver<()>,
        written: Arc<Mutex<String>>,
    }

    impl Write for Reluctant {
        fn write(&mut self, data: &[u8]) -> std::io::Result<usize> {
            let _ = self.may.recv();
            self.written.lock().unwrap().push_str(std::str::from_utf8(data).unwrap());
            Ok(data.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn whoever_ends_waits_for_the_last_lines_and_not_for_a_sink_that_takes_none() {
        let (allow, may) = channel();
        let written = Arc::new(Mutex::new(String::new()));
        let sink = Reluctant { may, written: written.clone() };
        let lines = LogWriter::new(LogFormat::Text, Box::new(sink), || {}).unwrap();
        assert!(lines.write("first"));
        // The thread waits with the first, perhaps with the second, too.
        let settled = tokio::time::timeout(10 * PATIENCE, lines.settle());
        assert!(settled.await.is_ok(), "nobody takes anything, and it still waits");
        assert_eq!(*written.lock().unwrap(), "");
        assert!(lines.write("last"));
        (0..2).for_each(|_| allow.send(()).unwrap());
        lines.settle().await;
        assert_eq!(*written.lock().unwrap(), "first\nlast\n");
    }
}
