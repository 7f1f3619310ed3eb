//! Arbitrary bytes as the frames of a packet: its trace has no defect in either form.
#![no_main]

use bentpipe_quic::observer::each_frame;
use bentpipe_quic::qlog::check::{check, check_qvis};
use bentpipe_quic::qlog::{Form, Forms, Packet, PacketType, QlogSink, Side, Transport};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let sink = QlogSink::new("fuzz", Forms::BOTH);
    sink.begin(Side::Client, Transport::Quic, "00");
    let mut packets = sink.packets();
    let packet =
        Packet { kind: PacketType::OneRtt, number: 0, connection_ids: None, length: 1200 };
    let mut writer = packets.begin(&packet);
    each_frame(bytes, 3, &mut Vec::new(), |frame| writer.frame(frame));
    writer.end();
    if let Some(text) = packets.get(0) {
        sink.packet_received(text);
    }
    check(&sink.take(Form::Current)).expect("a trace without defects");
    check_qvis(&sink.take(Form::Qvis)).expect("a trace that qvis reads");
});
