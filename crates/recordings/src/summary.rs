//! What an import has found, in four lists.

use crate::measured::{Content, Measured, RateBin};
use crate::statistics::{median, quantile, runs, slot_medians, sorted, steps};

/// Period and phase in UTC of the slots whose medians a summary compares, in seconds.
const SLOT_S: (f64, f64) = (15.0, 12.0);

/// What an import has found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    /// What the files say.
    pub measured: Vec<String>,
    /// What was concluded, and can be changed by an option.
    pub inferred: Vec<String>,
    /// What no file says.
    pub unknown: Vec<String>,
    /// What was not used, and why.
    pub refused: Vec<String>,
}

impl Summary {
    /// Returns the lists with their headings, without empty ones.
    pub fn blocks(&self) -> impl Iterator<Item = (&'static str, &[String])> {
        let blocks = [
            ("measured", &self.measured[..]),
            ("inferred", &self.inferred[..]),
            ("unknown", &self.unknown[..]),
            ("refused", &self.refused[..]),
        ];
        blocks.into_iter().filter(|(_, lines)| !lines.is_empty())
    }

    /// Adds what the file called `name` has measured.
    pub fn add(&mut self, name: &str, measured: &Measured) {
        let format = measured.format.name();
        for note in &measured.notes {
            let list =
                if note.ends_with("not used") { &mut self.refused } else { &mut self.measured };
            list.push(format!("{name} ({format}): {note}"));
        }
        match &measured.content {
            Content::Probes(probes) => {
                let rtts =
                    sorted(probes.iter().filter_map(|probe| probe.rtt).map(|ns| ns as f64 / 1e6));
                let loss: f64 = probes.iter().map(|probe| probe.loss).sum();
                let (times, longest) = runs(probes.iter().map(|probe| probe.loss > 0.0));
                self.measured.push(format!(
                    "{name}: RTT p50 {:.1}, p95 {:.1}, p99 {:.1} ms; {:.2} % lost, {times} times, \
                        up to {longest} in a row",
                    quantile(&rtts, 0.5),
                    quantile(&rtts, 0.95),
                    quantile(&rtts, 0.99),
                    100.0 * loss / probes.len().max(1) as f64
                ));
                if measured.times.is_utc() {
                    let values = probes.iter().filter_map(|probe| {
                        Some((probe.sent as f64 / 1e9, probe.rtt? as f64 / 1e6))
                    });
                    self.slots(name, &slot_medians(values, SLOT_S.0, SLOT_S.1));
                }
            }
            Content::Quantiles { rtts_ms, sent, lost } => {
                let rtts = sorted(rtts_ms.iter().copied());
                self.measured.push(format!(
                    "{name}: RTT p50 {:.1}, p95 {:.1} ms; {:.2} % lost",
                    quantile(&rtts, 0.5),
                    quantile(&rtts, 0.95),
                    100.0 * *lost as f64 / (*sent).max(1) as f64
                ));
            }
            Content::Rates { bins, .. } => self.rates(name, "", bins),
            Content::BothRates([up, down]) => {
                self.rates(name, " up", up);
                self.rates(name, " down", down);
            }
            Content::Opportunities(_) | Content::Delays { .. } => {}
        }
    }

    fn rates(&mut self, name: &str, direction: &str, bins: &[RateBin]) {
        let rates = sorted(bins.iter().map(|bin| bin.bps / 1e6));
        self.measured.push(format!(
            "{name}: IP packets{direction} p5 {:.1}, p50 {:.1}, p95 {:.1} Mbps",
            quantile(&rates, 0.05),
            quantile(&rates, 0.5),
            quantile(&rates, 0.95)
        ));
    }

    fn slots(&mut self, name: &str, medians: &[(i64, f64)]) {
        let steps = steps(medians);
        if steps.len() >= 3 {
            self.measured.push(format!(
                "{name}: {} slots of 15 s after 12 s of the minute, median {:.1} ms, step p50 \
                    {:.1} ms",
                medians.len(),
                median(medians.iter().map(|(_, level)| *level)),
                quantile(&steps, 0.5)
            ));
        }
    }
}
