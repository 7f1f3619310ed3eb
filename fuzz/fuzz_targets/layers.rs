//! A frame of any link type, alone and twice in a capture: no panic, and no more packets than there
//! are.
#![no_main]

use bentpipe_captures::Recording;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u16, bool, &[u8])| {
    let (link_type, is_pcapng, frame) = input;
    let link = u32::from(link_type).to_le_bytes();
    let kept = (frame.len() as u32).to_le_bytes();
    let mut file = Vec::new();
    if is_pcapng {
        let mut block = |kind: u32, body: &[&[u8]]| {
            let body = body.concat();
            let length = (12 + body.len().next_multiple_of(4)) as u32;
            file.extend(kind.to_le_bytes().into_iter().chain(length.to_le_bytes()));
            file.extend(&body);
            file.resize(file.len().next_multiple_of(4), 0);
            file.extend(length.to_le_bytes());
        };
        block(0x0a0d_0d0a, &[&0x1a2b_3c4d_u32.to_le_bytes(), &[1, 0, 0, 0], &[255; 8]]);
        block(1, &[&link, &[0; 4]]);
        for second in [1_u8, 2] {
            block(6, &[&[0; 8], &[second, 0, 0, 0], &kept, &kept, frame]);
        }
    } else {
        file.extend([0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0]);
        file.extend([[0; 4], [0; 4], [255, 255, 0, 0], link].concat());
        for second in [1_u8, 2] {
            file.extend([[second, 0, 0, 0], [0; 4], kept, kept].concat());
            file.extend(frame);
        }
    }
    let Ok(recording) = Recording::parse(file, &[]) else { return };
    assert!(recording.connections().len() <= 2);
    for row in recording.connections() {
        assert!(row.to_server.packets + row.to_client.packets <= 2);
        if let Ok(connection) = recording.read(row.number - 1) {
            assert!(connection.events.is_sorted_by_key(|(at, _)| *at));
        }
    }
});
