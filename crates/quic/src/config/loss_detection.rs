//! When packets are declared lost.

use bentpipe_congestion::SavedParameters;
use noq_proto::TransportConfig;
use thiserror::Error;

/// Thresholds that cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum LossDetectionError {
    /// A packet threshold that takes the usual reordering for loss.
    #[error("packet_threshold of {0} is too low; allowed: at least 3 (RFC 9002 §6.1.1)")]
    Packets(u32),
    /// A time threshold that declares packets lost within an RTT, or one of ages.
    #[error("time_threshold of {0} RTTs is out of range; allowed: 1 to {MAX_TIME_THRESHOLD}")]
    Time(f32),
}

/// Packets sent later of which one is acknowledged before a packet is declared lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketThreshold {
    /// A fixed number, at least 3 (RFC 9002 §6.1.1).
    Packets(u32),
    /// Only time declares losses.
    None,
    /// 32, or a sixty-fourth of the saved window if that is more: above what a few milliseconds of
    /// reordering make, and few enough that a loss is found soon after.
    Auto,
}

/// `auto` without saved parameters: 8 ms at 50 Mbps.
const AUTO_PACKETS: u32 = 32;

/// `auto` with saved parameters, as a fraction of the saved window, so of the RTT.
const AUTO_SHARE: u64 = 64;

impl PacketThreshold {
    /// Returns the number of packets of `mtu` bytes, given the saved parameters of the path.
    fn packets(self, mtu: u16, saved: Option<&SavedParameters>) -> u32 {
        match self {
            Self::Packets(packets) => packets,
            Self::None => u32::MAX,
            Self::Auto => {
                let window = saved
                    .filter(|saved| saved.is_usable())
                    .map_or(0, |saved| saved.window.get() / u64::from(mtu.max(1)) / AUTO_SHARE);
                u32::try_from(window).unwrap_or(u32::MAX).max(AUTO_PACKETS)
            }
        }
    }
}

/// When packets are declared lost (RFC 9002 §6.1), and what follows if all of a long time are.
///
/// The stack takes both thresholds when a connection is made, and never changes them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LossDetection {
    /// Packets sent later of which one is acknowledged before a packet is lost.
    pub packet_threshold: PacketThreshold,
    /// RTTs after which a packet that was sent before an acknowledged one is lost (§6.1.2: 9/8).
    pub time_threshold: f32,
    /// Whether losses over three probe timeouts collapse the window (§7.6).
    pub persistent_congestion: bool,
}

/// Largest time threshold, in RTTs: the stack multiplies it with an RTT of up to hours.
pub const MAX_TIME_THRESHOLD: f32 = 1000.0;

impl LossDetection {
    /// The recommended thresholds (RFC 9002 §6.1.1, §6.1.2).
    pub const RFC: Self = Self {
        packet_threshold: PacketThreshold::Packets(3),
        time_threshold: 9.0 / 8.0,
        persistent_congestion: true,
    };

    /// Checks the thresholds.
    ///
    /// # Errors
    /// A threshold is below the smallest that RFC 9002 allows, or far too large.
    pub(super) fn check(&self) -> Result<(), LossDetectionError> {
        if let PacketThreshold::Packets(packets @ 0..3) = self.packet_threshold {
            return Err(LossDetectionError::Packets(packets));
        }
        if !(self.time_threshold >= 1.0 && self.time_threshold <= MAX_TIME_THRESHOLD) {
            return Err(LossDetectionError::Time(self.time_threshold));
        }
        Ok(())
    }

    /// Sets the thresholds in `config`, for packets of `mtu` bytes.
    pub(super) fn apply(
        &self,
        config: &mut TransportConfig,
        mtu: u16,
        saved: Option<&SavedParameters>,
    ) {
        config
            .packet_threshold(self.packet_threshold.packets(mtu, saved))
            .time_threshold(self.time_threshold);
        if !self.persistent_congestion {
            config.persistent_congestion_threshold(u32::MAX);
        }
    }
}

impl Default for LossDetection {
    fn default() -> Self {
        Self::RFC
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_units::{Bytes, Span};

    fn applied(loss: LossDetection) -> Result<String, LossDetectionError> {
        let mut config = TransportConfig::default();
        loss.check()?;
        loss.apply(&mut config, 1472, None);
        Ok(format!("{config:?}"))
    }

    #[test]
    fn thresholds_reach_the_stack_and_those_that_rfc_9002_refuses_do_not() {
        let rfc = applied(LossDetection::RFC).unwrap();
        assert!(rfc.contains("packet_threshold: 3,") && rfc.contains("time_threshold: 1.125"));
        let loss = LossDetection {
            packet_threshold: PacketThreshold::None,
            time_threshold: 1.5,
            persistent_congestion: false,
        };
        let text = applied(loss).unwrap();
        assert!(text.contains("packet_threshold: 4294967295,"), "{text}");
        assert!(text.contains("persistent_congestion_threshold: 4294967295"), "{text}");
        for packets in [0, 2] {
            let packet_threshold = PacketThreshold::Packets(packets);
            let error = applied(LossDetection { packet_threshold, ..loss }).unwrap_err();
            assert!(error.to_string().contains("at least 3"), "{error}");
        }
        for time_threshold in [0.9, f32::NAN, 1001.0] {
            let error = applied(LossDetection { time_threshold, ..loss }).unwrap_err();
            assert!(error.to_string().contains("1 to 1000"), "{error}");
        }
    }

    #[test]
    fn auto_is_a_share_of_the_saved_window_and_never_few_packets() {
        let saved = |bytes| SavedParameters::new(Bytes::new(bytes), Span::from_millis(600));
        let auto = |saved: Option<&SavedParameters>| PacketThreshold::Auto.packets(1472, saved);
        assert_eq!(auto(None), 32);
        assert_eq!(auto(Some(&saved(200_000))), 32);
        assert_eq!(auto(Some(&saved(18_750_000))), 199);
    }
}
