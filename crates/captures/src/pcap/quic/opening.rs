//! What the handshake of a QUIC connection says, and the keys that open its packets.

use super::connections::Connection;
use super::frames::add_frames;
use super::header::{MAX_ID, Rest, divide};
use super::hello::Parts;
use super::initial::InitialKeys;
use super::joined::{LEAST_ID, MTU, size_from_id, sizes};
use super::key_log::{KeyLog, Secrets};
use super::parameters::Parameters;
use super::protection::{Keys, SUITES};
use super::version::{Kind, VERSIONS, Version};
use crate::event::Packet;
use crate::pcap::segment::Datagram;

/// Packets of a direction with which its secrets are looked for.
const TRIES: usize = 8;
/// Most connections whose secrets are tried if the client's random number is known.
const MAX_STRANGERS: usize = 256;

/// What the packets of the handshake say.
#[derive(Debug)]
pub struct Opening {
    pub connection: Connection,
    /// That on which the ends agreed.
    pub version: &'static Version,
    /// Lengths of the connection IDs that client and server chose for themselves.
    pub ids: [usize; 2],
    /// ID that the client's first packet goes to, in hex.
    pub first_id: Option<String>,
    /// The client's random number.
    random: Option<[u8; 32]>,
    /// Name of the server.
    pub name: Option<String>,
    /// The client's transport parameters.
    pub parameters: Option<Parameters>,
}

impl Opening {
    /// Reads the packets with long headers of a connection.
    pub fn find(datagrams: &[(u64, Datagram<'_>)], connection: Connection) -> Self {
        let mut version = [None; 2];
        let mut ids = [0; 2];
        let mut initial = InitialKeys::default();
        let mut hello = Parts::default();
        let mut first_id = None;
        for (_, datagram) in datagrams {
            let sender = sender(&connection, datagram);
            for packet in divide(datagram).0 {
                version[sender] = Some(packet.version);
                if sender == 0 && first_id.is_none() {
                    first_id = Some(hex(packet.target_id));
                }
                if packet.kind != Kind::Retry {
                    ids[sender] = packet.source_id.len();
                }
                if sender == 0
                    && let Some((_, frames)) = initial.open(&packet, sender)
                {
                    let mut crypto = Vec::new();
                    add_frames(&frames, &mut Packet::default(), &mut crypto);
                    crypto.iter().for_each(|(offset, bytes)| hello.add(*offset, bytes));
                }
            }
        }
        let hello = hello.client_hello();
        let [client, server] = version;
        Self {
            connection,
            // The server has the last word (RFC 9368 §2.3).
            version: server.or(client).unwrap_or(&VERSIONS[0]),
            ids,
            first_id,
            random: hello.as_ref().map(|hello| hello.random),
            name: hello.as_ref().and_then(|hello| hello.name.clone()),
            parameters: hello.and_then(|hello| hello.parameters),
        }
    }

    /// Returns the offset of the packet number in short headers of an end.
    pub fn number_at(&self, sender: usize) -> usize {
        1 + self.ids[1 - sender].min(MAX_ID)
    }

    /// Returns the secrets of a kind that may be the connection's, its own first.
    fn secrets<'a>(
        &self,
        log: &'a KeyLog,
        of: impl Fn(&'a Secrets) -> &'a Vec<Vec<u8>>,
    ) -> impl Iterator<Item = &'a Vec<u8>> {
        let random = self.random.as_ref().map(|random| &random[..]);
        // Those of others: the log has another random number if names are encrypted (RFC 9850).
        let most = if random.is_some() { MAX_STRANGERS } else { usize::MAX };
        log.connections(random).take(most).flat_map(of)
    }

    /// Returns the first keys of `secrets` that open one of the packets, given with the offsets of
    /// their numbers.
    fn keys_that_open<'a>(
        &self,
        mut secrets: impl Iterator<Item = &'a Vec<u8>>,
        packets: &[(&[u8], usize)],
    ) -> Option<Keys> {
        secrets.find_map(|secret| {
            SUITES.iter().find_map(|suite| {
                let mut keys = Keys::new(self.version, suite, secret)?;
                let opens = packets.iter().any(|(one, at)| keys.open(one, *at).is_some());
                if opens { Keys::new(self.version, suite, secret) } else { None }
            })
        })
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the index of the end that sent a datagram, 0 for the client.
pub fn sender(connection: &Connection, datagram: &Datagram<'_>) -> usize {
    let is_server = datagram.from == connection.server
        || datagram.to == connection.client && datagram.to != connection.server;
    usize::from(is_server)
}

/// The keys of a connection, of client and server where there are two.
pub struct ConnectionKeys {
    /// Of 0-RTT packets.
    pub early: Option<Keys>,
    /// Of Handshake packets.
    pub handshake: [Option<Keys>; 2],
    /// Of packets with short headers; one of them at least.
    pub application: [Option<Keys>; 2],
}

impl ConnectionKeys {
    /// Finds the keys of a connection in `log`.
    ///
    /// # Errors
    /// None opens a packet with a short header: the reason.
    pub fn find(
        datagrams: &[(u64, Datagram<'_>)],
        opening: &Opening,
        log: &KeyLog,
    ) -> Result<Self, &'static str> {
        let handshake = |sender: usize| {
            let packets = packets_of(datagrams, opening, Kind::Handshake, sender);
            let secrets = opening.secrets(log, |secrets| &secrets.handshake[sender]);
            opening.keys_that_open(secrets, &packets)
        };
        let early = packets_of(datagrams, opening, Kind::ZeroRtt, 0);
        Ok(Self {
            application: application_keys(datagrams, opening, log)?,
            handshake: [handshake(0), handshake(1)],
            early: opening.keys_that_open(opening.secrets(log, |secrets| &secrets.early), &early),
        })
    }
}

/// Finds the secrets that open the first packets with short headers of both ends; those of an end
/// may be missing.
fn application_keys(
    datagrams: &[(u64, Datagram<'_>)],
    opening: &Opening,
    log: &KeyLog,
) -> Result<[Option<Keys>; 2], &'static str> {
    if log.connections(None).next().is_none() {
        return Err("there are none");
    }
    let mut is_cut = false;
    let mut joined: [Option<&[u8]>; 2] = [None; 2];
    let mut tries: [Vec<(&[u8], usize)>; 2] = [Vec::new(), Vec::new()];
    for (_, datagram) in datagrams {
        let sender = sender(&opening.connection, datagram);
        let (_, Rest::Short(bytes, _)) = divide(datagram) else { continue };
        is_cut |= !datagram.is_whole;
        // Alone, or the first of several that are joined, which a connection ID tells apart.
        let id = opening.ids[1 - sender];
        let size = size_from_id(bytes, id).unwrap_or(bytes.len());
        let is_single = id >= LEAST_ID || size <= MTU;
        if datagram.is_whole && is_single && tries[sender].len() < TRIES {
            tries[sender].push((&bytes[..size], opening.number_at(sender)));
        } else if datagram.is_whole && !is_single {
            joined[sender].get_or_insert(bytes);
        }
    }
    for sender in [0, 1] {
        if let (true, Some(bytes)) = (tries[sender].is_empty(), joined[sender]) {
            let at = opening.number_at(sender);
            tries[sender] = sizes(bytes).map(|size| (&bytes[..size], at)).collect();
        }
    }
    let keys = [0, 1].map(|sender| {
        let secrets = opening.secrets(log, |secrets| &secrets.application[sender]);
        opening.keys_that_open(secrets, &tries[sender])
    });
    if keys.iter().all(Option::is_none) {
        let has_any = tries.iter().any(|one| !one.is_empty());
        return Err(if is_cut && !has_any {
            "the packets were cut off"
        } else {
            "none that was given opens the connection"
        });
    }
    Ok(keys)
}

/// Returns the first packets of a kind of an end, with the offsets of their numbers.
fn packets_of<'a>(
    datagrams: &[(u64, Datagram<'a>)],
    opening: &Opening,
    kind: Kind,
    sender: usize,
) -> Vec<(&'a [u8], usize)> {
    let connection = opening.connection;
    datagrams
        .iter()
        .filter(|(_, datagram)| self::sender(&connection, datagram) == sender)
        .flat_map(|(_, datagram)| divide(datagram).0)
        .filter(|packet| packet.kind == kind)
        .map(|packet| (packet.bytes, packet.number_at))
        .take(TRIES)
        .collect()
}
