//! qlog files of connections, in a directory with bounds on their number and size.
//!
//! The stack writes events to memory. A thread of its own writes them to files, so that no
//! connection waits for the disk.

use crate::clock::RealClock;
use bentpipe_quic::qlog::{Form, Forms, QlogSink};
use bentpipe_units::{Bytes, Epoch};
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Interval at which events are written to files.
const WRITE_INTERVAL: Duration = Duration::from_millis(50);
/// Bytes of one trace that may wait to be written: the events of 2 Gbps in two intervals. Our
/// choice.
const BUFFER: usize = 8 << 20;
/// Extension of the files. qvis accepts no other.
const EXTENSION: &str = "sqlog";
/// End of the names of files in the form that qvis reads.
const QVIS: &str = ".qvis.sqlog";
/// Largest size of the last record of a truncated trace, bytes.
const LAST_RECORD: u64 = 256;

/// The forms of a trace, each in a file.
const FORMS: [Form; 2] = [Form::Current, Form::Qvis];

/// Directory of qlog files, and bounds on them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Qlog {
    /// Directory with a file for each connection. It is created if necessary.
    pub directory: PathBuf,
    /// Largest number of files in the directory, earlier ones included. Further connections have no
    /// file.
    pub files: usize,
    /// Largest size of all files. Traces are truncated at this size.
    pub bytes: Bytes,
    /// Writes each trace in the form that qvis reads as well, to a second file, which does not
    /// count as one.
    pub qvis: bool,
}

impl Qlog {
    /// Allows 100 files and 1 GB in `directory`. Our choice.
    pub fn in_directory(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            files: 100,
            bytes: Bytes::from_mb(1000),
            qvis: false,
        }
    }

    /// Returns the files and bytes that may still be written.
    fn room(&self) -> io::Result<(usize, u64)> {
        bentpipe_files::create_named_dir(&self.directory)?;
        let (mut files, mut bytes) = (0usize, 0u64);
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            if entry.path().extension().is_some_and(|extension| extension == EXTENSION) {
                let name = entry.file_name();
                files += usize::from(!name.to_string_lossy().ends_with(QVIS));
                bytes += entry.metadata()?.len();
            }
        }
        if files >= self.files || bytes >= self.bytes.get() {
            let present = format!("the directory has {files} traces with {}", Bytes::new(bytes));
            let allowed = format!("fewer than {} with less than {}", self.files, self.bytes);
            return Err(io::Error::other(format!("{present}; allowed: {allowed}")));
        }
        Ok((self.files - files, self.bytes.get() - bytes))
    }
}

/// Numbers of traces since the start.
#[derive(Debug, Default)]
pub struct QlogCounts {
    /// Connections with a trace.
    pub traces: AtomicU64,
    /// Connections without a trace, because of the limit on files.
    pub skipped: AtomicU64,
    /// Truncated traces: the directory was full, or the disk was too slow or failed. The last
    /// record of a trace says so, if it could be written.
    pub truncated: AtomicU64,
}

/// Writes traces to files. Dropping it waits until all events are written.
#[derive(Debug)]
pub(crate) struct Traces {
    writer: TraceWriter,
    thread: Option<JoinHandle<()>>,
}

/// Starts traces. Clones share the files.
#[derive(Debug, Clone)]
pub(crate) struct TraceWriter(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    clock: RealClock,
    counts: Arc<QlogCounts>,
    state: Mutex<State>,
    changed: Condvar,
    forms: Forms,
}

#[derive(Debug)]
struct State {
    /// Traces that may still be started.
    files_left: usize,
    /// New traces that the thread has not taken.
    started: VecDeque<Trace>,
    number: u64,
    ending: bool,
}

/// An open trace.
struct Trace {
    sink: QlogSink,
    name: String,
    /// Files in the current form and in that of qvis.
    files: [Option<File>; 2],
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trace").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Traces {
    /// Creates the directory and counts its files.
    ///
    /// # Errors
    /// The directory cannot be created or is full, or no thread can be started.
    pub fn start(qlog: &Qlog, clock: RealClock) -> io::Result<Self> {
        let (files_left, room) = qlog.room()?;
        let state = State { files_left, started: VecDeque::new(), number: 0, ending: false };
        let shared = Shared {
            clock,
            counts: Arc::default(),
            state: Mutex::new(state),
            changed: Condvar::new(),
            forms: if qlog.qvis { Forms::BOTH } else { Forms::CURRENT },
        };
        let handle = TraceWriter(Arc::new(shared));
        let writer = Writer {
            shared: handle.0.clone(),
            directory: qlog.directory.clone(),
            room,
            open: Vec::new(),
        };
        let thread = std::thread::Builder::new().name("qlog".to_owned()).spawn(|| writer.run())?;
        Ok(Self { writer: handle, thread: Some(thread) })
    }

    /// Returns what starts traces.
    pub fn writer(&self) -> TraceWriter {
        self.writer.clone()
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        self.writer.0.state().ending = true;
        self.writer.0.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked writes no more.
            let _ = thread.join();
        }
    }
}

impl TraceWriter {
    /// Starts the trace of a connection, in a file whose name ends in `-side.sqlog`. `None` if
    /// there are too many files.
    pub fn start(&self, side: &str) -> Option<QlogSink> {
        let shared = &self.0;
        let mut state = shared.state();
        if state.files_left == 0 || state.ending {
            shared.counts.skipped.fetch_add(1, Relaxed);
            return None;
        }
        state.files_left -= 1;
        state.number += 1;
        shared.counts.traces.fetch_add(1, Relaxed);
        let unix = Epoch::from(shared.clock.system());
        let name = name(unix, state.number, side);
        let sink = QlogSink::bounded(&name, shared.forms, shared.clock.now(), unix, BUFFER);
        state.started.push_back(Trace { sink: sink.clone(), name, files: [None, None] });
        drop(state);
        shared.changed.notify_one();
        Some(sink)
    }

    /// Returns the numbers of traces so far.
    pub fn counts(&self) -> Arc<QlogCounts> {
        self.0.counts.clone()
    }
}

/// Returns a name such as `20260101T000000.042Z-000001-server`. Names sort by time, then by the
/// order of a program's connections.
fn name(unix: Epoch, number: u64, side: &str) -> String {
    let time = format!("{unix:.3}").replace(['-', ':'], "");
    format!("{time}-{number:06}-{side}")
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The state of the thread.
struct Writer {
    shared: Arc<Shared>,
    directory: PathBuf,
    /// Bytes that may still be written.
    room: u64,
    open: Vec<Trace>,
}

impl Writer {
    fn run(mut self) {
        loop {
            let mut state = self.shared.state();
            while self.open.is_empty() && state.started.is_empty() && !state.ending {
                state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            self.open.extend(state.started.drain(..));
            let ending = state.ending;
            drop(state);
            let mut open = std::mem::take(&mut self.open);
            open.retain_mut(|trace| self.write_events(trace));
            self.open = open;
            if ending {
                return;
            }
            // New traces can wait for the next interval.
            let state = self.shared.state();
            let wait = self
                .shared
                .changed
                .wait_timeout_while(state, WRITE_INTERVAL, |state| !state.ending);
            drop(wait.unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Writes the waiting events of a trace. Returns false if none will follow.
    fn write_events(&mut self, trace: &mut Trace) -> bool {
        // In this order, so that events in between are taken.
        let (over, cut) = (trace.sink.is_over(), trace.sink.is_cut());
        let mut texts = FORMS.map(|form| trace.sink.take(form));
        let written_forms = FORMS.len() - usize::from(!self.shared.forms.qvis);
        let last_records = LAST_RECORD * written_forms as u64;
        let mut room = self.room.saturating_sub(last_records);
        let full = texts.iter().map(Vec::len).sum::<usize>() as u64 > room;
        if full {
            for text in &mut texts {
                let limit = usize::try_from(room).unwrap_or(usize::MAX).min(text.len());
                let end = text[..limit].iter().rposition(|byte| *byte == b'\n');
                text.truncate(end.map_or(0, |end| end + 1));
                room -= text.len() as u64;
            }
        }
        let why = match (full, cut) {
            (true, _) => Some("truncated: the directory has reached its largest size"),
            (_, true) => Some("truncated: the disk was too slow"),
            _ => None,
        };
        let mut written = Ok(());
        for (index, (form, mut text)) in FORMS.into_iter().zip(texts).enumerate() {
            // No file with only a last record.
            let ends =
                (trace.files[index].is_some() || !text.is_empty()) && self.room >= last_records;
            if let Some(why) = why {
                let last = trace.sink.cut(self.shared.clock.now(), why, form);
                text.extend(last.into_iter().filter(|_| ends));
            }
            written = written.and_then(|()| self.write(trace, index, &text));
        }
        if let Err(error) = &written {
            tracing::warn!(%error, trace = trace.name, "cannot write qlog file");
            trace.sink.cut(self.shared.clock.now(), "", Form::Current);
        }
        if written.is_err() || why.is_some() {
            self.shared.counts.truncated.fetch_add(1, Relaxed);
            return false;
        }
        !over
    }

    /// Writes `bytes` to the file of the form with this index.
    fn write(&mut self, trace: &mut Trace, index: usize, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let file = match &mut trace.files[index] {
            Some(file) => file,
            none => none.insert(self.create(&trace.name, index)?),
        };
        self.room = self.room.saturating_sub(bytes.len() as u64);
        file.write_all(bytes)
    }

    /// Creates a file. Another program may write the trace of a connection that started in the same
    /// millisecond. Then the name gets a number.
    fn create(&self, name: &str, form: usize) -> io::Result<File> {
        let end = [".sqlog", QVIS][form];
        let open = |suffix: &str| {
            let path = self.directory.join(format!("{name}{suffix}{end}"));
            bentpipe_files::create_new(&path)
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
    use bentpipe_quic::qlog::check::{check, check_qvis};
    use bentpipe_quic::qlog::{Event, Side, Transport};

    fn qlog(directory: &Path, files: usize, bytes: u64) -> Qlog {
        let directory = directory.join("traces");
        Qlog { directory, files, bytes: Bytes::new(bytes), qvis: false }
    }

    /// Starts a connection, whose first records have about 700 bytes.
    fn connect(sink: &QlogSink, clock: &RealClock) {
        sink.begin(Side::Server, Transport::Quic, "01");
        let remote = ([192, 0, 2, 1], 443).into();
        sink.add(clock.now(), &Event::ConnectionStarted { remote });
    }

    fn traces(qlog: &Qlog) -> Vec<String> {
        let entries = fs::read_dir(&qlog.directory).unwrap();
        let mut all: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        all.sort();
        all.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
    }

    #[test]
    fn the_number_of_files_is_bounded_across_programs() {
        let directory = tempfile::tempdir().unwrap();
        let (qlog, clock) = (qlog(directory.path(), 3, 1_000_000), RealClock::new());
        let all = Traces::start(&qlog, clock.clone()).unwrap();
        for _ in 0..2 {
            connect(&all.writer().start("server").unwrap(), &clock);
        }
        drop(all);
        let all = Traces::start(&qlog, clock.clone()).unwrap();
        let (first, second) = (all.writer().start("server"), all.writer().start("server"));
        connect(&first.unwrap(), &clock);
        assert!(second.is_none());
        let counts = all.writer().counts();
        drop(all);
        assert_eq!((counts.traces.load(Relaxed), counts.skipped.load(Relaxed)), (1, 1));
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
    fn truncated_traces_end_with_a_whole_record() {
        let directory = tempfile::tempdir().unwrap();
        let (qlog, clock) = (qlog(directory.path(), 10, 1_200), RealClock::new());
        let all = Traces::start(&qlog, clock.clone()).unwrap();
        let sinks: Vec<QlogSink> = (0..3).map(|_| all.writer().start("client").unwrap()).collect();
        sinks.iter().for_each(|sink| connect(sink, &clock));
        let counts = all.writer().counts();
        drop(all);
        assert!(counts.truncated.load(Relaxed) > 0);
        let written = traces(&qlog);
        let bytes: usize = written.iter().map(String::len).sum();
        assert!(bytes <= 1_200, "{bytes}");
        assert!(written.iter().all(|text| text.ends_with("}\n")), "{written:?}");
        assert!(sinks.iter().any(QlogSink::is_cut));
    }

    #[test]
    fn the_form_of_qvis_goes_to_a_second_file_that_does_not_count() {
        let directory = tempfile::tempdir().unwrap();
        let qlog = Qlog { qvis: true, ..qlog(directory.path(), 2, 1_000_000) };
        let clock = RealClock::new();
        let all = Traces::start(&qlog, clock.clone()).unwrap();
        connect(&all.writer().start("server").unwrap(), &clock);
        drop(all);
        let written = traces(&qlog);
        assert_eq!(written.len(), 2);
        check_qvis(written[0].as_bytes()).unwrap();
        check(written[1].as_bytes()).unwrap();
        assert!(Traces::start(&qlog, clock).is_ok(), "room for a second trace");
    }

    #[test]
    fn names_sort_by_time() {
        let at = |millis| name(Epoch::from_unix_millis(millis), 7, "server");
        assert_eq!(at(1_767_225_600_042), "20260101T000000.042Z-000007-server");
        assert!(at(1_767_225_600_042) < at(1_767_225_601_000));
    }
}
