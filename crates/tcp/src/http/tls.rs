//! TLS 1.3 (RFC 8446) as byte counts: the flights and their sizes.
//!
//! | flight | full | resumed | early data |
//! |---|---|---|---|
//! | ClientHello | 517 | 543 | 547 |
//! | ServerHello to Finished | 2,474 | 238 | 242 |
//! | client's Finished, with EndOfEarlyData after early data | 64 | 64 | 90 |
//! | two NewSessionTicket | 478 | 478 | 494 |
//!
//! The sizes, in bytes with records, for HTTP/2, are computed below from the fields of the
//! messages. Choices that RFC 8446 leaves open are stated where they are made: one key share
//! (X25519), certificates with ECDSA keys, and browsers' extensions. Hybrid post-quantum key
//! shares, which would add about 1.1 kB to each hello, are not included.

use super::types::{Opening, Role};

/// Overhead of a record: 5 bytes of header, the inner content type, the cipher's tag (RFC 8446
/// §5.2).
pub(super) const RECORD: u64 = 5 + 1 + 16;
/// Maximum plaintext of a record (RFC 8446 §5.1).
pub(super) const RECORD_CONTENT: u64 = 16_384;
/// Maximum early data: the default of OpenSSL servers (`recv_max_early_data`).
const EARLY_DATA: u64 = 16_384;

/// Type and length of a handshake message (RFC 8446 §4), of an extension (§4.2), and the header of
/// a record (§5.1).
const MESSAGE: u64 = 4;
const EXTENSION: u64 = 4;
const RECORD_HEADER: u64 = 5;
/// The dummy change_cipher_spec record that each side sends (RFC 8446 appendix D.4).
const CHANGE_CIPHER_SPEC: u64 = RECORD_HEADER + 1;
/// Finished with SHA-256 (RFC 8446 §4.4.4).
const FINISHED: u64 = MESSAGE + 32;
/// EndOfEarlyData (RFC 8446 §4.5).
const END_OF_EARLY_DATA: u64 = MESSAGE;
/// A ticket in the format of RFC 5077 §4: name of the key, IV, state (128 bytes: our choice), MAC.
const TICKET: u64 = 16 + 16 + 128 + 32;
/// Length of the server name (our choice).
const NAME: u64 = 15;
/// `h2` and `http/1.1` with their lengths (RFC 7301 §3.1).
const ALPN_H2: u64 = 1 + 2;
const ALPN_H1: u64 = 1 + 8;

/// ClientHello (RFC 8446 §4.1.2) of Chrome in 2023 without its extensions: version, random, session
/// identifier (appendix D.4), 16 cipher suites, no compression, length of the extensions.
const CLIENT_HELLO: u64 = MESSAGE + 2 + 32 + (1 + 32) + (2 + 2 * 16) + (1 + 1) + 2;
/// Its extensions, GREASE (RFC 8701) included, without padding, early_data and pre_shared_key.
const CLIENT_EXTENSIONS: u64 = EXTENSION                   // GREASE, empty
    + EXTENSION + 2 + 1 + 2 + NAME                         // server_name
    + EXTENSION                                            // extended_master_secret
    + EXTENSION + 1                                        // renegotiation_info
    + EXTENSION + 2 + 2 * 4                                // supported_groups: GREASE and three
    + EXTENSION + 1 + 1                                    // ec_point_formats
    + EXTENSION                                            // session_ticket
    + EXTENSION + 2 + ALPN_H2 + ALPN_H1                    // application_layer_protocol_negotiation
    + EXTENSION + 1 + 2 + 2                                // status_request
    + EXTENSION + 2 + 2 * 8                                // signature_algorithms: eight
    + EXTENSION                                            // signed_certificate_timestamp
    + EXTENSION + 2 + (2 + 2 + 1) + (2 + 2 + 32)           // key_share: GREASE and X25519
    + EXTENSION + 1 + 1                                    // psk_key_exchange_modes
    + EXTENSION + 1 + 2 * 3                                // supported_versions: GREASE and two
    + EXTENSION + 1 + 2                                    // compress_certificate
    + EXTENSION + 1; // GREASE, one byte
/// pre_shared_key with one ticket (RFC 8446 §4.2.11): identity, its age, binder.
const CLIENT_PSK: u64 = EXTENSION + 2 + (2 + TICKET + 4) + 2 + (1 + 32);
/// ServerHello (RFC 8446 §4.1.3) with supported_versions and key_share.
const SERVER_HELLO: u64 =
    MESSAGE + 2 + 32 + (1 + 32) + 2 + 1 + 2 + (EXTENSION + 2) + (EXTENSION + 2 + 2 + 32);
/// pre_shared_key in ServerHello: the selected ticket.
const SERVER_PSK: u64 = EXTENSION + 2;
/// EncryptedExtensions (RFC 8446 §4.3.1) with an empty server_name and the length of the protocol's
/// name.
const ENCRYPTED_EXTENSIONS: u64 = MESSAGE + 2 + EXTENSION + (EXTENSION + 2);
/// Two certificates with ECDSA keys: an end-entity certificate under an intermediate that RSA
/// signed. The sizes are those of a chain in use that community.letsencrypt.org/t/162426 lists, 976
/// and 1,124 bytes.
const CERTIFICATES: [u64; 2] = [976, 1_124];
/// Certificate (RFC 8446 §4.4.2): context, list, and with each certificate its length and that of
/// its extensions.
const CERTIFICATE: u64 = MESSAGE + 1 + 3 + (3 + CERTIFICATES[0] + 2) + (3 + CERTIFICATES[1] + 2);
/// CertificateVerify with ECDSA over P-256 (RFC 8446 §4.4.3); the signature has up to 72 bytes.
const CERTIFICATE_VERIFY: u64 = MESSAGE + 2 + 2 + 72;
/// NewSessionTicket (RFC 8446 §4.6.1): lifetime, age_add, nonce, ticket, extensions.
const NEW_SESSION_TICKET: u64 = MESSAGE + 4 + 4 + (1 + 8) + (2 + TICKET) + 2;
/// early_data in NewSessionTicket: the maximum amount.
const TICKET_EARLY_DATA: u64 = EXTENSION + 4;

/// A flight of the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Message {
    /// The client's first message.
    ClientHello,
    /// From ServerHello to Finished.
    ServerFlight,
    /// The client's last flight.
    ClientFinished,
    /// Two NewSessionTicket.
    Tickets,
}

/// Progress of the handshake at both ends.
#[derive(Debug)]
pub(super) struct Tls {
    opening: Opening,
    alpn: u64,
    /// Next message of each side, in the order of [`Role::place`].
    next: [Option<Message>; 2],
    /// Application data that each side may send.
    may: [Allowance; 2],
}

/// Application data that a side may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Allowance {
    Nothing,
    /// This many bytes of early data.
    Early(u64),
    All,
}

impl Tls {
    /// Creates a handshake before its first message.
    pub(super) fn new(opening: Opening, http2: bool) -> Self {
        let alpn = if http2 { ALPN_H2 } else { ALPN_H1 };
        Self {
            opening,
            alpn,
            next: [Some(Message::ClientHello), None],
            may: [Allowance::Nothing; 2],
        }
    }

    /// Returns the message that `side` writes now, and its bytes, records included.
    pub(super) fn next(&mut self, side: Role) -> Option<(u64, Message)> {
        let message = self.next[side.place()].take()?;
        match message {
            Message::ClientHello if self.opening == Opening::EarlyData => {
                self.may[side.place()] = Allowance::Early(EARLY_DATA);
            }
            Message::ServerFlight if self.opening == Opening::EarlyData => {
                self.may[side.place()] = Allowance::All
            }
            Message::ClientFinished | Message::Tickets => self.may[side.place()] = Allowance::All,
            Message::ClientHello | Message::ServerFlight => {}
        }
        Some((self.bytes(message), message))
    }

    /// Handles a handshake message that `side` has read.
    pub(super) fn read(&mut self, message: Message) {
        let [client, server] = &mut self.next;
        match message {
            Message::ClientHello => *server = Some(Message::ServerFlight),
            Message::ServerFlight => *client = Some(Message::ClientFinished),
            Message::ClientFinished => *server = Some(Message::Tickets),
            Message::Tickets => {}
        }
    }

    /// Returns the maximum application data that `side` may put into a record now.
    pub(super) fn allowance(&self, side: Role) -> u64 {
        match self.may[side.place()] {
            // Handshake messages have priority; early data ends with the client's Finished.
            _ if self.next[side.place()].is_some() => 0,
            Allowance::Nothing => 0,
            Allowance::Early(left) => left,
            Allowance::All => RECORD_CONTENT,
        }
    }

    /// Returns true if `side` can send a request now.
    pub(super) fn is_ready(&self, side: Role) -> bool {
        match self.may[side.place()] {
            Allowance::Nothing => self.next[side.place()].is_some_and(|next| match next {
                Message::ClientHello => self.opening == Opening::EarlyData,
                Message::ClientFinished => true,
                Message::ServerFlight | Message::Tickets => false,
            }),
            Allowance::Early(_) | Allowance::All => true,
        }
    }

    /// Handles that `side` has sent `content` bytes in a record of application data.
    pub(super) fn sent(&mut self, side: Role, content: u64) {
        if let Allowance::Early(left) = &mut self.may[side.place()] {
            *left = left.saturating_sub(content);
        }
    }

    fn bytes(&self, message: Message) -> u64 {
        let early = self.opening == Opening::EarlyData;
        let only_early = |bytes| if early { bytes } else { 0 };
        match message {
            Message::ClientHello => RECORD_HEADER + client_hello(self.opening),
            Message::ServerFlight => {
                let hello = RECORD_HEADER + SERVER_HELLO + CHANGE_CIPHER_SPEC;
                let extensions = RECORD + ENCRYPTED_EXTENSIONS + self.alpn + only_early(EXTENSION);
                // One record per message, as OpenSSL writes them.
                let proof = match self.opening {
                    Opening::Full => RECORD + CERTIFICATE + RECORD + CERTIFICATE_VERIFY,
                    Opening::Resumed | Opening::EarlyData => SERVER_PSK,
                };
                hello + extensions + proof + RECORD + FINISHED
            }
            Message::ClientFinished => {
                only_early(RECORD + END_OF_EARLY_DATA) + CHANGE_CIPHER_SPEC + RECORD + FINISHED
            }
            Message::Tickets => 2 * (RECORD + NEW_SESSION_TICKET + only_early(TICKET_EARLY_DATA)),
        }
    }
}

/// Returns the bytes of ClientHello as a handshake message. One of 256 to 511 bytes is padded to
/// 512 (RFC 7685).
const fn client_hello(opening: Opening) -> u64 {
    let bytes = match opening {
        Opening::Full => CLIENT_HELLO + CLIENT_EXTENSIONS,
        Opening::Resumed => CLIENT_HELLO + CLIENT_EXTENSIONS + CLIENT_PSK,
        Opening::EarlyData => CLIENT_HELLO + CLIENT_EXTENSIONS + EXTENSION + CLIENT_PSK,
    };
    if bytes >= 256 && bytes < 512 { 512 } else { bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(opening: Opening) -> [u64; 4] {
        let tls = Tls::new(opening, true);
        [Message::ClientHello, Message::ServerFlight, Message::ClientFinished, Message::Tickets]
            .map(|m| tls.bytes(m))
    }

    #[test]
    fn flights_have_the_sizes_in_the_table() {
        assert_eq!(sizes(Opening::Full), [517, 2474, 64, 478]);
        assert_eq!(sizes(Opening::Resumed), [543, 238, 64, 478]);
        assert_eq!(sizes(Opening::EarlyData), [547, 242, 90, 494]);
    }

    #[test]
    fn application_data_waits_for_finished_unless_it_is_early() {
        for opening in [Opening::Full, Opening::Resumed, Opening::EarlyData] {
            let mut tls = Tls::new(opening, true);
            let early = opening == Opening::EarlyData;
            assert_eq!(tls.is_ready(Role::Client), early);
            assert!(tls.next(Role::Client).is_some());
            assert_eq!(tls.allowance(Role::Client) > 0, early);
            assert!(tls.next(Role::Server).is_none(), "the server sends second");
            tls.read(Message::ClientHello);
            assert!(tls.next(Role::Server).is_some());
            assert_eq!(tls.allowance(Role::Server) > 0, early);
            tls.read(Message::ServerFlight);
            assert!(tls.is_ready(Role::Client) && tls.allowance(Role::Client) == 0);
            assert!(tls.next(Role::Client).is_some());
            assert_eq!(tls.allowance(Role::Client), RECORD_CONTENT);
            tls.read(Message::ClientFinished);
            assert_eq!(tls.next(Role::Server).map(|(_, message)| message), Some(Message::Tickets));
            assert_eq!(tls.allowance(Role::Server), RECORD_CONTENT);
        }
    }

    #[test]
    fn early_data_has_a_limit() {
        let mut tls = Tls::new(Opening::EarlyData, true);
        tls.next(Role::Client);
        tls.sent(Role::Client, EARLY_DATA - 10);
        assert_eq!(tls.allowance(Role::Client), 10);
        tls.sent(Role::Client, 11);
        assert_eq!(tls.allowance(Role::Client), 0);
    }
}
