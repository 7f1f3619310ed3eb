//! What loads the path: senders and receivers of datagrams that cost as little as they can.

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

/// Datagrams that a system call sends or receives.
const BATCH: usize = 64;
/// How long a paced sender sleeps at a time.
const MAX_SLEEP: Duration = Duration::from_micros(200);

/// How datagrams are handed to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// Each is a packet of its own from the beginning, as those of many small flows.
    Each,
    /// Many at once, which the emulator cuts (segmentation offload), as QUIC servers do.
    Gso,
}

/// Keeps the calling thread on the first processor where there are several, with real-time priority
/// below the emulator's where chrt(1) is there and permitted: then what else the machine computes
/// disturbs less, and the emulator's thread, which a packet wakes, does not take the processor from
/// the sender but goes to another.
pub fn important(priority: u8) {
    if thread::available_parallelism().is_ok_and(|processors| processors.get() > 1) {
        let mut first = CpuSet::new();
        let this = nix::unistd::Pid::from_raw(0);
        let allowed = sched_getaffinity(this).unwrap_or_default();
        let lowest =
            (0..CpuSet::count()).find(|cpu_time| allowed.is_set(*cpu_time).unwrap_or(false));
        // Where it may not, it is measured as it is.
        let _ = first.set(lowest.unwrap_or(0)).and_then(|()| sched_setaffinity(this, &first));
    }
    let id = nix::unistd::gettid().to_string();
    let _ = Command::new("chrt")
        .args(["-r", "-p", &priority.to_string(), &id])
        .stderr(Stdio::null())
        .status();
}

/// A socket of the server that sends to one of the client, and that one.
pub fn sockets(emulator: &Emulator) -> Result<(UdpSocket, UdpSocket), Failed> {
    let bind = || UdpSocket::bind(("0.0.0.0", 0));
    let server = emulator.testbed().server().inside(bind)??;
    let client = emulator.testbed().client(0).ok_or("no client")?.inside(bind)??;
    server.connect(SocketAddr::new(client_addresses(0)[0], client.local_addr()?.port()))?;
    client.set_read_timeout(Some(Duration::from_millis(500)))?;
    // A receiver that has no processor for a while loses nothing.
    const ROOM: usize = 64 << 20;
    if setsockopt(&client, RcvBufForce, &ROOM).is_err() {
        setsockopt(&client, RcvBuf, &ROOM)?;
    }
    Ok((server, client))
}

/// Sends datagrams of so many bytes for so long, at a rate or as fast as it goes; how many, and the
/// processor time that each took.
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

/// Receives datagrams until it is told to stop; how many.
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

/// Bytes of IP packets received in each hundredth of a second since the first, by the kernel's time
/// stamps, however late this thread is.
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

/// The next datagram's length, and when the kernel received it.
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
