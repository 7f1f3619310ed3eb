//! A flow over our own QUIC: the product itself, `bentpipe serve` and `bentpipe get`, as programs.
//!
//! Programs and not threads of this process: what is measured is what people run, with its processes, its runtime and its sockets. What the client says of
//! its times counts from its first packet, so that the time that a process takes to start is no part of them.

use super::Play;
use super::outcome::{ClientTimes, VisitOutcome};
use super::program::commands;
use bentpipe_emu::EmuError;
use bentpipe_quic::Settings;
use bentpipe_sim::{FlowSpec, ProgramStack, Visit};
use bentpipe_units::{Bytes, Span};
use serde::Deserialize;

/// What `bentpipe get --json` prints, as far as it is of use here.
#[derive(Debug, Deserialize)]
struct Said {
    downloads: Vec<Download>,
}

#[derive(Debug, Deserialize)]
struct Download {
    bytes: u64,
    handshake_s: Option<f64>,
    first_byte_s: f64,
    completion_s: Option<f64>,
}

/// Carries out one visit.
pub fn visit(
    play: Play<'_>,
    flow: &FlowSpec,
    settings: &Settings,
    visit: &Visit,
    port: u16,
) -> Result<VisitOutcome, EmuError> {
    let recipe = &settings.congestion;
    let server = format!(
        "exec '{{bentpipe}}' serve {{dir}} --listen {{server}}:{{port}} --cert {{cert}} --key {{key}} --no-store --log none \
         --congestion {} --start {} --resume none",
        recipe.controller, recipe.start
    );
    let client = "exec '{bentpipe}' get {url} --insecure --no-tokens --discard --json".to_owned();
    let mtu = Bytes::new(u64::from(settings.max_mtu) + crate::scenario::HEADERS);
    let stack = ProgramStack { server, client, mtu };
    let mut ended = commands(play, flow, &stack, visit, port, false)?;
    let bytes = visit.objects.first().map_or(0, |object| object.bytes.get());
    let told = times(&ended.output, bytes);
    if ended.outcome.error.is_none() && told.is_none() {
        ended.outcome.objects[0].completed = None;
        ended.outcome.error = Some("what `bentpipe get` has printed does not tell of the whole download".to_owned());
    }
    Ok(VisitOutcome { port, outcome: ended.outcome, told })
}

/// The times of a whole download.
fn times(output: &[u8], bytes: u64) -> Option<ClientTimes> {
    let said: Said = serde_json::from_slice(output).ok()?;
    let download = said.downloads.first().filter(|download| download.bytes == bytes)?;
    let span = |seconds: f64| Span::from_nanos((seconds * 1e9) as u64);
    Some(ClientTimes {
        handshake: download.handshake_s.map(span),
        first_byte: span(download.first_byte_s),
        completion: span(download.completion_s?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_a_whole_download_only() {
        let text = br#"{ "downloads": [ { "url": "x", "bytes": 10, "handshake_s": 0.5, "first_byte_s": 1.0, "completion_s": 2.5 } ] }"#;
        let whole = ClientTimes {
            handshake: Some(Span::from_millis(500)),
            first_byte: Span::from_secs(1),
            completion: Span::from_millis(2500),
        };
        assert_eq!(times(text, 10), Some(whole));
        assert_eq!(times(text, 11), None);
        assert_eq!(times(b"{}", 10), None);
    }
}
