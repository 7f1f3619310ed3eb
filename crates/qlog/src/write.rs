//! The data of events, as JSON.

use crate::event::{
    CarefulResume, CloseTrigger, ConnectionClosed, Event, Initiator, Metrics, Parameters, RESTORED,
    RecoveryParameters, TcpFlags, TcpPacket,
};
use crate::form::Form;
use crate::http3;
use crate::json::{Object, uint};
use crate::packet;
use std::net::SocketAddr;

/// Returns the name of an event. `None` if the form has none for it.
pub(crate) fn name(event: &Event<'_>, form: Form) -> Option<&'static str> {
    let (current, qvis) = match event {
        Event::ConnectionStarted { .. } => {
            ("quic:connection_started", Some("connectivity:connection_started"))
        }
        Event::ConnectionClosed(_) => {
            ("quic:connection_closed", Some("connectivity:connection_closed"))
        }
        Event::ParametersSet(..) => ("quic:parameters_set", Some("transport:parameters_set")),
        Event::ParametersRestored(_) => {
            ("quic:parameters_restored", Some("transport:parameters_restored"))
        }
        Event::PacketLost { .. } => ("quic:packet_lost", Some("recovery:packet_lost")),
        Event::RecoveryParametersSet(_) => {
            ("quic:recovery_parameters_set", Some("recovery:parameters_set"))
        }
        Event::RecoveryMetricsUpdated(_) | Event::ControllerState(_) => {
            ("quic:recovery_metrics_updated", Some("recovery:metrics_updated"))
        }
        Event::CongestionStateUpdated { .. } => {
            ("quic:congestion_state_updated", Some("recovery:congestion_state_updated"))
        }
        Event::CarefulResumePhaseUpdated(_) => {
            ("quic:careful_resume_phase_updated", Some("recovery:careful_resume_phase_updated"))
        }
        Event::Http3ParametersSet(..) => ("http3:parameters_set", Some("http:parameters_set")),
        Event::Http3StreamTypeSet { .. } => ("http3:stream_type_set", Some("http:stream_type_set")),
        Event::Http3FrameCreated { .. } => ("http3:frame_created", Some("http:frame_created")),
        Event::Http3FrameParsed { .. } => ("http3:frame_parsed", Some("http:frame_parsed")),
        // qvis knows no TCP.
        Event::TcpPacketSent(_) => ("tcp:packet_sent", None),
        Event::TcpPacketReceived(_) => ("tcp:packet_received", None),
        Event::TcpPacketLost { .. } => ("tcp:packet_lost", None),
        Event::Warning(_) => ("loglevel:warning", Some("loglevel:warning")),
    };
    match form {
        Form::Current => Some(current),
        Form::Qvis => qvis,
    }
}

/// Writes the data of an event.
pub(crate) fn data(event: &Event<'_>, form: Form, out: &mut Vec<u8>) {
    let mut data = Object::begin(out);
    let object = &mut data;
    match *event {
        Event::ConnectionStarted { remote } => started(remote, form, object),
        Event::ConnectionClosed(closed) => close(&closed, form, object),
        Event::ParametersSet(initiator, parameters) => {
            owner(initiator, form, object);
            all_parameters(parameters, form, object);
        }
        Event::ParametersRestored(parameters) => restored(parameters, object),
        Event::PacketLost { kind, number } => packet::lost(object, kind, number),
        Event::RecoveryParametersSet(parameters) => recovery(&parameters, object),
        Event::RecoveryMetricsUpdated(values) => metrics(&values, object),
        Event::ControllerState(fields) => {
            object.object("controller", |controller| controller_state(fields, controller));
        }
        Event::CongestionStateUpdated { old, new } => {
            if let Some(old) = old {
                object.text("old", old);
            }
            object.text("new", new);
        }
        Event::CarefulResumePhaseUpdated(phase) => careful_resume(&phase, object),
        Event::Http3ParametersSet(initiator, settings) => {
            owner(initiator, form, object);
            http3::parameters(settings, object);
        }
        Event::Http3StreamTypeSet { initiator, stream_id, stream_type } => {
            owner(initiator, form, object);
            object.uint("stream_id", stream_id);
            object.name("stream_type", stream_type.name());
        }
        Event::Http3FrameCreated { stream_id, frame }
        | Event::Http3FrameParsed { stream_id, frame } => {
            object.uint("stream_id", stream_id);
            object.object("frame", |object| frame.write(form, object));
        }
        Event::TcpPacketSent(packet) | Event::TcpPacketReceived(packet) => tcp(&packet, object),
        Event::TcpPacketLost { sequence, length } => {
            object.object("header", |header| header.uint("sequence_number", sequence));
            object.object("raw", |raw| raw.uint("payload_length", length));
        }
        Event::Warning(message) => object.text("message", message),
    }
    data.end();
}

/// Writes whose parameters they are. qlog 0.3 has another name for the field.
fn owner(initiator: Initiator, form: Form, object: &mut Object<'_>) {
    let key = match form {
        Form::Current => "initiator",
        Form::Qvis => "owner",
    };
    object.name(key, initiator_name(initiator));
}

fn initiator_name(initiator: Initiator) -> &'static str {
    match initiator {
        Initiator::Local => "local",
        Initiator::Remote => "remote",
    }
}

/// Writes the peer's address. The local one is not known to a connection.
fn started(remote: SocketAddr, form: Form, object: &mut Object<'_>) {
    let (ip, ip_key, port_key) = match remote.ip() {
        std::net::IpAddr::V4(ip) => (ip.to_string(), "ip_v4", "port_v4"),
        std::net::IpAddr::V6(ip) => (ip.to_string(), "ip_v6", "port_v6"),
    };
    match form {
        Form::Current => {
            object.object("local", |_| {});
            object.object("remote", |remote_end| {
                remote_end.name(ip_key, &ip);
                remote_end.uint(port_key, u64::from(remote.port()));
            });
        }
        Form::Qvis => {
            object.name("dst_ip", &ip);
            object.uint("dst_port", u64::from(remote.port()));
        }
    }
}

fn close(closed: &ConnectionClosed<'_>, form: Form, object: &mut Object<'_>) {
    if let Some(initiator) = closed.initiator {
        owner(initiator, form, object);
    }
    if let Some((code, application)) = closed.error {
        if application {
            object.name("application_error", "unknown");
        } else {
            object.name("connection_error", "unknown");
        }
        object.uint("error_code", code);
    }
    if let Some(reason) = closed.reason {
        object.text("reason", reason);
    }
    object.name(
        "trigger",
        match closed.trigger {
            CloseTrigger::IdleTimeout => "idle_timeout",
            CloseTrigger::Application => "application",
            CloseTrigger::Error => "error",
            CloseTrigger::VersionMismatch => "version_mismatch",
            CloseTrigger::StatelessReset => "stateless_reset",
            CloseTrigger::Aborted => "aborted",
        },
    );
}

fn all_parameters(parameters: &Parameters, form: Form, object: &mut Object<'_>) {
    for (key, value) in [
        ("original_destination_connection_id", &parameters.original_destination_connection_id),
        ("initial_source_connection_id", &parameters.initial_source_connection_id),
        ("retry_source_connection_id", &parameters.retry_source_connection_id),
    ] {
        object.hex_if(key, value.as_deref());
    }
    object.bool("disable_active_migration", parameters.disable_active_migration);
    if parameters.grease_quic_bit {
        object.bool("grease_quic_bit", true);
    }
    parameters.integers.iter().for_each(|&(key, value)| object.uint(key, value));
    if form == Form::Current && !parameters.unknown.is_empty() {
        object.array("unknown_parameters", &parameters.unknown, |out, (id, value)| {
            let mut parameter = Object::begin(out);
            parameter.uint("id", *id);
            parameter.hex("value", value);
            parameter.end();
        });
    }
}

fn restored(parameters: &Parameters, object: &mut Object<'_>) {
    object.bool("disable_active_migration", parameters.disable_active_migration);
    let kept = parameters.integers.iter().filter(|(key, _)| RESTORED.contains(key));
    kept.for_each(|&(key, value)| object.uint(key, value));
}

fn recovery(parameters: &RecoveryParameters, object: &mut Object<'_>) {
    object.uint_if("reordering_threshold", parameters.reordering_threshold);
    if let Some(eighths) = parameters.time_threshold_eighths {
        let out = object.key("time_threshold");
        uint(out, eighths / 8);
        out.push(b'.');
        let thousandths = eighths % 8 * 125;
        out.extend_from_slice(format!("{thousandths:03}").as_bytes());
    }
    object.uint("timer_granularity", parameters.timer_granularity);
    object.uint_if("max_datagram_size", parameters.max_datagram_size);
    object.uint_if("initial_congestion_window", parameters.initial_congestion_window);
}

fn metrics(metrics: &Metrics, object: &mut Object<'_>) {
    object.millis_if("min_rtt", metrics.min_rtt);
    object.millis_if("smoothed_rtt", metrics.smoothed_rtt);
    object.millis_if("latest_rtt", metrics.latest_rtt);
    object.millis_if("rtt_variance", metrics.rtt_variance);
    object.uint_if("congestion_window", metrics.congestion_window);
    object.uint_if("bytes_in_flight", metrics.bytes_in_flight);
    object.uint_if("ssthresh", metrics.ssthresh);
    object.uint_if("pacing_rate", metrics.pacing_rate);
}

/// Writes variables of a controller, each with its unit at the end of its name.
fn controller_state(fields: &[(&str, &str, f64)], object: &mut Object<'_>) {
    for (name, unit, value) in fields {
        let separator = if unit.is_empty() { "" } else { "_" };
        object.number(&format!("{name}{separator}{}", unit.to_ascii_lowercase()), *value);
    }
}

fn careful_resume(phase: &CarefulResume, object: &mut Object<'_>) {
    if let Some(old) = phase.old {
        object.name("old", old);
    }
    object.name("new", phase.new);
    object.object("state_data", |state| {
        state.uint("pipesize", phase.pipesize);
        state.uint_if("first_unvalidated_packet", phase.first_unvalidated_packet);
        state.uint_if("last_unvalidated_packet", phase.last_unvalidated_packet);
        state.uint("congestion_window", phase.congestion_window);
        state.uint_if("ssthresh", phase.ssthresh);
    });
    if let Some(saved) = phase.restored {
        object.object("restored_data", |data| {
            data.uint("saved_congestion_window", saved.congestion_window);
            data.millis("saved_rtt", saved.rtt);
        });
    }
    if let Some(trigger) = phase.trigger {
        object.name("trigger", trigger);
    }
}

fn tcp(packet: &TcpPacket<'_>, object: &mut Object<'_>) {
    object.object("header", |header| {
        header.uint("sequence_number", packet.sequence);
        header.uint_if("acknowledgment_number", packet.acknowledgment);
        header.uint("window", packet.window);
        let TcpFlags { syn, fin, rst, ack, ece, cwr } = packet.flags;
        let flags =
            [(syn, "syn"), (fin, "fin"), (rst, "rst"), (ack, "ack"), (ece, "ece"), (cwr, "cwr")];
        let set = flags.iter().filter(|(set, _)| *set);
        header.array("flags", set, |out, (_, name)| {
            out.push(b'"');
            out.extend_from_slice(name.as_bytes());
            out.push(b'"');
        });
        if !packet.sack.is_empty() {
            header.array("sack", packet.sack, |out, &(first, end)| {
                out.push(b'[');
                uint(out, first);
                out.push(b',');
                uint(out, end);
                out.push(b']');
            });
        }
    });
    object.object("raw", |raw| {
        raw.uint("length", packet.length);
        raw.uint("payload_length", packet.payload);
    });
}
