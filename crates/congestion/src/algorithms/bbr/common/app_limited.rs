//! Packets sent while the controller itself limits the sender.

use bentpipe_units::Bytes;

/// The packets sent in ProbeRTT, whose samples do not measure the path's rate.
///
/// The draft marks the connection as application-limited (§5.3.4.3, MarkConnectionAppLimited). A
/// controller tracks a range of packets instead, since the connection's state belongs to the
/// sender.
#[derive(Debug, Clone, Default)]
pub struct AppLimitedRange {
    from: u64,
    to: u64,
    until: Bytes,
    active: bool,
}

impl AppLimitedRange {
    /// Marks packets from `next_number` on, until the current flight is delivered.
    pub fn mark(&mut self, next_number: u64, delivered: Bytes, in_flight: Bytes) {
        if !self.active {
            self.from = next_number;
            self.active = true;
        }
        self.to = u64::MAX;
        self.until = delivered + in_flight;
    }

    /// Ends the range once its flight is delivered.
    pub fn update(&mut self, next_number: u64, delivered: Bytes) {
        if self.active && delivered > self.until {
            self.to = next_number;
            self.active = false;
        }
    }

    /// Returns true if packet `number` belongs to the range.
    pub fn contains(&self, number: u64) -> bool {
        (self.from..self.to).contains(&number)
    }
}
