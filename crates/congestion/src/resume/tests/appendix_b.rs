//! The example of RFC 9959 appendix B.

use super::*;

/// Runs RFC 9959 appendix B up to the jump: 29 packets in flight, a saved window of 300.
fn appendix_b() -> Rig {
    let mut rig = Rig::new(ResumeMode::Careful, None);
    rig.send(10);
    rig.at(100);
    for number in 0..10 {
        rig.ack(number, number);
        rig.fill();
    }
    rig.at(200);
    for number in 10..18 {
        rig.ack(number, number);
        rig.fill();
    }
    rig.ack_as(18, 18, true);
    assert_eq!(rig.resume.send_control().cwnd, packets(28));
    rig
}

#[test]
fn appendix_b_a_loss_of_the_thirty_fifth_unvalidated_packet() {
    let mut rig = appendix_b();
    rig.ack(19, 19);
    rig.send(1);
    assert!(rig.handle.offer(saved(300)));
    rig.fill();
    assert_eq!(rig.sent_packets.bytes_in_flight(), packets(150));
    let steps = rig.handle.take_transitions();
    let jump = &steps[1];
    assert_eq!(
        (jump.new, jump.pipesize, jump.window),
        (Phase::Unvalidated, packets(29), packets(150))
    );
    let full = &steps[2];
    let first = jump.first_unvalidated_packet.unwrap();
    assert_eq!((full.new, full.last_unvalidated_packet), (Phase::Validating, Some(first + 120)));
    rig.at(300).ack(20, first - 1);
    rig.ack(first, first + 33);
    assert_eq!(rig.resume.pipesize(), packets(63));
    rig.lose(first + 34, first + 34);
    // "31 packets" in the RFC; here the half packet remains.
    assert_eq!(rig.resume.send_control().cwnd, Bytes::new(31_500));
    rig.ack(first + 35, first + 120);
    // The initial 29 packets and the 120 validated ones; the appendix prints 120.
    assert_eq!(rig.resume.pipesize(), packets(149));
    assert_eq!(rig.resume.send_control().ssthresh, Some(Bytes::new(74_500)));
    assert_eq!(rig.resume.resume_phase(), Phase::Normal);
}
