//! Messages between the two processes: packets of a pair of Unix sockets, with descriptors
//! (SCM_RIGHTS, unix(7)).

use super::error::HandOverError;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
    sockopt,
};
use serde::{Deserialize, Serialize};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::spawn_blocking;

/// Version of the messages. A process refuses others.
pub(super) const VERSION: u32 = 1;
/// The new process could serve.
pub(super) const READY: &str = "ready";
/// The old process no longer reads.
pub(super) const YOURS: &str = "yours";
/// The new process reads.
pub(super) const SERVING: &str = "serving";

/// Longest time of each step. Our choice: a start takes milliseconds, and a service manager waits
/// longer for a sign of life.
const LIMIT: Duration = Duration::from_secs(10);
/// Longest message, bytes.
const LONGEST: usize = 4096;
/// Descriptors of one message: the kernel takes 253 (SCM_MAX_FD).
const DESCRIPTORS: usize = 64;
/// Buffers of a pair that carries datagrams, bytes. The kernel grants at most its `wmem_max`.
const BUFFER: usize = 4 * 1024 * 1024;

/// What the old process says of what it hands over. The descriptors follow, in this order.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Will {
    /// Version of the messages.
    pub hand_over: u32,
    /// UDP sockets, one for each thread.
    pub sockets: usize,
    /// 1 if there is a listener for metrics.
    pub metrics: usize,
    /// Generations of processes that get datagrams passed on, the old one first.
    pub generations: Vec<u8>,
    /// Keys of the steering.
    pub keys: [u32; 5],
}

impl Will {
    /// Returns the number of descriptors that follow.
    pub fn descriptors(&self) -> usize {
        self.sockets.saturating_add(self.metrics).saturating_add(self.generations.len())
    }
}

/// Returns a pair of connected sockets that keeps messages apart and in order.
pub(super) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let kind = SocketType::SEQPACKET;
    Ok(socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?)
}

/// Returns a pair for datagrams: the end that sends, and the one that receives.
pub(super) fn datagram_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (sending, receiving) = pair()?;
    // Smaller buffers work as well, with more loss under load.
    let _ = sockopt::set_socket_send_buffer_size(&sending, BUFFER);
    Ok((sending, receiving))
}

/// One end of the conversation. Its calls wait, at most [`LIMIT`] each.
#[derive(Debug)]
pub(super) struct Conversation(OwnedFd);

impl Conversation {
    /// # Errors
    /// `socket` is none.
    pub fn new(socket: OwnedFd) -> io::Result<Self> {
        for direction in [sockopt::Timeout::Recv, sockopt::Timeout::Send] {
            sockopt::set_socket_timeout(&socket, direction, Some(LIMIT))?;
        }
        Ok(Self(socket))
    }

    /// Does `ask` on a thread that may wait.
    pub async fn ask<T: Send + 'static>(
        self: &Arc<Self>,
        ask: impl FnOnce(&Self) -> Result<T, HandOverError> + Send + 'static,
    ) -> Result<T, HandOverError> {
        let conversation = self.clone();
        let asked = spawn_blocking(move || ask(&conversation)).await;
        asked.unwrap_or_else(|ended| Err(io::Error::other(ended).into()))
    }

    /// Says `text`.
    pub fn say(&self, text: &str) -> io::Result<()> {
        self.send(text.as_bytes(), &[])
    }

    /// Waits for `expected`.
    pub fn expect(&self, expected: &'static str) -> Result<(), HandOverError> {
        let (said, _) = self.receive()?;
        if said == expected.as_bytes() {
            Ok(())
        } else {
            Err(HandOverError::unexpected(&said, expected))
        }
    }

    /// Sends the will, and then the descriptors.
    pub fn bequeath(&self, will: &Will, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        self.send(serde_json::to_string(will)?.as_bytes(), &[])?;
        descriptors.chunks(DESCRIPTORS).try_for_each(|some| self.send(b"+", some))
    }

    /// Receives a will, and then the descriptors.
    pub fn inherit(&self) -> Result<(Will, Vec<OwnedFd>), HandOverError> {
        const EXPECTED: &str = "a hand-over of version 1";
        let (said, _) = self.receive()?;
        let will: Will = serde_json::from_slice(&said)
            .map_err(|_| HandOverError::unexpected(&said, EXPECTED))?;
        if will.hand_over != VERSION || will.sockets == 0 || will.sockets > 255 {
            return Err(HandOverError::unexpected(&said, EXPECTED));
        }
        let mut descriptors = Vec::new();
        while descriptors.len() < will.descriptors() {
            let (said, some) = self.receive()?;
            if some.is_empty() {
                return Err(HandOverError::unexpected(&said, EXPECTED));
            }
            descriptors.extend(some);
        }
        Ok((will, descriptors))
    }

    fn send(&self, data: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let flags = SendFlags::NOSIGNAL;
        sendmsg(&self.0, &[IoSlice::new(data)], &mut control, flags)?;
        Ok(())
    }

    fn receive(&self) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
        let mut data = vec![0; LONGEST];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut slices = [IoSliceMut::new(&mut data)];
        let flags = RecvFlags::CMSG_CLOEXEC;
        let received = recvmsg(&self.0, &mut slices, &mut control, flags)?;
        if received.bytes == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let descriptors = control.drain().flat_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => descriptors.collect(),
            _ => Vec::new(),
        });
        let descriptors = descriptors.collect();
        data.truncate(received.bytes);
        Ok((data, descriptors))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    fn conversation() -> (Conversation, Conversation) {
        let (one, other) = pair().unwrap();
        (Conversation::new(one).unwrap(), Conversation::new(other).unwrap())
    }

    #[test]
    fn descriptors_arrive_in_their_order() {
        let (old, new) = conversation();
        let files: Vec<_> = (0..150).map(|_| tempfile::tempfile().unwrap()).collect();
        for (number, file) in files.iter().enumerate() {
            file.set_len(number as u64).unwrap();
        }
        let will = Will {
            hand_over: VERSION,
            sockets: 147,
            metrics: 1,
            generations: vec![3, 7],
            keys: [1, 2, 3, 4, 5],
        };
        let descriptors: Vec<_> = files.iter().map(AsFd::as_fd).collect();
        old.bequeath(&will, &descriptors).unwrap();
        let (received, descriptors) = new.inherit().unwrap();
        assert_eq!((received.generations, received.keys), (vec![3, 7], [1, 2, 3, 4, 5]));
        let lengths = descriptors
            .into_iter()
            .map(|descriptor| std::fs::File::from(descriptor).metadata().unwrap().len());
        assert_eq!(lengths.collect::<Vec<_>>(), (0..150).collect::<Vec<_>>());
    }

    #[test]
    fn another_version_and_nonsense_are_refused() {
        for said in [
            "nonsense",
            "{}",
            r#"{"hand_over":2,"sockets":1,"metrics":0,"generations":[],"keys":[0,0,0,0,0]}"#,
        ] {
            let (old, new) = conversation();
            old.say(said).unwrap();
            let error = new.inherit().unwrap_err().to_string();
            assert!(error.contains("expected: \"a hand-over of version 1\""), "{error}");
        }
        let (old, new) = conversation();
        old.say("other").unwrap();
        let error = new.expect(YOURS).unwrap_err().to_string();
        assert_eq!(error, r#"the other process says "other"; expected: "yours""#);
        drop(old);
        assert!(matches!(new.expect(YOURS), Err(HandOverError::Io(_))));
    }
}
