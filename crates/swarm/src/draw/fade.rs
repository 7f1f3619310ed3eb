//! A carrier with adaptive coding and modulation, and a fade that ends with the faults.

use super::draft::{millis, table};
use super::{Draft, Random};
use toml::Value;

/// Efficiencies of the most and the least robust MODCOD of DVB-S2, QPSK 1/4 and 32APSK 9/10, in
/// bits per symbol (ETSI EN 302 307-1 table 13); the first with a tenth less for framing: after the
/// fade the carrier is at least that fast.
const LEAST_BITS_PER_SYMBOL: f64 = 0.44;
const MOST_BITS_PER_SYMBOL: f64 = 4.5;

pub fn draw(draft: &mut Draft, random: &mut Random) {
    if draft.orbit.is_some() {
        return;
    }
    let end_ms = draft.faults_end_s * 1e3;
    let direction = &mut draft.satellite.forward;
    let symbol_rate = random.log(1e6, 20e6).round();
    direction.rate = symbol_rate * MOST_BITS_PER_SYMBOL;
    direction.assured = symbol_rate * LEAST_BITS_PER_SYMBOL;
    let (from, to) = (random.between(0.0, 0.4), random.between(0.5, 0.9));
    let depth = random.between(0.5, 20.0);
    let point = |at: f64, attenuation: f64| {
        table([("at", millis(at * end_ms)), ("attenuation_db", Value::from(attenuation))])
    };
    let points = vec![
        point(0.0, 0.0),
        point(from + 0.01, 0.0),
        point((from + to) / 2.0, depth),
        point(to, depth),
        point(to + 0.1, 0.0),
    ];
    let acm = table([
        ("symbol_rate", Value::from(format!("{symbol_rate:.0} Bd"))),
        ("modcods", Value::from("dvb-s2")),
        ("clear_sky_esn0", Value::from(format!("{:.1} dB", random.between(4.0, 16.0)))),
        ("fade", Value::Array(points)),
        ("loop_delay", millis(random.between(0.0, 2000.0).min(end_ms * 0.1))),
        ("loss", Value::from(random.between(0.1, 1.0))),
    ]);
    direction.keys.insert("rate".to_owned(), table([("acm", acm)]));
}
