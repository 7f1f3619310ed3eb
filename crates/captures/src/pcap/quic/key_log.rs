//! Key logs of TLS, in the form that `SSLKEYLOGFILE` has (RFC 9850): a label, the random number of
//! the client and a secret on each line.

use std::collections::BTreeMap;

/// Most connections whose secrets are kept.
const MAX_CONNECTIONS: usize = 4096;

/// Secrets of a connection that protect packets of the application.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    /// Of the client's 0-RTT packets.
    pub early: Option<Vec<u8>>,
    /// Of the client's and the server's 1-RTT packets.
    pub client: Option<Vec<u8>>,
    /// See `client`.
    pub server: Option<Vec<u8>>,
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
            match label {
                b"CLIENT_EARLY_TRAFFIC_SECRET" => secrets.early = Some(secret),
                b"CLIENT_TRAFFIC_SECRET_0" => secrets.client = Some(secret),
                b"SERVER_TRAFFIC_SECRET_0" => secrets.server = Some(secret),
                _ => {}
            }
        }
    }

    /// Returns the secrets of all connections.
    pub fn connections(&self) -> impl Iterator<Item = &Secrets> {
        self.connections.values()
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
              CLIENT_RANDOM 0a0b 03\nEXPORTER_SECRET 0a0b\nSERVER_TRAFFIC_SECRET_0 0c zz\n",
        );
        let found: Vec<&Secrets> = log.connections().collect();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].client.as_deref(), Some(&[1, 255][..]));
        assert_eq!(found[0].server.as_deref(), Some(&[2][..]));
        assert_eq!(found[0].early, None);
    }
}
