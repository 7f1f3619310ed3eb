//! Delivery-rate estimation (draft-ietf-ccwg-bbr §4.1.1).

use crate::controller::{RateSample, SentPacket};
use bentpipe_units::{Bytes, Rate, Span, Time};

/// Estimates the delivery rate of a connection.
///
/// Call order: [`DeliveryRateEstimator::on_sent`] creates the record of each packet; each delivered
/// packet is passed to [`DeliveryRateEstimator::on_delivered`], each lost one to
/// [`DeliveryRateEstimator::on_lost`]; [`DeliveryRateEstimator::sample`] completes an ACK.
#[derive(Debug, Clone, Default)]
pub struct DeliveryRateEstimator {
    sent: Bytes,
    delivered: Bytes,
    delivered_at: Time,
    first_sent_at: Time,
    lost: Bytes,
    /// Delivered bytes at which the application-limited part of the flight ends (C.app_limited).
    /// Zero if there is none.
    app_limited_until: Bytes,
}

impl DeliveryRateEstimator {
    /// Returns the record of a packet that is sent now. `in_flight` includes it.
    pub fn on_sent(
        &mut self,
        now: Time,
        number: u64,
        bytes: Bytes,
        in_flight: Bytes,
    ) -> SentPacket {
        if in_flight == bytes {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        self.sent += bytes;
        SentPacket {
            number,
            bytes,
            sent_at: now,
            position: self.sent,
            in_flight,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            lost: self.lost,
            app_limited: !self.app_limited_until.is_zero(),
        }
    }

    /// Counts the bytes of a delivered packet.
    pub fn on_delivered(&mut self, now: Time, bytes: Bytes) {
        self.delivered += bytes;
        self.delivered_at = now;
    }

    /// Counts the bytes of a packet declared lost.
    pub fn on_lost(&mut self, bytes: Bytes) {
        self.lost += bytes;
    }

    /// Marks the connection as application-limited: samples are lower bounds until the `in_flight`
    /// bytes have been delivered.
    pub fn set_app_limited(&mut self, in_flight: Bytes) {
        self.app_limited_until = (self.delivered + in_flight).max(Bytes::new(1));
    }

    /// Returns the bytes delivered so far.
    pub fn delivered(&self) -> Bytes {
        self.delivered
    }

    /// Returns the bytes declared lost so far.
    pub fn lost(&self) -> Bytes {
        self.lost
    }

    /// Returns the sample of an acknowledgement whose newest packet is `newest`.
    pub fn sample(&mut self, now: Time, newest: &SentPacket, min_rtt: Span) -> RateSample {
        if self.delivered > self.app_limited_until {
            self.app_limited_until = Bytes::ZERO;
        }
        self.first_sent_at = newest.sent_at;
        let send_interval = newest.sent_at.since(newest.first_sent_at);
        let ack_interval = now.since(newest.delivered_at);
        let interval = send_interval.max(ack_interval);
        let delivered = self.delivered.saturating_sub(newest.delivered);
        RateSample {
            rate: (interval >= min_rtt && !interval.is_zero())
                .then(|| Rate::over(delivered, interval)),
            delivered,
            lost: self.lost.saturating_sub(newest.lost),
            in_flight: newest.in_flight,
            prior_delivered: newest.delivered,
            app_limited: newest.app_limited,
        }
    }
}
