//! Key logs of TLS, in the form that `SSLKEYLOGFILE` has (RFC 9850): a label, the random number of
//! the client and a secret on each line.

use std::collections::BTreeMap;

/// Most connections whose secrets are kept.
const MAX_CONNECTIONS: usize = 4096;
/// Most secrets of a kind that are kept of a connection: logs of both ends, or of several runs with
/// the same random numbers, have them more than once.
const MAX_SECRETS: usize = 4;

/// Secrets of a connection.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    /// Of the client's 0-RTT packets.
    pub early: Vec<Vec<u8>>,
    /// Of the client's and the server's Handshake packets.
    pub handshake: [Vec<Vec<u8>>; 2],
    /// Of the client's and the server's 1-RTT packets.
    pub application: [Vec<Vec<u8>>; 2],
}

/// The secrets of a key log. Lines of other forms are left out.
#[derive(Debug, Clone, Default)]
pub struct KeyLog {
    connections: BTreeMap<Vec<u8>, Secrets>,
}

impl KeyLog {
    /// Adds the lines of `text`.
    pub fn add(&mut self, text: &[u8]) {
        for line in text.split(|&byte| byte == b'\n') {
            let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            let (Some(label), Some(client), Some(secret)) =
                (words.next(), words.next().and_then(hex), words.next().and_then(hex))
            else {
                continue;
            };
            let is_new = !self.connections.contains_key(&client);
            if is_new && self.connections.len() >= MAX_CONNECTIONS {
                continue;
            }
            let secrets = self.connections.entry(client).or_default();
            let kind = match label {
                b"CLIENT_EARLY_TRAFFIC_SECRET" => &mut secrets.early,
                b"CLIENT_HANDSHAKE_TRAFFIC_SECRET" => &mut secrets.handshake[0],
                b"SERVER_HANDSHAKE_TRAFFIC_SECRET" => &mut secrets.handshake[1],
                b"CLIENT_TRAFFIC_SECRET_0" => &mut secrets.application[0],
                b"SERVER_TRAFFIC_SECRET_0" => &mut secrets.application[1],
                _ => continue,
            };
            if kind.len() < MAX_SECRETS && !kind.contains(&secret) {
                kind.push(secret);
            }
        }
    }

    /// Returns the secrets of all connections, those of the client with this random number first.
    pub fn connections(&self, random: Option<&[u8]>) -> impl Iterator<Item = &Secrets> {
        let own = random.and_then(|random| self.connections.get(random));
        own.into_iter().chain(self.connections.values())
    }
}

/// Reads up to 64 bytes of hexadecimal digits.
fn hex(digits: &[u8]) -> Option<Vec<u8>> {
    if digits.len() > 128 || !digits.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    digits
        .chunks_exact(2)
        .map(|pair| Some((digit(pair[0])? * 16 + digit(pair[1])?) as u8))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_connection_belong_together_and_others_are_left_out() {
        let mut log = KeyLog::default();
        log.add(
            b"# a comment\nCLIENT_TRAFFIC_SECRET_0 0a0B 01ff\r\nSERVER_TRAFFIC_SECRET_0 0a0b 02\n\
              CLIENT_RANDOM 0a0b 03\nEXPORTER_SECRET 0a0b\nSERVER_TRAFFIC_SECRET_0 0c zz\n\
              SERVER_TRAFFIC_SECRET_0 0a0b 02\nSERVER_TRAFFIC_SECRET_0 0a0b 04\n\
              CLIENT_TRAFFIC_SECRET_0 0d 05\n",
        );
        let found: Vec<&Secrets> = log.connections(None).collect();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].application, [vec![vec![1, 255]], vec![vec![2], vec![4]]]);
        assert!(found[0].early.is_empty());
        let first = log.connections(Some(&[0x0d])).next();
        assert_eq!(first.map(|one| &one.application[0]), Some(&vec![vec![5]]));
    }
}
