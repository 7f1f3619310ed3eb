//! A middlebox that drops each hundredth pure ACK of TCP, on the client's side of a satellite hop.
//!
//! `cargo run -p bentpipe-lab --example node`

use bentpipe_lab::node::{Action, Node, NodeContext, NodePacket};
use bentpipe_lab::{HopEnd, Lab, LabError};

/// Drops each hundredth pure ACK.
#[derive(Default)]
struct DropsAcks {
    acks: u64,
}

impl Node for DropsAcks {
    fn on_packet(&mut self, packet: &mut NodePacket<'_>, _: &mut NodeContext<'_>) -> Action {
        if packet.segment().is_some_and(|segment| segment.is_pure_ack()) {
            self.acks += 1;
            if self.acks.is_multiple_of(100) {
                return Action::Drop;
            }
        }
        Action::Pass
    }
}

const SCENARIO: &str = r#"
name = "lost-acks"
[path]
profile = "geo-50-10"
[workload]
download = "10 MB"
[defaults]
transport = "tcp"
"#;

fn main() -> Result<(), LabError> {
    let plain = Lab::new();
    let with_node = Lab::new().node("acks", "access", HopEnd::Client, DropsAcks::default);
    for (name, lab) in [("without", plain), ("with", with_node)] {
        let results = lab.run(SCENARIO)?;
        let flow = &results.runs[0].flows[0].metrics;
        println!(
            "{name:8} {:6.3} s, {} of {} packets of the reverse direction lost",
            flow.completion_s.unwrap_or(f64::NAN),
            flow.reverse_packets_lost,
            flow.reverse_packets,
        );
    }
    Ok(())
}
