//! Arbitrary sequences of stream pieces: the reassembler returns the stream once and in order, and
//! holds no more than its length.
#![no_main]

use bentpipe_quic::Reassembler;
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|pieces: Vec<(u16, u16, bool)>| {
    let stream: Vec<u8> = (0..65_536u32 * 2).map(|index| (index % 251) as u8).collect();
    let mut reader = Reassembler::default();
    let mut delivered = 0usize;
    for (offset, length, drain) in pieces {
        let (start, end) = (usize::from(offset), usize::from(offset) + usize::from(length));
        reader.insert(start as u64, Bytes::copy_from_slice(&stream[start..end]));
        if drain {
            while let Some(bytes) = reader.pop() {
                assert_eq!(bytes, stream[delivered..delivered + bytes.len()]);
                delivered += bytes.len();
            }
        }
        assert_eq!(reader.next_offset(), delivered as u64);
        assert!(reader.held() <= stream.len() as u64);
    }
});
