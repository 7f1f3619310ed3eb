//! Transfers over the kernel's TCP between the namespaces. They correspond to the simulator's bare
//! exchanges.
//!
//! A client connects and requests each object with 17 bytes (direction, number, size). For a
//! download it then receives that many bytes; for an upload it sends them and receives one byte as
//! a response. Both ends are threads of this process with sockets in the namespaces; they count and
//! discard the received bytes.

use crate::clock::pause;
use crate::emulator::{Emulator, client_addresses, server_addresses};
use crate::error::EmuError;
use crate::sys;
use bentpipe_timeseries::{SpanHistogram, TenthCounts};
use bentpipe_units::{Bytes, Span, Time};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::sockopt::{ReuseAddr, SocketError, TcpCongestion, TcpNoDelay};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrStorage, accept4, bind, connect,
    getsockopt, listen, setsockopt, socket,
};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Interval at which blocked calls check whether to give up.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// Interval between samples of the sender's socket.
const SAMPLE: Span = Span::from_millis(20);
/// Maximum number of samples; later ones are dropped.
const MAX_SAMPLES: usize = 500_000;
/// Time for which the server waits for the client's last segment after the client has ended.
const GRACE: Span = Span::from_secs(3);
/// Bytes per read or write.
const CHUNK: usize = 256 * 1024;
/// Size of a request: direction, number, size.
const REQUEST: usize = 17;
/// Tenths of a second of a day: bytes that arrive later are not counted by tenth.
const MAX_TENTHS: usize = 864_000;

/// An object, requested once the objects in `after` are complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferObject {
    /// Size of the object.
    pub bytes: Bytes,
    /// Indices of objects that must be complete first.
    pub after: Vec<usize>,
    /// Time from the completion of the last of those to the request.
    pub delay: Span,
}

/// A transfer over one connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// Index of the client.
    pub client: usize,
    /// The server's port.
    pub port: u16,
    /// Congestion control of both ends, by its name in the kernel (`TCP_CONGESTION`, tcp(7)).
    pub congestion: String,
    /// True if the client sends the objects.
    pub upload: bool,
    /// The objects, transferred one after the other.
    pub objects: Vec<TransferObject>,
    /// Duration after which the transfer ends, even if incomplete. `None`: until complete.
    pub duration: Option<Span>,
    /// Link time at which the transfer is given up.
    pub deadline: Time,
}

/// Result of one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ObjectOutcome {
    /// Time of the request.
    pub requested: Option<Time>,
    /// Bytes of content that reached the receiver's application.
    pub received: u64,
    /// Time at which the client had completed it.
    pub completed: Option<Time>,
}

/// State of a socket (`struct tcp_info`, linux/tcp.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SocketState {
    /// Smoothed RTT.
    pub smoothed_rtt: Span,
    /// Minimum RTT of the connection.
    pub min_rtt: Option<Span>,
    /// Congestion window.
    pub cwnd: Bytes,
    /// Slow-start threshold; `None` until it is set.
    pub ssthresh: Option<Bytes>,
    /// Bytes in flight.
    pub in_flight: Bytes,
    /// Pacing rate in bytes per second; `None` without pacing.
    pub pacing: Option<u64>,
    /// Retransmitted segments.
    pub retransmitted: u64,
    /// Time during which the receive window or the send buffer limited the sender.
    pub blocked: Span,
}

/// Result of a transfer, with link times.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TransferOutcome {
    /// Time at which the client requested the connection.
    pub begin: Time,
    /// Time at which the connection was established at the client.
    pub open: Option<Time>,
    /// Time at which the first byte of an object reached the receiver's application.
    pub first_byte: Option<Time>,
    /// The objects in order.
    pub objects: Vec<ObjectOutcome>,
    /// Bytes of objects received in each tenth of a second since the start of the links.
    pub received_by_tenth: TenthCounts,
    /// Samples of the data sender's socket. The last one is taken at its end.
    pub samples: Vec<(Time, SocketState)>,
    /// RTTs of echoed datagrams, with their times of arrival.
    pub rtts: Vec<(Time, Span)>,
    /// One-way delays of datagrams that were not echoed.
    pub delays: SpanHistogram,
    /// Time at which the client ended.
    pub end: Time,
    /// Error that ended the transfer, if any.
    pub error: Option<String>,
}

impl TransferOutcome {
    /// Counts bytes of object `number` that arrived at `now`.
    pub fn received(&mut self, now: Time, number: usize, bytes: u64) {
        let tenth = (now.as_nanos() / 100_000_000) as usize;
        self.first_byte = self.first_byte.or(Some(now));
        if let Some(object) = self.objects.get_mut(number) {
            object.received += bytes;
        }
        if tenth < MAX_TENTHS {
            self.received_by_tenth.add(tenth, bytes);
        }
    }
}

/// State shared by both ends.
struct TransferState<'a> {
    emulator: &'a Emulator,
    transfer: &'a Transfer,
    stop: &'a AtomicBool,
    /// Set when the client has ended.
    ended: AtomicBool,
    outcome: Mutex<TransferOutcome>,
}

/// Reason why an end stops.
enum Stop {
    /// The time limit was reached, or the emulation ended.
    Over,
    /// A socket failed.
    Failed(&'static str, io::Error),
}

type Step<T> = Result<T, Stop>;

impl Emulator {
    /// Runs `transfer` with kernel sockets and waits for its end. Set `stop` to end it early.
    ///
    /// # Errors
    /// The client does not exist, a socket cannot be created, or the congestion control is unknown.
    /// Errors of an established connection are in [`TransferOutcome::error`].
    pub fn transfer(
        &self,
        transfer: &Transfer,
        stop: &AtomicBool,
    ) -> Result<TransferOutcome, EmuError> {
        let client_side = self.testbed().client(transfer.client)?;
        let (server, client) = (server_addresses()[0], client_addresses(transfer.client)[0]);
        let make =
            |what: &'static str| move |error: Errno| EmuError::system(what, io::Error::from(error));
        let listener = self.testbed().server().inside(|| listener(server, transfer))?;
        let listener = listener.map_err(make("creating a listening TCP socket"))?;
        let socket = client_side
            .inside(|| connector(client, transfer))?
            .map_err(make("creating a TCP socket"))?;

        let outcome = TransferOutcome {
            begin: self.now(),
            objects: vec![ObjectOutcome::default(); transfer.objects.len()],
            ..TransferOutcome::default()
        };
        let ended = AtomicBool::new(false);
        let notes =
            TransferState { emulator: self, transfer, stop, ended, outcome: Mutex::new(outcome) };
        std::thread::scope(|scope| {
            let serving = scope.spawn(|| {
                self.raise_priority();
                notes.serve(&listener)
            });
            let fetching = scope.spawn(|| {
                self.raise_priority();
                let fetched = notes.fetch(socket, SocketAddr::new(server, transfer.port));
                notes.ended.store(true, Ordering::Relaxed);
                fetched
            });
            let panicked =
                || Err(Stop::Failed("running a thread", io::Error::other("it panicked")));
            let fetched = fetching.join().unwrap_or_else(|_| panicked());
            notes.ended.store(true, Ordering::Relaxed);
            let served = serving.join().unwrap_or_else(|_| panicked());
            notes.finish(fetched, served);
        });
        Ok(notes.outcome.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

/// Creates the server's socket. Accepted connections inherit its congestion control.
fn listener(address: IpAddr, transfer: &Transfer) -> nix::Result<OwnedFd> {
    let fd = tcp_socket(transfer)?;
    setsockopt(&fd, ReuseAddr, &true)?;
    bind(fd.as_raw_fd(), &SockaddrStorage::from(SocketAddr::new(address, transfer.port)))?;
    listen(&fd, Backlog::new(16)?)?;
    Ok(fd)
}

/// Creates the client's socket.
fn connector(address: IpAddr, transfer: &Transfer) -> nix::Result<OwnedFd> {
    let fd = tcp_socket(transfer)?;
    bind(fd.as_raw_fd(), &SockaddrStorage::from(SocketAddr::new(address, 0)))?;
    Ok(fd)
}

fn tcp_socket(transfer: &Transfer) -> nix::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let fd = socket(AddressFamily::Inet, SockType::Stream, flags, None)?;
    setsockopt(&fd, TcpCongestion, &transfer.congestion.clone().into())?;
    Ok(fd)
}

/// Wraps a connection so that reads and writes block for at most [`STOP_CHECK_INTERVAL`].
fn stream(fd: OwnedFd) -> io::Result<TcpStream> {
    setsockopt(&fd, TcpNoDelay, &true)?;
    let stream = TcpStream::from(fd);
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(STOP_CHECK_INTERVAL))?;
    stream.set_write_timeout(Some(STOP_CHECK_INTERVAL))?;
    Ok(stream)
}

impl TransferState<'_> {
    fn update<T>(&self, change: impl FnOnce(&mut TransferOutcome) -> T) -> T {
        change(&mut self.outcome.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Returns an error if the transfer must stop.
    fn check_stop(&self) -> Step<()> {
        let over = self.stop.load(Ordering::Relaxed) || self.emulator.now() >= self.deadline() || {
            !self.emulator.is_working()
        };
        if over { Err(Stop::Over) } else { Ok(()) }
    }

    /// Link time at which the transfer ends at the latest.
    fn deadline(&self) -> Time {
        let duration =
            self.transfer.duration.map(|duration| self.update(|outcome| outcome.begin) + duration);
        duration.map_or(self.transfer.deadline, |end| end.min(self.transfer.deadline))
    }

    /// Runs the client.
    fn fetch(&self, fd: OwnedFd, to: SocketAddr) -> Step<()> {
        let failed = |error: Errno| Stop::Failed("connecting", error.into());
        match connect(fd.as_raw_fd(), &SockaddrStorage::from(to)) {
            Ok(()) | Err(Errno::EINPROGRESS) => {}
            Err(error) => return Err(failed(error)),
        }
        while !ready(&fd, PollFlags::POLLOUT).map_err(failed)? {
            self.check_stop()?;
        }
        match getsockopt(&fd, SocketError).map_err(failed)? {
            0 => {}
            error => return Err(Stop::Failed("connecting", io::Error::from_raw_os_error(error))),
        }
        self.update(|outcome| outcome.open = Some(self.emulator.now()));
        let mut stream = stream(fd).map_err(|error| Stop::Failed("the client's socket", error))?;
        let sampled = stream.try_clone().ok().filter(|_| self.transfer.upload);
        std::thread::scope(|scope| {
            if let Some(sampled) = sampled {
                scope.spawn(move || self.sample(&sampled));
            }
            let all = self.request_all(&mut stream);
            // Also when a transfer of fixed duration has run out of time.
            self.ended.store(true, Ordering::Relaxed);
            all
        })
    }

    fn request_all(&self, stream: &mut TcpStream) -> Step<()> {
        let mut buffer = vec![0; CHUNK];
        for (number, object) in self.transfer.objects.iter().enumerate() {
            let before = self.update(|outcome| {
                let ends =
                    object.after.iter().filter_map(|&index| outcome.objects.get(index)?.completed);
                ends.max()
            });
            let due = before.unwrap_or(Time::ZERO) + object.delay;
            while self.emulator.now() < due {
                self.check_stop()?;
                pause(due.since(self.emulator.now()).min(SAMPLE));
            }
            self.update(|outcome| outcome.objects[number].requested = Some(self.emulator.now()));
            let mut request = [0; REQUEST];
            request[0] = u8::from(self.transfer.upload);
            request[1..9].copy_from_slice(&(number as u64).to_be_bytes());
            request[9..].copy_from_slice(&object.bytes.get().to_be_bytes());
            self.send(stream, &request)?;
            if self.transfer.upload {
                self.send_content(stream, object.bytes.get())?;
            }
            // The response to uploads and empty objects is one byte.
            if self.transfer.upload || object.bytes.is_zero() {
                self.receive(stream, &mut buffer[..1])?;
            } else {
                self.receive_content(stream, &mut buffer, number, object.bytes.get())?;
            }
            self.update(|outcome| outcome.objects[number].completed = Some(self.emulator.now()));
        }
        Ok(())
    }

    /// Runs the server for one connection.
    fn serve(&self, listener: &OwnedFd) -> Step<()> {
        let failed = |error: Errno| Stop::Failed("accepting a connection", error.into());
        while !ready(listener, PollFlags::POLLIN).map_err(failed)? {
            self.check_stop()?;
            self.check_grace(None)?;
        }
        let fd = accept4(listener.as_raw_fd(), SockFlag::SOCK_CLOEXEC).map_err(failed)?;
        let mut stream =
            stream(owned(fd)).map_err(|error| Stop::Failed("the server's socket", error))?;
        let sampled = stream.try_clone().ok().filter(|_| !self.transfer.upload);
        std::thread::scope(|scope| {
            if let Some(sampled) = sampled {
                scope.spawn(move || self.sample(&sampled));
            }
            let answered = self.serve_all(&mut stream);
            // The sampler ends with the client. If the server fails first, the sampler must end
            // too.
            if answered.is_err() {
                self.ended.store(true, Ordering::Relaxed);
            }
            answered
        })
    }

    fn serve_all(&self, stream: &mut TcpStream) -> Step<()> {
        let mut buffer = vec![0; CHUNK];
        loop {
            let mut request = [0; REQUEST];
            if !self.receive_or_end(stream, &mut request)? {
                return Ok(());
            }
            let word = |at: usize| {
                let mut bytes = [0; 8];
                bytes.copy_from_slice(&request[at..at + 8]);
                u64::from_be_bytes(bytes)
            };
            // The request sent by `request_all`.
            let (number, bytes) = (word(1) as usize, word(9));
            if self.transfer.upload {
                self.receive_content(stream, &mut buffer, number, bytes)?;
                self.send(stream, &[0])?;
            } else if bytes == 0 {
                self.send(stream, &[0])?;
            } else {
                self.send_content(stream, bytes)?;
            }
        }
    }

    fn send_content(&self, stream: &mut TcpStream, bytes: u64) -> Step<()> {
        let content = vec![0; CHUNK];
        let mut left = bytes;
        while left > 0 {
            let next = left.min(CHUNK as u64);
            self.send(stream, &content[..next as usize])?;
            left -= next;
        }
        Ok(())
    }

    fn send(&self, stream: &mut TcpStream, mut bytes: &[u8]) -> Step<()> {
        while !bytes.is_empty() {
            match stream.write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if waits(&error) => self.check_stop()?,
                Err(error) => return Err(Stop::Failed("sending", error)),
            }
        }
        Ok(())
    }

    fn receive_content(
        &self,
        stream: &mut TcpStream,
        buffer: &mut [u8],
        number: usize,
        bytes: u64,
    ) -> Step<()> {
        let mut left = bytes;
        while left > 0 {
            let most = left.min(buffer.len() as u64) as usize;
            match stream.read(&mut buffer[..most]) {
                Ok(0) => return Err(Stop::Failed("receiving", ErrorKind::UnexpectedEof.into())),
                Ok(read) => {
                    left -= read as u64;
                    self.received(number, read as u64);
                    if self.transfer.duration.is_some() {
                        self.check_stop()?;
                    }
                }
                Err(error) if waits(&error) => self.check_stop()?,
                Err(error) => return Err(Stop::Failed("receiving", error)),
            }
        }
        Ok(())
    }

    /// Counts received bytes of an object.
    fn received(&self, number: usize, bytes: u64) {
        let now = self.emulator.now();
        self.update(|outcome| outcome.received(now, number, bytes));
    }

    fn receive(&self, stream: &mut TcpStream, into: &mut [u8]) -> Step<()> {
        if self.receive_or_end(stream, into)? {
            return Ok(());
        }
        Err(Stop::Failed("receiving", ErrorKind::UnexpectedEof.into()))
    }

    /// Fills `into`. Returns false if the peer has closed the connection.
    fn receive_or_end(&self, stream: &mut TcpStream, into: &mut [u8]) -> Step<bool> {
        let (mut filled, mut waited_from) = (0, None);
        while filled < into.len() {
            match stream.read(&mut into[filled..]) {
                Ok(0) if filled == 0 => return Ok(false),
                Ok(0) => return Err(Stop::Failed("receiving", ErrorKind::UnexpectedEof.into())),
                Ok(read) => filled += read,
                Err(error) if waits(&error) => {
                    self.check_stop()?;
                    waited_from = waited_from
                        .or(self.ended.load(Ordering::Relaxed).then(|| self.emulator.now()));
                    self.check_grace(waited_from)?;
                }
                Err(error) => return Err(Stop::Failed("receiving", error)),
            }
        }
        Ok(true)
    }

    /// Returns an error once the grace period after the client's end is over.
    fn check_grace(&self, from: Option<Time>) -> Step<()> {
        let now = self.emulator.now();
        let ended = self.ended.load(Ordering::Relaxed);
        if ended && from.is_none_or(|from| now.since(from) > GRACE) {
            Err(Stop::Over)
        } else {
            Ok(())
        }
    }

    /// Samples the data sender's socket until the client has ended.
    fn sample(&self, stream: &TcpStream) {
        loop {
            let ended = self.ended.load(Ordering::Relaxed);
            if let Some(state) = socket_state(stream.as_fd()) {
                let sample = (self.emulator.now(), state);
                self.update(|outcome| {
                    if outcome.samples.len() < MAX_SAMPLES {
                        outcome.samples.push(sample);
                    }
                });
            }
            if ended || self.check_stop().is_err() {
                return;
            }
            pause(SAMPLE);
        }
    }

    /// Records how the transfer ended.
    fn finish(&self, fetched: Step<()>, served: Step<()>) {
        let given_up = self.emulator.now() >= self.transfer.deadline;
        let error = match (fetched, served) {
            (Ok(()), _) => None,
            (Err(Stop::Over), Err(Stop::Failed(what, error)))
                if self.transfer.duration.is_none() =>
            {
                Some(format!("{what}: {error}"))
            }
            (Err(Stop::Over), _) if given_up => Some("given up at the time limit".to_owned()),
            (Err(Stop::Over), _) => None,
            (Err(Stop::Failed(what, error)), _) => Some(format!("{what}: {error}")),
        };
        self.update(|outcome| {
            outcome.end = self.emulator.now();
            outcome.error = error;
        });
    }
}

/// Takes ownership of a descriptor that the kernel has just created.
#[allow(unsafe_code)]
fn owned(fd: std::os::fd::RawFd) -> OwnedFd {
    // SAFETY: `accept4` has returned it, and nothing else owns it.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// Returns true if `fd` becomes ready within [`STOP_CHECK_INTERVAL`].
fn ready(fd: &OwnedFd, flags: PollFlags) -> nix::Result<bool> {
    let mut fds = [PollFd::new(fd.as_fd(), flags)];
    let timeout = PollTimeout::from(STOP_CHECK_INTERVAL.as_millis() as u8);
    match poll(&mut fds, timeout) {
        Ok(0) | Err(Errno::EINTR) => Ok(false),
        Ok(_) => Ok(true),
        Err(error) => Err(error),
    }
}

fn waits(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Returns the state of a TCP socket. `None` if it is not one.
pub fn socket_state(socket: BorrowedFd<'_>) -> Option<SocketState> {
    sys::tcp_info(socket).ok().map(|info| state(&info))
}

/// Reads the fields of `struct tcp_info` at their offsets.
fn state(info: &[u8; sys::TCP_INFO_LENGTH]) -> SocketState {
    let word = |at: usize| {
        u64::from(u32::from_ne_bytes([info[at], info[at + 1], info[at + 2], info[at + 3]]))
    };
    let long = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&info[at..at + 8]);
        u64::from_ne_bytes(bytes)
    };
    let segment = word(16);
    // `tcp_packets_in_flight`: outstanding, less SACKed and lost, plus retransmitted.
    let in_flight = (word(24) + word(36)).saturating_sub(word(28) + word(32));
    let (min_rtt, ssthresh, pacing) = (word(148), word(76), long(104));
    SocketState {
        smoothed_rtt: Span::from_micros(word(68)),
        // The maximum value means that there is no sample yet.
        min_rtt: (min_rtt != u64::from(u32::MAX)).then(|| Span::from_micros(min_rtt)),
        cwnd: Bytes::new(word(80) * segment),
        // `TCP_INFINITE_SSTHRESH`.
        ssthresh: (ssthresh < 0x7fff_ffff).then(|| Bytes::new(ssthresh * segment)),
        in_flight: Bytes::new(in_flight * segment),
        pacing: (pacing != u64::MAX).then_some(pacing),
        retransmitted: word(100),
        blocked: Span::from_micros(long(176).saturating_add(long(184))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_by_the_tenth_in_which_they_arrive_for_a_day() {
        let mut outcome =
            TransferOutcome { objects: vec![ObjectOutcome::default()], ..Default::default() };
        for (ms, bytes) in [(5_040, 1), (5_090, 2), (5_300, 3), (86_400_000, 4)] {
            outcome.received(Time::from_millis(ms), 0, bytes);
        }
        assert_eq!(outcome.objects[0].received, 10);
        let counted: Vec<_> = outcome.received_by_tenth.iter().collect();
        assert_eq!(counted, [(50, 3), (51, 0), (52, 0), (53, 3)]);
    }
}
