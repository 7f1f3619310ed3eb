//! What a path offers over time, without packets: shown while a scenario is being written.

mod hops;
mod orbit;
mod rates;

use crate::error::LabError;
use crate::orbit::paths_page;
use crate::plan::Plan;
use bentpipe_report::Recording;

/// Returns the data of a page, as elements of HTML, with what the first run of `plan` offers its
/// flows: capacity and RTT over time, and for satellites their orbits and the routes. It has
/// neither runs nor statistics. `None` if nothing of the path changes in the course of a run.
///
/// Capacity is what links can send: their rates, zero while a fade or a blockage loses everything,
/// and of a network the lowest rate on the route, zero without a route or during a handover. The
/// work is bounded: up to ten minutes of hops, and a minute of a few thousand satellites.
///
/// # Errors
/// The path that the first run draws is invalid, or a satellite cannot be propagated.
pub fn outlook(plan: &Plan) -> Result<Option<String>, LabError> {
    let Some(&task) = plan.tasks.first() else { return Ok(None) };
    let case = &plan.cases[task.case];
    let spec = plan.spec(task)?;
    let recording = match (case.orbit(), &spec.mesh) {
        (Some(path), Some(mesh)) => Some(orbit::recording(path, mesh)?),
        _ => hops::recording(&spec),
    };
    let Some(recording) = recording else { return Ok(None) };
    elements(plan, &recording).map(Some)
}

fn elements(plan: &Plan, recording: &Recording) -> Result<String, LabError> {
    let (mut manifest, results) = paths_page(&plan.title, "");
    manifest.path = plan.path().cloned();
    bentpipe_report::page_data(&manifest, &results, recording, 0)
        .map_err(|error| LabError::write("the outlook", error))
}

#[cfg(test)]
mod tests;
