//! Independent losses.

use super::model::{Model, Process};
use crate::fields::{Field, Fields, Kind};
use crate::random::Stream;
use crate::{ConfigError, LinkError, ReadFiles};
use bentpipe_units::{Ratio, Time};

/// Each packet is lost with the same probability, independently of all others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bernoulli {
    /// The probability.
    pub ratio: Ratio,
}

impl Model for Bernoulli {
    const NAME: &'static str = "bernoulli";
    const FIELDS: &'static [Field] = &[Field {
        name: "ratio",
        kind: Kind::Ratio,
        about: "bernoulli: fraction of packets lost.",
    }];
    type Process = BernoulliProcess;

    fn from_fields(fields: &Fields) -> Result<Self, ConfigError> {
        fields.expect(&["ratio"], &[])?;
        Ok(Self { ratio: fields.ratio("ratio").unwrap_or_default() })
    }

    fn to_fields(&self) -> Fields {
        Fields::new(Self::NAME).with("ratio", self.ratio)
    }

    fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }

    fn is_random(&self) -> bool {
        self.ratio > Ratio::ZERO && self.ratio < Ratio::ONE
    }

    fn load(&self, _: &dyn ReadFiles) -> Result<BernoulliProcess, LinkError> {
        Ok(BernoulliProcess::new(self.ratio))
    }
}

/// The running process of [`Bernoulli`].
#[derive(Debug, Clone, PartialEq)]
pub struct BernoulliProcess {
    ratio: f64,
}

impl BernoulliProcess {
    /// Independent losses with probability `ratio`.
    pub fn new(ratio: Ratio) -> Self {
        Self { ratio: ratio.get() }
    }

    /// Returns true if every packet is lost.
    pub fn is_total(&self) -> bool {
        self.ratio >= 1.0
    }
}

impl Process for BernoulliProcess {
    fn start(&mut self, _: &mut Stream) {}

    #[inline]
    fn loses(&mut self, _: Time, random: &mut Stream) -> bool {
        random.chance(self.ratio)
    }
}

#[cfg(test)]
mod tests {
    use crate::loss::testing::{assert_near, measure, outcomes};

    #[test]
    fn uniform_loss_has_its_mean_and_no_memory() {
        let measured = measure(&outcomes("\"1 %\"", 1, 400_000));
        assert_near("loss", measured.loss, 0.01, 5.0 * (0.01f64 / 400_000.0).sqrt());
        assert_near("P(b|b)", measured.p_bb, 0.01, 5.0 * (0.01f64 / 4_000.0).sqrt());
        assert_near("mean burst", measured.mean_burst, 1.0 / 0.99, 0.01);
    }
}
