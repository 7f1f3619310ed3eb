//! Where planning ends early, for callers that cannot wait for everything.

use bentpipe_scenario::{Axis, Problem, Scenario};

/// Largest number of runs in a plan. More are assumed to be a mistake.
const MAX_RUNS: u64 = 1_000_000;

/// How much of a scenario is planned. A case with satellites takes many times as long as others, so
/// a number of cases alone limits no time.
#[derive(Clone, Copy)]
pub struct PlanLimit<'a> {
    /// Largest number of sweep points times variants. A scenario with more is refused before any is
    /// planned.
    pub max_cases: u64,
    /// Called before each sweep point: true to plan no further.
    pub stop: &'a (dyn Fn() -> bool + 'a),
}

impl std::fmt::Debug for PlanLimit<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlanLimit").field("max_cases", &self.max_cases).finish_non_exhaustive()
    }
}

impl PlanLimit<'_> {
    /// Everything is planned.
    pub const NONE: Self = Self { max_cases: u64::MAX, stop: &|| false };

    /// Refuses a scenario with more than [`MAX_RUNS`] runs or too many cases.
    pub(super) fn check_size(
        &self,
        head: &Scenario,
        axes: &[Axis<'_>],
        variants: usize,
    ) -> Result<(), Problem> {
        let mut sizes = axes.iter().map(|axis| axis.values.len() as u64);
        let cases = sizes.try_fold(variants as u64, u64::checked_mul);
        let runs = cases.and_then(|cases| cases.checked_mul(*head.repeat.get_ref()));
        if runs.is_none_or(|runs| runs > MAX_RUNS) {
            let message = format!(
                "sweep, variants and `repeat` make more than {MAX_RUNS} runs; allowed: up to that \
                 many"
            );
            return Err(Problem::new(head.repeat.span(), message));
        }
        if let (Some(cases), Some(axis)) =
            (cases.filter(|&cases| cases > self.max_cases), axes.last())
        {
            let message = format!(
                "{cases} sweep points times variants; allowed here: up to {}, on the command line \
                 {MAX_RUNS} runs",
                self.max_cases
            );
            return Err(Problem::new(axis.key_span.clone(), message));
        }
        Ok(())
    }

    /// Refuses to go on after `planned` of `cases` if it is to stop.
    pub(super) fn check(
        &self,
        head: &Scenario,
        axes: &[Axis<'_>],
        (planned, cases): (usize, usize),
    ) -> Result<(), Problem> {
        if !(self.stop)() {
            return Ok(());
        }
        let message = format!(
            "{planned} of {cases} sweep points times variants are planned in the time allowed \
             here; on the command line there is no such limit"
        );
        let span = axes.last().map_or_else(|| head.repeat.span(), |axis| axis.key_span.clone());
        Err(Problem::new(span, message))
    }
}
