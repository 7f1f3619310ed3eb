//! Second visits: tickets, memory of the path in a store or in tokens, and what is done with it.

use super::draft::millis;
use super::{Draft, Random, Stack};
use toml::Value;

pub fn draw(draft: &mut Draft, random: &mut Random) {
    for flow in &mut draft.flows {
        let mut first = flow.visits[0].clone();
        let visits = random.whole(2, 3);
        flow.visits.clear();
        for number in 0..visits {
            let mut visit = first.clone();
            if number > 0 {
                // A visit that ends by the clock may end before it has a ticket.
                let timed = first.contains_key("bulk");
                let handshake = random.pick(&["1rtt", if timed { "1rtt" } else { "0rtt" }]);
                visit.insert("handshake".to_owned(), Value::from(handshake));
                let idle = millis(random.log(1.0, 30e3));
                visit.insert("idle_before".to_owned(), idle);
            }
            if number + 1 < visits && random.chance(0.3) {
                visit.insert("measured".to_owned(), Value::from(false));
            }
            flow.visits.push(visit);
        }
        if random.chance(0.3) {
            // Visits of different kinds in one flow.
            first.clear();
            first.insert("upload".to_owned(), Value::from("30 kB"));
            flow.visits[0] = first;
        }
        if flow.stack == Stack::Quic {
            let resume = random.pick(&["careful", "careful", "jump", "none"]);
            flow.keys.insert("resume".to_owned(), Value::from(resume));
            if random.chance(0.5) {
                let quic = super::quic::keys(flow);
                quic.insert("resume_state".to_owned(), Value::from("token"));
            }
        }
    }
}
