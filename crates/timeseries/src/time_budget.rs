//! What the completion time of a transfer was spent on: the parts and a time for each.

use bentpipe_units::Span;
use std::ops::{AddAssign, SubAssign};

/// What `bentpipe explain` and the report call a part.
#[derive(Debug)]
struct Words {
    name: &'static str,
    metric: &'static str,
    label: &'static str,
    words: &'static str,
    is_needed: bool,
    about: &'static str,
}

/// [`TimePart::is_needed`] of a part.
const NEEDED: bool = true;
/// [`TimePart::is_needed`] of a part that makes a transfer slow.
const CAUSE: bool = false;

/// Declares the parts, their names in results and their words.
macro_rules! parts {
    ($(
        $(#[doc = $doc:literal])+
        $kind:ident $part:ident $name:literal $label:literal, $words:literal;
    )+) => {
        /// A part of the completion time, by what it was spent on.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum TimePart {
            $($(#[doc = $doc])+ $part,)+
        }

        impl TimePart {
            /// All parts, in the order of results.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$part),+];
            /// Number of parts.
            pub const COUNT: usize = [$($name),+].len();
        }

        static WORDS: [Words; TimePart::COUNT] = [$(Words {
            name: $name,
            metric: concat!("time_budget.", $name),
            label: $label,
            words: $words,
            is_needed: $kind,
            about: concat!($($doc),+),
        }),+];
    };
}

parts! {
    /// Handshake.
    NEEDED Handshake "handshake_s" "Handshake", "handshake";
    /// Round trips of requests, up to the first packet of data; the response to an upload.
    NEEDED Request "request_s" "Requests", "round trips of requests";
    /// New bytes of the application on the slowest link of the path.
    NEEDED Serialisation "serialisation_s" "Data on the link", "time to send the data";
    /// Headers, and everything else that is neither application data nor sent twice.
    NEEDED Headers "headers_s" "Headers", "headers";
    /// Packets of the flow that used the link's capacity and were then lost.
    CAUSE LostPackets "lost_packets_s" "Lost packets", "capacity for packets that were lost";
    /// Packets of the flow that arrived for the second time.
    CAUSE Duplicates "duplicates_s" "Duplicates", "spurious retransmissions";
    /// Waits for packets of other flows.
    CAUSE OtherFlows "other_flows_s" "Other flows", "waiting for other flows";
    /// Waits for capacity: allocation, frames, opportunities of a trace.
    CAUSE Capacity "capacity_s" "Capacity", "waiting for capacity";
    /// Waits for the end of an outage or a handover.
    CAUSE Outage "outage_s" "Outages", "outages";
    /// Growth of the path's delay.
    CAUSE PathChange "path_change_s" "Path changes", "longer path";
    /// Idle link while slow start, or what takes its place, limited the sender.
    CAUSE SlowStart "slow_start_s" "Slow start", "slow start";
    /// Idle link while the congestion window limited the sender, after slow start or in the slow
    /// start that follows a timeout.
    CAUSE CongestionWindow "congestion_window_s" "Congestion window", "congestion window";
    /// Idle link while pacing limited the sender, after slow start.
    CAUSE Pacing "pacing_s" "Pacing", "pacing";
    /// Idle link while flow control or the send buffer limited the sender.
    CAUSE FlowControl "flow_control_s" "Flow control", "flow control";
    /// Idle link while the application had nothing to send.
    CAUSE Application "application_s" "Application", "pauses of the application";
    /// Idle link because the client's address was not yet validated.
    CAUSE AddressValidation "address_validation_s" "Address validation", "address validation";
    /// Idle link until the sender noticed a loss, with nothing else to send.
    CAUSE LossDetection "loss_detection_s" "Loss detection", "detection of losses";
    /// Idle link until a probe or retransmission timeout expired.
    CAUSE Timeout "timeout_s" "Timeouts", "timeouts";
    /// Idle link because acknowledgements or requests waited on their way.
    CAUSE ReturnLink "return_link_s" "Return link", "waiting on the return link";
    /// Idle link because the receiver, or a filter of acknowledgements, held them back.
    CAUSE HeldAcks "held_acks_s" "Held ACKs", "acknowledgements held back";
    /// Idle link because a proxy had nothing to forward or had not yet forwarded.
    CAUSE Proxy "proxy_s" "Proxy", "waiting for a proxy";
    /// Time whose cause is unknown.
    CAUSE Unattributed "unattributed_s" "Unknown", "unknown causes";
}

impl TimePart {
    /// Returns the part whose field in results has this name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.name() == name)
    }

    fn text(self) -> &'static Words {
        &WORDS[self as usize]
    }

    /// Returns the name of its field in results, such as `slow_start_s`.
    pub fn name(self) -> &'static str {
        self.text().name
    }

    /// Returns the name of its metric and of its time series, such as `time_budget.slow_start_s`.
    pub fn metric(self) -> &'static str {
        self.text().metric
    }

    /// Returns its label in tables and plots.
    pub fn label(self) -> &'static str {
        self.text().label
    }

    /// Returns what it is called in a sentence, after "more" and "less".
    pub fn words(self) -> &'static str {
        self.text().words
    }

    /// Returns true if every transfer needs it: it is no cause of slowness.
    pub fn is_needed(self) -> bool {
        self.text().is_needed
    }

    /// Returns its meaning, in a sentence.
    pub fn about(self) -> &'static str {
        self.text().about.trim_start()
    }
}

/// The time spent on each part, as a [`Span`] or, in results, in seconds. The parts exclude each
/// other, and their sum is the completion time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimeBudget<T = Span>([T; TimePart::COUNT]);

impl<T: Copy> TimeBudget<T> {
    /// Returns the time spent on `part`.
    pub fn get(&self, part: TimePart) -> T {
        self.0[part as usize]
    }

    /// Returns all parts with their times, in the order of [`TimePart::ALL`].
    pub fn parts(&self) -> impl Iterator<Item = (TimePart, T)> + use<T> {
        TimePart::ALL.into_iter().zip(self.0)
    }
}

impl<T: AddAssign> TimeBudget<T> {
    /// Adds `time` to `part`.
    pub fn add(&mut self, part: TimePart, time: T) {
        self.0[part as usize] += time;
    }
}

impl<T: AddAssign + SubAssign + Copy> TimeBudget<T> {
    /// Moves `time` from one part, which has at least that, to another.
    pub fn transfer(&mut self, from: TimePart, to: TimePart, time: T) {
        self.0[from as usize] -= time;
        self.add(to, time);
    }
}

impl<T: AddAssign + Copy + Default> FromIterator<(TimePart, T)> for TimeBudget<T> {
    fn from_iter<I: IntoIterator<Item = (TimePart, T)>>(parts: I) -> Self {
        let mut budget = Self([T::default(); TimePart::COUNT]);
        parts.into_iter().for_each(|(part, time)| budget.add(part, time));
        budget
    }
}

impl TimeBudget {
    /// Returns the sum of all parts.
    pub fn total(&self) -> Span {
        self.0.iter().fold(Span::ZERO, |sum, &part| sum + part)
    }

    /// Returns the same in seconds.
    pub fn seconds(&self) -> TimeBudget<f64> {
        TimeBudget(self.0.map(Span::as_secs_f64))
    }
}

impl TimeBudget<f64> {
    /// Returns the sum of all parts, in seconds.
    pub fn total_s(&self) -> f64 {
        self.0.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_words_and_are_found_by_name() {
        for part in TimePart::ALL {
            assert_eq!(TimePart::find(part.name()), Some(part));
            assert_eq!(part.metric(), format!("time_budget.{}", part.name()));
            assert!(part.about().ends_with('.') && !part.about().starts_with(' '));
        }
        assert_eq!(TimePart::find("slow_start"), None);
        assert!(TimePart::Headers.is_needed() && !TimePart::LostPackets.is_needed());
    }

    #[test]
    fn a_transfer_between_parts_keeps_the_sum() {
        let [long, short] = [Span::from_millis(1500), Span::from_millis(500)];
        let mut budget: TimeBudget =
            [(TimePart::SlowStart, long), (TimePart::Request, short)].into_iter().collect();
        budget.transfer(TimePart::SlowStart, TimePart::Pacing, short);
        assert_eq!(budget.get(TimePart::SlowStart), Span::from_millis(1000));
        assert_eq!(budget.total(), long + short);
        assert_eq!(budget.seconds().total_s(), 2.0);
        assert_eq!(budget.seconds().get(TimePart::Pacing), 0.5);
    }
}
