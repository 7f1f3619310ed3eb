//! Rate and loss traces from arbitrary files: no panic, and every rate trace that loads has a rate.
#![no_main]

use bentpipe_link::loss::Trace;
use bentpipe_link::{DirectionConfig, RateConfig};
use bentpipe_units::{Rate, Span};
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
    let loss = DirectionConfig { loss: Trace { file: path }.into(), ..plain };
    let _ = loss.load(std::path::Path::new(""));
});
