use super::*;
use proptest::prelude::*;

/// A variable-length integer of four bytes, enough for the tests.
fn integer(value: u64) -> [u8; 4] {
    (0x8000_0000 | u32::try_from(value).unwrap()).to_be_bytes()
}

fn frame(kind: u64, payload: &[u8]) -> Vec<u8> {
    [&integer(kind), &integer(payload.len() as u64), payload].concat()
}

fn header(kind: u64, length: u64) -> Vec<u8> {
    [integer(kind), integer(length)].concat()
}

/// Filters `bytes` in pieces of `size`. Returns the bytes that pass, the most bytes held, and
/// the result.
fn filtered(
    mut filter: FrameFilter,
    bytes: &[u8],
    size: usize,
) -> (Vec<u8>, u64, Result<(), FrameError>) {
    let (mut passed, mut held) = (Vec::new(), 0);
    for piece in bytes.chunks(size.max(1)) {
        let pushed = filter.push(Bytes::copy_from_slice(piece));
        held = held.max(filter.held());
        while let Some(bytes) = filter.pop() {
            passed.extend_from_slice(&bytes);
        }
        if pushed.is_err() {
            return (passed, held, pushed);
        }
    }
    (passed, held, filter.end())
}

#[test]
fn frames_of_a_request_pass_and_unknown_frames_do_not() {
    let headers = frame(frame::HEADERS, &[7; 300]);
    let data = frame(frame::DATA, &[8; 5000]);
    let unknown = frame(0x21, &[9; 3000]);
    let trailers = frame(frame::HEADERS, b"t");
    let stream = [&headers, &unknown, &data, &unknown, &frame(frame::DATA, b""), &trailers]
        .map(|f| &f[..])
        .concat();
    let expected = [&headers, &data, &frame(frame::DATA, b""), &trailers].map(|f| &f[..]).concat();
    for size in [1, 7, 1200, 100_000] {
        let (passed, held, end) = filtered(FrameFilter::request(Side::Server, 1000), &stream, size);
        assert_eq!((passed == expected, end), (true, Ok(())), "pieces of {size}");
        assert!(held <= headers.len() as u64, "{held}");
    }
}

#[test]
fn a_frame_that_declares_too_much_is_refused_at_its_header() {
    let long = |kind, length| {
        let filter = FrameFilter::request(Side::Client, 1000);
        filtered(filter, &header(kind, length), 3).2.unwrap_err()
    };
    let error = long(frame::HEADERS, 1001);
    assert_eq!(error, FrameError::TooLong { kind: 1, length: 1001, max: 1000 });
    assert_eq!(error.code(), Code::H3_EXCESSIVE_LOAD);
    assert_eq!(long(frame::PUSH_PROMISE, 1 << 29).code(), Code::H3_EXCESSIVE_LOAD);
    let control = [&[0x00][..], &header(frame::SETTINGS, MAX_SETTINGS_FRAME + 1)].concat();
    let error =
        filtered(FrameFilter::unidirectional(Side::Server, 1000), &control, 1).2.unwrap_err();
    assert_eq!(error.code(), Code::H3_EXCESSIVE_LOAD);
    let goaway = [&[0x00][..], &header(frame::GOAWAY, 9)].concat();
    let error =
        filtered(FrameFilter::unidirectional(Side::Server, 1000), &goaway, 1).2.unwrap_err();
    assert_eq!(error, FrameError::Malformed { kind: frame::GOAWAY, length: 9 });
    assert_eq!(error.code(), Code::H3_FRAME_ERROR);
}

#[test]
fn an_unknown_frame_of_any_length_is_dropped_as_it_arrives() {
    let mut filter = FrameFilter::request(Side::Server, 1000);
    filter.push(Bytes::from(header(0x21, (1 << 30) - 1))).unwrap();
    for _ in 0..100 {
        filter.push(Bytes::from(vec![0; 100_000])).unwrap();
        assert_eq!((filter.held(), filter.pop()), (0, None));
    }
}

#[test]
fn frames_on_the_wrong_stream_are_unexpected() {
    for kind in [2, 3, 4, 6, 7, 8, 9, 0xd] {
        let error = filtered(FrameFilter::request(Side::Server, 1000), &frame(kind, b"x"), 100)
            .2
            .unwrap_err();
        assert_eq!(
            (error, error.code()),
            (FrameError::Unexpected { kind }, Code::H3_FRAME_UNEXPECTED)
        );
    }
    for kind in [0, 1, 2, 5, 6, 8, 9] {
        let stream = [&[0x00][..], &frame(kind, b"x")].concat();
        let error =
            filtered(FrameFilter::unidirectional(Side::Server, 1000), &stream, 100).2.unwrap_err();
        assert_eq!(error, FrameError::Unexpected { kind });
    }
}

#[test]
fn control_frames_pass_and_streams_of_other_types_are_not_parsed() {
    let control = [
        &[0x00][..],
        &frame(frame::SETTINGS, &[0; 30]),
        &frame(0xf0702, &[1; 99]),
        &frame(7, &[4]),
    ];
    let (passed, _, end) =
        filtered(FrameFilter::unidirectional(Side::Server, 1000), &control.concat(), 5);
    assert_eq!((passed, end), ([control[0], control[1], control[3]].concat(), Ok(())));
    let qpack = [&[0x02][..], &[0xff; 500]].concat();
    assert_eq!(
        filtered(FrameFilter::unidirectional(Side::Server, 1000), &qpack, 7),
        (qpack, 0, Ok(()))
    );
}

#[test]
fn payloads_of_control_frames_are_whole_integers() {
    let ends = |kind, payload: &[u8]| {
        let control = [&[0x00][..], &frame(kind, payload)].concat();
        filtered(FrameFilter::unidirectional(Side::Server, 1000), &control, 3).2
    };
    for (kind, payload) in
        [(frame::SETTINGS, &[6, 0x40][..]), (frame::SETTINGS, &[6]), (frame::GOAWAY, &[0, 0])]
    {
        let length = payload.len() as u64;
        assert_eq!(ends(kind, payload), Err(FrameError::Malformed { kind, length }));
    }
    assert_eq!(ends(frame::GOAWAY, &[]).unwrap_err().code(), Code::H3_FRAME_ERROR);
    assert_eq!(ends(frame::SETTINGS, &[6, 0x40, 1]), Ok(()));
    assert_eq!(ends(frame::MAX_PUSH_ID, &[5]), Ok(()));
    assert_eq!(ends(frame::CANCEL_PUSH, &[5]).unwrap_err().code(), Code::H3_ID_ERROR);
}

#[test]
fn what_only_one_side_may_send_is_refused() {
    let control = [&[0x00][..], &frame(frame::MAX_PUSH_ID, &[5])].concat();
    let to = |side| filtered(FrameFilter::unidirectional(side, 1000), &control, 3).2;
    assert_eq!(to(Side::Client), Err(FrameError::Unexpected { kind: frame::MAX_PUSH_ID }));
    assert_eq!(to(Side::Server), Ok(()));
    let push = |side| filtered(FrameFilter::unidirectional(side, 1000), &[0x01, 0x00], 1).2;
    assert_eq!(push(Side::Server), Err(FrameError::PushStream));
    assert_eq!(push(Side::Client), Ok(()));
}

#[test]
fn priority_updates_are_read_and_do_not_pass() {
    let update =
        |id: u64, field: &[u8]| frame(frame::PRIORITY_UPDATE, &[&integer(id)[..], field].concat());
    let field = |text: &[u8]| PriorityField::parse(text).unwrap();
    let control = [
        &[0x00][..],
        &frame(frame::SETTINGS, &[]),
        &update(0, b"u=1"),
        &update(4, b"not, A dictionary"),
        &update(4, b""),
        &frame(7, &[4]),
    ];
    for size in [1, 5, 1000] {
        let mut filter = FrameFilter::unidirectional(Side::Server, 1000);
        let mut passed = Vec::new();
        for piece in control.concat().chunks(size) {
            filter.push(Bytes::copy_from_slice(piece)).unwrap();
            passed.extend(std::iter::from_fn(|| filter.pop()).flatten());
        }
        assert_eq!(passed, [control[0], control[1], control[5]].concat());
        assert_eq!(filter.take_priorities(), [(0, field(b"u=1")), (4, field(b""))]);
    }
    let end = |side, bytes: &[u8]| {
        let stream = [&[0x00][..], bytes].concat();
        filtered(FrameFilter::unidirectional(side, 1000), &stream, 3).2.unwrap_err()
    };
    let kind = frame::PRIORITY_UPDATE;
    // Streams that are no requests.
    for stream in [1, 2, 3, 6] {
        let error = end(Side::Server, &update(stream, b"u=1"));
        assert_eq!(
            (error, error.code()),
            (FrameError::NoRequest { kind, stream }, Code::H3_ID_ERROR)
        );
    }
    assert_eq!(end(Side::Client, &update(0, b"u=1")), FrameError::Unexpected { kind });
    let request = filtered(FrameFilter::request(Side::Server, 1000), &update(0, b"u=1"), 9).2;
    assert_eq!(request, Err(FrameError::Unexpected { kind }));
    assert_eq!(end(Side::Server, &frame(kind, b"")), FrameError::Malformed { kind, length: 0 });
    let long = end(Side::Server, &header(kind, MAX_PRIORITY_UPDATE + 1));
    assert_eq!(long.code(), Code::H3_EXCESSIVE_LOAD);
    let push = frame(frame::PRIORITY_UPDATE_PUSH, &integer(0));
    assert_eq!(end(Side::Server, &push).code(), Code::H3_ID_ERROR);
}

#[test]
fn an_end_inside_a_frame_is_an_error() {
    let stream =
        [frame(frame::HEADERS, &[1; 9]), frame(frame::DATA, &[2; 9]), frame(0x21, &[3; 9])]
            .concat();
    let boundaries = [0, 17, 34, 51];
    for end in 0..=stream.len() {
        let (_, _, ended) = filtered(FrameFilter::request(Side::Server, 1000), &stream[..end], 4);
        assert_eq!(ended.is_ok(), boundaries.contains(&end), "{end}: {ended:?}");
        if let Err(error) = ended {
            assert_eq!(error.code(), Code::H3_FRAME_ERROR);
        }
    }
}

proptest! {
    #[test]
    fn the_size_of_pieces_does_not_matter(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        size in 1usize..50,
        uni in any::<bool>(),
    ) {
        let filter = || {
            let side = Side::Server;
            match uni {
                true => FrameFilter::unidirectional(side, 100),
                false => FrameFilter::request(side, 100),
            }
        };
        let whole = filtered(filter(), &bytes, bytes.len());
        let pieces = filtered(filter(), &bytes, size);
        prop_assert_eq!((&whole.0, whole.2), (&pieces.0, pieces.2));
        prop_assert!(pieces.1 <= MAX_SETTINGS_FRAME + 16);
    }
}
