//! Configures addresses and routes of the calling thread's network namespace over rtnetlink (RFC
//! 3549, rtnetlink(7)), without the `ip` command.

use crate::error::EmuError;
use nix::libc;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket,
};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};

/// Attributes of `linux/if_link.h`, `linux/if_addr.h` and `linux/rtnetlink.h`.
mod attribute {
    pub const IFLA_MTU: u16 = 4;
    pub const IFLA_TXQLEN: u16 = 13;
    pub const IFA_ADDRESS: u16 = 1;
    pub const IFA_LOCAL: u16 = 2;
    pub const RTA_DST: u16 = 1;
    pub const RTA_OIF: u16 = 4;
    pub const RTA_PREFSRC: u16 = 7;
}

/// Disables duplicate address detection: no other host exists.
const IFA_F_NODAD: u8 = 0x02;

/// A netlink socket of one network namespace.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

impl Netlink {
    /// Opens a socket in the namespace of the calling thread.
    pub fn open() -> Result<Self, EmuError> {
        socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkRoute,
        )
        .map(|socket| Self { socket, sequence: 0 })
        .map_err(|error| EmuError::system("opening a netlink socket", error))
    }

    /// Brings up interface `index`, with an MTU and a transmit queue length if given.
    pub fn up(&mut self, index: u32, size: Option<(u32, u32)>) -> Result<(), EmuError> {
        let mut body = vec![0; 4];
        body.extend(index.to_ne_bytes());
        let up = libc::IFF_UP as u32;
        body.extend(up.to_ne_bytes());
        body.extend(up.to_ne_bytes());
        if let Some((mtu, queue)) = size {
            add(&mut body, attribute::IFLA_MTU, &mtu.to_ne_bytes());
            add(&mut body, attribute::IFLA_TXQLEN, &queue.to_ne_bytes());
        }
        self.request(libc::RTM_NEWLINK, 0, &body)
            .map_err(|error| EmuError::system(format!("interface {index}: up"), error))
    }

    /// Assigns a host address (/32 or /128) to interface `index`.
    pub fn address(&mut self, index: u32, address: IpAddr) -> Result<(), EmuError> {
        let (family, bits, octets) = parts(address);
        let mut body = vec![family, bits, IFA_F_NODAD, 0];
        body.extend(index.to_ne_bytes());
        add(&mut body, attribute::IFA_LOCAL, &octets);
        add(&mut body, attribute::IFA_ADDRESS, &octets);
        self.request(libc::RTM_NEWADDR, libc::NLM_F_CREATE | libc::NLM_F_EXCL, &body)
            .map_err(|error| EmuError::system(format!("address {address}"), error))
    }

    /// Routes `to` (its first `bits` bits) over interface `index`, with `source` as the preferred
    /// source address.
    pub fn route(
        &mut self,
        index: u32,
        to: IpAddr,
        bits: u8,
        source: IpAddr,
    ) -> Result<(), EmuError> {
        let (family, _, octets) = parts(to);
        let (_, _, source_octets) = parts(source);
        let mut body = vec![
            family,
            bits,
            0,
            0,
            libc::RT_TABLE_MAIN,
            libc::RTPROT_STATIC,
            libc::RT_SCOPE_UNIVERSE,
            libc::RTN_UNICAST,
        ];
        body.extend(0u32.to_ne_bytes());
        if bits > 0 {
            add(&mut body, attribute::RTA_DST, &octets);
        }
        add(&mut body, attribute::RTA_OIF, &index.to_ne_bytes());
        add(&mut body, attribute::RTA_PREFSRC, &source_octets);
        self.request(libc::RTM_NEWROUTE, libc::NLM_F_CREATE | libc::NLM_F_EXCL, &body)
            .map_err(|error| EmuError::system(format!("adding a route to {to}/{bits}"), error))
    }

    /// Sends a request and waits for its acknowledgement.
    fn request(&mut self, kind: u16, flags: i32, body: &[u8]) -> io::Result<()> {
        self.sequence += 1;
        let length = (HEADER + body.len()) as u32;
        let flags = (flags | libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
        let mut message = Vec::with_capacity(length as usize);
        message.extend(length.to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend(flags.to_ne_bytes());
        message.extend(self.sequence.to_ne_bytes());
        message.extend(0u32.to_ne_bytes());
        message.extend(body);
        send(self.socket.as_raw_fd(), &message, MsgFlags::empty())?;
        let mut answer = [0; 4096];
        let length = recv(self.socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        netlink_result(&answer[..length.min(answer.len())], self.sequence)
    }
}

/// Length of `struct nlmsghdr`.
const HEADER: usize = 16;

/// Returns the result of request `sequence` in a response: `NLMSG_ERROR` with number 0 means
/// success.
fn netlink_result(answer: &[u8], sequence: u32) -> io::Result<()> {
    let word = |at: usize| {
        answer.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_ne_bytes)
    };
    let kind = answer.get(4..6).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    match (kind.map(i32::from), word(8), word(HEADER)) {
        (Some(libc::NLMSG_ERROR), Some(of), Some(0)) if of == sequence => Ok(()),
        (Some(libc::NLMSG_ERROR), Some(of), Some(error)) if of == sequence => {
            Err(io::Error::from_raw_os_error((error as i32).saturating_neg()))
        }
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "netlink response to another request")),
    }
}

/// Family, length in bits and octets of an address.
fn parts(address: IpAddr) -> (u8, u8, Vec<u8>) {
    match address {
        IpAddr::V4(address) => (libc::AF_INET as u8, 32, address.octets().to_vec()),
        IpAddr::V6(address) => (libc::AF_INET6 as u8, 128, address.octets().to_vec()),
    }
}

/// Appends a `struct rtattr` with its value, aligned to four bytes.
fn add(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
    body.extend((4 + value.len() as u16).to_ne_bytes());
    body.extend(kind.to_ne_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(kind: u16, sequence: u32, error: i32) -> Vec<u8> {
        let mut bytes = 20u32.to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(0u16.to_ne_bytes());
        bytes.extend(sequence.to_ne_bytes());
        bytes.extend(0u32.to_ne_bytes());
        bytes.extend(error.to_ne_bytes());
        bytes
    }

    #[test]
    fn a_response_must_match_its_request() {
        assert!(netlink_result(&answer(2, 7, 0), 7).is_ok());
        assert!(netlink_result(&answer(2, 6, 0), 7).is_err());
        assert!(netlink_result(&answer(3, 7, 0), 7).is_err());
        assert!(netlink_result(&answer(2, 7, 0)[..19], 7).is_err());
        assert_eq!(
            netlink_result(&answer(2, 7, -17), 7).unwrap_err().raw_os_error(),
            Some(libc::EEXIST)
        );
    }

    #[test]
    fn attributes_are_aligned_to_four_bytes() {
        let mut body = vec![0; 8];
        add(&mut body, 1, &[1, 2, 3, 4, 5]);
        assert_eq!(body.len(), 20);
        assert_eq!(body[8..10], 9u16.to_ne_bytes());
    }
}
