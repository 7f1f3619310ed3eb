//! A survey as a page with the globe, and as CZML.

use super::Survey;
use crate::error::LabError;
use crate::resolve::OrbitPath;
use crate::task_id::ENGINE;
use bentpipe_orbit::RouteUpdates;
use bentpipe_report::ConstellationView;
use bentpipe_report::{Recording, Trace};
use bentpipe_results::Manifest;
use bentpipe_results::{Clock, Results};
use bentpipe_timeseries::{LinkSeries, RunSeries, Series, VisitSeries};
use bentpipe_units::{Span, Time};

/// Name of the only variant on the page.
const VARIANT: &str = "routes";

impl Survey {
    /// Returns satellites, stations and routes as CZML.
    ///
    /// # Errors
    /// The orbit of a satellite cannot be propagated to the end.
    pub fn czml(&self, path: &OrbitPath, step: RouteUpdates) -> Result<String, LabError> {
        Ok(self.recording(path, step, Vec::new())?.czml(&self.constellation).unwrap_or_default())
    }

    /// Returns an HTML page with the globe and the RTT over time. The page has `title`, and
    /// contains the `source` of the scenario.
    ///
    /// # Errors
    /// The orbit of a satellite cannot be propagated to the end.
    pub fn page(
        &self,
        path: &OrbitPath,
        step: RouteUpdates,
        title: &str,
        source: &str,
    ) -> Result<String, LabError> {
        let (manifest, results) = paths_page(title, source);
        bentpipe_report::html(&manifest, &results, &self.recording(path, step, Vec::new())?)
            .map_err(|error| LabError::write("the page", error))
    }

    /// Returns RTTs and routes as the time series of one run, beside those of `links`.
    pub(crate) fn recording(
        &self,
        path: &OrbitPath,
        step: RouteUpdates,
        links: Vec<LinkSeries>,
    ) -> Result<Recording, LabError> {
        let end = Time::ZERO + Span::from_secs_f64(self.length_s);
        let at = |t_s: f64| Time::ZERO + Span::from_secs_f64(t_s);
        let series = |name, unit, points| Series { name, unit, points, downsampled: false };
        let flows = self.flows.iter().map(|flow| {
            // NaN draws a gap while there is no route.
            let rtt = flow
                .samples
                .iter()
                .map(|sample| (at(sample.t_s), sample.rtt_ms.unwrap_or(f64::NAN)));
            let hops = flow.samples.iter().map(|sample| {
                let hops = sample.hops.map_or(f64::NAN, |hops| hops as f64);
                (at(sample.t_s), hops)
            });
            VisitSeries {
                name: flow.flow.clone(),
                visit: 1,
                start: Time::ZERO,
                series: vec![
                    series("rtt", "ms", rtt.collect()),
                    series("hops", "", hops.collect()),
                ],
                marks: Vec::new(),
                phases: Vec::new(),
            }
        });
        let trace = RunSeries { flows: flows.collect(), links, paths: Vec::new() };
        let mut blob = Vec::new();
        let trace = Trace::encode(VARIANT, &Default::default(), 0, &trace, &[], &mut blob);
        let constellation = ConstellationView::new(&path.network, step, end, &mut blob)
            .map_err(|error| LabError::write("the constellation", error))?;
        let trace = Trace { constellation: Some(0), routes: self.routes(), ..trace };
        Ok(Recording {
            traces: vec![trace],
            constellations: vec![constellation],
            blob,
            first_end: Some(end),
        })
    }
}

/// Returns the manifest and the results of a page without runs, which has `title` and contains the
/// `source` of a scenario.
pub(crate) fn paths_page(title: &str, source: &str) -> (Manifest, Results) {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let results = Results {
        scenario: "orbit".to_owned(),
        seed: 0,
        clock: Clock::Virtual,
        version: version.clone(),
        headline: None,
        runs: Vec::new(),
        summary: Vec::new(),
        expectations: Vec::new(),
        published: Vec::new(),
    };
    let manifest = Manifest {
        commit: None,
        variant_settings: Vec::new(),
        version,
        complete: true,
        runs_planned: 0,
        runs_done: 0,
        scenario: results.scenario.clone(),
        title: title.to_owned(),
        description: None,
        seed: 0,
        clock: Clock::Virtual,
        variants: vec![VARIANT.to_owned()],
        sweep: Vec::new(),
        path: None,
        path_changes: false,
        published: Vec::new(),
        notes: vec!["no packets were sent: this is what the path offers".to_owned()],
        inputs: Vec::new(),
        files: Vec::new(),
        engine: ENGINE.to_owned(),
        shard: None,
        source: source.to_owned(),
    };
    (manifest, results)
}
