//! A plan that the real clock runs.

use super::check_supported;
use crate::error::LabError;
use crate::plan::{Plan, Task, random_notes};
use bentpipe_results::Clock;
use bentpipe_sim::Stack;

impl Plan {
    /// The same runs on the real clock: where nothing is drawn either, since two of them are never
    /// the same.
    ///
    /// # Errors
    /// Something that only the virtual clock can do, by its key.
    pub fn on_real_clock(mut self) -> Result<Self, LabError> {
        let mut quic = false;
        for case in &self.cases {
            let spec = case.spec(self.seed, 0)?;
            quic |= spec.flows.iter().any(|flow| matches!(flow.stack, Stack::Quic(_)));
            case.check_real_clock()
                .and_then(|()| check_supported(&spec))
                .map_err(|reason| case.usage_error("--clock real", reason))?;
        }
        let random = random_notes(&self.cases, self.repeat);
        self.notes.retain(|note| !random.contains(note));
        if self.output.qlog && quic {
            self.notes.push(
                "times in qlog count from each connection's beginning; `reference_time` of each \
                    says when that was"
                    .to_owned(),
            );
        }
        if self.output.capture.is_some() {
            self.notes.push(
                "captures are of the server's interface, whichever hop `output.capture` names"
                    .to_owned(),
            );
        }
        if quic {
            self.notes.push(
                "QUIC is `bentpipe serve` and `bentpipe get`, with their windows, acknowledgements \
                    and packet sizes"
                    .to_owned(),
            );
        }
        let all = 0..self.cases.len();
        self.tasks =
            all.flat_map(|case| (0..self.repeat).map(move |run| Task { case, run })).collect();
        self.clock = Clock::Real;
        Ok(self)
    }
}
