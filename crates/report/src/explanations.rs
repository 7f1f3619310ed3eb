//! Time budgets of variants for the page, with the sentences of `bentpipe explain`.

use bentpipe_results::explanation::{Account, accounts, difference, pairs, statement};
use bentpipe_results::{Point, Results};
use bentpipe_timeseries::TimePart;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Where the time of a visit of a flow went: in the median of the completed runs of a variant at a
/// sweep point.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Explanation {
    /// Name of the variant.
    variant: String,
    /// Value of each swept key.
    point: Point,
    /// Name of the flow.
    flow: String,
    /// Number of the visit, from 1.
    visit: usize,
    /// Number of completed runs.
    runs: usize,
    /// Completion time of the median run in seconds.
    completion_s: f64,
    /// Time of each part in it in seconds, without parts that have none.
    parts: BTreeMap<&'static str, f64>,
    /// The result and the longest parts in words that follow the name of the variant.
    text: String,
    /// The difference to another variant or visit in words, such as `is 3.5 s faster than none: …`;
    /// `null` for what the others are compared with.
    compared: Option<String>,
}

/// Returns the explanations of all measured visits with a time budget.
pub(crate) fn explanations(results: &Results) -> Vec<Explanation> {
    let accounts = accounts(results);
    let mut compared: BTreeMap<*const Account<'_>, String> = BTreeMap::new();
    for (base, other) in pairs(&accounts) {
        let text = difference(base, other).text_with(&name(base, other));
        compared.insert(other, text);
    }
    let explained = accounts.iter().filter(|account| account.has_parts());
    let explain = explained.map(|account| Explanation {
        variant: account.variant.to_owned(),
        point: account.point.clone(),
        flow: account.flow.to_owned(),
        visit: account.visit,
        runs: account.values.len(),
        completion_s: account.completion_s,
        parts: account.times().map(|(part, time)| (part.name(), time)).collect(),
        text: statement(account),
        compared: compared.remove(&std::ptr::from_ref(account)),
    });
    explain.collect()
}

/// Returns the name of `base` as what `other` is compared with.
fn name(base: &Account<'_>, other: &Account<'_>) -> String {
    if base.variant == other.variant {
        format!("visit {}", base.visit)
    } else if base.visit == other.visit {
        base.variant.to_owned()
    } else {
        format!("{}, visit {}", base.variant, base.visit)
    }
}

/// Returns the names, labels and meanings of all parts of time, in their order.
pub(crate) fn parts_schema() -> Value {
    let parts = TimePart::ALL.into_iter().map(|part| {
        json!({
            "name": part.name(), "label": part.label(), "words": part.words(),
            "needed": part.is_needed(), "about": part.about(),
        })
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_labels_and_meanings_in_the_order_of_the_account() {
        let parts = parts_schema();
        let parts = parts.as_array().unwrap();
        assert_eq!(parts.len(), TimePart::COUNT);
        assert_eq!(parts[0]["label"], "Handshake");
        assert!(parts[0]["needed"] == true && parts[10]["needed"] == false);
        assert!(parts.iter().all(|part| part["about"].as_str().unwrap().ends_with('.')));
    }
}
