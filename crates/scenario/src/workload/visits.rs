//! `visits`: connections that a client makes one after another, each with a workload.

use super::{ExternalKey, Task, Workload};
use crate::error::{Problem, quoted};
use crate::limits::Check;
use crate::section::{self, Merged, section, table};
use crate::transport::nested;
use bentpipe_quic::Handshake;
use bentpipe_results::Direction;
use bentpipe_units::Span;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_spanned::Spanned;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// Shortest and longest mean of a time for which users think.
const SHORTEST_THINKING: Span = Span::from_millis(1);
const LONGEST_THINKING: Span = Span::from_secs(86_400);

/// The keys of a flow for repeated visits.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sequence {
    /// Connections that the client makes one after another, each with a workload, instead of a
    /// single workload.
    #[schemars(with = "Option<Vec<VisitTable>>")]
    pub visits: Option<Spanned<Merged<Vec<VisitTable>>>>,
    /// Idle time between the implied first visit and the measured `repeat` visit; 10 s by default.
    #[schemars(with = "Option<Span>")]
    pub idle_before: Option<Spanned<Span>>,
    /// Step of the times at which visits begin on a path that changes, counted from the start of
    /// the flow, so that variants meet the same conditions; 1 min by default, `0 s` for visits that
    /// follow one another at once. Scenarios of a single flow only.
    #[schemars(with = "Option<Span>")]
    pub align_visits: Option<Spanned<Span>>,
}
section!(Sequence);

/// The keys of a visit in addition to its workload.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VisitKeys {
    /// Handshake: `1rtt` or `0rtt`; by default, `1rtt` for the first visit and the variant's
    /// `handshake` for later ones.
    #[schemars(with = "Option<Handshake>")]
    pub handshake: Option<Spanned<Handshake>>,
    /// Idle time since the previous visit ended; 0 s by default.
    pub idle_before: Option<Span>,
    /// Mean of the time for which the user thinks before the visit, in addition to `idle_before`.
    /// It is exponentially distributed, and drawn for each user and run.
    #[schemars(with = "Option<Span>")]
    pub think_time: Option<Spanned<Span>>,
    /// True if the client has another address than at the visit before, in another network; false
    /// by default. What the server remembers of the path by address does not apply then.
    #[schemars(with = "Option<bool>")]
    pub new_address: Option<Spanned<bool>>,
    /// False if the visit only prepares the next one; true by default.
    pub measured: Option<bool>,
}
section!(VisitKeys);

table!(
    /// An entry of `visits`.
    VisitTable: "Visit" = Task, VisitKeys
);

/// One connection of a sequence.
#[derive(Debug, Clone)]
pub struct Visit {
    /// What it transfers.
    pub workload: Workload,
    /// Its other keys.
    pub keys: VisitKeys,
}

/// What a flow does.
#[derive(Debug, Clone)]
pub enum Work {
    /// One workload. The variant determines which visit is measured.
    Once(Workload),
    /// A list of visits, in order.
    Visits(Vec<Visit>),
}

impl Work {
    /// Returns the mean time for which the user thinks before each visit that the scenario
    /// describes.
    pub fn think_times(&self) -> Vec<Option<Span>> {
        match self {
            Self::Once(_) => vec![None],
            Self::Visits(visits) => {
                let think =
                    |visit: &Visit| visit.keys.think_time.as_ref().map(|time| *time.get_ref());
                visits.iter().map(think).collect()
            }
        }
    }

    /// Returns the workload of the first visit.
    pub fn first(&self) -> &Workload {
        match self {
            Self::Once(workload) => workload,
            // `Work::read` rejects an empty list.
            Self::Visits(visits) => &visits[0].workload,
        }
    }

    /// Returns the direction of the first visit. `seed` is that of the scenario.
    pub fn direction(&self, seed: u64) -> Direction {
        self.first().transfer(seed).direction
    }

    /// Removes the keys of a workload, or of several visits, from `table` and reads them.
    pub fn read(
        table: &mut DeTable<'_>,
        span: Range<usize>,
        limit: Span,
    ) -> Result<(Self, Sequence), Problem> {
        let list = table.get("visits").cloned();
        let sequence: Sequence = section::take(table, span.clone())?;
        let task: Task = section::take(table, span.clone())?;
        let external = section::take::<ExternalKey>(table, span.clone())?.external;
        let Some(list) = list else {
            return Ok((Self::Once(task.workload(external, span, limit)?), sequence));
        };
        let place = list.span();
        let beside =
            task.given().chain([("external", external.is_some())]).find(|(_, given)| *given);
        if let Some((name, _)) = beside {
            let message = format!("`{name}` and `visits` exclude each other; allowed: one of them");
            return Err(Problem::new(span, message));
        }
        if let Some(idle) = &sequence.idle_before {
            let message =
                "`idle_before` has no effect beside `visits`; allowed: `idle_before` in each visit";
            return Err(Problem::new(idle.span(), message));
        }
        let DeValue::Array(entries) = list.into_inner() else {
            return Err(Problem::new(place, "`visits` must be a list of tables"));
        };
        let mut visits = Vec::new();
        for entry in entries {
            visits.push(visit(entry, limit)?);
        }
        check(&visits, place.clone())?;
        check_calls(&visits, place.clone())?;
        check_echoes(&visits, place)?;
        Ok((Self::Visits(visits), sequence))
    }
}

fn visit(entry: Spanned<DeValue<'_>>, limit: Span) -> Result<Visit, Problem> {
    let span = entry.span();
    let DeValue::Table(mut table) = entry.into_inner() else {
        return Err(Problem::new(
            span,
            "a visit must be a table, such as { download = \"10 MB\" }",
        ));
    };
    let allowed = VisitTable::keys();
    table.keys().try_for_each(|key| section::known(key, &allowed, nested))?;
    let task: Task = section::take(&mut table, span.clone())?;
    let keys: VisitKeys = section::take(&mut table, span.clone())?;
    let workload = task.workload(None, span.clone(), limit)?;
    if workload.clocks().has_own_transport() {
        let message = format!("`{}` has no visits", workload.name());
        let allowed = quoted(&["download", "upload", "objects", "web_page", "bulk"]);
        return Err(Problem::new(span, format!("{message}; allowed in a visit: one of {allowed}")));
    }
    Ok(Visit { workload, keys })
}

fn check(visits: &[Visit], place: Range<usize>) -> Check {
    let Some(first) = visits.first() else {
        return Err(Problem::new(
            place,
            "`visits` is empty; allowed: one or more, such as { download = \"10 MB\" }",
        ));
    };
    if let Some(handshake) =
        first.keys.handshake.as_ref().filter(|given| *given.get_ref() == Handshake::ZeroRtt)
    {
        let message =
            "the first visit has no ticket for `0rtt`; allowed: `1rtt`, or a visit before it";
        return Err(Problem::new(handshake.span(), message));
    }
    if let Some(given) = first.keys.new_address.as_ref().filter(|given| *given.get_ref()) {
        let message = "before the first visit there is no address; allowed: `new_address` of \
                       later ones";
        return Err(Problem::new(given.span(), message));
    }
    if let Some(think) = &first.keys.think_time {
        let message = "before the first visit there is nothing to think about; allowed: \
                       `think_time` of later ones, and `arrivals` or `start_jitter` of the flow";
        return Err(Problem::new(think.span(), message));
    }
    for think in visits.iter().filter_map(|visit| visit.keys.think_time.as_ref()) {
        if !(SHORTEST_THINKING..=LONGEST_THINKING).contains(think.get_ref()) {
            let message = format!(
                "`think_time` of {think} is out of range; allowed: {SHORTEST_THINKING} to \
                 {LONGEST_THINKING}"
            );
            return Err(Problem::new(think.span(), message));
        }
    }
    if visits.iter().all(|visit| visit.keys.measured == Some(false)) {
        let message = "no visit is measured; allowed: at least one without `measured = false`";
        return Err(Problem::new(place, message));
    }
    Ok(())
}

/// Returns an error if a call stands beside a visit that is not the same call: the media belong to
/// the flow.
fn check_calls(visits: &[Visit], place: Range<usize>) -> Check {
    let mut calls = visits.iter().filter_map(|visit| match &visit.workload {
        Workload::Call(call) => Some(call),
        _ => None,
    });
    let Some(first) = calls.next() else { return Ok(()) };
    let alike = 1 + calls.filter(|call| first.is_same_but_for_duration(call)).count();
    if alike == visits.len() {
        return Ok(());
    }
    let message = "a visit is not the same call as another; allowed beside a `call` in `visits`: \
                   calls that differ in `duration` alone, or a flow of its own for each";
    Err(Problem::new(place, message))
}

/// Returns an error if keystrokes stand beside a visit of another kind: the protocol belongs to the
/// flow.
fn check_echoes(visits: &[Visit], place: Range<usize>) -> Check {
    let echoes = visits.iter().filter(|visit| visit.workload.is_echo()).count();
    if [0, visits.len()].contains(&echoes) {
        return Ok(());
    }
    let message = "a visit has keystrokes, and another one has none; allowed beside a `probe` with \
                   `echo` in `visits`: others with `echo`, or a flow of its own for each";
    Err(Problem::new(place, message))
}
