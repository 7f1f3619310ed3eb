//! What each variant uses, as lines above the results.

use crate::output::Look;
use crate::tables::{Align, Table};
use bentpipe_lab::Plan;
use bentpipe_results::FlowSettings;

/// A setting: its heading, and how it is read.
type Setting = (&'static str, fn(&FlowSettings) -> Option<&str>);

const SETTINGS: [Setting; 7] = [
    ("transport", |flow| Some(&flow.transport)),
    ("congestion", |flow| flow.congestion.as_deref()),
    ("slow start", |flow| flow.slow_start.as_deref()),
    ("ACK policy", |flow| flow.ack.as_deref()),
    ("handshake", |flow| flow.handshake.as_deref()),
    ("resume", |flow| flow.resume.as_deref()),
    ("preset", |flow| flow.preset.as_deref()),
];

/// Settings of the variants: a line with those that all variants share, then a table of those that
/// differ.
pub fn text(plan: &Plan, look: Look) -> String {
    let variants = plan.variant_settings();
    let rows: Vec<(&str, &FlowSettings)> = variants
        .iter()
        .flat_map(|variant| variant.flows.iter().map(|flow| (variant.name.as_str(), flow)))
        .collect();
    let is_common =
        |(_, read): &Setting| rows.windows(2).all(|pair| read(pair[0].1) == read(pair[1].1));
    let (common, different): (Vec<Setting>, Vec<Setting>) =
        SETTINGS.into_iter().partition(is_common);
    let mut text = String::new();
    if let Some((_, flow)) = rows.first() {
        let shared: Vec<String> = common
            .iter()
            .filter_map(|(head, read)| {
                let value = read(flow)?;
                let plain = ["transport", "congestion"].contains(head);
                Some(if plain { value.to_owned() } else { format!("{head} {value}") })
            })
            .collect();
        if !shared.is_empty() {
            text.push_str(&format!("{}\n", shared.join(", ")));
        }
    }
    if different.is_empty() {
        return text;
    }
    let mut table = Table::new(&[("variant", Align::Left)]);
    let names_flows = variants.iter().any(|variant| variant.flows.len() > 1);
    if names_flows {
        table.column("flow".to_owned(), Align::Left);
    }
    for (head, _) in &different {
        table.column((*head).to_owned(), Align::Left);
    }
    for (variant, flow) in rows {
        let names = names_flows.then(|| names(&flow.flows));
        let cells = different.iter().map(|(_, read)| read(flow).unwrap_or("–").to_owned());
        table.row([variant.to_owned()].into_iter().chain(names).chain(cells));
    }
    text + &table.fitted(look)
}

/// Most names of flows that a row lists.
const MOST_NAMES: usize = 3;

/// Returns the names of flows, shortened if they are many.
fn names(flows: &[String]) -> String {
    match flows.get(..MOST_NAMES) {
        Some(first) if flows.len() > MOST_NAMES => {
            format!("{} and {} more", first.join(", "), flows.len() - MOST_NAMES)
        }
        _ => flows.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_flows_are_counted() {
        let flows: Vec<String> = (1..=9).map(|i| format!("user {i}")).collect();
        assert_eq!(names(&flows), "user 1, user 2, user 3 and 6 more");
        assert_eq!(names(&flows[..2]), "user 1, user 2");
    }
}
