//! Plans on the real clock.

use super::{Plan, Task, random_notes};
use crate::error::LabError;
use bentpipe_results::{Clock, FlowSettings};
use bentpipe_sim::{Runner, Stack};

impl Plan {
    /// Returns the plan for the real clock, which `clock` is. Cases without random values are
    /// repeated too, because two runs in real time always differ.
    ///
    /// # Errors
    /// A key is supported on the virtual clock only.
    pub fn on_real_clock(mut self, clock: &dyn Runner) -> Result<Self, LabError> {
        let mut quic = false;
        for case in &mut self.cases {
            let spec = case.spec(self.seed, 0)?;
            for flow in &spec.flows {
                let Some(congestion) = clock.congestion(&flow.stack) else { continue };
                let of_flow = |one: &&mut FlowSettings| one.flows.contains(&flow.name);
                for settings in case.settings.iter_mut().filter(of_flow) {
                    settings.congestion = Some(congestion.clone());
                    // Of the kernel's own.
                    settings.slow_start = None;
                }
            }
            quic |= spec.flows.iter().any(|flow| matches!(flow.stack, Stack::Quic(_)));
            case.check_real_clock()
                .and_then(|()| clock.check(&spec))
                .map_err(|reason| case.usage_error("--clock real", reason))?;
        }
        let random = random_notes(&self.cases, self.repeat);
        self.notes.retain(|note| !random.contains(note));
        let qlog = self.output.qlog || self.output.qvis;
        if qlog && quic {
            self.notes.push(
                "times in qlog files are relative to the start of each connection, which its \
                    `reference_time` gives"
                    .to_owned(),
            );
        }
        if self.output.capture.is_some() {
            self.notes.push(
                "captures are taken at the interface of the server or the client \
                    (`output.capture_at`), whichever hop `output.capture` names"
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
