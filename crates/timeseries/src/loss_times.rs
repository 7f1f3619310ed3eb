//! What losses cost: time, by where the packets were lost that cost it.

use bentpipe_units::Span;

/// Where packets of a transfer were lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossPlace {
    /// By the loss process of a link, or by a node on the path.
    Channel,
    /// At a full queue, or by active queue management.
    Queue,
    /// At a policer.
    Policer,
    /// In a handover, or without a route.
    Routing,
}

impl LossPlace {
    /// All places, in the order of results.
    pub const ALL: [Self; 4] = [Self::Channel, Self::Queue, Self::Policer, Self::Routing];

    /// Returns what it is called in a sentence, after "losses".
    pub fn words(self) -> &'static str {
        match self {
            Self::Channel => "on the channel",
            Self::Queue => "at a full queue",
            Self::Policer => "at the policer",
            Self::Routing => "in route changes",
        }
    }
}

/// The time that losses cost at each place, in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LossTimes {
    all: [Span; LossPlace::ALL.len()],
    reverse: Span,
}

impl LossTimes {
    /// Adds `time` that losses at `place` cost.
    pub fn add(&mut self, place: LossPlace, time: Span) {
        self.all[place as usize] += time;
    }

    /// Adds `time` that losses of acknowledgements or requests at `place` cost.
    pub fn add_reverse(&mut self, place: LossPlace, time: Span) {
        self.add(place, time);
        self.reverse += time;
    }

    /// Returns the time that losses at `place` cost.
    pub fn get(&self, place: LossPlace) -> Span {
        self.all[place as usize]
    }

    /// Returns the part of all times that losses of acknowledgements or requests cost.
    pub fn reverse(&self) -> Span {
        self.reverse
    }
}
