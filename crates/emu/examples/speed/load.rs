//! Load generators: senders and receivers of datagrams with minimal overhead.

use crate::Failed;
use bentpipe_emu::{Emulator, client_addresses};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::socket::sockopt::{RcvBuf, RcvBufForce, ReceiveTimestampns, UdpGsoSegment};
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, MultiHeaders, recvmmsg, recvmsg, sendmmsg, setsockopt,
};
use nix::time::{ClockId, clock_gettime};
use std::io::{IoSlice, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Datagrams per system call.
const BATCH: usize = 64;
/// Longest sleep of a paced sender.
const MAX_SLEEP: Duration = Duration::from_micros(200);

/// How a sender passes datagrams to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// Each datagram is a packet of its own, as from many small flows.
    Each,
    /// Many datagrams per call, which the emulator splits (segmentation offload), as from QUIC
    /// servers.
    Gso,
}

/// Pins the calling thread to the first CPU if there are several, and gives it real-time priority
/// below the emulator's if chrt(1) is available and permitted.
///
/// Other load then disturbs the measurement less, and the emulator's thread, woken by a packet,
/// runs on another CPU than the sender.
pub fn important(priority: u8) {
    if thread::available_parallelism().is_ok_and(|processors| processors.get() > 1) {
        let mut first = CpuSet::new();
        let this = nix::unistd::Pid::from_raw(0);
        let allowed = sched_getaffinity(this).unwrap_or_default();
        let lowest = (0..CpuSet::count()).find(|cpu| allowed.is_set(*cpu).unwrap_or(false));
        // Without permission, the measurement runs unpinned.
        let _ = first.set(lowest.unwrap_or(0)).and_then(|()| sched_setaffinity(this, &first));
    }
    let id = nix::unistd::gettid().to_string();
    let _ = Command::new("chrt")
        .args(["-r", "-p", &priority.to_string(), &id])
        .stderr(Stdio::null())
        .status();
}

/// Returns a socket of the server, connected to one of the client, and the client's socket.
pub fn sockets(emulator: &Emulator) -> Result<(UdpSocket, UdpSocket), Failed> {
    let bind = || UdpSocket::bind(("0.0.0.0", 0));
    let server = emulator.testbed().server().inside(bind)??;
    let client = emulator.testbed().client(0)?.inside(bind)??;
    server.connect(SocketAddr::new(client_addresses(0)[0], client.local_addr()?.port()))?;
    client.set_read_timeout(Some(Duration::from_millis(500)))?;
    // Large enough that a receiver without a CPU for a while loses nothing.
    const ROOM: usize = 64 << 20;
    if setsockopt(&client, RcvBufForce, &ROOM).is_err() {
        setsockopt(&client, RcvBuf, &ROOM)?;
    }
    Ok((server, client))
}

/// Sends datagrams of `bytes` for `length`, at the given rate or as fast as possible. Returns their
/// number and the CPU time per datagram.
pub fn send(
    socket: &UdpSocket,
    sender: Sender,
    bytes: usize,
    each_second: Option<u32>,
    length: Duration,
) -> Result<(u64, Duration), Failed> {
    let data = vec![0; bytes * BATCH];
    if sender == Sender::Gso {
        setsockopt(socket, UdpGsoSegment, &i32::try_from(bytes)?)?;
    }
    let single = [IoSlice::new(&data[..bytes])];
    let mut headers = MultiHeaders::<()>::preallocate(BATCH, None);
    let before = Duration::from(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?);
    let (begin, mut sent) = (Instant::now(), 0u64);
    while begin.elapsed() < length {
        let due = match each_second {
            None => BATCH,
            Some(rate) => ((begin.elapsed().as_secs_f64() * f64::from(rate)) as u64)
                .saturating_sub(sent) as usize,
        };
        if due == 0 {
            thread::sleep(MAX_SLEEP);
            continue;
        }
        let count = due.min(BATCH);
        sent += match sender {
            Sender::Gso => (socket.send(&data[..bytes * count])? / bytes) as u64,
            Sender::Each => {
                let slices = vec![&single; count];
                let addresses = vec![None; count];
                sendmmsg(
                    socket.as_raw_fd(),
                    &mut headers,
                    &slices,
                    &addresses,
                    [],
                    MsgFlags::empty(),
                )?
                .count() as u64
            }
        };
    }
    let cpu_time = Duration::from(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?) - before;
    Ok((sent, cpu_time / u32::try_from(sent.max(1))?))
}

/// Receives datagrams until `stop` is set. Returns their number.
pub fn receive_all(socket: &UdpSocket, stop: &AtomicBool) -> u64 {
    let mut headers = MultiHeaders::<()>::preallocate(BATCH, None);
    let (mut buffers, mut received) = (vec![[0; 2048]; BATCH], 0);
    while !stop.load(Ordering::Relaxed) {
        let mut slices: Vec<_> =
            buffers.iter_mut().map(|buffer| [IoSliceMut::new(buffer)]).collect();
        let got =
            recvmmsg(socket.as_raw_fd(), &mut headers, &mut slices, MsgFlags::MSG_WAITFORONE, None);
        received += got.map_or(0, |got| got.count() as u64);
    }
    received
}

/// Bytes of IP packets received in each 10 ms since the first, by the kernel's timestamps and so
/// independent of this thread's delays.
pub fn received_by_time(socket: &UdpSocket, bins: usize) -> Result<Vec<u64>, Failed> {
    setsockopt(socket, ReceiveTimestampns, &true)?;
    let (mut counted, mut first) = (vec![0; bins], None);
    while let Some((at, length)) = receive(socket) {
        let bin = (at - *first.get_or_insert(at)).as_millis() as usize / 10;
        match counted.get_mut(bin) {
            Some(bin) => *bin += length as u64 + 28,
            None => break,
        }
    }
    Ok(counted)
}

/// Returns the next datagram's length, and the time at which the kernel received it.
fn receive(socket: &UdpSocket) -> Option<(Duration, usize)> {
    let mut control = nix::cmsg_space!(nix::sys::time::TimeSpec);
    let mut buffer = [0; 2048];
    let mut parts = [IoSliceMut::new(&mut buffer)];
    let message =
        recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut control), MsgFlags::empty())
            .ok()?;
    let at = message.cmsgs().ok()?.find_map(|control| match control {
        ControlMessageOwned::ScmTimestampns(at) => Some(Duration::from(at)),
        _ => None,
    })?;
    Some((at, message.bytes))
}
