//! Packet captures at either end of the path, as pcapng files (draft-ietf-opsawg-pcapng) for
//! Wireshark and tshark.
//!
//! The threads of the path put copies into a bounded queue and never block. A separate thread
//! completes checksums and writes the file. Packets that do not fit are counted.

use crate::clock::{Clock, pause};
use crate::error::EmuError;
use crate::gso::{self, HEADER};
use crate::loss_cause::LossCause;
use bentpipe_link::DropCause;
use bentpipe_units::{Bytes, Span, Time};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, PcapError};
use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;

/// Limits of the queue, in packets and bytes: 100 ms at the highest rate of small packets, half a
/// second at 1 Gbps.
const MAX_QUEUED_PACKETS: usize = 1 << 16;
const MAX_QUEUED_BYTES: u64 = 64_000_000;
/// Interval between writes. The writer polls, because waking it for each packet would cost the path
/// more.
const PERIOD: Span = Span::from_millis(20);

/// Which captures to make. Default: none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureConfig {
    /// File for the packets that the server's interface sends and receives.
    pub server: Option<PathBuf>,
    /// File for the packets that the clients' interfaces send and receive, with one capture
    /// interface per client.
    pub clients: Option<PathBuf>,
    /// File for the packets that the path loses, each with the cause as a comment. Interface 0 is
    /// the forward direction.
    pub lost: Option<PathBuf>,
    /// Bytes to write of each packet.
    pub snap_length: Bytes,
    /// Maximum size of each file. Further packets are counted, but not written.
    pub max_size: Bytes,
}

impl Default for CaptureConfig {
    fn default() -> Self {
        Self {
            server: None,
            clients: None,
            lost: None,
            snap_length: Bytes::new(65_535),
            max_size: Bytes::from_mb(1000),
        }
    }
}

/// Result of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureReport {
    /// The capture file.
    pub file: PathBuf,
    /// Packets written.
    pub packets: u64,
    /// Packets not written because the file was full or the disk too slow.
    pub missed: u64,
    /// The error that ended the capture early, if any.
    pub error: Option<String>,
}

/// The event that a packet was captured for.
#[derive(Debug, Clone, Copy)]
pub enum PacketEvent {
    /// The host sends it, and it enters the path.
    Sent,
    /// It is received after this time on the path.
    Received(Span),
    /// The path loses it after this time.
    Lost(LossCause, Span),
}

/// A packet with its `virtio_net_hdr`, as captured at `at`.
struct CapturedPacket {
    at: Time,
    interface: u32,
    event: PacketEvent,
    whole: Box<[u8]>,
}

/// The capture point of one path thread.
#[derive(Clone)]
pub struct Tap {
    queue: SyncSender<CapturedPacket>,
    queued_bytes: Arc<AtomicU64>,
    missed: Arc<AtomicU64>,
}

impl Tap {
    /// Captures a packet, or counts it as missed if the queue is full.
    pub fn capture(&self, at: Time, interface: usize, event: PacketEvent, whole: &[u8]) {
        let length = whole.len() as u64;
        if self.queued_bytes.fetch_add(length, Ordering::Relaxed) + length <= MAX_QUEUED_BYTES {
            let captured =
                CapturedPacket { at, interface: interface as u32, event, whole: whole.into() };
            if self.queue.try_send(captured).is_ok() {
                return;
            }
        }
        self.queued_bytes.fetch_sub(length, Ordering::Relaxed);
        self.missed.fetch_add(1, Ordering::Relaxed);
    }
}

/// The thread that writes one file. It ends when all taps are dropped.
#[derive(Debug)]
pub struct CaptureWriter {
    thread: JoinHandle<CaptureReport>,
}

impl CaptureWriter {
    /// Creates the file, with one interface for each name.
    pub fn start(
        file: &Path,
        name: &[String],
        capture: &CaptureConfig,
        clock: Clock,
    ) -> Result<(Self, Tap), EmuError> {
        let failed =
            |error: std::io::Error| EmuError::system(format!("capture {}", file.display()), error);
        let (queue, captured) = sync_channel(MAX_QUEUED_PACKETS);
        let tap = Tap { queue, queued_bytes: Arc::default(), missed: Arc::default() };
        let mut output = Output {
            writer: head(bentpipe_files::create(file).map_err(failed)?, name)
                .map_err(|error| failed(words(error)))?,
            epoch: clock.epoch(),
            snap_length: usize::try_from(capture.snap_length.get()).unwrap_or(usize::MAX),
            remaining: capture.max_size.get(),
            report: CaptureReport { file: file.to_owned(), packets: 0, missed: 0, error: None },
        };
        let (queued_bytes, missed) = (Arc::clone(&tap.queued_bytes), Arc::clone(&tap.missed));
        let work = move || {
            output.write_all_queued(&captured, &queued_bytes);
            output.report.missed += missed.load(Ordering::Relaxed);
            output.report
        };
        let thread = std::thread::Builder::new().name("capture".to_owned()).spawn(work);
        Ok((Self { thread: thread.map_err(|error| EmuError::system("a thread", error))? }, tap))
    }

    /// Waits until all packets are written. Call it after dropping all taps.
    pub fn finish(self) -> Option<CaptureReport> {
        self.thread.join().ok()
    }
}

type Writer = PcapNgWriter<BufWriter<File>>;

struct Output {
    writer: Writer,
    epoch: std::time::Duration,
    snap_length: usize,
    remaining: u64,
    report: CaptureReport,
}

impl Output {
    fn write_all_queued(&mut self, queue: &Receiver<CapturedPacket>, queued_bytes: &AtomicU64) {
        let mut batch = Vec::new();
        loop {
            let ended = loop {
                match queue.try_recv() {
                    Ok(captured) => batch.push(captured),
                    Err(error) => break error == TryRecvError::Disconnected,
                }
                // Packets that arrive meanwhile belong to the next batch.
                if batch.len() == MAX_QUEUED_PACKETS {
                    break false;
                }
            };
            // Two threads fill the queue, each in order of time.
            batch.sort_by_key(|captured| captured.at);
            for captured in batch.drain(..) {
                queued_bytes.fetch_sub(captured.whole.len() as u64, Ordering::Relaxed);
                self.write(captured);
            }
            if let Err(error) = self.writer.get_mut().flush() {
                self.report.error.get_or_insert(error.to_string());
            }
            if ended {
                return;
            }
            pause(PERIOD);
        }
    }

    fn write(&mut self, captured: CapturedPacket) {
        let CapturedPacket { at, interface, event, mut whole } = captured;
        // Overhead of a block and its options.
        const AROUND: u64 = 96;
        let length = whole.len() - HEADER;
        let captured_length = length.min(self.snap_length);
        let cost = captured_length as u64 + AROUND;
        if self.report.error.is_some() || self.remaining < cost {
            self.report.missed += 1;
            return;
        }
        self.remaining -= cost;
        gso::complete(&mut whole);
        let mut options = Vec::with_capacity(2);
        // Flags (pcapng §4.3.1): 1 is received, 2 is sent.
        let (direction, comment) = match event {
            PacketEvent::Sent => (2, None),
            PacketEvent::Received(after) => (1, Some(format!("after {after}"))),
            PacketEvent::Lost(cause, after) => {
                (2, Some(format!("lost after {after}: {}", cause_name(cause))))
            }
        };
        options.extend(comment.map(|comment| EnhancedPacketOption::Comment(Cow::Owned(comment))));
        options.push(EnhancedPacketOption::Flags(direction));
        let block = EnhancedPacketBlock {
            interface_id: interface,
            timestamp: self.epoch + std::time::Duration::from_nanos(at.as_nanos()),
            original_len: length as u32,
            data: Cow::Borrowed(&whole[HEADER..HEADER + captured_length]),
            options,
        };
        match self.writer.write_pcapng_block(block) {
            Ok(_) => self.report.packets += 1,
            Err(error) => {
                self.report.missed += 1;
                self.report.error = Some(words(error).to_string());
            }
        }
    }
}

fn cause_name(cause: LossCause) -> Cow<'static, str> {
    match cause {
        LossCause::Link(DropCause::Policer) => "policer".into(),
        LossCause::Link(DropCause::QueueFull) => "queue full".into(),
        LossCause::Link(DropCause::Aqm) => "AQM".into(),
        LossCause::Routing => "link down or no route".into(),
        LossCause::Link(DropCause::Loss(process)) => format!("loss process {process}").into(),
    }
}

/// Writes the start of a file: the section, and interfaces for raw IP packets with nanosecond
/// timestamps.
fn head(file: File, names: &[String]) -> Result<Writer, PcapError> {
    let mut writer = PcapNgWriter::new(BufWriter::new(file))?;
    for name in names {
        let mut interface = InterfaceDescriptionBlock::new(DataLink::RAW, 0);
        interface.options.push(InterfaceDescriptionOption::IfTsResol(9));
        interface.options.push(InterfaceDescriptionOption::IfName(Cow::Borrowed(name)));
        writer.write_pcapng_block(interface)?;
    }
    Ok(writer)
}

fn words(error: PcapError) -> std::io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => std::io::Error::other(other.to_string()),
    }
}
