//! A log written by a thread of its own, so that a slow disk or terminal delays no connection.

use super::format::{LogFormat, LogLine};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Lines that may wait to be written. Further lines are lost and counted.
const QUEUE: usize = 4096;
/// Lines that one write may hold.
const BATCH: usize = 256;
/// Time that [`LogWriter::flush`] waits for a sink that takes nothing. Our choice.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// What the thread receives.
#[derive(Debug)]
enum Item<L> {
    Line(L),
    /// A request to confirm that all earlier lines are written.
    Flush(oneshot::Sender<()>),
}

/// A log. Clones write to the same one.
#[derive(Debug)]
pub(crate) struct LogWriter<L> {
    lines: SyncSender<Item<L>>,
    lost: Arc<AtomicU64>,
}

impl<L> Clone for LogWriter<L> {
    fn clone(&self) -> Self {
        Self { lines: self.lines.clone(), lost: self.lost.clone() }
    }
}

impl<L: LogLine> LogWriter<L> {
    /// Starts the thread, which writes to `sink` and ends with the last clone. `lost` counts lines
    /// that were not written.
    pub fn new(
        format: LogFormat,
        sink: Box<dyn Write + Send>,
        lost: Arc<AtomicU64>,
    ) -> io::Result<Self> {
        let (lines, inbox) = sync_channel(QUEUE);
        let count = lost.clone();
        let thread = std::thread::Builder::new().name("log".to_owned());
        thread.spawn(move || run(&inbox, format, sink, &count))?;
        Ok(Self { lines, lost })
    }

    /// Writes a line, or counts it as lost if too many wait.
    pub fn write(&self, line: L) {
        if self.lines.try_send(Item::Line(line)).is_err() {
            self.lost.fetch_add(1, Relaxed);
        }
    }

    /// Waits until all earlier lines are written, for at most [`FLUSH_TIMEOUT`]: for a process that
    /// is about to end.
    pub async fn flush(&self) {
        let (done, written) = oneshot::channel();
        if self.lines.try_send(Item::Flush(done)).is_ok() {
            // After the timeout the lines are lost with the process.
            let _ = timeout(FLUSH_TIMEOUT, written).await;
        }
    }
}

fn run<L: LogLine>(
    inbox: &Receiver<Item<L>>,
    format: LogFormat,
    mut sink: Box<dyn Write + Send>,
    lost: &AtomicU64,
) {
    while let Ok(first) = inbox.recv() {
        let (mut text, mut flushes) = (String::new(), Vec::new());
        for item in std::iter::once(first).chain(inbox.try_iter().take(BATCH - 1)) {
            match item {
                Item::Line(line) => text.push_str(&line.format(format)),
                Item::Flush(done) => flushes.push(done),
            }
        }
        if !text.is_empty() && sink.write_all(text.as_bytes()).and_then(|()| sink.flush()).is_err()
        {
            lost.fetch_add(1, Relaxed);
        }
        // The receiver is gone after its timeout.
        flushes.into_iter().for_each(|done| _ = done.send(()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::sync::mpsc::channel;

    impl LogLine for &'static str {
        fn format(&self, _: LogFormat) -> String {
            format!("{self}\n")
        }
    }

    /// Takes one write for each permit.
    struct Reluctant {
        permits: Receiver<()>,
        written: Arc<Mutex<String>>,
    }

    impl Write for Reluctant {
        fn write(&mut self, data: &[u8]) -> io::Result<usize> {
            let _ = self.permits.recv();
            self.written.lock().unwrap().push_str(std::str::from_utf8(data).unwrap());
            Ok(data.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_flush_waits_for_the_last_lines_and_not_for_a_sink_that_takes_none() {
        let (allow, permits) = channel();
        let written = Arc::new(Mutex::new(String::new()));
        let sink = Reluctant { permits, written: written.clone() };
        let log = LogWriter::new(LogFormat::Text, Box::new(sink), Arc::default()).unwrap();
        log.write("first");
        let flushed = tokio::time::timeout(10 * FLUSH_TIMEOUT, log.flush());
        assert!(flushed.await.is_ok(), "the sink takes nothing, and the flush still waits");
        assert_eq!(*written.lock().unwrap(), "");
        log.write("last");
        (0..2).for_each(|_| allow.send(()).unwrap());
        log.flush().await;
        assert_eq!(*written.lock().unwrap(), "first\nlast\n");
        assert_eq!(log.lost.load(Relaxed), 0);
    }
}
