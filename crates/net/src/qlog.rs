//! Traces of connections (qlog), written to a directory that they do not fill.
//!
//! The stack writes into memory; a thread of its own brings that to files, so that who serves
//! packets does not wait for a disk.

use crate::clock::WallClock;
use bentpipe_quic::qlog::QlogSink;
use bentpipe_units::{Bytes, Epoch};
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often traces are brought to their files.
const PERIOD: Duration = Duration::from_millis(50);
/// Bytes of one trace that may wait for that: what 2 Gbps make of it in two periods. Our choice.
const WAITING: usize = 8 << 20;
/// Files are called so, for qvis takes no others.
const EXTENSION: &str = "sqlog";
/// The record that a trace ends with where it was cut off is no longer.
const LAST_RECORD: u64 = 256;

/// Where traces of connections go, and how much of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Qlog {
    /// A file for each connection is made there, in a directory that is made where there is none.
    pub directory: PathBuf,
    /// Traces that it may hold, with those that it held before; later connections leave none.
    pub files: usize,
    /// Bytes of all of these; traces are cut off there.
    pub bytes: Bytes,
}

impl Qlog {
    /// Up to 100 traces and 1 GB in `directory`: our choice.
    pub fn in_directory(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), files: 100, bytes: Bytes::from_mb(1000) }
    }

    /// What is left of both bounds beside what is there.
    fn room(&self) -> io::Result<(usize, u64)> {
        fs::create_dir_all(&self.directory)?;
        let (mut files, mut bytes) = (0usize, 0u64);
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            if entry.path().extension().is_some_and(|extension| extension == EXTENSION) {
                files += 1;
                bytes += entry.metadata()?.len();
            }
        }
        if files >= self.files || bytes >= self.bytes.get() {
            let there = format!("{files} traces with {} are there", Bytes::new(bytes));
            let allowed = format!("fewer than {} with less than {}", self.files, self.bytes);
            return Err(io::Error::other(format!("{there}; allowed: {allowed}")));
        }
        Ok((self.files - files, self.bytes.get() - bytes))
    }
}

/// What became of traces.
#[derive(Debug, Default)]
pub struct QlogCounts {
    /// Connections that have one.
    pub traces: AtomicU64,
    /// Connections that have none: there were too many.
    pub left_out: AtomicU64,
    /// Traces that were cut off: there was no room, or the disk too slow, or it failed. Each says
    /// so in its last record, if that could be written.
    pub cut: AtomicU64,
}

/// Brings traces to files until it is dropped, which waits for what is there.
#[derive(Debug)]
pub(crate) struct Traces {
    desk: TraceWriter,
    thread: Option<JoinHandle<()>>,
}

/// Where connections get their sinks. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct TraceWriter(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    clock: WallClock,
    counts: Arc<QlogCounts>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// Connections that may yet leave a trace.
    files_left: usize,
    /// Traces that have begun and that the thread does not know yet.
    begun: VecDeque<Trace>,
    number: u64,
    over: bool,
}

/// A trace under way.
struct Trace {
    sink: QlogSink,
    name: String,
    file: Option<File>,
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trace").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Traces {
    /// Makes the directory, and looks what is there.
    ///
    /// # Errors
    /// A directory that cannot be had, or that is full already; a system that has no threads left.
    pub fn start(qlog: &Qlog, clock: WallClock) -> io::Result<Self> {
        let (files_left, room) = qlog.room()?;
        let state = State { files_left, begun: VecDeque::new(), number: 0, over: false };
        let inside = Inner {
            clock,
            counts: Arc::default(),
            state: Mutex::new(state),
            changed: Condvar::new(),
        };
        let desk = TraceWriter(Arc::new(inside));
        let writer = Writer {
            inside: desk.0.clone(),
            directory: qlog.directory.clone(),
            room,
            open: Vec::new(),
        };
        let thread = std::thread::Builder::new().name("qlog".to_owned()).spawn(|| writer.run())?;
        Ok(Self { desk, thread: Some(thread) })
    }

    /// Where connections get their sinks.
    pub fn desk(&self) -> TraceWriter {
        self.desk.clone()
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        self.desk.0.state().over = true;
        self.desk.0.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // One that panicked has nothing more to write.
            let _ = thread.join();
        }
    }
}

impl TraceWriter {
    /// A sink for a connection that begins now, whose file will be called `….side.sqlog`; none
    /// where there are too many.
    pub fn begin(&self, side: &str) -> Option<QlogSink> {
        let inside = &self.0;
        let mut state = inside.state();
        if state.files_left == 0 || state.over {
            inside.counts.left_out.fetch_add(1, Relaxed);
            return None;
        }
        state.files_left -= 1;
        state.number += 1;
        inside.counts.traces.fetch_add(1, Relaxed);
        let wall = Epoch::from(inside.clock.system());
        let name = name(wall, state.number, side);
        let sink = QlogSink::bounded(&name, inside.clock.base(), inside.clock.now(), wall, WAITING);
        state.begun.push_back(Trace { sink: sink.clone(), name, file: None });
        drop(state);
        inside.changed.notify_one();
        Some(sink)
    }

    /// What became of traces so far.
    pub fn counts(&self) -> Arc<QlogCounts> {
        self.0.counts.clone()
    }
}

/// `20260101T000000.042Z-000001-server`: in the order of time, and of a program's connections where
/// times are the same.
fn name(wall: Epoch, number: u64, side: &str) -> String {
    let seconds: String =
        wall.to_string().chars().filter(|c| !matches!(c, '-' | ':' | 'Z')).collect();
    format!("{seconds}.{:03}Z-{number:06}-{side}", wall.as_unix_millis() % 1000)
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread.
struct Writer {
    inside: Arc<Inner>,
    directory: PathBuf,
    /// Bytes that may yet be written.
    room: u64,
    open: Vec<Trace>,
}

impl Writer {
    fn run(mut self) {
        loop {
            let mut state = self.inside.state();
            while self.open.is_empty() && state.begun.is_empty() && !state.over {
                state = self.inside.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            self.open.extend(state.begun.drain(..));
            let over = state.over;
            drop(state);
            let mut open = std::mem::take(&mut self.open);
            open.retain_mut(|trace| self.bring(trace));
            self.open = open;
            if over {
                return;
            }
            // What has begun meanwhile can wait.
            let state = self.inside.state();
            let wait = self.inside.changed.wait_timeout_while(state, PERIOD, |state| !state.over);
            drop(wait.unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Writes what there is of a trace. False where nothing will follow.
    fn bring(&mut self, trace: &mut Trace) -> bool {
        // In this order: what comes between the two is taken.
        let (over, cut) = (trace.sink.is_over(), trace.sink.is_cut());
        let mut bytes = trace.sink.take();
        let room = self.room.saturating_sub(LAST_RECORD);
        let full = bytes.len() as u64 > room;
        if full {
            let most = usize::try_from(room).unwrap_or(usize::MAX);
            let whole =
                bytes[..most].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            bytes.truncate(whole);
        }
        // A file of nothing but its end would help nobody.
        let ends = (trace.file.is_some() || !bytes.is_empty()) && self.room >= LAST_RECORD;
        let why = match (full, cut) {
            (true, _) => Some("cut off: the directory holds as many bytes of traces as it may"),
            (_, true) => Some("cut off: the disk was too slow"),
            _ => None,
        };
        if let Some(why) = why {
            let last = trace.sink.cut(self.inside.clock.now(), why);
            bytes.extend(last.into_iter().filter(|_| ends));
        }
        let written = self.write(trace, &bytes);
        if let Err(error) = &written {
            tracing::warn!(%error, trace = trace.name, "qlog");
            trace.sink.cut(self.inside.clock.now(), "");
        }
        if written.is_err() || why.is_some() {
            self.inside.counts.cut.fetch_add(1, Relaxed);
            return false;
        }
        !over
    }

    fn write(&mut self, trace: &mut Trace, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let file = match &mut trace.file {
            Some(file) => file,
            none => none.insert(self.create(&trace.name)?),
        };
        self.room = self.room.saturating_sub(bytes.len() as u64);
        file.write_all(bytes)
    }

    /// A file that was not there. Another program may write traces of connections that began in the
    /// same millisecond: names are counted then.
    fn create(&self, name: &str) -> io::Result<File> {
        let open = |suffix: &str| {
            let path = self.directory.join(format!("{name}{suffix}.{EXTENSION}"));
            File::options().write(true).create_new(true).open(path)
        };
        let taken = |made: &io::Result<File>| {
            made.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists)
        };
        let mut made = open("");
        for count in 2..100 {
            if !taken(&made) {
                break;
            }
            made = open(&format!("-{count}"));
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_quic::noq_proto::{ConnectionId, QlogConfig, QlogFactory, Side};
    use bentpipe_units::Time;

    fn qlog(directory: &Path, files: usize, bytes: u64) -> Qlog {
        Qlog { directory: directory.join("traces"), files, bytes: Bytes::new(bytes) }
    }

    /// The beginning of a connection, whose head is a trace of some 500 bytes.
    fn connect(sink: &QlogSink, clock: &WallClock) -> Option<QlogConfig> {
        let remote = ([192, 0, 2, 1], 443).into();
        sink.for_connection(
            Side::Server,
            remote,
            ConnectionId::new(&[1]),
            clock.instant(Time::ZERO),
        )
    }

    fn traces(qlog: &Qlog) -> Vec<String> {
        let entries = fs::read_dir(&qlog.directory).unwrap();
        let mut all: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        all.sort();
        all.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
    }

    #[test]
    fn each_connection_has_a_file_until_there_are_too_many_here_and_in_a_later_program() {
        let place = tempfile::tempdir().unwrap();
        let (qlog, clock) = (qlog(place.path(), 3, 1_000_000), WallClock::new());
        let all = Traces::start(&qlog, clock.clone()).unwrap();
        for _ in 0..2 {
            connect(&all.desk().begin("server").unwrap(), &clock).unwrap();
        }
        drop(all);
        let all = Traces::start(&qlog, clock.clone()).unwrap();
        let (first, second) = (all.desk().begin("server"), all.desk().begin("server"));
        connect(&first.unwrap(), &clock).unwrap();
        assert!(second.is_none());
        let counts = all.desk().counts();
        drop(all);
        assert_eq!((counts.traces.load(Relaxed), counts.left_out.load(Relaxed)), (1, 1));
        let written = traces(&qlog);
        assert_eq!(written.len(), 3);
        assert!(
            written.iter().all(|text| text.contains("\"group_id\":\"01\"") && text.ends_with('\n')),
            "{written:?}"
        );
        let full = Traces::start(&qlog, clock).unwrap_err().to_string();
        assert!(full.contains("3 traces") && full.contains("allowed: fewer than 3"), "{full}");
    }

    #[test]
    fn traces_end_with_a_whole_record_where_there_is_no_more_room() {
        let place = tempfile::tempdir().unwrap();
        let (qlog, clock) = (qlog(place.path(), 10, 1_200), WallClock::new());
        let all = Traces::start(&qlog, clock.clone()).unwrap();
        let sinks: Vec<QlogSink> = (0..3).map(|_| all.desk().begin("client").unwrap()).collect();
        sinks.iter().for_each(|sink| assert!(connect(sink, &clock).is_some()));
        let counts = all.desk().counts();
        drop(all);
        assert!(counts.cut.load(Relaxed) > 0);
        let written = traces(&qlog);
        let bytes: usize = written.iter().map(String::len).sum();
        assert!(bytes <= 1_200, "{bytes}");
        assert!(written.iter().all(|text| text.ends_with("}\n")), "{written:?}");
        assert!(sinks.iter().any(QlogSink::is_cut));
    }

    #[test]
    fn names_are_in_the_order_of_time() {
        let at = |millis| name(Epoch::from_unix_millis(millis), 7, "server");
        assert_eq!(at(1_767_225_600_042), "20260101T000000.042Z-000007-server");
        assert!(at(1_767_225_600_042) < at(1_767_225_601_000));
    }
}
