//! Measurements of other tools from arbitrary files: no panic, and what is imported can be loaded.
#![no_main]

use bentpipe_link::{DirectionConfig, DirectionPatch, InputFiles};
use bentpipe_recordings::{Format, Import, Input, Options};
use bentpipe_units::{Rate, Span};
use libfuzzer_sys::fuzz_target;
use std::path::PathBuf;

fuzz_target!(|bytes: &[u8]| {
    // The first byte chooses a format, or that the content tells it.
    let Some((first, bytes)) = bytes.split_first() else { return };
    let format = Format::ALL.get(usize::from(*first) % (Format::ALL.len() + 1)).map(|one| one.0);
    let input = Input { name: "file".to_owned(), bytes: bytes.to_vec(), format, direction: None };
    let options = Options {
        offset: Some(Span::ZERO),
        rate: Some(Rate::from_mbps(10)),
        ..Options::default()
    };
    let Ok(import) = Import::new(vec![input], &options) else { return };
    let texts = import.files.iter().map(|(name, text)| (PathBuf::from(name), text.as_str().into()));
    let files = InputFiles::from_texts(texts.collect());
    let names = import.files.iter().map(|(name, _)| name.as_str());
    for name in names.filter(|name| name.ends_with(".csv")) {
        let patch = DirectionPatch { recording: Some(name.into()), ..DirectionPatch::default() };
        // A measurement may be too short or never send anything; then it says so.
        let Ok(patch) = patch.with_recording(&files) else { continue };
        let mut config = DirectionConfig::new(Rate::from_mbps(10), Span::ZERO);
        patch.apply_to(&mut config);
        assert!(config.load(&files).is_ok());
    }
});
