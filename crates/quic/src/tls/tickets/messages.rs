//! The messages of a server's handshake (RFC 8446 §4), of which the tickets are taken out.

use zeroize::Zeroizing;

/// Type of a NewSessionTicket.
const NEW_SESSION_TICKET: u8 = 4;
/// Length of a message's type and length.
const HEADER: usize = 4;
/// Longest message that rustls accepts.
const LONGEST: usize = 0xffff;

/// What a ticket's message says that rustls does not tell.
#[derive(PartialEq, Eq)]
pub(super) struct NewTicket {
    /// Seconds, as the server has it.
    pub lifetime: u32,
    pub age_add: u32,
    pub ticket: Vec<u8>,
}

/// Cuts a stream of bytes into messages.
#[derive(Default)]
pub(super) struct Messages {
    buffer: Zeroizing<Vec<u8>>,
    /// True after a message that cannot be: nothing that follows is read.
    broken: bool,
}

impl Messages {
    /// Reads more bytes. Returns the tickets that are complete with them.
    pub fn read(&mut self, bytes: &[u8]) -> Vec<NewTicket> {
        let mut tickets = Vec::new();
        if self.broken {
            return tickets;
        }
        self.buffer.extend_from_slice(bytes);
        let mut begin = 0;
        while let Some(&[kind, high, middle, low]) = self.buffer[begin..].first_chunk::<HEADER>() {
            let length = u32::from_be_bytes([0, high, middle, low]) as usize;
            let content = begin + HEADER;
            self.broken |= length > LONGEST;
            let Some(message) = self.buffer.get(content..content + length) else { break };
            if kind == NEW_SESSION_TICKET {
                match ticket(message) {
                    Some(ticket) => tickets.push(ticket),
                    None => self.broken = true,
                }
            }
            begin = content + length;
        }
        self.buffer.drain(..begin);
        if self.broken {
            self.buffer.clear();
        }
        tickets
    }
}

/// Reads a NewSessionTicket (RFC 8446 §4.6.1).
fn ticket(message: &[u8]) -> Option<NewTicket> {
    let (lifetime, rest) = message.split_first_chunk()?;
    let (age_add, rest) = rest.split_first_chunk()?;
    let (nonce, rest) = rest.split_first()?;
    let (length, rest) = rest.get(usize::from(*nonce)..)?.split_first_chunk()?;
    let ticket = rest.get(..usize::from(u16::from_be_bytes(*length)))?.to_vec();
    let [lifetime, age_add] = [lifetime, age_add].map(|number| u32::from_be_bytes(*number));
    (!ticket.is_empty()).then_some(NewTicket { lifetime, age_add, ticket })
}

/// Writes the NewSessionTicket from which [`ticket`] reads `new`, without a nonce.
pub(super) fn message(new: &NewTicket, early: bool) -> Option<Vec<u8>> {
    /// The extension `early_data` (42), whose size has one value in QUIC (RFC 9001 §4.6.1).
    const EARLY: [u8; 10] = [0, 8, 0, 42, 0, 4, 0xff, 0xff, 0xff, 0xff];
    let mut content = [new.lifetime.to_be_bytes(), new.age_add.to_be_bytes()].concat();
    // A nonce of a byte.
    content.extend([1, 0]);
    content.extend(u16::try_from(new.ticket.len()).ok()?.to_be_bytes());
    content.extend(&new.ticket);
    content.extend(if early { &EARLY[..] } else { &[0, 0] });
    let mut message = u32::try_from(content.len()).ok()?.to_be_bytes().to_vec();
    message[0] = NEW_SESSION_TICKET;
    message.extend(content);
    Some(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn new(ticket: &[u8]) -> NewTicket {
        NewTicket { lifetime: 7200, age_add: 0x0102_0304, ticket: ticket.to_vec() }
    }

    proptest! {
        #[test]
        fn tickets_are_found_however_the_bytes_are_cut(
            lengths in prop::collection::vec(1_usize..400, 1..5),
            cuts in prop::collection::vec(1_usize..100, 1..50),
        ) {
            let mut bytes = vec![2, 0, 0, 3, 9, 9, 9];
            for length in &lengths {
                bytes.extend(message(&new(&vec![7; *length]), true).unwrap());
                bytes.extend([8, 0, 0, 0]);
            }
            let (mut messages, mut found, mut rest) = (Messages::default(), Vec::new(), &bytes[..]);
            for cut in cuts.iter().cycle() {
                let (now, later) = rest.split_at(rest.len().min(*cut));
                found.extend(messages.read(now));
                rest = later;
                if rest.is_empty() {
                    break;
                }
            }
            let found: Vec<usize> = found.iter().map(|ticket| ticket.ticket.len()).collect();
            prop_assert_eq!(found, lengths);
        }

        #[test]
        fn no_bytes_make_it_hold_more_than_a_message(
            parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..2_000), 0..100),
        ) {
            let mut messages = Messages::default();
            for part in parts {
                messages.read(&part);
                prop_assert!(messages.buffer.len() <= HEADER + LONGEST);
            }
        }
    }

    #[test]
    fn a_message_that_is_too_long_ends_the_reading() {
        let mut messages = Messages::default();
        assert!(messages.read(&[4, 1, 0, 0]).is_empty());
        assert!(messages.read(&message(&new(b"ticket"), false).unwrap()).is_empty());
        assert!(messages.buffer.is_empty());
    }
}
