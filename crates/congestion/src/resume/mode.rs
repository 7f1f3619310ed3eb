//! The use of saved parameters by a connection.

/// How a connection uses the saved parameters of its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResumeMode {
    /// Only measures the path.
    Observe,
    /// Careful Resume (RFC 9959).
    Careful,
    /// Unsafe: uses the whole saved window from the first flight on, before the path is confirmed,
    /// and leaves congestion to the controller. It shows the costs and gains of Careful Resume's
    /// care; no sender on a shared path should use it.
    Jump,
}
