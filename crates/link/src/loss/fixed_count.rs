//! Losses of which each block of packets has the same number.

use super::model::{Model, Process};
use crate::fields::{Field, Fields, Kind};
use crate::random::Stream;
use crate::{ConfigError, LinkError, ReadFiles};
use bentpipe_units::Time;

/// Loses exactly `lost` of every `of` packets, each choice of them equally likely.
///
/// Runs of losses are rarer than with independent losses of the same share. Tests of other stacks
/// lose packets in this way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FixedCount {
    /// Packets lost in each block.
    pub lost: u64,
    /// Packets of a block.
    pub of: u64,
}

impl Model for FixedCount {
    const NAME: &'static str = "fixed-count";
    const FIELDS: &'static [Field] = &[
        Field {
            name: "lost",
            kind: Kind::Count,
            about: "fixed-count: as many packets of each block are lost, at random places.",
        },
        Field { name: "of", kind: Kind::Count, about: "fixed-count: packets of a block." },
    ];
    type Process = FixedCountProcess;

    fn from_fields(fields: &Fields) -> Result<Self, ConfigError> {
        fields.expect(&["lost", "of"], &[])?;
        let count = |name| fields.count(name).unwrap_or_default();
        Ok(Self { lost: count("lost"), of: count("of") })
    }

    fn to_fields(&self) -> Fields {
        Fields::new(Self::NAME).with("lost", self.lost).with("of", self.of)
    }

    fn check(&self) -> Result<(), ConfigError> {
        let Self { lost, of } = *self;
        if of == 0 {
            return Err(ConfigError::refused("of = 0", "is not a block of packets", "1 or more"));
        }
        if lost > of {
            let problem = format!("is more than the block has, of = {of}");
            return Err(ConfigError::refused(
                format!("lost = {lost}"),
                problem,
                format!("0 to {of}"),
            ));
        }
        Ok(())
    }

    fn is_random(&self) -> bool {
        0 < self.lost && self.lost < self.of
    }

    fn load(&self, _: &dyn ReadFiles) -> Result<FixedCountProcess, LinkError> {
        Ok(FixedCountProcess { model: *self, left: 0, to_lose: 0 })
    }
}

/// The running process of [`FixedCount`]. A block begins with the first packet, which is lost as
/// often as any other.
#[derive(Debug, Clone, PartialEq)]
pub struct FixedCountProcess {
    model: FixedCount,
    /// Packets of the current block that have not been sent.
    left: u64,
    /// Of these, those that will be lost.
    to_lose: u64,
}

impl Process for FixedCountProcess {
    fn start(&mut self, _: &mut Stream) {}

    #[inline]
    fn loses(&mut self, _: Time, random: &mut Stream) -> bool {
        if self.left == 0 {
            (self.left, self.to_lose) = (self.model.of, self.model.lost);
        }
        // Selection sampling: every set of `lost` places has the same probability.
        let lost = random.unit() * (self.left as f64) < self.to_lose as f64;
        self.left -= 1;
        self.to_lose -= u64::from(lost);
        lost
    }
}

#[cfg(test)]
mod tests {
    use crate::loss::testing::lost;

    #[test]
    fn every_block_loses_the_same_number_at_random_places() {
        let lost = lost("{ model = \"fixed-count\", lost = 3, of = 10 }", 100_000);
        for block in 0..10_000 {
            let within = lost.iter().filter(|&&number| number / 10 == block).count();
            assert_eq!(within, 3, "block {block}");
        }
        // A place is lost 3,000 times of 10,000; the standard error is 46.
        for place in 0..10 {
            let times = lost.iter().filter(|&&number| number % 10 == place).count() as f64;
            assert!((times - 3_000.0).abs() < 5.0 * 46.0, "place {place}: {times}");
        }
    }

    #[test]
    fn none_and_all_of_a_block_can_be_lost() {
        assert!(lost("{ model = \"fixed-count\", lost = 0, of = 4 }", 100).is_empty());
        assert_eq!(lost("{ model = \"fixed-count\", lost = 4, of = 4 }", 100).len(), 100);
    }
}
