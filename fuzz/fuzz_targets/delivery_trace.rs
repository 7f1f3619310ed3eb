//! Any bytes as a delivery or loss trace: refused with the line, or loaded; never a panic.
#![no_main]

use bentpipe_link::{DirectionConfig, LossConfig, LossModel, RateConfig};
use bentpipe_units::{Rate, Span};
use libfuzzer_sys::fuzz_target;
use std::io::Write;

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut file) = tempfile::NamedTempFile::new() else { return };
    if file.write_all(bytes).is_err() {
        return;
    }
    let path = file.path().to_owned();
    let mut config = DirectionConfig::new(Rate::from_mbps(1), Span::from_millis(1));
    config.rate = RateConfig::Trace { file: path.clone() };
    let _ = config.load(path.parent().unwrap_or(&path));
    config.rate = RateConfig::Constant(Rate::from_mbps(1));
    config.loss = LossConfig::from(LossModel::Trace { file: path.clone() });
    let _ = config.load(path.parent().unwrap_or(&path));
});
