//! A ticket and what belongs to it, as bytes.

use super::messages::NewTicket;
use super::store::MAX_TICKET;
use ring::digest::{SHA256, SHA256_OUTPUT_LEN, digest};
use rustls::pki_types::CertificateDer;
use zeroize::Zeroizing;

/// First byte: another form gets another one.
const FORM: u8 = 1;
/// Most certificates of a server.
const MAX_CHAIN: usize = 16;
/// Longest secret: that of SHA-384.
const MAX_SECRET: usize = 48;
/// Longest lifetime in seconds (RFC 8446 §4.6.1).
pub(super) const LONGEST_LIFETIME: u64 = 7 * 24 * 3600;

/// A ticket, and what a client needs to use it.
pub(super) struct SavedTicket {
    pub new: NewTicket,
    /// The secret that comes with the ticket (`PSK`).
    pub secret: Zeroizing<Vec<u8>>,
    /// Number of the cipher suite.
    pub suite: u16,
    /// When it was received, in seconds since 1970.
    pub received: u64,
    /// Whether it lets early data be sent.
    pub early: bool,
    /// The server's transport parameters, encoded.
    pub parameters: Vec<u8>,
    /// The server's certificates, its own first.
    pub chain: Vec<CertificateDer<'static>>,
}

impl SavedTicket {
    /// Returns when it expires, in seconds since 1970.
    pub fn expires(&self) -> u64 {
        let lifetime = u64::from(self.new.lifetime).min(LONGEST_LIFETIME);
        self.received.saturating_add(lifetime)
    }

    /// Returns its bytes, which end with their hash. `None` if they are too many.
    pub fn encode(&self) -> Option<Zeroizing<Vec<u8>>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_TICKET));
        bytes.push(FORM);
        bytes.extend(self.suite.to_be_bytes());
        bytes.extend(self.received.to_be_bytes());
        bytes.extend(self.new.lifetime.to_be_bytes());
        bytes.extend(self.new.age_add.to_be_bytes());
        bytes.push(u8::from(self.early));
        let parts = [&self.secret[..], &self.new.ticket, &self.parameters];
        for part in parts.into_iter().chain(self.chain.iter().map(AsRef::as_ref)) {
            bytes.extend(u16::try_from(part.len()).ok()?.to_be_bytes());
            bytes.extend(part);
        }
        let hash = digest(&SHA256, &bytes);
        bytes.extend(hash.as_ref());
        (bytes.len() <= MAX_TICKET && self.chain.len() <= MAX_CHAIN).then_some(bytes)
    }

    /// Reads what [`SavedTicket::encode`] writes. `None` for anything else.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (content, hash) = bytes.split_last_chunk::<SHA256_OUTPUT_LEN>()?;
        if bytes.len() > MAX_TICKET || digest(&SHA256, content).as_ref() != hash {
            return None;
        }
        let mut rest = content;
        let [FORM] = take(&mut rest)? else { return None };
        let suite = u16::from_be_bytes(take(&mut rest)?);
        let received = u64::from_be_bytes(take(&mut rest)?);
        let [lifetime, age_add] = [take(&mut rest)?, take(&mut rest)?].map(u32::from_be_bytes);
        let early = match take(&mut rest)? {
            [0] => false,
            [1] => true,
            [_] => return None,
        };
        let secret = Zeroizing::new(part(&mut rest)?.to_vec());
        let ticket = part(&mut rest)?.to_vec();
        let parameters = part(&mut rest)?.to_vec();
        let mut chain = Vec::new();
        while !rest.is_empty() {
            chain.push(CertificateDer::from(part(&mut rest)?.to_vec()));
        }
        let sound = (1..=MAX_CHAIN).contains(&chain.len())
            && (1..=MAX_SECRET).contains(&secret.len())
            && !ticket.is_empty();
        let new = NewTicket { lifetime, age_add, ticket };
        sound.then_some(Self { new, secret, suite, received, early, parameters, chain })
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, left) = rest.split_first_chunk()?;
    *rest = left;
    Some(*taken)
}

fn part<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = u16::from_be_bytes(take(rest)?);
    let (part, left) = rest.split_at_checked(length.into())?;
    *rest = left;
    Some(part)
}
