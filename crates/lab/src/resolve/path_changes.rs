//! Changes of the hops of a run whose times are known: reconfigurations, and those of a recording.

use bentpipe_quic::congestion::PathChangeNotice;
use bentpipe_scenario::Reconfiguration;
use bentpipe_sim::{HopSpec, Reconfigured};
use bentpipe_units::{Span, Time};

/// Most notices of a run: a visit reads the newest 64.
const MAX_NOTICES: usize = 10_000;
/// Just before a change.
const INSTANT: Span = Span::from_nanos(1);

/// The changes of one hop, or of a recording, in a run.
#[derive(Debug, Clone)]
pub(super) struct HopChanges {
    /// Times at which changes come and go again.
    pub regular: Reconfigured,
    /// Time and outage of each change within `length`.
    pub changes: Vec<(Span, Span)>,
    /// Length after which the changes repeat.
    pub length: Span,
}

impl HopChanges {
    /// Returns the changes that a run has drawn for the hop called `name`; `None` without any.
    pub fn drawn(name: &str, change: &Reconfiguration, changes: Vec<(Span, Span)>) -> Option<Self> {
        let regular = Reconfigured {
            hop: name.to_owned(),
            first: changes.first()?.0,
            period: change.period,
            phase: change.phase,
        };
        Some(Self { regular, changes, length: change.length })
    }

    /// Returns the changes of a recording: one each `period`, whose outages are not known.
    pub fn recorded(first: Span, period: Span) -> Self {
        let regular = Reconfigured { hop: String::new(), first, period, phase: None };
        Self { regular, changes: vec![(first, Span::ZERO)], length: period }
    }

    /// Returns the time and the outage of each change up to `end`.
    fn until(&self, end: Span) -> impl Iterator<Item = (Span, Span)> {
        let turns = (0..).map(|turn| self.length * turn).take_while(move |begin| *begin <= end);
        let each = turns
            .flat_map(|begin| self.changes.iter().map(move |(at, outage)| (begin + *at, *outage)));
        each.filter(move |(at, _)| *at <= end)
    }
}

/// Returns the notices of `changes` of a path of `hops` up to `end`, each with the time at which
/// senders get it: `ahead` of the change.
pub(super) fn notices(
    changes: &[HopChanges],
    hops: &[HopSpec],
    ahead: Span,
    end: Span,
) -> Vec<(Time, PathChangeNotice)> {
    let mut times: Vec<(Span, Span)> =
        changes.iter().flat_map(|hop| hop.until(end)).take(MAX_NOTICES).collect();
    times.sort_unstable();
    let rtt = |at: Time| {
        let directions = hops.iter().flat_map(|hop| [&hop.forward, &hop.reverse]);
        Some(directions.map(|direction| direction.delay_at(at)).fold(Span::ZERO, |a, b| a + b))
    };
    let notice = |(at, outage): (Span, Span)| {
        let at = Time::ZERO + at;
        let notice = PathChangeNotice {
            at,
            rtt_before: rtt(at.saturating_sub(INSTANT)),
            rtt_after: rtt(at + outage),
            // What the new path carries shows itself.
            rate_after: None,
            outage,
        };
        (at.saturating_sub(ahead), notice)
    };
    times.into_iter().map(notice).collect()
}
