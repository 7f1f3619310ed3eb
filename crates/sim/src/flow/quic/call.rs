//! A call over a QUIC connection: audio in datagrams (RFC 9221), video there or on streams.

use super::frame_queue::{FrameQueue, write_frames};
use crate::datagram::{PathDirection, Role};
use crate::error::SimError;
use crate::flow::current_visit::VisitStart;
use crate::flow::media_direction::{self, MediaDirection, direction};
use crate::flow::shared::Shared;
use crate::outcome::CallStream;
use crate::spec::{CallTraffic, FlowSpec, Framing};
use crate::visit_progress::VisitProgress;
use bentpipe_media::wire::{FrameReader, HEADER_BYTES, Header, KEYFRAME_REQUEST};
use bentpipe_media::{MediaKind, Packet, Receiver, Sender};
use bentpipe_quic::noq_proto::ConnectionError;
use bentpipe_quic::{Conn, ConnectionConfig, RawStream, Task, take_tokens, zeros};
use bentpipe_timeseries::{Series, SeriesLimit};
use bentpipe_units::{Span, Time};
use bytes::Bytes;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Media that may wait for congestion control. Our choice: what comes later is of no use in a
/// conversation.
const WAITING: Span = Span::from_millis(250);
/// Memory of a waiting datagram besides its payload, which the stack counts too: about that of its
/// handle.
const DATAGRAM_MEMORY: usize = 40;
/// Streams that an end may have open: a frame each for several seconds.
const STREAMS: u32 = 1000;
/// Largest payload of a datagram: with headers, it fits into the smallest packet that QUIC relies
/// on (RFC 9000 §14), to which the stack returns when large packets are lost. Our choice.
const MAX_PAYLOAD: u32 = 1_100;
/// The code with which a receiver stops a stream that is late.
const LATE: u64 = 1;

/// A call, as the flow has it.
pub struct QuicCall {
    traffic: CallTraffic,
    framing: Framing,
}

impl QuicCall {
    /// Creates the call of a flow.
    ///
    /// # Errors
    /// A visit has no duration.
    pub fn new(
        mut traffic: CallTraffic,
        framing: Framing,
        spec: &FlowSpec,
    ) -> Result<Self, SimError> {
        media_direction::check(spec)?;
        if let (Some(video), false) = (&mut traffic.media.video, framing == Framing::Datagrams) {
            // A stream gets a frame as a whole, and QUIC paces it.
            video.pacing = Span::ZERO;
        }
        Ok(Self { traffic, framing })
    }

    /// Returns `config` with what the call needs of a connection.
    pub fn configure(&self, config: ConnectionConfig) -> ConnectionConfig {
        config.with_stream_limits(STREAMS, STREAMS).with_datagrams(self.datagram_buffer())
    }

    /// Returns how many bytes of datagrams may wait: the media of [`WAITING`], and two keyframes,
    /// which are sent at once.
    fn datagram_buffer(&self) -> usize {
        let media = &self.traffic.media;
        let packet = HEADER_BYTES as usize + DATAGRAM_MEMORY;
        let waiting = WAITING.as_secs_f64();
        let audio = media.audio.map_or(0.0, |audio| {
            let frames = waiting * f64::from(bentpipe_media::AUDIO_FRAMES);
            frames * (audio.frame().get() as f64 + packet as f64)
        });
        let video = media.video.map_or(0.0, |video| {
            let payload =
                waiting * video.rate.as_bps() as f64 / 8.0 + 2.0 * video.frames().0.get() as f64;
            // Small frames have a packet each.
            let packets = payload / f64::from(MAX_PAYLOAD) + waiting * f64::from(video.fps) + 2.0;
            payload + packets * packet as f64
        });
        (audio + video) as usize + 2 * packet
    }

    /// Begins the call of a visit of the flow called `flow`.
    pub fn begin(&self, flow: &str, start: &VisitStart, shared: &Shared) -> Ends {
        let media = media_direction::all(&self.traffic, flow, start, shared);
        let begin = Begin {
            traffic: self.traffic.clone(),
            flow: flow.to_owned(),
            visit: start.number,
            ends: start.ends.unwrap_or(start.now),
            seed: shared.seed,
            series: start.series,
            datagram_buffer: self.datagram_buffer(),
        };
        let smallest = media.iter().map(|_| None).collect();
        let state = State { media, smallest, waiting: [None, None] };
        Ends {
            framing: self.framing,
            data_direction: start.data_direction,
            progress: start.progress.clone(),
            begin: Arc::new(begin),
            state: Arc::new(Mutex::new(state)),
        }
    }
}

/// What the media of a direction begins with.
struct Begin {
    traffic: CallTraffic,
    flow: String,
    visit: u32,
    ends: Time,
    seed: (u64, u64),
    series: Option<SeriesLimit>,
    /// Bytes of datagrams that may wait at each end.
    datagram_buffer: usize,
}

/// Both ends of the call of a visit.
#[derive(Clone)]
pub struct Ends {
    framing: Framing,
    data_direction: PathDirection,
    progress: VisitProgress,
    begin: Arc<Begin>,
    state: Arc<Mutex<State>>,
}

struct State {
    media: Vec<MediaDirection>,
    /// The smallest delay of a frame of video in each of `media`.
    smallest: Vec<Option<Span>>,
    /// When the sender at the client and that at the server go on.
    waiting: [Option<(Time, Waker)>; 2],
}

impl State {
    fn toward(&mut self, toward: PathDirection) -> Option<&mut MediaDirection> {
        self.media.iter_mut().find(|media| media.toward == toward)
    }
}

impl Ends {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the end at `side` of the connection.
    pub fn run(self, conn: Conn, side: Role) -> Task {
        conn.spawn(self.clone().send(conn.clone(), side));
        if self.framing == Framing::Datagrams {
            conn.spawn(take_tokens(conn.clone()));
        } else {
            conn.spawn(self.clone().accept(conn.clone(), side));
        }
        Box::pin(self.receive(conn, side))
    }

    /// Returns the time at which to call [`Ends::release`].
    pub fn next_release(&self) -> Option<Time> {
        self.lock().waiting.iter().flatten().map(|(due, _)| *due).min()
    }

    /// Wakes the senders that waited until `now`. Returns false if there are none.
    pub fn release(&self, now: Time) -> bool {
        let mut woken = false;
        for waiting in &mut self.lock().waiting {
            if let Some((_, waker)) = waiting.take_if(|(due, _)| *due <= now) {
                waker.wake();
                woken = true;
            }
        }
        woken
    }

    /// Ends the call, and returns what was measured, with time series.
    pub fn finish(&self, now: Time) -> (Vec<CallStream>, Vec<Series>) {
        media_direction::finish(now, std::mem::take(&mut self.lock().media))
    }

    /// Begins the media that `side` sends, now that it can. Returns false if it sends none.
    fn started(&self, side: Role, now: Time) -> bool {
        let toward = PathDirection::leaving(side);
        let mut state = self.lock();
        let Some(media) = state.toward(toward) else { return false };
        let Begin { traffic, flow, visit, ends, seed, series, .. } = &*self.begin;
        let times = (now, *ends);
        let purpose = media_direction::purpose(flow, direction(toward), *visit);
        let sender = Sender::new(&traffic.media, times, *seed, &purpose);
        media.sender = sender.with_max_payload(MAX_PAYLOAD).with_series(*series);
        let receiver = Receiver::new(&traffic.media, times, *series);
        media.receiver = match self.framing {
            Framing::Datagrams => receiver,
            Framing::StreamPerFrame | Framing::StreamPerGroup { .. } => {
                receiver.with_video_on_streams()
            }
        };
        true
    }

    /// Waits until the next packet of `side` is due, and returns it; `None` after the last one.
    async fn next(&self, conn: &Conn, side: Role) -> Option<Packet> {
        let toward = PathDirection::leaving(side);
        poll_fn(|cx: &mut Context<'_>| {
            let (mut state, now) = (self.lock(), conn.now());
            let Some(media) = state.toward(toward) else { return Poll::Ready(None) };
            if media.sender.adapts() {
                let waiting = self.begin.datagram_buffer.saturating_sub(conn.datagram_room());
                media.sender.set_in_carrier(waiting as u64);
            }
            if let Some(packet) = media.sender.poll(now) {
                return Poll::Ready(Some(packet));
            }
            let Some(due) = media.sender.due() else { return Poll::Ready(None) };
            state.waiting[side as usize] = Some((due, cx.waker().clone()));
            Poll::Pending
        })
        .await
    }

    /// Sends the media of `side`, from the end of its handshake on.
    async fn send(self, conn: Conn, side: Role) {
        if conn.handshaken().await.is_err() || !self.started(side, conn.now()) {
            return;
        }
        let (mut group, mut frame, mut skips) = (None::<FrameQueue>, 0, false);
        while let Some(packet) = self.next(&conn, side).await {
            if packet.kind == MediaKind::Audio || self.framing == Framing::Datagrams {
                if packet.kind == MediaKind::Video {
                    // The stack drops the oldest datagrams, parts of frames: better none of one.
                    if packet.index == 0 {
                        skips = conn.datagram_room() < memory(&packet);
                    }
                    if skips {
                        continue;
                    }
                }
                if let Err(error) = conn.send_datagram(datagram(&packet)) {
                    return self.failed(&conn, error);
                }
                continue;
            }
            frame += packet.payload;
            if packet.index + 1 < packet.packets {
                continue;
            }
            let header = Header::of_frame(&packet, std::mem::take(&mut frame));
            if packet.keyframe {
                group.take().iter().for_each(FrameQueue::complete);
            }
            group.get_or_insert_with(|| stream(&conn)).push(header);
            if self.framing == Framing::StreamPerFrame {
                group.take().iter().for_each(FrameQueue::complete);
            }
        }
        group.iter().for_each(FrameQueue::complete);
    }

    /// Handles datagrams that arrive at `side`.
    async fn receive(self, conn: Conn, side: Role) {
        loop {
            match poll_fn(|cx| conn.poll_datagram(cx)).await {
                Ok(data) if data[..] == KEYFRAME_REQUEST => {
                    if let Some(media) = self.lock().toward(PathDirection::leaving(side)) {
                        media.sender.request_keyframe();
                    }
                }
                Ok(data) => {
                    let Some(header) = Header::decode(&data) else { continue };
                    let payload = data.len() as u32 - HEADER_BYTES;
                    let (index, packets) = header.packet();
                    self.received(&conn, side, payload as usize);
                    self.arrived(&conn, side, &header, (index, packets, payload));
                }
                Err(ConnectionError::LocallyClosed) => return,
                Err(error) => return self.failed(&conn, error.to_string()),
            }
        }
    }

    /// Counts bytes of media that arrived at `side`.
    fn received(&self, conn: &Conn, side: Role, bytes: usize) {
        if PathDirection::leaving(side) != self.data_direction {
            self.progress.received(0, bytes, conn.now());
        }
    }

    /// Handles a packet that arrived at `side`: its number, that of all, and its payload. Returns
    /// the delay of its frame above the smallest, of a frame of video.
    fn arrived(
        &self,
        conn: &Conn,
        side: Role,
        header: &Header,
        (index, packets, payload): (u16, u16, u32),
    ) -> Option<Span> {
        let now = conn.now();
        let mut state = self.lock();
        let toward = PathDirection::leaving(side.peer());
        let place = state.media.iter().position(|media| media.toward == toward)?;
        let receiver = &mut state.media[place].receiver;
        let captured = receiver.captured(header.kind, header.frame)?;
        let packet = header.to_packet(captured, (index, packets), payload);
        if receiver.received(now, &packet) {
            // Without room for it there is congestion, and the receiver asks again.
            let _ = conn.send_datagram(Bytes::from_static(&KEYFRAME_REQUEST));
        }
        let delay = now.since(captured);
        let smallest = state.smallest[place].get_or_insert(delay);
        *smallest = delay.min(*smallest);
        Some(delay.saturating_sub(*smallest))
    }

    /// Accepts the streams that arrive at `side`.
    async fn accept(self, conn: Conn, side: Role) {
        while let Ok(stream) = RawStream::accept_unidirectional(&conn).await {
            conn.spawn(self.clone().read(conn.clone(), side, stream));
        }
    }

    /// Reads the frames of a stream that arrives at `side`.
    async fn read(self, conn: Conn, side: Role, mut stream: RawStream) {
        let mut reader = FrameReader::default();
        // The sender resets a stream that was stopped.
        while let Ok(Some(data)) = stream.read().await {
            let mut latest = None;
            let read = reader.push(&data, |header| {
                latest = self.arrived(&conn, side, &header, (0, 1, header.rest));
            });
            let Ok(payload) = read else { return stream.stop(LATE) };
            self.received(&conn, side, payload);
            if let Framing::StreamPerGroup { cancel_after: Some(after) } = self.framing
                && latest.is_some_and(|late| late > after)
            {
                return stream.stop(LATE);
            }
        }
    }

    /// Fails the visit, unless the connection has ended because the visit has.
    fn failed(&self, conn: &Conn, reason: String) {
        if conn.closed() != Some(ConnectionError::LocallyClosed) {
            self.progress.failed(format!("call: {reason}"));
        }
    }
}

/// Begins a stream, and returns the queue of its frames.
fn stream(conn: &Conn) -> FrameQueue {
    let queue = FrameQueue::default();
    conn.spawn(write_frames(conn.clone(), queue.clone()));
    queue
}

/// Returns the memory that the datagrams of the frame of `packet` take at most.
fn memory(packet: &Packet) -> usize {
    let each = MAX_PAYLOAD as usize + HEADER_BYTES as usize + DATAGRAM_MEMORY;
    usize::from(packet.packets) * each
}

/// Returns the datagram of a packet.
fn datagram(packet: &Packet) -> Bytes {
    let header = Header::of_packet(packet).encode();
    [&header[..], &zeros(packet.payload as usize)].concat().into()
}
