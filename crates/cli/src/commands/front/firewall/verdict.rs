//! What the rules of a firewall do.

/// What the rules do with new datagrams to a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// They let them through.
    Open,
    /// They drop them: which rule does, in words.
    Blocked(String),
    /// They let only some through, and drop the others.
    Partly(String),
    /// It cannot be told: why.
    Unknown(String),
}
