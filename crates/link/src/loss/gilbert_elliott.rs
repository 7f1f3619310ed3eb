//! Two states that change from packet to packet.

use super::bursts::{self, BurstProcess};
use super::model::{Model, Process};
use crate::fields::{Field, Fields, Kind};
use crate::random::Stream;
use crate::{ConfigError, LinkError, ReadFiles};
use bentpipe_units::{Ratio, Time};

/// Two states that change from packet to packet (Gilbert 1960, Elliott 1963), as in netem's
/// `gemodel`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GilbertElliott {
    /// By its transition probabilities.
    Transitions {
        /// Probability of a transition from good to bad, per packet.
        p: Ratio,
        /// Probability of a transition from bad to good, per packet; above zero.
        r: Ratio,
        /// Loss in the good state (1 - k in Elliott's notation).
        loss_good: Ratio,
        /// Loss in the bad state (1 - h).
        loss_bad: Ratio,
    },
    /// By the resulting losses, with no loss in the good state and every packet lost in the bad
    /// one: r = 1 / `mean_burst`, p = `loss` · r / (1 - `loss`).
    Bursts {
        /// Long-run fraction of packets lost.
        loss: Ratio,
        /// Mean number of packets lost in a row.
        mean_burst: f64,
    },
}

impl Model for GilbertElliott {
    const NAME: &'static str = "gilbert-elliott";
    const FIELDS: &'static [Field] = &[
        Field {
            name: "p",
            kind: Kind::Ratio,
            about: "gilbert-elliott: probability of good to bad, per packet.",
        },
        Field {
            name: "r",
            kind: Kind::Ratio,
            about: "gilbert-elliott: probability of bad to good, per packet.",
        },
        Field {
            name: "loss_good",
            kind: Kind::Ratio,
            about: "gilbert-elliott: loss in the good state; default 0.",
        },
        Field {
            name: "loss_bad",
            kind: Kind::Ratio,
            about: "gilbert-elliott: loss in the bad state; default 1.",
        },
        Field {
            name: "loss",
            kind: Kind::Ratio,
            about: "gilbert-elliott (instead of p and r), long-burst: fraction of packets lost.",
        },
        Field {
            name: "mean_burst",
            kind: Kind::Number,
            about: "gilbert-elliott (instead of p and r), long-burst: mean number of packets lost \
                in a row.",
        },
    ];
    type Process = GilbertElliottProcess;

    fn from_fields(fields: &Fields) -> Result<Self, ConfigError> {
        if fields.has("p") || fields.has("r") {
            fields.expect(&["p", "r"], &["loss_good", "loss_bad"])?;
            return Ok(Self::Transitions {
                p: fields.ratio("p").unwrap_or_default(),
                r: fields.ratio("r").unwrap_or_default(),
                loss_good: fields.ratio("loss_good").unwrap_or(Ratio::ZERO),
                loss_bad: fields.ratio("loss_bad").unwrap_or(Ratio::ONE),
            });
        }
        if !fields.has("loss") && !fields.has("mean_burst") {
            let allowed = "p, r, optional loss_good, loss_bad; or loss, mean_burst";
            return Err(ConfigError::refused(Self::NAME, "has no parameters", allowed));
        }
        fields.expect(&["loss", "mean_burst"], &[])?;
        Ok(Self::Bursts {
            loss: fields.ratio("loss").unwrap_or_default(),
            mean_burst: fields.number("mean_burst").unwrap_or_default(),
        })
    }

    fn to_fields(&self) -> Fields {
        let fields = Fields::new(Self::NAME);
        match *self {
            Self::Transitions { p, r, loss_good, loss_bad } => fields
                .with("p", p)
                .with("r", r)
                .with("loss_good", loss_good)
                .with("loss_bad", loss_bad),
            Self::Bursts { loss, mean_burst } => {
                fields.with("loss", loss).with("mean_burst", mean_burst)
            }
        }
    }

    fn check(&self) -> Result<(), ConfigError> {
        match *self {
            Self::Transitions { r, .. } if r.is_zero() => {
                Err(ConfigError::refused("r = 0", "never leaves the bad state", "above 0, up to 1"))
            }
            Self::Transitions { .. } => Ok(()),
            Self::Bursts { loss, mean_burst } => bursts::check(loss, mean_burst),
        }
    }

    fn load(&self, _: &dyn ReadFiles) -> Result<GilbertElliottProcess, LinkError> {
        Ok(match *self {
            Self::Transitions { p, r, loss_good, loss_bad } => GilbertElliottProcess::Transitions {
                p: p.get(),
                r: r.get(),
                good: loss_good.get(),
                bad: loss_bad.get(),
                is_bad: false,
            },
            Self::Bursts { loss, mean_burst } => {
                GilbertElliottProcess::Bursts(BurstProcess::with_loss(loss, mean_burst, None))
            }
        })
    }
}

/// The running process of [`GilbertElliott`].
#[derive(Debug, Clone, PartialEq)]
pub enum GilbertElliottProcess {
    /// Two states, each with its own loss.
    Transitions {
        /// Probability of a transition from good to bad.
        p: f64,
        /// Probability of a transition from bad to good.
        r: f64,
        /// Loss in the good state.
        good: f64,
        /// Loss in the bad state.
        bad: f64,
        /// True in the bad state.
        is_bad: bool,
    },
    /// Loss in the bad state only, with one draw per packet.
    Bursts(BurstProcess),
}

impl Process for GilbertElliottProcess {
    fn start(&mut self, random: &mut Stream) {
        match self {
            Self::Transitions { p, r, is_bad, .. } => *is_bad = random.chance(*p / (*p + *r)),
            Self::Bursts(bursts) => bursts.start(random),
        }
    }

    #[inline]
    fn loses(&mut self, at: Time, random: &mut Stream) -> bool {
        match self {
            Self::Transitions { p, r, good, bad, is_bad } => {
                *is_bad = if *is_bad { !random.chance(*r) } else { random.chance(*p) };
                random.chance(if *is_bad { *bad } else { *good })
            }
            Self::Bursts(bursts) => bursts.loses(at, random),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::loss::testing::{assert_near, measure, outcomes};

    #[test]
    fn bursts_have_their_loss_and_mean_length() {
        for (loss, burst) in [(0.01, 4.0), (0.05, 10.0), (0.3, 2.0), (0.02, 1.0)] {
            let text =
                format!("{{ model = \"gilbert-elliott\", loss = {loss}, mean_burst = {burst} }}");
            let measured = measure(&outcomes(&text, 2, 400_000));
            let count = 400_000.0 * loss / burst;
            // The standard deviation of a geometric length is below its mean.
            assert_near("mean burst", measured.mean_burst, burst, 5.0 * burst / f64::sqrt(count));
            assert_near("loss", measured.loss, loss, 5.0 * 1.5 * loss / f64::sqrt(count));
        }
    }

    #[test]
    fn transitions_follow_their_formula() {
        // loss = loss_good · r / (p + r) + loss_bad · p / (p + r)
        let text =
            "{ model = \"gilbert-elliott\", p = 0.02, r = 0.1, loss_good = 0.01, loss_bad = 0.4 }";
        let measured = measure(&outcomes(text, 3, 400_000));
        assert_near("loss", measured.loss, 0.01 * 0.1 / 0.12 + 0.4 * 0.02 / 0.12, 0.005);
        // With loss in the bad state only, p and r are the transitions themselves.
        let measured =
            measure(&outcomes("{ model = \"gilbert-elliott\", p = 0.02, r = 0.25 }", 3, 400_000));
        assert_near("P(b|g)", measured.p_bg, 0.02, 0.0012);
        assert_near("P(b|b)", measured.p_bb, 0.75, 0.013);
    }

    #[test]
    fn the_first_packet_is_lost_with_the_same_probability() {
        let text = "{ model = \"gilbert-elliott\", loss = 0.25, mean_burst = 50 }";
        let lost = (0..4000).filter(|seed| outcomes(text, *seed, 1)[0]).count();
        let tolerance = 5.0 * (0.25f64 * 0.75 / 4000.0).sqrt();
        assert_near("loss of first packets", lost as f64 / 4000.0, 0.25, tolerance);
    }
}
