//! TLS secrets for Wireshark.

use std::sync::{Arc, Mutex, PoisonError};

/// Collects the secrets of every connection in the format of Wireshark (`SSLKEYLOGFILE`). Only for
/// captures of simulated traffic.
#[derive(Debug, Clone, Default)]
pub struct SecretLog(Arc<Mutex<String>>);

impl SecretLog {
    /// Returns the lines so far.
    pub fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl rustls::KeyLog for SecretLog {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        use std::fmt::Write;
        let mut text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let hex = |text: &mut String, bytes: &[u8]| {
            for byte in bytes {
                // Writing into a String cannot fail.
                let _ = write!(text, "{byte:02x}");
            }
        };
        text.push_str(label);
        text.push(' ');
        hex(&mut text, client_random);
        text.push(' ');
        hex(&mut text, secret);
        text.push('\n');
    }
}
