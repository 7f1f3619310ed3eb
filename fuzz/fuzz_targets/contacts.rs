//! Contact plans from arbitrary text: no panic. Contacts of a plan that was read have a duration
//! and a rate, and a packet arrives no earlier than it is sent.
#![no_main]

use bentpipe_orbit::contacts::{ContactPlan, dipt, hdtn, ion};
use bentpipe_units::{Bytes, Time};
use libfuzzer_sys::fuzz_target;

fn check(plan: &ContactPlan) {
    assert!(plan.contacts().iter().all(|one| one.start < one.end && !one.rate.is_zero()));
    let (Some(from), Some(to)) = (plan.nodes().first(), plan.nodes().last()) else { return };
    let at = Time::from_secs(1);
    if let Ok((arrival, route)) = plan.earliest_arrival(from, to, at, Bytes::new(1500)) {
        assert!(arrival >= at && !route.is_empty());
    }
}

fuzz_target!(|input: (&str, &str)| {
    let (text, events) = input;
    if let Ok(plan) = ion::parse(text) {
        check(&plan);
    }
    if let Ok(plan) = hdtn::parse(text) {
        check(&plan);
    }
    for events in [None, Some(events)] {
        if let Ok(plan) = dipt::parse(text, events) {
            check(&plan);
        }
    }
});
