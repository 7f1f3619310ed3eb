//! Packets sent while something that a controller knows of limits the sender.

use bentpipe_units::Bytes;

/// The packets sent under a limit, whose samples do not measure the path's rate: in ProbeRTT, or
/// while the congestion window was underutilized.
///
/// For ProbeRTT, the draft marks the connection as application-limited (draft-ietf-ccwg-bbr
/// §5.3.4.3, MarkConnectionAppLimited). A controller tracks a range of packets instead, since the
/// connection's state belongs to the sender.
#[derive(Debug, Clone, Default)]
pub(crate) struct LimitedRange {
    from: u64,
    to: u64,
    until: Bytes,
    active: bool,
}

impl LimitedRange {
    /// Marks packets from `next_number` on, until the current flight is delivered.
    pub(crate) fn mark(&mut self, next_number: u64, delivered: Bytes, in_flight: Bytes) {
        if !self.active {
            self.from = next_number;
            self.active = true;
        }
        self.to = u64::MAX;
        self.until = delivered + in_flight;
    }

    /// Ends the range once its flight is delivered.
    pub(crate) fn update(&mut self, next_number: u64, delivered: Bytes) {
        if self.active && delivered > self.until {
            self.to = next_number;
            self.active = false;
        }
    }

    /// Returns true if packet `number` belongs to the range.
    pub(crate) fn contains(&self, number: u64) -> bool {
        (self.from..self.to).contains(&number)
    }
}
