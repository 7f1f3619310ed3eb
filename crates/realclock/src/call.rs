//! A call over UDP sockets: frames are sent and played as in a simulation, by the same code.
//!
//! A packet has as many bytes as RTP gives it. In place of RTP's header it has that of
//! [`bentpipe_media::wire`], which says what was captured when, and the time at which it was sent.
//! A datagram of a header alone asks for a keyframe.

use super::visit_outcome::{ApplicationOutcome, VisitOutcome};
use super::visit_runner::VisitRunner;
use bentpipe_emu::{EmuError, ObjectOutcome, TransferOutcome, receive_datagram};
use bentpipe_media::wire::{HEADER_BYTES, Header};
use bentpipe_media::{HEADERS, MAX_PAYLOAD, Packet, REQUEST_BYTES};
use bentpipe_quic::{IP_HEADER, UDP_HEADER};
use bentpipe_sim::{
    CallTraffic, Direction, FlowSpec, MediaDirection, Visit, call_media, finish_call,
};
use bentpipe_units::{Span, Time};
use std::net::UdpSocket;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of a datagram besides the payload: those of RTP's header.
const HEAD: usize = (HEADERS - IP_HEADER - UDP_HEADER) as usize;
/// Bytes of what says which frame a packet belongs to. The sending time follows.
const FRAME: usize = HEADER_BYTES as usize;
/// Bytes of a keyframe request, which has no payload.
const REQUEST: usize = (REQUEST_BYTES - IP_HEADER - UDP_HEADER) as usize;
const _: () = assert!(REQUEST == HEAD && HEAD == FRAME + size_of::<u32>());

/// A call under way.
struct ActiveCall<'a> {
    runner: VisitRunner<'a>,
    ends: Time,
    /// Direction of the data, whose packets count.
    data: Direction,
    /// Sockets of the client and of the server.
    sockets: [UdpSocket; 2],
    media: Vec<Mutex<MediaDirection>>,
    outcome: Mutex<TransferOutcome>,
}

/// Runs visit number `number` of a flow, from 1.
pub fn visit(
    runner: VisitRunner<'_>,
    flow: &FlowSpec,
    traffic: &CallTraffic,
    (visit, number): (&Visit, u32),
    port: u16,
) -> Result<VisitOutcome, EmuError> {
    let traffic_class = flow.marking.dscp.get() << 2;
    let sockets = runner.emulator.datagram_sockets(flow.terminal, port, traffic_class)?;
    let begin = runner.emulator.now();
    let ends = begin + visit.duration.unwrap_or(runner.spec.time_limit);
    let seed = (runner.spec.seed, runner.spec.run);
    let media = call_media(traffic, (&flow.name, number), (begin, ends), seed, runner.spec.trace);
    let call = ActiveCall {
        runner,
        ends,
        data: visit.direction,
        sockets,
        media: media.into_iter().map(Mutex::new).collect(),
        outcome: Mutex::new(TransferOutcome {
            begin,
            objects: vec![ObjectOutcome::default()],
            ..TransferOutcome::default()
        }),
    };
    std::thread::scope(|scope| {
        for end in 0..call.sockets.len() {
            let call = &call;
            scope.spawn(move || call.receive(end));
        }
        for media in &call.media {
            let call = &call;
            scope.spawn(move || call.send(media));
        }
    });
    let mut outcome = call.outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
    outcome.end = ends.min(runner.emulator.now());
    let media = call.media.into_iter();
    let media = media.map(|one| one.into_inner().unwrap_or_else(PoisonError::into_inner));
    let (call, series) = finish_call(outcome.end, media.collect());
    let application = ApplicationOutcome { call, series, ..ApplicationOutcome::default() };
    Ok(VisitOutcome { application, ..VisitOutcome::new(port, outcome) })
}

/// Returns the index of the socket that sends in a direction.
fn sender(direction: Direction) -> usize {
    match direction {
        Direction::Upload => 0,
        Direction::Download => 1,
    }
}

/// Returns the lower bits of a time in microseconds.
fn stamp(time: Time) -> u32 {
    (time.as_nanos() / 1000) as u32
}

impl ActiveCall<'_> {
    /// Sends the packets of a direction when they are due. Those that are late leave at once.
    fn send(&self, media: &Mutex<MediaDirection>) {
        let VisitRunner { emulator, stop, .. } = self.runner;
        emulator.raise_priority();
        let socket = &self.sockets[sender(lock(media).direction())];
        let mut datagram = [0; HEAD + MAX_PAYLOAD as usize];
        loop {
            let due = lock(media).sender.due().filter(|due| *due < self.ends);
            if due.is_none_or(|due| !emulator.wait_until(due, stop)) {
                return;
            }
            let now = emulator.now();
            let Some(packet) = lock(media).sender.poll(now) else { continue };
            datagram[..FRAME].copy_from_slice(&Header::of_packet(&packet).encode());
            datagram[FRAME..HEAD].copy_from_slice(&stamp(now).to_be_bytes());
            // A datagram that the kernel does not take is one that the path loses.
            let _ = socket.send(&datagram[..HEAD + packet.payload as usize]);
        }
    }

    /// Receives at an end until the call is over.
    fn receive(&self, end: usize) {
        let VisitRunner { emulator, stop, .. } = self.runner;
        emulator.raise_priority();
        let mut buffer = [0; HEAD + MAX_PAYLOAD as usize];
        while emulator.now() < self.ends
            && emulator.is_working()
            && !stop.load(std::sync::atomic::Ordering::Relaxed)
        {
            let Ok(length) = receive_datagram(&self.sockets[end], &mut buffer) else { return };
            let now = emulator.now();
            if let Some(length) = length.filter(|_| now < self.ends) {
                self.received(end, now, &buffer[..length]);
            }
        }
    }

    /// Handles a datagram that has arrived at an end.
    fn received(&self, end: usize, now: Time, datagram: &[u8]) {
        for media in &self.media {
            let mut media = lock(media);
            let is_own = sender(media.direction()) == end;
            if datagram.len() == REQUEST && is_own {
                media.sender.request_keyframe();
            } else if !is_own && let Some((packet, sent)) = packet(&media, datagram) {
                if media.direction() == self.data {
                    let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
                    outcome.received(now, 0, packet.payload.into());
                    let micros = stamp(now).wrapping_sub(sent);
                    outcome.delays.record(Span::from_micros(micros.into()));
                }
                if media.receiver.received(now, &packet) {
                    let _ = self.sockets[end].send(&[0; REQUEST]);
                }
            }
        }
    }
}

/// Reads a packet of a direction, and the time at which it was sent. `None` if it is none.
fn packet(media: &MediaDirection, datagram: &[u8]) -> Option<(Packet, u32)> {
    let header = Header::decode(datagram)?;
    let sent = u32::from_be_bytes(*datagram.get(FRAME..)?.first_chunk()?);
    let payload = u32::try_from(datagram.len().checked_sub(HEAD)?).ok().filter(|&size| size > 0)?;
    let captured = media.receiver.captured(header.kind, header.frame)?;
    Some((header.to_packet(captured, header.packet(), payload), sent))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
