//! Why a client does not get where it wants to.

use std::fmt;
use std::io;

/// Why a client does not get where it wants to: what it is told, in the words of its protocol, and
/// what stands in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The proxy has no room.
    Busy,
    /// The destination is not among those allowed.
    NotAllowed,
    /// The name is unknown.
    Unknown,
    /// There is no way to the destination.
    Unreachable,
    /// The destination refused.
    Refused,
    /// It did not answer in time.
    TimedOut,
    /// Something else.
    Failed,
}

impl Refusal {
    /// All of them, by their number in the tunnel's answers.
    const ALL: [Self; 7] = [
        Self::Busy,
        Self::NotAllowed,
        Self::Unknown,
        Self::Unreachable,
        Self::Refused,
        Self::TimedOut,
        Self::Failed,
    ];

    /// Its number in the tunnel's answers, from 1.
    pub fn number(self) -> u8 {
        Self::ALL.iter().position(|one| *one == self).map_or(u8::MAX, |position| position as u8 + 1)
    }

    /// The one with this number; [`Refusal::Failed`] where a later version has more.
    pub fn from_number(number: u8) -> Self {
        let index = usize::from(number).wrapping_sub(1);
        Self::ALL.get(index).copied().unwrap_or(Self::Failed)
    }

    /// What an attempt to connect came to.
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
            Self::Unknown => "unknown-name",
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
    fn numbers_lead_back() {
        for refusal in Refusal::ALL {
            assert_eq!(Refusal::from_number(refusal.number()), refusal);
        }
        assert_eq!(Refusal::from_number(0), Refusal::Failed);
        assert_eq!(Refusal::from_number(200), Refusal::Failed);
    }
}
