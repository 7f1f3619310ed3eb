//! Notes about windows and buffers that no scenario chose, and that limited a sender.

use crate::plan::Plan;
use crate::resolve::Case;
use bentpipe_results::{Flow, Run};
use bentpipe_timeseries::TimePart;

/// Share of the completion time from which default windows are said to limit a transfer.
const NOTED: f64 = 0.05;

/// Returns a note if default windows or buffers limited a flow: the one that they limited most.
pub fn default_windows_limit(plan: &Plan, runs: &[Run]) -> Option<String> {
    let mut most: Option<(f64, &str, &str)> = None;
    for run in runs {
        let is_case = |case: &&Case| (&case.variant, &case.point) == (&run.variant, &run.point);
        let Some(case) = plan.cases.iter().find(is_case) else { continue };
        for flow in run.flows.iter().filter(|flow| case.default_windows.contains(&flow.name)) {
            let Some(share) = share(flow) else { continue };
            if share >= NOTED && most.is_none_or(|(other, ..)| share > other) {
                most = Some((share, &run.variant, &flow.name));
            }
        }
    }
    let (share, variant, flow) = most?;
    Some(format!(
        "the default windows or send buffer limited flow `{flow}` of `{variant}` for {:.0} % of \
         the time; a larger `flow_control.send_buffer` or receive window shows the path without \
         them",
        share * 100.0
    ))
}

/// Returns the share of the completion time in which flow control or the send buffer limited the
/// sender. `None` without a time budget.
fn share(flow: &Flow) -> Option<f64> {
    let budget = flow.time_budget.as_ref()?;
    let whole = budget.total_s();
    (whole > 0.0).then(|| budget.get(TimePart::FlowControl) / whole)
}
