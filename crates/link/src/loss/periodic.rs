//! Losses at a fixed interval of packets.

use super::model::{Model, Process};
use crate::fields::{Field, Fields, Kind};
use crate::random::Stream;
use crate::{ConfigError, LinkError, ReadFiles};
use bentpipe_units::Time;

/// Loses one of every `every` packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Periodic {
    /// Packets per loss.
    pub every: u64,
    /// Number of the first packet lost, from 0; below `every`.
    pub offset: u64,
}

impl Model for Periodic {
    const NAME: &'static str = "periodic";
    const FIELDS: &'static [Field] = &[
        Field {
            name: "every",
            kind: Kind::Count,
            about: "periodic: one packet of this many is lost.",
        },
        Field {
            name: "offset",
            kind: Kind::Count,
            about: "periodic: the first packet lost, counted from 0; default the last of the first \
                period.",
        },
    ];
    type Process = PeriodicProcess;

    fn from_fields(fields: &Fields) -> Result<Self, ConfigError> {
        fields.expect(&["every"], &["offset"])?;
        let every = fields.count("every").unwrap_or_default();
        Ok(Self { every, offset: fields.count("offset").unwrap_or(every.saturating_sub(1)) })
    }

    fn to_fields(&self) -> Fields {
        Fields::new(Self::NAME).with("every", self.every).with("offset", self.offset)
    }

    fn check(&self) -> Result<(), ConfigError> {
        let Self { every, offset } = *self;
        if every == 0 {
            return Err(ConfigError::refused("every = 0", "is not a valid period", "1 or more"));
        }
        if offset >= every {
            let problem = format!("is never reached with every = {every}");
            let allowed = format!("0 to {}", every - 1);
            return Err(ConfigError::refused(format!("offset = {offset}"), problem, allowed));
        }
        Ok(())
    }

    fn is_random(&self) -> bool {
        false
    }

    fn load(&self, _: &dyn ReadFiles) -> Result<PeriodicProcess, LinkError> {
        Ok(PeriodicProcess { every: self.every, next: self.offset })
    }
}

/// The running process of [`Periodic`].
#[derive(Debug, Clone, PartialEq)]
pub struct PeriodicProcess {
    every: u64,
    /// Packets that pass before the next loss.
    next: u64,
}

impl Process for PeriodicProcess {
    fn start(&mut self, _: &mut Stream) {}

    #[inline]
    fn loses(&mut self, _: Time, _: &mut Stream) -> bool {
        let lost = self.next == 0;
        self.next = if lost { self.every - 1 } else { self.next - 1 };
        lost
    }
}

#[cfg(test)]
mod tests {
    use crate::loss::testing::lost;

    #[test]
    fn every_nth_packet_is_lost_from_the_offset_on() {
        assert_eq!(lost("{ model = \"periodic\", every = 100 }", 350), [99, 199, 299]);
        assert_eq!(
            lost("{ model = \"periodic\", every = 100, offset = 0 }", 350),
            [0, 100, 200, 300]
        );
        assert_eq!(lost("{ model = \"periodic\", every = 1 }", 3), [0, 1, 2]);
    }
}
