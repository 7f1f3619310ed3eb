//! What each variant uses, as lines above the results.

use crate::table::{Align, Table};
use bentpipe_lab::Plan;
use bentpipe_results::FlowSettings;

/// Transport, controller, slow start, ACK policy and preset of each variant; one line if all
/// variants use the same.
pub fn text(plan: &Plan, colour: bool) -> String {
    let variants = plan.variant_settings();
    let first = variants.first().map(|variant| &variant.flows);
    if let Some([only]) = first.map(Vec::as_slice)
        && variants.iter().all(|variant| Some(&variant.flows) == first)
    {
        return format!("{}\n", sentence(only));
    }
    let mut table = Table::new(&[
        ("variant", Align::Left),
        ("transport", Align::Left),
        ("congestion", Align::Left),
        ("slow start", Align::Left),
        ("ACK policy", Align::Left),
        ("preset", Align::Left),
    ]);
    for variant in &variants {
        for flow in &variant.flows {
            let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "–".to_owned());
            table.row([
                variant.name.clone(),
                flow.transport.clone(),
                text(&flow.congestion),
                text(&flow.slow_start),
                text(&flow.ack),
                text(&flow.preset),
            ]);
        }
    }
    table.render(colour)
}

fn sentence(flow: &FlowSettings) -> String {
    let mut text = flow.transport.clone();
    for (head, value) in [
        ("", &flow.congestion),
        ("slow start ", &flow.slow_start),
        ("ACK policy ", &flow.ack),
        ("preset ", &flow.preset),
    ] {
        if let Some(value) = value {
            text.push_str(&format!(", {head}{value}"));
        }
    }
    text
}
