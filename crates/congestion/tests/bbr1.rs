//! BBRv1 over one bottleneck.

mod bottleneck;

use bentpipe_congestion::bbr1::{Bbr1, PARAMETERS};
use bentpipe_congestion::controller::Setup;
use bentpipe_congestion::parameter::Values;
use bentpipe_units::{Bytes, Rate, Span, Time};
use bottleneck::{MTU, Path, Run};

fn run(path: Path, seed: u64) -> Run {
    let setup = Setup { now: Time::ZERO, mtu: MTU, initial_window: Bytes::new(12_000), distance_m: None };
    Run::new(path, Box::new(Bbr1::new(&setup, &Values::defaults(PARAMETERS))), seed)
}
#[test]
fn look() {
    for (rate, rtt, loss, ae, frame) in [
        (50, 100, 0.0, 2, 0),
        (50, 100, 0.015, 2, 0),
        (50, 100, 0.0156, 10, 26),
        (50, 600, 0.0, 2, 0),
        (250, 600, 0.0156, 2, 0),
        (50, 100, 0.1, 2, 0),
    ] {
        let mut path = Path::new(Rate::from_mbps(rate), Span::from_millis(rtt));
        path.loss = loss;
        path.ack_every = ae;
        path.frame = Span::from_millis(frame);
        let mut r = run(path, 1);
        r.until(Time::from_secs(40));
        println!(
            "--- {rate} {rtt} {loss} util 20-40 {:.3} 10-40 {:.3} bw {:?} drops {}",
            r.utilisation(Time::from_secs(20), Time::from_secs(40)),
            r.utilisation(Time::from_secs(10), Time::from_secs(40)),
            r.controller.rate_based().unwrap().bandwidth(),
            r.dropped
        );
        for (t, p) in &r.phases[..r.phases.len().min(24)] {
            print!("{:.2} {p}; ", t.as_secs_f64());
        }
        println!();
    }
}
