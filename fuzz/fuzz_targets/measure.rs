//! Messages and datagrams of a measurement: no panic, bounds are kept, and what is read is written
//! in the same way.
#![no_main]

use bentpipe_net::measure::wire::{Answer, MAX_BINS, MESSAGE, Message, PROBE, Probe, bins};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Some(first) = input.first_chunk::<MESSAGE>()
        && let Ok(message) = Message::decode(first)
    {
        assert_eq!(Message::decode(&message.encode()), Ok(message));
        if let Message::Bins { count } = message {
            assert!(count <= MAX_BINS);
        }
    }
    assert_eq!(bins(input).len(), input.len() / 8);
    assert_eq!(Probe::decode(input).is_ok(), input.len() == PROBE);
    if let Ok(answer) = Answer::decode(input) {
        assert_eq!(Answer::decode(&answer.encode()), Ok(answer));
    }
});
