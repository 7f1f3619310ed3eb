//! Why a connection is not forwarded.

use std::fmt;
use std::io;

/// Why a connection is not forwarded. The log shows it, and the client gets it in the terms of its
/// protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The proxy has reached a limit.
    Busy,
    /// The destination is not allowed.
    NotAllowed,
    /// The name cannot be resolved.
    UnknownName,
    /// There is no route to the destination.
    Unreachable,
    /// The destination refused the connection.
    Refused,
    /// The destination did not respond in time.
    TimedOut,
    /// Another error.
    Failed,
}

impl Refusal {
    /// All refusals, in the order of their codes in the tunnel protocol.
    const ALL: [Self; 7] = [
        Self::Busy,
        Self::NotAllowed,
        Self::UnknownName,
        Self::Unreachable,
        Self::Refused,
        Self::TimedOut,
        Self::Failed,
    ];

    /// Returns the code in the tunnel protocol, from 1.
    pub fn code(self) -> u8 {
        Self::ALL.iter().position(|one| *one == self).map_or(u8::MAX, |position| position as u8 + 1)
    }

    /// Returns the refusal with this code. Codes of later versions are [`Refusal::Failed`].
    pub fn from_code(code: u8) -> Self {
        let index = usize::from(code).wrapping_sub(1);
        Self::ALL.get(index).copied().unwrap_or(Self::Failed)
    }

    /// Returns the refusal for an error of a connection attempt.
    pub(super) fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset => Self::Refused,
            io::ErrorKind::TimedOut => Self::TimedOut,
            io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => Self::Unreachable,
            _ => Self::Failed,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Busy => "busy",
            Self::NotAllowed => "not-allowed",
            Self::UnknownName => "unknown-name",
            Self::Unreachable => "unreachable",
            Self::Refused => "refused",
            Self::TimedOut => "timed-out",
            Self::Failed => "failed",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique() {
        for refusal in Refusal::ALL {
            assert_eq!(Refusal::from_code(refusal.code()), refusal);
        }
        assert_eq!(Refusal::from_code(0), Refusal::Failed);
        assert_eq!(Refusal::from_code(200), Refusal::Failed);
    }
}
