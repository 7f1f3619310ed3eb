//! TUN devices: each is a namespace's interface into the path.
#![allow(clippy::disallowed_methods, reason = "devices and settings of the kernel")]

use crate::error::EmuError;
use crate::namespace::Namespace;
use crate::netlink::Netlink;
use crate::sys;
use nix::libc;
use nix::net::if_::if_nametoindex;
use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Read, Write};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

/// Name of the interface in the namespaces at the ends of the path.
pub const NAME: &str = "bentpipe";
/// Packets, or super-packets, that may wait for the emulator. The kernel drops and counts more.
///
/// Our choice: a hundred times the backlog of a thread without real-time priority, and 30 ms of the
/// smallest packets.
const RING: u32 = 8192;

/// A TUN device, held by its file. It ends when the file is closed.
#[derive(Debug)]
pub struct Tun {
    file: File,
    accepts_udp: bool,
}

impl Tun {
    /// Creates device `name` in `namespace` with these addresses. Routes the networks `to` (address
    /// and prefix length) over it, with the source address of their family.
    pub fn new(
        namespace: &Namespace,
        name: &str,
        mtu: u32,
        addresses: &[IpAddr],
        to: &[(IpAddr, u8)],
    ) -> Result<Self, EmuError> {
        namespace.inside(|| {
            let device = "/dev/net/tun";
            let mut options = OpenOptions::new();
            let options = options.read(true).write(true).custom_flags(libc::O_NONBLOCK);
            let file = options.open(device).map_err(|source| EmuError::NotPermitted {
                what: device,
                source,
                needed: "the tun module (`modprobe tun`); in a container also the device, such as \
                    `--device /dev/net/tun`",
            })?;
            let failed = |what: &str, error: io::Error| {
                EmuError::system(format!("{what} on {device}"), error)
            };
            sys::attach_tun(file.as_fd(), name).map_err(|error| failed("TUNSETIFF", error))?;
            let accepts_udp =
                sys::offload(file.as_fd()).map_err(|error| failed("TUNSETOFFLOAD", error))?;
            let index =
                if_nametoindex(name).map_err(|error| failed("if_nametoindex", error.into()))?;
            let mut netlink = Netlink::open()?;
            // The loopback interface is the first of every namespace.
            netlink.up(1, None)?;
            // Without a link-local address there is no router discovery. A kernel without IPv6 has
            // no such file.
            let quiet = format!("/proc/sys/net/ipv6/conf/{name}/addr_gen_mode");
            let has_v6 = match std::fs::write(&quiet, "1") {
                Err(error) if error.kind() == io::ErrorKind::NotFound => false,
                // With a read-only /proc, the emulator counts link-local packets and does not carry
                // them.
                _ => true,
            };
            netlink.up(index, Some((mtu, RING)))?;
            let is_there = |address: &IpAddr| address.is_ipv4() || has_v6;
            for address in addresses.iter().copied().filter(is_there) {
                netlink.address(index, address)?;
                for (network, bits) in
                    to.iter().filter(|(network, _)| network.is_ipv4() == address.is_ipv4())
                {
                    netlink.route(index, *network, *bits, address)?;
                }
            }
            Ok(Self { file, accepts_udp })
        })?
    }

    /// Reads the next packet that the namespace has sent, with its `virtio_net_hdr`. Returns `None`
    /// if there is none.
    #[inline]
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match (&self.file).read(buffer) {
            Ok(length) => Ok(Some(length)),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Delivers a packet with its `virtio_net_hdr`, in parts. The calling thread does the kernel's
    /// receive processing.
    #[inline]
    pub fn write(&self, packet: &[IoSlice<'_>]) -> io::Result<()> {
        match packet {
            [whole] => (&self.file).write(whole),
            parts => (&self.file).write_vectored(parts),
        }
        .map(drop)
    }

    /// Returns true if UDP super-packets can be written (Linux 6.2 and later).
    pub fn accepts_udp(&self) -> bool {
        self.accepts_udp
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Returns the packets that interface `name` of `namespace` dropped because they were not read in
/// time.
pub fn ring_drops(namespace: &Namespace, name: &str) -> Result<u64, EmuError> {
    let file = "/proc/thread-self/net/dev";
    let text = namespace
        .inside(|| std::fs::read_to_string(file))?
        .map_err(|error| EmuError::system(file, error))?;
    dropped(&text, name)
        .ok_or_else(|| EmuError::system(file, io::Error::from(io::ErrorKind::InvalidData)))
}

/// Reads the transmit `drop` column of interface `name`.
fn dropped(table: &str, name: &str) -> Option<u64> {
    let row =
        table.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'))?;
    row.split_whitespace().nth(11)?.parse().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn drops_are_read_from_the_transmit_column_of_the_interface() {
        let table = "Inter-|   Receive                                                |  \
            Transmit\n \
                     face |bytes    packets errs drop fifo frame compressed multicast|bytes \
                     packets errs drop fifo colls carrier compressed\n    \
                     lo:  1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n\
                     bentpipe: 0 0 0 7 0 0 0 0 84 1 0 42 0 0 0 0\n";
        assert_eq!(super::dropped(table, "bentpipe"), Some(42));
        assert_eq!(super::dropped(table, "bent"), None);
    }
}
