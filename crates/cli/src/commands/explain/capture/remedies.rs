//! What would help against the first cause, and what that saves: by simulation of the path of the
//! file with and without the change.

use super::document::RemedyDocument;
use super::simulated::{FASTER, Simulated};
use super::words::{
    Ends, MOST_TRIPS, REORDERED, WORTH, bdp, busy_link, data, is_of_handshake, loses_in_bursts,
    main_cause, policed, seconds,
};
use crate::output::counted;
use bentpipe_captures::{CapturedTransfer, FlowLimit, LimitKind, Transport};
use bentpipe_timeseries::TimePart;
use bentpipe_units::{Bytes, Span};

/// Initial window of the remedy, in packets. RFC 6928 §3 has 10; large servers of the web use about
/// this.
const INITIAL_WINDOW: u64 = 32;
/// The simulation without the change must take what the file shows, within this share of it.
const AGREES: f64 = 0.25;
/// Runs of a path with losses, of which the median counts.
const RUNS: usize = 3;
/// Windows hold so many times what the path holds: a loss is repaired meanwhile.
const ROOM: f64 = 2.0;

/// A change that helps.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Remedy {
    pub cause: TimePart,
    /// What to change, at which end, and to what.
    pub setting: String,
    pub end: String,
    pub value: String,
    /// Seconds that it saves; `None` if the simulation does not do what the file shows.
    pub saves_s: Option<f64>,
    /// Seconds that it saves at most, if that is all that is known.
    pub saves_up_to_s: Option<f64>,
}

impl Remedy {
    /// Returns it as a line: `try net.ipv4.tcp_rmem to 7 MB at the client: saves about 5.4 s`.
    pub fn text(&self) -> String {
        let Self { setting, end, value, saves_s, saves_up_to_s, .. } = self;
        let saves = match (saves_s, saves_up_to_s) {
            (Some(saves), _) => format!("saves about {} s", seconds(*saves)),
            (None, Some(most)) => format!("saves up to {} s", seconds(*most)),
            (None, None) => "what it saves cannot be told from this file".to_owned(),
        };
        let value = if value.is_empty() { String::new() } else { format!(": {value}") };
        format!("what would help: {setting}{value} ({end}); {saves}")
    }

    pub fn document(&self) -> RemedyDocument {
        RemedyDocument {
            cause: self.cause.name(),
            setting: self.setting.clone(),
            r#where: self.end.clone(),
            value: self.value.clone(),
            saves_s: self.saves_s,
            saves_up_to_s: self.saves_up_to_s,
        }
    }
}

/// Returns what helps against the first cause of a transfer's time and against its round trips,
/// what saves most first; with what to look at if no setting of its transport does.
pub(super) fn remedies(recorded: &CapturedTransfer, ends: &Ends) -> Vec<Remedy> {
    let by_cause =
        main_cause(recorded).and_then(|(part, time)| of_cause(part, time, recorded, ends));
    let others = of_dropped_bursts(recorded).into_iter().chain(of_round_trips(recorded, ends));
    by_saving(by_cause.into_iter().chain(others).collect())
}

/// Returns what helps where bursts are dropped, if that is what took the time: the file does not
/// tell a policer from a short queue.
fn of_dropped_bursts(recorded: &CapturedTransfer) -> Option<Remedy> {
    let losses = [
        TimePart::CongestionWindow,
        TimePart::LostPackets,
        TimePart::LossDetection,
        TimePart::Timeout,
    ];
    let by_size =
        |a: &TimePart, b: &TimePart| recorded.budget.get(*a).total_cmp(&recorded.budget.get(*b));
    let cause = losses.into_iter().max_by(by_size)?;
    let evidence = &recorded.evidence;
    let is_main = main_cause(recorded).is_some_and(|(part, _)| losses.contains(&part))
        && loses_in_bursts(evidence)
        && recorded.budget.get(TimePart::Outage) == 0.0
        && evidence.reordered < REORDERED;
    (is_main || policed(recorded).is_some()).then(|| Remedy {
        cause,
        setting: "a higher rate at the policer, or a longer queue before the link".to_owned(),
        end: "operator of the link".to_owned(),
        value: String::new(),
        saves_s: None,
        saves_up_to_s: None,
    })
}

/// Returns the line in the place of remedies, if there are none.
pub(super) fn without(recorded: &CapturedTransfer, ends: &Ends) -> String {
    let cannot_be_told = "what would help cannot be told from this file";
    if busy_link(recorded).is_some() {
        format!("what would help: a faster link (its operator), or less data ({})\n", ends.sender)
    } else if main_cause(recorded).is_none() {
        String::new()
    } else if recorded.is_encrypted {
        format!("{cannot_be_told}: with keys it would show losses\n")
    } else {
        format!("{cannot_be_told}\n")
    }
}

/// Returns remedies in the order of what they save at most. What cannot be told may be the most.
fn by_saving(mut found: Vec<Remedy>) -> Vec<Remedy> {
    let most_s = |one: &Remedy| one.saves_s.or(one.saves_up_to_s).unwrap_or(f64::INFINITY);
    found.sort_by(|a, b| most_s(b).total_cmp(&most_s(a)));
    found
}

fn of_cause(part: TimePart, time: f64, recorded: &CapturedTransfer, ends: &Ends) -> Option<Remedy> {
    let at_sender = |setting: &str, value: String, saves_s| Remedy {
        cause: part,
        setting: setting.to_owned(),
        end: ends.sender.to_owned(),
        value,
        saves_s,
        saves_up_to_s: None,
    };
    match part {
        TimePart::FlowControl => {
            let (limit, _) = recorded.evidence.limit?;
            if recorded.evidence.reading.is_some() {
                return elsewhere(part, time, recorded, ends);
            }
            Some(wider(limit, recorded, ends))
        }
        TimePart::SlowStart => {
            let setting = match ends.transport {
                Transport::Tcp => "a larger initial window (`ip route change ... initcwnd`)",
                Transport::Quic => "a larger initial window",
            };
            // The simulated receive buffer grows as the usual one does, unless this one was large.
            let first = recorded.evidence.first_window;
            let is_large = first.is_some_and(|window| window >= bdp(recorded).min(recorded.bytes));
            let now = if is_large { NO_AUTOTUNE } else { "" };
            let then = format!("{now}initial_window = {INITIAL_WINDOW}\n");
            let saves = saved(recorded, ends, now, &then);
            let value = counted(INITIAL_WINDOW as usize, "packet");
            Some(at_sender(setting, value, saves))
        }
        TimePart::CongestionWindow | TimePart::LossDetection | TimePart::LostPackets => {
            let evidence = &recorded.evidence;
            if evidence.reordered > REORDERED && evidence.reordered > recorded.path.loss {
                return elsewhere(part, time, recorded, ends);
            }
            if evidence.lost == 0 {
                return of_covered_losses(part, time, recorded, ends);
            }
            if evidence.lost_at_queue * 2 > evidence.lost {
                return Some(longer_queue(part, recorded, ends));
            }
            let setting = match ends.transport {
                Transport::Tcp => {
                    "a congestion control that does not slow down at every loss \
                     (`net.ipv4.tcp_congestion_control`)"
                }
                Transport::Quic => "a congestion control that does not slow down at every loss",
            };
            let saves = saved(recorded, ends, "", "congestion = \"bbr3\"\n");
            Some(at_sender(setting, "BBR".to_owned(), saves))
        }
        TimePart::HeldAcks => Some(Remedy {
            cause: part,
            setting: "acknowledge sooner (max_ack_delay, delayed ACKs)".to_owned(),
            end: ends.asker.to_owned(),
            value: "25 ms".to_owned(),
            saves_s: Some(time),
            saves_up_to_s: None,
        }),
        _ => elsewhere(part, time, recorded, ends),
    }
}

/// Returns what helps against a cause that no setting of a transport is at fault for: what to look
/// at, and where. It saves at most the time of the cause.
fn elsewhere(
    part: TimePart,
    time: f64,
    recorded: &CapturedTransfer,
    ends: &Ends,
) -> Option<Remedy> {
    let evidence = &recorded.evidence;
    let operator = "operator of the link";
    let either = format!("{operator}, or {}", ends.sender);
    let (setting, end) = match part {
        TimePart::Application if evidence.sender_pauses >= evidence.asker_pauses => (
            "the application must not pause: its work before it answers, or its source",
            ends.sender,
        ),
        TimePart::FlowControl => ("the application must read sooner what has come", ends.asker),
        TimePart::Application => ("the application must ask sooner", ends.asker),
        TimePart::CongestionWindow | TimePart::LossDetection | TimePart::LostPackets => (
            "to keep the packets in order, or a sender that does not take late ones for lost (RACK \
             and duplicate SACKs of TCP, a larger packet threshold of QUIC)",
            &*either,
        ),
        TimePart::ReturnLink => {
            ("a faster return link, or fewer acknowledgements on it, as by a filter", operator)
        }
        TimePart::OtherFlows => (
            "a share of the link: fewer other flows, or a queue that divides it among flows \
             (fq_codel, CAKE)",
            operator,
        ),
        TimePart::Capacity => {
            ("capacity that is there when it is needed: shorter frames, or kept assigned", operator)
        }
        TimePart::Outage => ("a link without outages: meanwhile nothing got through", operator),
        TimePart::Timeout if is_of_handshake(recorded) => {
            ("a link that does not lose packets of the handshake", operator)
        }
        TimePart::Timeout => (
            "a link that does not lose several packets in a row, nor the last ones: neither end \
             could tell that they were lost but by waiting",
            operator,
        ),
        _ => return None,
    };
    let with: f64 = shared(part).iter().map(|other| recorded.budget.get(*other)).sum();
    Some(Remedy {
        cause: part,
        setting: setting.to_owned(),
        end: end.to_owned(),
        value: String::new(),
        saves_s: None,
        saves_up_to_s: Some(time + with),
    })
}

/// Returns the parts that go with `part`, as they have the same origin.
fn shared(part: TimePart) -> &'static [TimePart] {
    match part {
        // Beside other flows, the rate of the data is a share of the link's.
        TimePart::OtherFlows => &[TimePart::Serialisation, TimePart::Headers],
        // Capacity on demand is asked for over the return link: its packets wait for both.
        TimePart::Capacity => &[TimePart::ReturnLink],
        TimePart::ReturnLink => &[TimePart::Capacity],
        // A delay that scatters makes packets late, and senders take these for lost.
        TimePart::CongestionWindow | TimePart::LossDetection | TimePart::LostPackets => {
            &[TimePart::Duplicates, TimePart::ReturnLink, TimePart::OtherFlows, TimePart::HeldAcks]
        }
        _ => &[],
    }
}

/// Returns what helps against losses that packets which are not opened do not show, but whose
/// effect is seen, or may be.
fn of_covered_losses(
    part: TimePart,
    time: f64,
    recorded: &CapturedTransfer,
    ends: &Ends,
) -> Option<Remedy> {
    let evidence = &recorded.evidence;
    let condition = match (evidence.names_gaps, evidence.hides_losses) {
        (true, _) => "",
        (false, true) => "if packets were lost, ",
        (false, false) => return None,
    };
    Some(Remedy {
        cause: part,
        setting: format!(
            "{condition}a link that loses fewer, or a congestion control that does not slow down \
             at every loss"
        ),
        end: format!("operator of the link, or {}", ends.sender),
        value: String::new(),
        saves_s: None,
        saves_up_to_s: Some(time),
    })
}

/// Returns the remedy for a limit of the bytes in flight.
fn wider(limit: FlowLimit, recorded: &CapturedTransfer, ends: &Ends) -> Remedy {
    let (setting, end, key) = match (limit.kind, ends.transport) {
        (LimitKind::ReceiveWindow, _) => {
            ("the largest receive buffer (`net.ipv4.tcp_rmem`, SO_RCVBUF)", ends.asker, RECEIVE)
        }
        (LimitKind::Connection, _) => {
            ("the flow control of the connection (initial_max_data)", ends.asker, CONNECTION)
        }
        (LimitKind::Stream, _) => {
            ("the flow control of a stream (initial_max_stream_data)", ends.asker, STREAM)
        }
        (LimitKind::Sender, Transport::Tcp) => {
            ("the largest send buffer (`net.ipv4.tcp_wmem`, SO_SNDBUF)", ends.sender, BUFFER)
        }
        (LimitKind::Sender, Transport::Quic) if recorded.is_encrypted => (
            "the flow control of the receiver (initial_max_data, initial_max_stream_data) or the \
             send buffer",
            "whichever end it is",
            BUFFER,
        ),
        (LimitKind::Sender, Transport::Quic) => ("the send buffer", ends.sender, BUFFER),
    };
    // Half of a receive buffer of TCP is window.
    let times = if limit.kind == LimitKind::ReceiveWindow { 2.0 } else { 1.0 };
    let now = limit.size.mul_f64(times);
    let needed = rounded(bdp(recorded).max(now).mul_f64(ROOM));
    let keys = |size: Bytes| {
        let tuned = match ends.transport {
            Transport::Tcp => NO_AUTOTUNE,
            Transport::Quic => "",
        };
        format!("{tuned}{key} = \"{} B\"\n", size.get())
    };
    let saves_s = saved(recorded, ends, &keys(now), &keys(needed));
    Remedy {
        cause: TimePart::FlowControl,
        setting: setting.to_owned(),
        end: end.to_owned(),
        value: data(needed),
        saves_s,
        saves_up_to_s: None,
    }
}

const RECEIVE: &str = "tcp.receive_buffer";
const STREAM: &str = "flow_control.stream_window";
const CONNECTION: &str = "flow_control.connection_window";
const BUFFER: &str = "flow_control.send_buffer";
/// A receive buffer of TCP that does not grow.
const NO_AUTOTUNE: &str = "tcp.receive_autotune = false\n";

/// Returns the remedy for losses at a queue that is shorter than the path.
fn longer_queue(part: TimePart, recorded: &CapturedTransfer, ends: &Ends) -> Remedy {
    let needed = rounded(bdp(recorded));
    let now = standard(recorded, ends, "");
    let longer = Simulated { queue: now.queue.max(recorded.path.rtt), ..now.clone() };
    Remedy {
        cause: part,
        setting: "a longer queue before the link".to_owned(),
        end: "operator of the link".to_owned(),
        value: data(needed),
        saves_s: difference(recorded, &now, &longer),
        saves_up_to_s: None,
    }
}

/// Returns what helps against round trips, if there are several of one kind.
fn of_round_trips(recorded: &CapturedTransfer, ends: &Ends) -> Option<Remedy> {
    let rtt = recorded.path.rtt.as_secs_f64();
    let completion = recorded.completion.as_secs_f64();
    let of = |part: TimePart| recorded.budget.get(part);
    let requests = recorded.exchanges.len();
    let (handshake, request) = (of(TimePart::Handshake) - rtt, of(TimePart::Request) - rtt);
    // Without keys, a packet of acknowledgements may look like a second request.
    let least = if recorded.is_encrypted { 3 } else { 2 };
    if requests >= least && request >= WORTH * completion && request >= handshake {
        return Some(Remedy {
            cause: TimePart::Request,
            setting: match ends.transport {
                Transport::Tcp => format!("ask for the {requests} things at once (HTTP/2, HTTP/3)"),
                Transport::Quic => {
                    format!("ask for the {requests} things at once, each on a stream")
                }
            },
            end: ends.asker.to_owned(),
            value: "1 round trip".to_owned(),
            saves_s: at_once(recorded, ends).map(|saves| saves.min(request)),
            saves_up_to_s: Some(request),
        });
    }
    let trips = (handshake / rtt.max(1e-9)).round();
    let is_known = (1.0..MOST_TRIPS).contains(&trips);
    (is_known && handshake >= WORTH * completion).then(|| Remedy {
        cause: TimePart::Handshake,
        setting: match ends.transport {
            // TCP and TLS 1.3 take one each.
            Transport::Tcp if trips < 2.0 => {
                "fewer round trips before the request (QUIC, or early data of TLS 1.3)"
            }
            Transport::Tcp => {
                "fewer round trips before the request (QUIC; TLS 1.3 over TCP takes two)"
            }
            // One is all that it needs, unless the client has to prove its address.
            Transport::Quic => {
                "fewer round trips before the request (no Retry, a certificate that fits into \
                 three packets, sessions that resume)"
            }
        }
        .to_owned(),
        end: "both ends".to_owned(),
        value: "1 round trip".to_owned(),
        saves_s: Some(trips * rtt),
        saves_up_to_s: None,
    })
}

/// Returns what the requests save if all are asked at once: their answers are one transfer then,
/// which needs its slow start. `None` if that saves nothing.
fn at_once(recorded: &CapturedTransfer, ends: &Ends) -> Option<f64> {
    let one = standard(recorded, ends, "");
    // A link that was never filled is faster than what was seen.
    let faster = if recorded.path.is_filled { 1.0 } else { FASTER };
    let one = Simulated { rate: one.rate.mul_f64(faster), ..one };
    let shown = recorded.completion.as_secs_f64() - besides(recorded, false);
    let saves = shown - one.completion_s()?;
    (saves > 0.0).then_some(saves)
}

/// Returns the transfer with a usual stack of its transport.
fn standard(recorded: &CapturedTransfer, ends: &Ends, keys: &str) -> Simulated {
    let transport = match ends.transport {
        Transport::Tcp => "transport = \"tcp\"\n",
        Transport::Quic => "",
    };
    let keys = format!("preset = \"rfc\"\nhttp = \"raw\"\n{transport}{keys}");
    let seen = Simulated::of(recorded);
    Simulated { keys, runs: if seen.loss > 0.0 { RUNS } else { 1 }, ..seen }
}

/// Returns what a change of keys saves, in seconds.
fn saved(recorded: &CapturedTransfer, ends: &Ends, now: &str, then: &str) -> Option<f64> {
    let [now, then] = [now, then].map(|keys| standard(recorded, ends, keys));
    difference(recorded, &now, &then)
}

/// Returns what a change saves, if the simulation without it takes what the file shows, but for
/// what no simulation of one transfer has: pauses, further requests and troubles of the path. It is
/// the same share of what the file shows.
fn difference(recorded: &CapturedTransfer, now: &Simulated, then: &Simulated) -> Option<f64> {
    let shown = recorded.completion.as_secs_f64() - besides(recorded, true);
    let (now, then) = (now.completion_s()?, then.completion_s()?);
    // Stacks differ; the share that is saved does so less.
    ((now - shown).abs() <= AGREES * shown && then < now).then(|| shown * (1.0 - then / now))
}

/// Returns the seconds of what no simulation of one transfer has: pauses and troubles of the path,
/// round trips of a longer handshake and, if these are `with_requests`, of further requests.
fn besides(recorded: &CapturedTransfer, with_requests: bool) -> f64 {
    let of = |part: TimePart| recorded.budget.get(part);
    let rtt = recorded.path.rtt.as_secs_f64();
    let requests = if with_requests { (of(TimePart::Request) - rtt).max(0.0) } else { 0.0 };
    of(TimePart::Application)
        + requests
        + (of(TimePart::Handshake) - rtt).max(0.0)
        + of(TimePart::Outage)
        + of(TimePart::Capacity)
}

/// Returns a size with two digits, rounded up.
fn rounded(size: Bytes) -> Bytes {
    let size = size.get().max(1);
    let digits = 10_u64.pow(size.ilog10().saturating_sub(1));
    Bytes::new(size.div_ceil(digits).saturating_mul(digits))
}

/// Returns the shortest time that a remedy must save to be named.
pub(super) fn worth(completion: Span) -> f64 {
    0.02 * completion.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::super::sample::{WINDOW, limited, policed};
    use super::*;
    use bentpipe_captures::Evidence;

    #[test]
    fn what_saves_most_stands_first() {
        let remedy = |value: &str, saves_s, saves_up_to_s| Remedy {
            cause: TimePart::Request,
            setting: String::new(),
            end: "client".to_owned(),
            value: value.to_owned(),
            saves_s,
            saves_up_to_s,
        };
        let found = vec![
            remedy("pauses", None, Some(2.28)),
            remedy("requests", Some(3.25), Some(4.5)),
            remedy("losses", None, None),
        ];
        let values: Vec<_> = by_saving(found).into_iter().map(|one| one.value).collect();
        assert_eq!(values, ["losses", "requests", "pauses"]);
    }

    #[test]
    fn fewer_round_trips_of_a_handshake_are_those_that_its_transport_can_save() {
        let advice = |transport, trips: f64| {
            let mut recorded = limited(LimitKind::Stream);
            let rtt = recorded.path.rtt.as_secs_f64();
            let had = recorded.budget.get(TimePart::Handshake);
            recorded.budget.add(TimePart::Handshake, trips * rtt - had);
            recorded.completion = recorded.path.rtt * 8;
            let ends = Ends { transport, sender: "server", asker: "client" };
            of_round_trips(&recorded, &ends).map(|one| one.setting).unwrap_or_default()
        };
        assert!(advice(Transport::Tcp, 2.0).contains("QUIC, or early data of TLS 1.3"));
        assert!(advice(Transport::Tcp, 4.0).contains("QUIC; TLS 1.3 over TCP takes two"));
        let quic = advice(Transport::Quic, 3.0);
        assert!(quic.contains("no Retry") && !quic.contains("TLS 1.3"), "{quic}");
    }

    #[test]
    fn where_bursts_are_dropped_the_operator_can_help_and_a_sender_may() {
        let ends = Ends { transport: Transport::Tcp, sender: "server", asker: "client" };
        let said = |recorded: &CapturedTransfer| {
            remedies(recorded, &ends).iter().map(Remedy::text).collect::<Vec<_>>()
        };
        let mut recorded = policed();
        let of_operator = "what would help: a higher rate at the policer, or a longer queue before \
            the link (operator of the link); what it saves cannot be told from this file";
        assert_eq!(said(&recorded), [of_operator]);
        recorded.budget.add(TimePart::CongestionWindow, 3.0);
        let both = said(&recorded);
        assert!(both.contains(&of_operator.to_owned()) && both.len() == 2, "{both:?}");
        recorded.evidence.loss_episodes = 250;
        assert!(!said(&recorded).contains(&of_operator.to_owned()), "by chance");
    }

    #[test]
    fn what_keeps_a_window_small_without_keys_has_a_remedy_if_it_may_be_losses() {
        let ends = Ends { transport: Transport::Quic, sender: "server", asker: "client" };
        let said = |names_gaps, hides_losses| {
            let mut recorded = CapturedTransfer { is_encrypted: true, ..policed() };
            recorded.budget.add(TimePart::CongestionWindow, 3.0);
            recorded.evidence = Evidence { names_gaps, hides_losses, ..Evidence::default() };
            remedies(&recorded, &ends).first().map(Remedy::text).unwrap_or_default()
        };
        assert!(said(true, false).starts_with("what would help: a link that loses fewer"));
        assert!(said(false, true).contains("if packets were lost, a link that loses fewer"));
        assert!(
            said(false, true).ends_with("(operator of the link, or server); saves up to 3.00 s")
        );
        assert_eq!(said(false, false), "");
    }

    #[test]
    fn a_wider_limit_of_each_kind_saves_what_it_took() {
        for (transport, kind) in [
            (Transport::Tcp, LimitKind::ReceiveWindow),
            (Transport::Tcp, LimitKind::Sender),
            (Transport::Quic, LimitKind::Connection),
            (Transport::Quic, LimitKind::Stream),
            (Transport::Quic, LimitKind::Sender),
        ] {
            let ends = Ends { transport, sender: "server", asker: "client" };
            let recorded = limited(kind);
            let remedy = wider(FlowLimit { kind, size: WINDOW }, &recorded, &ends);
            assert!(remedy.value == "1.00 MB", "{kind:?}: {}", remedy.value);
            // The data takes 0.8 s, and slow start some round trips.
            let saves = remedy.saves_s.unwrap_or_default();
            assert!((2.0..3.6).contains(&saves), "{transport:?} {kind:?}: {saves}");
        }
    }
}
