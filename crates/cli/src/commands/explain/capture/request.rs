//! One request of a file: what its time was spent on.

use super::document::RequestAccountDocument;
use super::requests::name;
use super::words::{Ends, data, seconds, span};
use bentpipe_captures::{CapturedTransfer, RequestAccount};
use bentpipe_lab::LabError;
use bentpipe_timeseries::TimePart;
use std::num::NonZeroUsize;

/// Smallest share of the time that is named.
const SMALLEST_SHARE: f64 = 0.02;

/// A request that the user chose.
#[derive(Debug)]
pub(super) struct ChosenRequest {
    number: usize,
    account: RequestAccount,
}

impl ChosenRequest {
    pub fn of(recorded: &CapturedTransfer, number: NonZeroUsize) -> Result<Self, LabError> {
        let number = number.get();
        let account = recorded.request(number - 1).ok_or_else(|| {
            let count = recorded.exchanges.len();
            let reason = match count {
                0 => "the file has no requests; allowed with one that has".to_owned(),
                _ => format!("the connection has no request {number}; allowed: 1 to {count}"),
            };
            LabError::Usage { argument: "--request", reason }
        })?;
        Ok(Self { number, account })
    }

    /// Returns its parts, longest first, those that make a transfer slow before the others.
    fn parts(&self) -> Vec<(TimePart, f64)> {
        let mut parts: Vec<_> =
            self.account.budget.parts().filter(|(_, time)| *time > 0.0).collect();
        parts.sort_by(|a, b| a.0.is_needed().cmp(&b.0.is_needed()).then(b.1.total_cmp(&a.1)));
        parts
    }

    /// Returns what its time was spent on, in a sentence.
    pub fn statement(&self, recorded: &CapturedTransfer, ends: &Ends) -> String {
        let Some(one) = recorded.exchanges.get(self.number - 1) else { return String::new() };
        let completion = self.account.completion.as_secs_f64();
        let least = SMALLEST_SHARE * completion;
        let mut texts: Vec<String> = self
            .parts()
            .into_iter()
            .filter(|(_, time)| *time >= least)
            .map(|(part, time)| {
                // What answers pauses after it was asked.
                let whose = match part {
                    TimePart::Application => format!(" (the {})", ends.sender),
                    _ => String::new(),
                };
                let words = match part {
                    TimePart::Request => "round trip of the request",
                    part => part.words(),
                };
                format!("{} s {words}{whose}", seconds(time))
            })
            .collect();
        if self.account.others_s >= least {
            texts.push(format!("{} s data of other requests", seconds(self.account.others_s)));
        }
        let asked = one.asked.map_or_else(
            || "was asked before the file begins".to_owned(),
            |at| format!("was asked at {:.3} s", at.since_start().as_secs_f64()),
        );
        let colon = if texts.is_empty() { "" } else { ": " };
        let parts = texts.join(", ");
        let text = format!(
            "request {} {asked} and took {} s for {}{colon}{parts}",
            name(self.number, one.stream),
            seconds(completion),
            data(one.bytes)
        );
        if !recorded.is_sender {
            return text;
        }
        // Its file begins with the arrival of the request, and ends with the last packet.
        let rtt = span(recorded.path.rtt);
        format!("{text}; the {} waits a round trip ({rtt}) longer", ends.asker)
    }

    pub fn text(&self, recorded: &CapturedTransfer, ends: &Ends) -> String {
        format!("\n{}\n", self.statement(recorded, ends))
    }

    pub fn document(&self, recorded: &CapturedTransfer, ends: &Ends) -> RequestAccountDocument {
        RequestAccountDocument {
            number: self.number,
            completion_s: self.account.completion.as_secs_f64(),
            time_budget: self.parts().into_iter().map(|(part, time)| (part.name(), time)).collect(),
            others_s: self.account.others_s,
            text: self.statement(recorded, ends),
        }
    }
}
