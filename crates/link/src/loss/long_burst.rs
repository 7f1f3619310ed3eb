//! Short bursts and rare long ones.

use super::bursts::{self, BurstProcess, LongBursts};
use super::model::Model;
use crate::fields::{Field, Fields, Kind};
use crate::{ConfigError, LinkError, ReadFiles};
use bentpipe_units::Ratio;

/// Bursts of two regimes, short ones and rare long ones, both of geometric length.
///
/// [`crate::loss::preset`] describes where such bursts were measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LongBurst {
    /// Long-run fraction of packets lost.
    pub loss: Ratio,
    /// Mean number of packets lost in a row, over both regimes.
    pub mean_burst: f64,
    /// The long bursts.
    pub long: LongBursts,
}

impl Model for LongBurst {
    const NAME: &'static str = "long-burst";
    const FIELDS: &'static [Field] = &[
        Field { name: "loss", kind: Kind::Ratio, about: "long-burst: fraction of packets lost." },
        Field {
            name: "mean_burst",
            kind: Kind::Number,
            about: "long-burst: mean number of packets lost in a row.",
        },
        Field {
            name: "long_share",
            kind: Kind::Number,
            about: "long-burst: fraction of bursts that are long.",
        },
        Field {
            name: "long_burst",
            kind: Kind::Number,
            about: "long-burst: mean number of packets in long bursts.",
        },
    ];
    type Process = BurstProcess;

    fn from_fields(fields: &Fields) -> Result<Self, ConfigError> {
        fields.expect(&["loss", "mean_burst", "long_share", "long_burst"], &[])?;
        Ok(Self {
            loss: fields.ratio("loss").unwrap_or_default(),
            mean_burst: fields.number("mean_burst").unwrap_or_default(),
            long: LongBursts {
                share: fields.number("long_share").unwrap_or_default(),
                mean: fields.number("long_burst").unwrap_or_default(),
            },
        })
    }

    fn to_fields(&self) -> Fields {
        Fields::new(Self::NAME)
            .with("loss", self.loss)
            .with("mean_burst", self.mean_burst)
            .with("long_share", self.long.share)
            .with("long_burst", self.long.mean)
    }

    fn check(&self) -> Result<(), ConfigError> {
        let Self { loss, mean_burst, long } = *self;
        bursts::check(loss, mean_burst)?;
        if !(0.0..1.0).contains(&long.share) {
            let value = format!("long_share = {}", long.share);
            return Err(ConfigError::refused(value, "is not a valid fraction", "0 to below 1"));
        }
        if !(long.mean >= mean_burst && long.mean.is_finite()) {
            let problem = format!("is shorter than the mean burst of {mean_burst}");
            let value = format!("long_burst = {}", long.mean);
            return Err(ConfigError::refused(value, problem, format!("{mean_burst} or more")));
        }
        let short = (mean_burst - long.share * long.mean) / (1.0 - long.share);
        if short < 1.0 {
            let problem = format!(
                "of bursts with {} packets leave less than one packet for the others at mean_burst \
                    = {mean_burst}",
                long.mean
            );
            let most = (mean_burst - 1.0) / (long.mean - 1.0);
            let value = format!("long_share = {}", long.share);
            return Err(ConfigError::refused(value, problem, format!("0 to {most}")));
        }
        Ok(())
    }

    fn load(&self, _: &dyn ReadFiles) -> Result<BurstProcess, LinkError> {
        Ok(BurstProcess::with_loss(self.loss, self.mean_burst, Some(self.long)))
    }
}

#[cfg(test)]
mod tests {
    use crate::loss::testing::{assert_near, measure, outcomes};

    #[test]
    fn two_regimes_have_their_loss_and_mean_burst_and_longer_tails() {
        let text = "{ model = \"long-burst\", loss = 0.02, mean_burst = 2, long_share = 0.01, \
                    long_burst = 40 }";
        let measured = measure(&outcomes(text, 5, 400_000));
        // 4,000 bursts, of which 40 are long: a standard error of 3.9 packets · √0.01 · √2 / √40.
        assert_near("mean burst", measured.mean_burst, 2.0, 0.5);
        assert_near("loss", measured.loss, 0.02, 0.005);
        let short = "{ model = \"gilbert-elliott\", loss = 0.02, mean_burst = 2 }";
        assert!(
            measured.max_burst > 2 * measure(&outcomes(short, 5, 400_000)).max_burst,
            "{measured:?}"
        );
    }
}
