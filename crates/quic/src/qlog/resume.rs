//! Events of Careful Resume (draft-ietf-tsvwg-careful-resume-qlog): changes of phase, with the
//! state of the sender.

use super::format::RECORD_SEPARATOR;
use super::sink::QlogSink;
use bentpipe_congestion::resume::Transition;
use serde::Serialize;

/// Name of the event. The draft names the type CarefulResumePhaseUpdated among the QUIC events,
/// without the string; this is the spelling of current qlog.
const PHASE_UPDATED: &str = "quic:careful_resume_phase_updated";

#[derive(Serialize)]
struct Event {
    time: f64,
    name: &'static str,
    data: PhaseUpdated,
}

#[derive(Serialize)]
struct PhaseUpdated {
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<&'static str>,
    new: &'static str,
    state_data: StateData,
    #[serde(skip_serializing_if = "Option::is_none")]
    restored_data: Option<RestoredData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trigger: Option<&'static str>,
}

/// Values after the transition. Packets are counted in the order of sending.
#[derive(Serialize)]
struct StateData {
    pipesize: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_unvalidated_packet: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_unvalidated_packet: Option<u64>,
    congestion_window: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ssthresh: Option<u64>,
}

#[derive(Serialize)]
struct RestoredData {
    saved_congestion_window: u64,
    /// Milliseconds.
    saved_rtt: f64,
}

impl QlogSink {
    /// Writes a change of Careful Resume's phase.
    pub fn careful_resume(&self, transition: &Transition) {
        let event = Event {
            time: self.millis(transition.at),
            name: PHASE_UPDATED,
            data: PhaseUpdated {
                old: transition.old.map(|phase| phase.name()),
                new: transition.new.name(),
                state_data: StateData {
                    pipesize: transition.pipesize.get(),
                    first_unvalidated_packet: transition.first_unvalidated_packet,
                    last_unvalidated_packet: transition.last_unvalidated_packet,
                    congestion_window: transition.window.get(),
                    ssthresh: transition.ssthresh.map(|ssthresh| ssthresh.get()),
                },
                restored_data: transition.saved.map(|saved| RestoredData {
                    saved_congestion_window: saved.window.get(),
                    saved_rtt: saved.rtt.as_millis_f64(),
                }),
                trigger: transition.trigger.map(|trigger| trigger.name()),
            },
        };
        // Numbers and fixed names always serialize.
        if let Ok(json) = serde_json::to_vec(&event) {
            self.append(|bytes| {
                bytes.push(RECORD_SEPARATOR);
                bytes.extend_from_slice(&json);
                bytes.push(b'\n');
            });
        }
    }
}
