//! Rate traces, loss traces and recordings from arbitrary files: no panic, every rate trace that
//! loads has a rate, and a recording has the same values wherever a replay of it begins.
#![no_main]

use bentpipe_link::loss::Trace;
use bentpipe_link::{AtEnd, DirectionConfig, DirectionPatch, RateConfig, ReplayClock};
use bentpipe_units::{Rate, Span, Time};
use libfuzzer_sys::fuzz_target;
use std::io::Write;

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut file) = tempfile::NamedTempFile::new() else { return };
    if file.write_all(bytes).is_err() {
        return;
    }
    let plain = DirectionConfig::new(Rate::from_mbps(10), Span::from_millis(300));
    let path = file.path().to_owned();
    let rate = DirectionConfig { rate: RateConfig::Trace { file: path.clone() }, ..plain.clone() };
    if let Ok(model) = rate.load(std::path::Path::new("")) {
        assert!(!model.nominal_rate().is_zero());
    }
    let loss = DirectionConfig { loss: Trace { file: path.clone() }.into(), ..plain.clone() };
    let _ = loss.load(std::path::Path::new(""));
    let patch = DirectionPatch { recording: Some(path), ..DirectionPatch::default() };
    let Ok(patch) = patch.with_recording(std::path::Path::new("")) else { return };
    let mut recorded = plain;
    patch.apply_to(&mut recorded);
    let Ok(model) = recorded.load(std::path::Path::new("")) else { return };
    let Some(length) = model.recorded_sources().iter().map(|source| source.length).min() else {
        return;
    };
    let clock = ReplayClock { start: Span::ZERO, length, at_end: AtEnd::Cut, period: None };
    let first = model.replayed(&clock);
    let start = length / 3;
    let later = model.replayed(&ReplayClock { start, ..clock });
    for at in [Span::ZERO, length / 2, length] {
        let (own, other) = (Time::ZERO + at, Time::ZERO + at + start);
        assert_eq!(later.rate_at(own), first.rate_at(other));
        assert_eq!(later.delay_at(own), first.delay_at(other));
    }
});
