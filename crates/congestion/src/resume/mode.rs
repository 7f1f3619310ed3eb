//! What a connection does with saved parameters.

/// What a connection does with the saved parameters of its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResumeMode {
    /// Only measures the path.
    Observe,
    /// Careful Resume (RFC 9959).
    Careful,
    /// Unsafe: uses the whole saved window from the first flight on, before the path is confirmed,
    /// and leaves congestion to the controller. It shows what the care of Careful Resume costs and
    /// gains; no sender on a shared path should use it.
    Jump,
}
