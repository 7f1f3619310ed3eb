//! Transport and HTTP version of each flow.

use super::{Draft, Random, Stack};

pub fn draw(draft: &mut Draft, random: &mut Random) {
    for flow in &mut draft.flows {
        (flow.stack, flow.http) = random.pick(&[
            (Stack::Quic, None),
            (Stack::Quic, None),
            (Stack::Quic, Some("raw")),
            (Stack::Tcp, Some("h2")),
            (Stack::Tcp, Some("h1")),
            (Stack::Tcp, Some("raw")),
        ]);
    }
}
