//! Priorities of HTTP responses.

/// Priority of a response (RFC 9218 §4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Priority {
    /// Urgency, from 0, the first, to 7.
    pub urgency: u8,
    /// Whether a part of it is of use, so that it may share the connection with others.
    pub incremental: bool,
}

impl Default for Priority {
    fn default() -> Self {
        Self { urgency: 3, incremental: false }
    }
}

impl Priority {
    /// Bits that order the responses of one urgency.
    const ORDER: u32 = 28;

    /// Returns the place in which a server sends the response to request number `order`, counted
    /// from 1: lower ones first, equal ones in turn. Of one urgency, incremental responses share
    /// the connection, and then the others follow one after the other, in the order of the
    /// requests. A place is never negative.
    #[must_use]
    pub fn place(self, order: u64) -> i32 {
        let last = (1 << Self::ORDER) - 1;
        let order = if self.incremental { 0 } else { order.clamp(1, last) as i32 };
        (i32::from(self.urgency.min(7)) << Self::ORDER) | order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_go_by_urgency_then_incremental_ones_then_in_order() {
        let place = |urgency, incremental, order| Priority { urgency, incremental }.place(order);
        let order = [
            place(0, true, 10),
            place(0, false, 1),
            place(0, false, 2),
            place(0, false, u64::MAX),
            place(1, true, 1),
            place(3, false, 1),
            place(7, true, 1),
            place(7, false, 1),
            place(7, false, u64::MAX),
        ];
        assert!(order.is_sorted_by(|first, second| first < second), "{order:?}");
        assert_eq!(place(2, true, 2), place(2, true, 8), "in turn");
        assert_eq!(place(255, true, 1), place(7, true, 1));
        assert_eq!(order[0], 0, "nothing precedes the connection's own streams");
    }
}
