//! Orbital elements from arbitrary text: no panic. Every satellite that was read has a finite
//! position, or an error that names it.
#![no_main]

use bentpipe_orbit::{Constellation, IslPattern, Network, NetworkSpec};
use bentpipe_units::Time;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, u32)| {
    let (text, seconds) = input;
    let Ok(constellation) = Constellation::from_elements(text) else { return };
    let Ok(begins) = constellation.epoch() else { return };
    let mut at = Vec::new();
    if constellation.positions(begins, Time::from_secs(u64::from(seconds)), &mut at).is_ok() {
        assert_eq!(at.len(), constellation.len());
        assert!(at.iter().all(|at| at.x.is_finite() && at.y.is_finite() && at.z.is_finite()));
    }
    let _ = Network::new(NetworkSpec {
        constellation,
        begins,
        stations: Vec::new(),
        isl: IslPattern::PlusGrid,
        max_isl_length_m: None,
        max_ground_link_length_m: None,
        fibres: Vec::new(),
        metric: Default::default(),
        avoid: Vec::new(),
    });
});
