//! What the completion time of a visit was spent on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A part of [`TimeBudget`], its metric, and its words in explanations.
#[derive(Debug, Clone, Copy)]
pub struct TimePart {
    /// Name of its field.
    pub name: &'static str,
    /// Name of its metric, `time_budget.NAME`, in seconds.
    pub metric: &'static str,
    /// Label in tables and plots.
    pub label: &'static str,
    /// What it is called in a sentence, after "more" and "less".
    pub words: &'static str,
    /// True if every transfer needs it: not a cause of slowness.
    pub is_needed: bool,
    /// Meaning, in a sentence.
    pub about: &'static str,
    /// Reads its time in seconds.
    pub read: fn(&TimeBudget) -> f64,
}

/// [`TimePart::is_needed`] of a part.
const NEEDED: bool = true;
/// [`TimePart::is_needed`] of a part that makes a transfer slow.
const CAUSE: bool = false;

fn is_zero(seconds: &f64) -> bool {
    *seconds == 0.0
}

/// Declares the parts: a field and a [`TimePart`] for each.
macro_rules! parts {
    ($($(#[doc = $doc:literal])+ $kind:ident $label:literal, $words:literal: $name:ident,)+) => {
        /// What the completion time of a visit was spent on, in seconds. The parts exclude each
        /// other, and their sum is the completion time. Parts without time are left out.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default)]
        pub struct TimeBudget {
            $(
                $(#[doc = $doc])+
                #[serde(skip_serializing_if = "is_zero")]
                pub $name: f64,
            )+
        }

        /// All parts, in the order of the fields.
        pub const TIME_PARTS: &[TimePart] = &[$(TimePart {
            name: stringify!($name),
            metric: concat!("time_budget.", stringify!($name)),
            label: $label,
            words: $words,
            is_needed: $kind,
            about: concat!($($doc),+),
            read: |budget| budget.$name,
        },)+];
    };
}

parts! {
    /// Handshake.
    NEEDED "Handshake", "handshake": handshake_s,
    /// Round trips of requests, up to the first packet of data; the response to an upload.
    NEEDED "Requests", "round trips of requests": request_s,
    /// New bytes of the application on the slowest link of the path.
    NEEDED "Data on the link", "time to send the data": serialisation_s,
    /// Headers, and everything else that is neither application data nor sent twice.
    NEEDED "Headers", "headers": headers_s,
    /// Packets of the flow that used the link's capacity and were then lost.
    CAUSE "Lost packets", "capacity for packets that were lost": lost_packets_s,
    /// Packets of the flow that arrived for the second time.
    CAUSE "Duplicates", "spurious retransmissions": duplicates_s,
    /// Waits for packets of other flows.
    CAUSE "Other flows", "waiting for other flows": other_flows_s,
    /// Waits for capacity: allocation, frames, opportunities of a trace.
    CAUSE "Capacity", "waiting for capacity": capacity_s,
    /// Waits for the end of an outage or a handover.
    CAUSE "Outages", "outages": outage_s,
    /// Growth of the path's delay.
    CAUSE "Path changes", "longer path": path_change_s,
    /// Idle link while slow start, or what takes its place, limited the sender.
    CAUSE "Slow start", "slow start": slow_start_s,
    /// Idle link while the congestion window limited the sender, after slow start.
    CAUSE "Congestion window", "congestion window": congestion_window_s,
    /// Idle link while pacing limited the sender, after slow start.
    CAUSE "Pacing", "pacing": pacing_s,
    /// Idle link while flow control or the send buffer limited the sender.
    CAUSE "Flow control", "flow control": flow_control_s,
    /// Idle link while the application had nothing to send.
    CAUSE "Application", "pauses of the application": application_s,
    /// Idle link because the client's address was not yet validated.
    CAUSE "Address validation", "address validation": address_validation_s,
    /// Idle link until the sender noticed a loss, with nothing else to send.
    CAUSE "Loss detection", "detection of losses": loss_detection_s,
    /// Idle link until a probe or retransmission timeout expired.
    CAUSE "Timeouts", "timeouts": timeout_s,
    /// Idle link because acknowledgements or requests waited on their way.
    CAUSE "Return link", "waiting on the return link": return_link_s,
    /// Idle link because a proxy had nothing to forward or had not yet forwarded.
    CAUSE "Proxy", "waiting for a proxy": proxy_s,
    /// Time whose cause is unknown.
    CAUSE "Unknown", "unknown causes": unattributed_s,
}

/// An interval in which time was spent on one part again and again: gaps of at most a round trip
/// are within it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Episode {
    /// The part, by the name of its field in `time_budget`.
    pub part: String,
    /// Beginning, in seconds since the visit's first packet.
    pub from_s: f64,
    /// End, in seconds since the visit's first packet.
    pub to_s: f64,
    /// Time spent on the part in between, in seconds.
    pub time_s: f64,
}

impl TimeBudget {
    /// Returns the sum of all parts, in seconds.
    pub fn total_s(&self) -> f64 {
        TIME_PARTS.iter().map(|part| (part.read)(self)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_a_part() {
        let schema = serde_json::to_value(schemars::schema_for!(TimeBudget)).unwrap();
        let fields = schema["properties"].as_object().unwrap();
        assert_eq!(fields.len(), TIME_PARTS.len());
        assert!(TIME_PARTS.iter().all(|part| fields.contains_key(part.name)));
    }

    #[test]
    fn parts_without_time_are_left_out() {
        let budget = TimeBudget { slow_start_s: 1.5, request_s: 0.5, ..TimeBudget::default() };
        let json = serde_json::to_string(&budget).unwrap();
        assert_eq!(json, r#"{"request_s":0.5,"slow_start_s":1.5}"#);
        assert_eq!(serde_json::from_str::<TimeBudget>(&json).unwrap(), budget);
        assert_eq!(budget.total_s(), 2.0);
    }
}
