//! System calls that no dependency wraps: ioctls of TUN devices, real-time priority, and TCP socket
//! state.
//!
//! These calls are the only reason for unsafe code here. Every call passes the kernel a borrowed
//! file descriptor, or none, and a value on the stack that outlives the call and has the size that
//! the kernel reads.
#![allow(unsafe_code)]

use nix::libc;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `struct ifreq` as read by `TUNSETIFF`: the name, then flags in a union of 24 bytes.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; libc::IFNAMSIZ],
    flags: libc::c_short,
    rest: [u8; 22],
}

mod ioctls {
    // `_IOW('T', n, int)`, although the argument differs (linux/if_tun.h).
    nix::ioctl_write_ptr_bad!(
        set_interface,
        nix::request_code_write!(b'T', 202, 4),
        super::InterfaceRequest
    );
    nix::ioctl_write_int_bad!(set_offload, nix::request_code_write!(b'T', 208, 4));
}

/// TCP and UDP checksums may be left to the device (linux/if_tun.h).
const TUN_F_CSUM: libc::c_int = 0x01;
const TUN_F_TSO4: libc::c_int = 0x02;
const TUN_F_TSO6: libc::c_int = 0x04;
const TUN_F_TSO_ECN: libc::c_int = 0x08;
const TUN_F_USO4: libc::c_int = 0x20;
const TUN_F_USO6: libc::c_int = 0x40;

/// Turns the open `/dev/net/tun` into the TUN device `name` of the calling thread's network
/// namespace, for IP packets without an Ethernet header, each with a `virtio_net_hdr` of 10 bytes.
pub fn attach_tun(fd: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    let mut request = InterfaceRequest {
        name: [0; libc::IFNAMSIZ],
        flags: (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short,
        rest: [0; 22],
    };
    // The last byte stays zero.
    let length = libc::IFNAMSIZ - 1;
    request.name.iter_mut().take(length).zip(name.bytes()).for_each(|(to, from)| *to = from);
    // SAFETY: see the module's documentation.
    unsafe { ioctls::set_interface(fd.as_raw_fd(), &request) }?;
    Ok(())
}

/// Enables super-packets of TCP with incomplete checksums, and of UDP if supported (Linux 6.2).
/// Returns true if UDP is supported.
pub fn offload(fd: BorrowedFd<'_>) -> io::Result<bool> {
    let tcp = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN;
    // SAFETY: the argument is a number.
    let all = unsafe { ioctls::set_offload(fd.as_raw_fd(), tcp | TUN_F_USO4 | TUN_F_USO6) };
    if all.is_err() {
        // SAFETY: the argument is a number.
        unsafe { ioctls::set_offload(fd.as_raw_fd(), tcp) }?;
    }
    Ok(all.is_ok())
}

/// Real-time priorities of packet threads, and of applications, which packet threads must be able
/// to preempt. Both are low within the available range.
pub const PACKET_THREAD_PRIORITY: libc::c_int = 10;
pub const APPLICATION_PRIORITY: libc::c_int = 5;

/// Gives the calling thread a real-time priority (`SCHED_FIFO`).
pub fn realtime(priority: libc::c_int) -> io::Result<()> {
    // The struct has padding on some systems. SAFETY: all zeroes is a valid value.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = priority;
    // Child processes do not inherit it. SAFETY: see the module's documentation; 0 is the calling
    // thread.
    match unsafe {
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &parameters)
    } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Length of `struct tcp_info` (linux/tcp.h) up to `tcpi_bytes_retrans`, available since Linux
/// 4.19.
pub const TCP_INFO_LENGTH: usize = 216;

/// Returns the state of a TCP socket (`TCP_INFO`, tcp(7)). Fields unknown to an older kernel are
/// zero.
pub fn tcp_info(fd: BorrowedFd<'_>) -> io::Result<[u8; TCP_INFO_LENGTH]> {
    let mut bytes = [0u8; TCP_INFO_LENGTH];
    let mut length = TCP_INFO_LENGTH as libc::socklen_t;
    let into = bytes.as_mut_ptr().cast();
    // SAFETY: the kernel writes at most `length` bytes to an array of that size, and to `length`.
    match unsafe {
        libc::getsockopt(fd.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, into, &mut length)
    } {
        0 => Ok(bytes),
        _ => Err(io::Error::last_os_error()),
    }
}
