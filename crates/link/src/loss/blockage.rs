//! Blockage of the line of sight over time.

use super::model::{Model, Process};
use crate::fields::{Field, Fields, Kind};
use crate::random::Stream;
use crate::{ConfigError, LinkError, ReadFiles};
use bentpipe_units::{Ratio, Span, Time};

/// A line of sight to the satellite that alternates between clear and blocked, as for a terminal
/// that drives past trees and buildings.
///
/// Both durations are exponential. Unlike [`GilbertElliott`](super::GilbertElliott), the state
/// changes with time rather than packets: a blockage has the same duration for slow and fast
/// traffic. The model is the two-state channel of Lutz, Cygan, Dippold, Dolainsky and Papke ("The
/// land mobile satellite communication channel", IEEE Transactions on Vehicular Technology 40(2),
/// 1991) with one packet loss ratio per state in place of the fading within it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Blockage {
    /// Mean duration of a clear period, above zero.
    pub mean_clear: Span,
    /// Mean duration of a blockage, above zero.
    pub mean_blocked: Span,
    /// Fraction of packets lost while the line of sight is clear.
    pub loss_clear: Ratio,
    /// Fraction of packets lost while it is blocked.
    pub loss_blocked: Ratio,
}

impl Model for Blockage {
    const NAME: &'static str = "blockage";
    const FIELDS: &'static [Field] = &[
        Field {
            name: "mean_clear",
            kind: Kind::Span,
            about: "blockage: mean duration of a clear period.",
        },
        Field {
            name: "mean_blocked",
            kind: Kind::Span,
            about: "blockage: mean duration of a blockage.",
        },
        Field {
            name: "loss_clear",
            kind: Kind::Ratio,
            about: "blockage: loss in clear periods; default 0.",
        },
        Field {
            name: "loss_blocked",
            kind: Kind::Ratio,
            about: "blockage: loss in blockages; default 1.",
        },
    ];
    type Process = BlockageProcess;

    fn from_fields(fields: &Fields) -> Result<Self, ConfigError> {
        fields.expect(&["mean_clear", "mean_blocked"], &["loss_clear", "loss_blocked"])?;
        Ok(Self {
            mean_clear: fields.span("mean_clear").unwrap_or_default(),
            mean_blocked: fields.span("mean_blocked").unwrap_or_default(),
            loss_clear: fields.ratio("loss_clear").unwrap_or(Ratio::ZERO),
            loss_blocked: fields.ratio("loss_blocked").unwrap_or(Ratio::ONE),
        })
    }

    fn to_fields(&self) -> Fields {
        Fields::new(Self::NAME)
            .with("mean_clear", self.mean_clear)
            .with("mean_blocked", self.mean_blocked)
            .with("loss_clear", self.loss_clear)
            .with("loss_blocked", self.loss_blocked)
    }

    fn check(&self) -> Result<(), ConfigError> {
        let mut means =
            [("mean_clear", self.mean_clear), ("mean_blocked", self.mean_blocked)].into_iter();
        match means.find(|(_, mean)| mean.is_zero()) {
            Some((key, mean)) => Err(ConfigError::refused(
                format!("{key} = {mean}"),
                "is not a valid duration",
                "more than 0 s",
            )),
            None => Ok(()),
        }
    }

    fn load(&self, _: &dyn ReadFiles) -> Result<BlockageProcess, LinkError> {
        let (clear, blocked) = (self.mean_clear.as_secs_f64(), self.mean_blocked.as_secs_f64());
        Ok(BlockageProcess {
            share: blocked / (clear + blocked),
            change_rate: 1.0 / clear + 1.0 / blocked,
            loss_clear: self.loss_clear.get(),
            loss_blocked: self.loss_blocked.get(),
            is_blocked: false,
            at: Time::ZERO,
        })
    }
}

/// The running process of [`Blockage`]: a Markov chain in continuous time, sampled when a packet
/// leaves.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockageProcess {
    /// Long-run fraction of time that is blocked.
    share: f64,
    /// Sum of the rates of both transitions, per second.
    change_rate: f64,
    loss_clear: f64,
    loss_blocked: f64,
    /// State at `at`.
    is_blocked: bool,
    at: Time,
}

impl Process for BlockageProcess {
    fn start(&mut self, random: &mut Stream) {
        self.is_blocked = random.chance(self.share);
    }

    fn loses(&mut self, at: Time, random: &mut Stream) -> bool {
        // Correlation with the state at the previous packet, after the time since then.
        let memory = libm::exp(-self.change_rate * at.since(self.at).as_secs_f64());
        let was_blocked = f64::from(u8::from(self.is_blocked));
        self.is_blocked = random.chance(self.share + (was_blocked - self.share) * memory);
        self.at = at;
        random.chance(if self.is_blocked { self.loss_blocked } else { self.loss_clear })
    }
}

#[cfg(test)]
mod tests {
    use crate::loss::testing::{assert_near, measure, outcomes};

    #[test]
    fn blockages_have_their_share_of_time_and_mean_duration() {
        // A packet per millisecond: 100 packets per blockage, about 800 blockages.
        let text = "{ model = \"blockage\", mean_clear = \"400 ms\", mean_blocked = \"100 ms\" }";
        let measured = measure(&outcomes(text, 4, 400_000));
        let relative = 5.0 / f64::sqrt(800.0);
        assert_near("loss", measured.loss, 0.2, 0.2 * relative);
        // A clear period between two packets is invisible, so bursts are slightly longer.
        let stays = 0.2 + 0.8 * f64::exp(-(1.0 / 400.0 + 1.0 / 100.0));
        let burst = 1.0 / (1.0 - stays);
        assert_near("mean burst", measured.mean_burst, burst, burst * relative);
    }

    #[test]
    fn each_state_has_its_loss() {
        let text = "{ model = \"blockage\", mean_clear = \"30 ms\", mean_blocked = \"10 ms\", \
                    loss_clear = \"1 %\", loss_blocked = \"40 %\" }";
        let measured = measure(&outcomes(text, 5, 400_000));
        assert_near("loss", measured.loss, 0.75 * 0.01 + 0.25 * 0.4, 0.005);
    }

    #[test]
    fn the_first_packet_is_lost_with_the_same_probability() {
        let text = "{ model = \"blockage\", mean_clear = \"3 s\", mean_blocked = \"1 s\" }";
        let lost = (0..4000).filter(|seed| outcomes(text, *seed, 1)[0]).count();
        let tolerance = 5.0 * (0.25f64 * 0.75 / 4000.0).sqrt();
        assert_near("loss of first packets", lost as f64 / 4000.0, 0.25, tolerance);
    }

    #[test]
    fn a_state_without_duration_is_rejected() {
        use crate::LossConfig;
        #[derive(serde::Deserialize, Debug)]
        struct Key {
            #[allow(dead_code)]
            loss: LossConfig,
        }
        let text = "loss = { model = \"blockage\", mean_clear = \"0 s\", mean_blocked = \"1 s\" }";
        let error = toml::from_str::<Key>(text).unwrap_err().to_string();
        assert!(error.contains("mean_clear"), "{error}");
    }
}
