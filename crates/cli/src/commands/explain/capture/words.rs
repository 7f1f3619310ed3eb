//! The account of a file in words: each part with what shows it.

use crate::output::counted;
use bentpipe_captures::{
    BothEnds, CapturedTransfer, Evidence, FlowLimit, LimitKind, OneWay, Reading, Side, Transport,
};
pub(super) use bentpipe_results::explanation::seconds;
use bentpipe_timeseries::TimePart;
use bentpipe_units::{Bytes, Span};

/// Most parts that a sentence names, of causes and of what every transfer needs.
const MOST: usize = 4;
/// Share of the time from which on a cause is named before what every transfer needs.
pub(super) const WORTH: f64 = 0.1;
/// Share of packets out of order from which on a path reorders them, and a sender may take those
/// for lost.
pub(super) const REORDERED: f64 = 0.01;
/// Smallest share of the time that is named.
const SMALLEST_SHARE: f64 = 0.02;

/// The ends of a recorded transfer in words.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    pub transport: Transport,
    /// The end that sends the data, and the one that receives it and asks for it.
    pub sender: &'static str,
    pub asker: &'static str,
}

impl Ends {
    pub fn of(transport: Transport, side: Side, recorded: &CapturedTransfer) -> Self {
        let names = ["client", "server"];
        let sends = recorded.is_sender == (side == Side::Client);
        let [sender, asker] = if sends { names } else { [names[1], names[0]] };
        Self { transport, sender, asker }
    }
}

/// Returns the causes of a transfer's time, longest first.
pub(super) fn causes(recorded: &CapturedTransfer) -> Vec<(TimePart, f64)> {
    longest(recorded, false)
}

/// Returns the cause that took the most time, and how long, if that is worth naming.
pub(super) fn main_cause(recorded: &CapturedTransfer) -> Option<(TimePart, f64)> {
    let first = causes(recorded).into_iter().next();
    first.filter(|(_, time)| *time >= WORTH * recorded.completion.as_secs_f64())
}

/// Returns what every transfer needs of its time, longest first.
pub(super) fn needs(recorded: &CapturedTransfer) -> Vec<(TimePart, f64)> {
    longest(recorded, true)
}

fn longest(recorded: &CapturedTransfer, needed: bool) -> Vec<(TimePart, f64)> {
    let parts = recorded.budget.parts();
    let mut parts: Vec<_> =
        parts.filter(|(part, time)| part.is_needed() == needed && *time > 0.0).collect();
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    parts
}

/// Returns where the time went: `took 8.13 s: 2.28 s pauses of the application (the client); 5.19 s
/// round trips of 8 requests, 0.65 s handshake (1 round trip)`.
pub(super) fn statement(recorded: &CapturedTransfer, ends: &Ends) -> String {
    let completion = recorded.completion.as_secs_f64();
    let least = SMALLEST_SHARE * completion;
    let mut losses_told = false;
    let mut list = |needed: bool| {
        let named = longest(recorded, needed).into_iter().filter(|(_, time)| *time >= least);
        let texts: Vec<String> = named
            .take(MOST)
            .map(|(part, time)| {
                let more = detail(part, recorded, ends, &mut losses_told);
                format!("{} s {}{more}", seconds(time), name(part, recorded))
            })
            .collect();
        texts.join(", ")
    };
    // What takes the time comes first, and that is a cause unless none took much.
    let first = main_cause(recorded).is_none();
    let both: Vec<String> =
        [list(first), list(!first)].into_iter().filter(|text| !text.is_empty()).collect();
    let both = both.join("; ");
    let colon = if both.is_empty() { "" } else { ": " };
    format!("took {} s{colon}{both}", seconds(completion))
}

/// Returns what a part is called in a sentence.
pub(super) fn name(part: TimePart, recorded: &CapturedTransfer) -> String {
    match part {
        TimePart::Request => match recorded.exchanges.len() {
            0 | 1 => "round trip of the request".to_owned(),
            count => format!("round trips of {count} requests"),
        },
        part => part.words().to_owned(),
    }
}

/// Returns what shows a part, in parentheses or after it.
pub(super) fn detail(
    part: TimePart,
    recorded: &CapturedTransfer,
    ends: &Ends,
    losses_told: &mut bool,
) -> String {
    match part {
        TimePart::FlowControl => match recorded.evidence.limit {
            Some((limit, _)) => format!(" ({})", flow_limit(limit, recorded, ends)),
            None => String::new(),
        },
        TimePart::Application => {
            let evidence = &recorded.evidence;
            let pauses =
                [(evidence.sender_pauses, ends.sender), (evidence.asker_pauses, ends.asker)];
            let all = (evidence.sender_pauses + evidence.asker_pauses).as_secs_f64();
            let large = pauses.iter().filter(|(time, _)| time.as_secs_f64() > 0.05 * all);
            let texts: Vec<String> = match large.clone().count() {
                1 => large.map(|(_, end)| format!("the {end}")).collect(),
                _ => large
                    .map(|(time, end)| format!("{} s the {end}", seconds(time.as_secs_f64())))
                    .collect(),
            };
            let or = if evidence.hides_losses && evidence.sender_pauses > evidence.asker_pauses {
                ", or its timers after losses, which this file would not show"
            } else {
                ""
            };
            format!(" ({}{or})", texts.join(", "))
        }
        TimePart::Capacity => match recorded.evidence.frame {
            Some(frame) => format!(" (data comes in frames of {})", span(frame)),
            None => String::new(),
        },
        TimePart::Serialisation => {
            let size = data(recorded.bytes);
            let rate = recorded.path.rate.as_mbps_f64();
            if recorded.path.is_filled {
                format!(" ({size} at {} Mbps)", significant(rate))
            } else {
                format!(" ({size})")
            }
        }
        TimePart::Handshake => match round_trips(recorded, part) {
            Some(1) => " (1 round trip)".to_owned(),
            Some(count) => format!(" ({count} round trips)"),
            None => String::new(),
        },
        TimePart::Timeout if is_of_handshake(recorded) => {
            " (of the handshake, whose packets were lost)".to_owned()
        }
        TimePart::CongestionWindow
        | TimePart::Timeout
        | TimePart::LossDetection
        | TimePart::LostPackets => {
            let first = !std::mem::replace(losses_told, true);
            if first { losses(recorded) } else { String::new() }
        }
        _ => String::new(),
    }
}

/// Returns the seconds for which packets of the handshake waited to be sent again.
pub(super) fn of_handshake(recorded: &CapturedTransfer) -> f64 {
    let first = recorded.intervals.first().filter(|first| first.part == TimePart::Timeout);
    first.map_or(0.0, |first| first.to.since(first.from).as_secs_f64())
}

/// Returns true if most of the time of timeouts was that of packets of the handshake.
pub(super) fn is_of_handshake(recorded: &CapturedTransfer) -> bool {
    of_handshake(recorded) > 0.5 * recorded.budget.get(TimePart::Timeout)
}

/// Lost packets of an episode from which on losses without a queue are a policer's or a short
/// queue's, whose rate the file does not show.
const BURST: usize = 3;

/// Returns true if packets were lost in bursts, and not at a queue that was seen.
pub(super) fn loses_in_bursts(evidence: &Evidence) -> bool {
    let Evidence { lost, lost_at_queue, loss_episodes, .. } = *evidence;
    lost > 2 * lost_at_queue && lost >= BURST * loss_episodes.max(1) && lost >= 2 * BURST
}

/// Most round trips that are called those of a handshake: what takes longer waited for something
/// else.
pub(super) const MOST_TRIPS: f64 = 5.0;

/// Returns the whole round trips of a part, if it is about that.
fn round_trips(recorded: &CapturedTransfer, part: TimePart) -> Option<u64> {
    let count = recorded.budget.get(part) / recorded.path.rtt.as_secs_f64().max(1e-9);
    let whole = count.round();
    ((1.0..=MOST_TRIPS).contains(&whole) && (count - whole).abs() < 0.2).then_some(whole as u64)
}

/// Returns after which losses something happened.
fn losses(recorded: &CapturedTransfer) -> String {
    let evidence = &recorded.evidence;
    let order = if evidence.reordered >= REORDERED {
        let percent = 100.0 * evidence.reordered;
        format!(", while {percent:.0} % of the packets came out of order")
    } else {
        String::new()
    };
    if evidence.lost == 0 && order.is_empty() {
        return covered_losses(evidence).to_owned();
    }
    if evidence.lost == 0 {
        return order;
    }
    let packets = counted(evidence.lost, "lost packet");
    let episodes = match evidence.loss_episodes {
        0 | 1 => String::new(),
        count => format!(" in {count} episodes"),
    };
    let place = match (evidence.lost_at_queue * 2 > evidence.lost, recorded.is_sender) {
        // What is late waited in no queue.
        _ if !order.is_empty() => String::new(),
        (true, _) => ", at a full queue".to_owned(),
        // What was lost in an outage was lost in a burst, too.
        (false, _) if recorded.budget.get(TimePart::Outage) > 0.0 => String::new(),
        (false, _) if loses_in_bursts(evidence) => {
            format!(", in bursts, as at a policer or a short queue{}", got_through(recorded))
        }
        (false, true) if is_short_queue(recorded) => {
            ", by chance or at a queue of a few packets".to_owned()
        }
        (false, true) => ", with room in the queue".to_owned(),
        (false, false) => String::new(),
    };
    format!(" after {packets}{episodes}{place}{order}")
}

/// Returns what is said of losses that no packet shows, as none is opened.
fn covered_losses(evidence: &Evidence) -> &'static str {
    match (evidence.names_gaps, evidence.hides_losses) {
        (true, _) => " after losses, which the sizes of acknowledgements show",
        (false, true) => " as after losses, which only keys would show",
        (false, false) => "",
    }
}

/// Packets up to whose time a wait is too short to tell losses at a queue from those by chance.
const FEW_PACKETS: u64 = 16;

/// Returns true if the longest wait in a queue was that of a few packets.
fn is_short_queue(recorded: &CapturedTransfer) -> bool {
    let few = Bytes::new(FEW_PACKETS * 1500);
    recorded.path.queue <= recorded.path.rate.time_for(few)
}

/// Returns the rate of the data while it was sent: about what a policer lets pass.
fn got_through(recorded: &CapturedTransfer) -> String {
    through(recorded).map_or(String::new(), |rate| {
        format!(": {} Mbps came through meanwhile", significant(rate))
    })
}

/// Returns the rate of the data while it was sent, in Mbps.
fn through(recorded: &CapturedTransfer) -> Option<f64> {
    let besides = [
        TimePart::Handshake,
        TimePart::Request,
        TimePart::Application,
        TimePart::SlowStart,
        TimePart::FlowControl,
    ];
    let besides: f64 = besides.into_iter().map(|part| recorded.budget.get(part)).sum();
    let sending = recorded.completion.as_secs_f64() - besides;
    (sending > 0.0).then(|| recorded.bytes.get() as f64 * 8e-6 / sending)
}

/// Share of the time from which on a link that carries data is what limits a transfer.
const BUSY: f64 = 0.5;
/// Share of the time waiting for other flows from which on the rate is a share of the link.
const BESIDE: f64 = 0.1;

/// Returns true if a transfer waited so long for other flows that its rate is a share of the link.
pub(super) fn is_beside_others(recorded: &CapturedTransfer) -> bool {
    let others = recorded.budget.get(TimePart::OtherFlows);
    // Packets that overtake each other wait for no one.
    recorded.evidence.reordered < REORDERED && others >= BESIDE * recorded.completion.as_secs_f64()
}

/// Returns what of the path was the limit, if that took most of the time.
pub(super) fn limit_of_path(recorded: &CapturedTransfer) -> Option<String> {
    busy_link(recorded).or_else(|| policed(recorded))
}

/// Returns that only a faster link would help, if a full link was busy with the data most of the
/// time.
pub(super) fn busy_link(recorded: &CapturedTransfer) -> Option<String> {
    let completion = recorded.completion.as_secs_f64();
    let busy = [TimePart::Serialisation, TimePart::Headers];
    let busy: f64 = busy.into_iter().map(|part| recorded.budget.get(part)).sum();
    let is_limit =
        recorded.path.is_filled && busy >= BUSY * completion && !is_beside_others(recorded);
    let rate = significant(recorded.path.rate.as_mbps_f64());
    is_limit.then(|| {
        format!("the link of {rate} Mbps was the limit: it was busy with the data most of the time")
    })
}

/// Returns that something let no more through, if most of the time was that of data at a rate that
/// is not a link's: each attempt to send faster lost packets in bursts.
pub(super) fn policed(recorded: &CapturedTransfer) -> Option<String> {
    let evidence = &recorded.evidence;
    let busy =
        [TimePart::Serialisation, TimePart::Headers, TimePart::LostPackets, TimePart::Duplicates];
    let busy: f64 = busy.into_iter().map(|part| recorded.budget.get(part)).sum();
    let is_limit = !recorded.path.is_filled
        && loses_in_bursts(evidence)
        && evidence.reordered < REORDERED
        && recorded.budget.get(TimePart::Outage) == 0.0
        && busy >= BUSY * recorded.completion.as_secs_f64();
    let rate = through(recorded).filter(|_| is_limit)?;
    Some(format!(
        "a policer or a short queue was the limit: it let {} Mbps through, and dropped bursts of \
         what came faster",
        significant(rate)
    ))
}

/// Returns what passed between the ends of a transfer that both recorded.
pub(super) fn both_ends(both: &BothEnds, ends: &Ends) -> String {
    let way = |one: &OneWay, what: &str, end: &str| {
        let OneWay { packets, lost, longest_wait } = one;
        let wait = span((*longest_wait).max(Span::from_micros(100)));
        format!("to the {end} {lost} of {packets} packets{what} lost, waits up to {wait}")
    };
    let to_receiver = way(&both.to_receiver, " with data", ends.asker);
    let to_sender = way(&both.to_sender, "", ends.sender);
    format!("both ways: {to_receiver}; {to_sender}")
}

/// Returns which limit held the transfer up: `the receive window of 131 kB holds 4 % of the path's
/// 3.28 MB`.
pub(super) fn flow_limit(limit: FlowLimit, recorded: &CapturedTransfer, ends: &Ends) -> String {
    let what = match limit.kind {
        LimitKind::ReceiveWindow => format!("the {}'s receive window", ends.asker),
        LimitKind::Connection => format!("the {}'s connection window", ends.asker),
        LimitKind::Stream => format!("the {}'s stream window", ends.asker),
        // What the other end announces is in packets that are not opened.
        LimitKind::Sender if recorded.is_encrypted => {
            let losses = if recorded.evidence.hides_losses {
                ", or a window that losses keep small"
            } else {
                ""
            };
            format!(
                "a flow-control window of the {} or a limit of the {}{losses}, which only keys \
                 tell apart,",
                ends.asker, ends.sender
            )
        }
        LimitKind::Sender => {
            format!("a limit of the {}, probably its send buffer,", ends.sender)
        }
    };
    let path = bdp(recorded);
    let size = data(limit.size);
    if let Some(Reading { unread, rate }) = recorded.evidence.reading {
        let (percent, rate) = (100.0 * unread, significant(rate.as_mbps_f64()));
        return format!(
            "the {} reads too slowly, at {rate} Mbps: what it has not read fills {percent:.0} % of \
             {what} of {size}",
            ends.asker
        );
    }
    let share = 100.0 * limit.size.get() as f64 / path.get().max(1) as f64;
    let least = if recorded.path.is_filled { "" } else { "about " };
    if share < 100.0 {
        let share = significant(share);
        format!("{what} of {size} holds {share} % of the path's {least}{}", data(path))
    } else {
        format!("{what} of {size}")
    }
}

/// Returns the bandwidth-delay product of the path as it was seen.
pub(super) fn bdp(recorded: &CapturedTransfer) -> Bytes {
    recorded.path.rate.bytes_in(recorded.path.rtt)
}

/// Returns bytes in the unit that suits them, with three digits.
pub(super) fn data(bytes: Bytes) -> String {
    match bytes.get() as f64 {
        size if size >= 999.5e6 => format!("{} GB", significant(size / 1e9)),
        size if size >= 999.5e3 => format!("{} MB", significant(size / 1e6)),
        size if size >= 1e3 => format!("{} kB", significant(size / 1e3)),
        size => format!("{size} B"),
    }
}

/// Returns a value with three significant digits.
pub(super) fn significant(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

/// Returns a span with about three digits: in hundredths of a second if it is longer than one, and
/// in tenths of a millisecond if it is longer than that.
pub(super) fn span(span: Span) -> Span {
    let step = match span {
        span if span >= Span::from_secs(1) => 10_000_000,
        span if span >= Span::from_millis(1) => 100_000,
        _ => 1_000,
    };
    Span::from_nanos(span.as_nanos() / step * step)
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::super::sample::limited;
    use super::*;
    use bentpipe_captures::PathEstimate;

    #[test]
    fn sizes_have_three_digits_and_a_unit_that_suits_them() {
        for (bytes, text) in
            [(900, "900 B"), (131_072, "131 kB"), (3_276_800, "3.28 MB"), (999_900, "1.00 MB")]
        {
            assert_eq!(data(Bytes::new(bytes)), text);
        }
        assert_eq!(significant(0.0421), "0.042");
        assert_eq!(counted(1, "request"), "1 request");
    }

    #[test]
    fn bursts_of_losses_without_a_queue_leave_the_rate_open() {
        let evidence = |lost, lost_at_queue, loss_episodes| {
            loses_in_bursts(&Evidence { lost, lost_at_queue, loss_episodes, ..Evidence::default() })
        };
        assert!(evidence(30, 2, 5));
        assert!(!evidence(30, 28, 2), "at a full queue");
        assert!(!evidence(12, 0, 11), "by chance");
        assert!(!evidence(3, 0, 1), "too few to tell");
    }

    #[test]
    fn data_that_comes_no_faster_than_bursts_are_dropped_has_a_policer() {
        let recorded = sample::policed();
        let limit = limit_of_path(&recorded).unwrap_or_default();
        assert!(limit.starts_with("a policer or a short queue was the limit: it let 4.00 Mbps"));
        let mut out = recorded.clone();
        out.budget.add(TimePart::Outage, 0.1);
        let path = PathEstimate { is_filled: true, ..recorded.path };
        let full = CapturedTransfer { path, ..recorded };
        assert!(limit_of_path(&out).is_none(), "an outage drops bursts, too");
        assert!(limit_of_path(&full).is_some_and(|text| text.starts_with("the link of 20.0 Mbps")));
    }

    #[test]
    fn losses_that_no_packet_shows_are_named_as_what_shows_them() {
        let told = |names_gaps, hides_losses| {
            let mut recorded = limited(LimitKind::Sender);
            recorded.is_encrypted = true;
            (recorded.evidence.names_gaps, recorded.evidence.hides_losses) =
                (names_gaps, hides_losses);
            let ends = Ends { transport: Transport::Quic, sender: "server", asker: "client" };
            detail(TimePart::CongestionWindow, &recorded, &ends, &mut false)
        };
        assert_eq!(told(true, false), " after losses, which the sizes of acknowledgements show");
        assert_eq!(told(false, true), " as after losses, which only keys would show");
        assert_eq!(told(false, false), "");
    }

    #[test]
    fn what_a_file_cannot_tell_apart_is_said_with_what_it_may_be() {
        let (rtt, rate) = (Span::from_millis(100), bentpipe_units::Rate::from_mbps(20));
        let limit = FlowLimit { kind: LimitKind::Sender, size: Bytes::new(40_000) };
        let told = |hides_losses| {
            let own = limited(LimitKind::Sender);
            let recorded = CapturedTransfer {
                bytes: Bytes::from_mb(1),
                is_encrypted: true,
                completion: Span::from_secs(4),
                path: PathEstimate { rtt, rate, proven: rate, is_filled: false, ..own.path },
                evidence: Evidence {
                    hides_losses,
                    sender_pauses: Span::from_secs(1),
                    limit: Some((limit, Span::from_secs(2))),
                    ..Evidence::default()
                },
                ..own
            };
            let ends = Ends { transport: Transport::Quic, sender: "server", asker: "client" };
            let pauses = detail(TimePart::Application, &recorded, &ends, &mut false);
            flow_limit(limit, &recorded, &ends) + &pauses
        };
        let covered = told(true);
        assert!(covered.contains("or a window that losses keep small"), "{covered}");
        assert!(covered.contains("(the server, or its timers after losses"), "{covered}");
        let shown = told(false);
        assert!(shown.contains("window of the client or a limit of the server"), "{shown}");
        assert!(!shown.contains("losses"), "{shown}");
    }
}
