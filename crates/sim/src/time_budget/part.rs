//! The parts of a time budget.

use bentpipe_quic::congestion::SendLimit;
use bentpipe_units::Span;

/// What a part of the completion time was spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimePart {
    /// The handshake.
    Handshake,
    /// Round trips of requests, up to their first packet of data; the response to an upload.
    Request,
    /// New bytes of the application on the slowest link.
    Serialisation,
    /// Headers and everything else that is not application data.
    Headers,
    /// Packets that were transmitted and then lost.
    LostPackets,
    /// Bytes that had arrived before.
    Duplicates,
    /// Packets of other flows.
    OtherFlows,
    /// A link without capacity for a packet that waits: frames, allocation, opportunities.
    Capacity,
    /// A link at rate zero, or a path that loses everything.
    Outage,
    /// A path that became longer.
    PathChange,
    /// Slow start, or what takes its place.
    SlowStart,
    /// The congestion window after slow start.
    CongestionWindow,
    /// Pacing after slow start.
    Pacing,
    /// Flow control, or the send buffer.
    FlowControl,
    /// The application had nothing to send.
    Application,
    /// The address was not yet validated.
    AddressValidation,
    /// Loss that the sender did not know of yet, with nothing else to send.
    LossDetection,
    /// A timeout had to expire.
    Timeout,
    /// Acknowledgements and requests that waited on their way.
    ReturnLink,
    /// A proxy that had nothing to forward, or had not yet forwarded.
    Proxy,
    /// Time whose cause is unknown.
    Unattributed,
}

impl TimePart {
    /// Number of parts.
    pub const COUNT: usize = 21;
    /// All parts, in the order of [`TimeBudget`].
    pub const ALL: [Self; Self::COUNT] = [
        Self::Handshake,
        Self::Request,
        Self::Serialisation,
        Self::Headers,
        Self::LostPackets,
        Self::Duplicates,
        Self::OtherFlows,
        Self::Capacity,
        Self::Outage,
        Self::PathChange,
        Self::SlowStart,
        Self::CongestionWindow,
        Self::Pacing,
        Self::FlowControl,
        Self::Application,
        Self::AddressValidation,
        Self::LossDetection,
        Self::Timeout,
        Self::ReturnLink,
        Self::Proxy,
        Self::Unattributed,
    ];
}

/// Names of the time series of the parts, in their order: those of their metrics.
const SERIES: [&str; TimePart::COUNT] = [
    "time_budget.handshake_s",
    "time_budget.request_s",
    "time_budget.serialisation_s",
    "time_budget.headers_s",
    "time_budget.lost_packets_s",
    "time_budget.duplicates_s",
    "time_budget.other_flows_s",
    "time_budget.capacity_s",
    "time_budget.outage_s",
    "time_budget.path_change_s",
    "time_budget.slow_start_s",
    "time_budget.congestion_window_s",
    "time_budget.pacing_s",
    "time_budget.flow_control_s",
    "time_budget.application_s",
    "time_budget.address_validation_s",
    "time_budget.loss_detection_s",
    "time_budget.timeout_s",
    "time_budget.return_link_s",
    "time_budget.proxy_s",
    "time_budget.unattributed_s",
];

impl TimePart {
    /// Returns the name of its time series: that of its metric.
    pub fn series_name(self) -> &'static str {
        SERIES[self as usize]
    }

    /// Returns the name of its field in results, such as `slow_start_s`.
    pub fn name(self) -> &'static str {
        self.series_name().trim_start_matches("time_budget.")
    }
}

impl From<SendLimit> for TimePart {
    fn from(limit: SendLimit) -> Self {
        match limit {
            SendLimit::Application => Self::Application,
            SendLimit::FlowControl => Self::FlowControl,
            SendLimit::SlowStart => Self::SlowStart,
            SendLimit::CongestionWindow => Self::CongestionWindow,
            SendLimit::Pacing => Self::Pacing,
            SendLimit::AddressValidation => Self::AddressValidation,
            SendLimit::LossDetection => Self::LossDetection,
            SendLimit::Timeout => Self::Timeout,
        }
    }
}

/// The time spent on each part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimeBudget([Span; TimePart::COUNT]);

/// A budget, with what was spent on the last gap.
#[derive(Debug, Default)]
pub(super) struct Spending {
    pub(super) budget: TimeBudget,
    gap: Vec<(TimePart, Span)>,
}

impl Spending {
    /// Starts the next gap.
    #[inline]
    pub(super) fn next_gap(&mut self) {
        self.gap.clear();
    }

    /// Spends `span` of the gap on `part`.
    #[inline]
    pub(super) fn spend(&mut self, part: TimePart, span: Span) {
        if !span.is_zero() {
            self.budget.add(part, span);
            self.gap.push((part, span));
        }
    }

    /// Returns what was spent on the gap. A part may come several times.
    pub(super) fn gap(&self) -> &[(TimePart, Span)] {
        &self.gap
    }
}

impl TimeBudget {
    /// Returns the time spent on `part`.
    pub fn get(&self, part: TimePart) -> Span {
        self.0[part as usize]
    }

    /// Returns the sum of all parts.
    pub fn total(&self) -> Span {
        self.0.iter().fold(Span::ZERO, |sum, &part| sum + part)
    }

    pub(super) fn add(&mut self, part: TimePart, span: Span) {
        self.0[part as usize] += span;
    }

    /// Moves `span` from one part, which has at least that, to another.
    pub(super) fn transfer(&mut self, from: TimePart, to: TimePart, span: Span) {
        self.0[from as usize] -= span;
        self.add(to, span);
    }

    /// Moves the fraction `share` / `whole` of the serialisation to `part`.
    pub(super) fn move_share(&mut self, all: Span, share: u64, whole: u64, part: TimePart) {
        let nanos = u128::from(all.as_nanos()) * u128::from(share) / u128::from(whole.max(1));
        let moved = Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
            .min(self.get(TimePart::Serialisation));
        self.transfer(TimePart::Serialisation, part, moved);
    }
}
