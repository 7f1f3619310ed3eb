//! What `ss -tin` prints of a socket.

use bentpipe_units::{Bytes, Rate, Span, Time};

/// Longest span, in milliseconds: three years.
const MAX_MS: f64 = 1e11;
/// Words without a value that are not the congestion controller.
const FLAGS: [&str; 7] = ["ts", "sack", "ecn", "ecnseen", "fastopen", "app_limited", "send"];

/// What a socket says of itself at a time. `None` is what `ss` leaves out, mostly zero.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TcpInfoSample {
    /// Time since the first sample of the file, if it has times.
    pub at: Option<Time>,
    /// State, as in `ESTAB`.
    pub state: String,
    /// Bytes of the application that are not acknowledged (Send-Q).
    pub send_queue: Bytes,
    /// Congestion controller.
    pub congestion: Option<String>,
    /// Smoothed RTT.
    pub rtt: Option<Span>,
    /// Smallest RTT.
    pub min_rtt: Option<Span>,
    /// Congestion window in bytes: packets of `mss`.
    pub window: Option<Bytes>,
    /// Slow start threshold in bytes: packets of `mss`.
    pub ssthresh: Option<Bytes>,
    /// Largest segment.
    pub mss: Option<Bytes>,
    /// Bytes that were sent, repeats included.
    pub bytes_sent: Option<Bytes>,
    /// Bytes that were acknowledged.
    pub bytes_acked: Option<Bytes>,
    /// Bytes that were received.
    pub bytes_received: Option<Bytes>,
    /// Bytes that were sent again.
    pub bytes_retrans: Option<Bytes>,
    /// Segments that were sent again.
    pub retransmissions: Option<u64>,
    /// Segments that were sent again without need, by the receiver's word (DSACK).
    pub spurious: Option<u64>,
    /// Time with data to send or in flight.
    pub busy: Option<Span>,
    /// Of that, the time that the peer's receive window held the sender back.
    pub rwnd_limited: Option<Span>,
    /// Of that, the time that the send buffer held the application back.
    pub sndbuf_limited: Option<Span>,
    /// Rate at which the last data arrived.
    pub delivery_rate: Option<Rate>,
    /// True if the application, not the network, limited that rate.
    pub is_app_limited: bool,
    /// Rate of pacing.
    pub pacing_rate: Option<Rate>,
    /// The peer's receive window.
    pub peer_window: Option<Bytes>,
    /// Bytes in the send buffer that were not sent yet.
    pub not_sent: Option<Bytes>,
}

impl TcpInfoSample {
    /// Reads the words of a socket's line.
    pub(super) fn of(state: String, send_queue: u64, words: &[&str]) -> Self {
        let mut sample = Self { state, send_queue: Bytes::new(send_queue), ..Self::default() };
        let (mut window, mut ssthresh) = (None, None);
        for (index, word) in words.iter().enumerate() {
            let next = || words.get(index + 1).copied().unwrap_or_default();
            let Some((name, value)) = word.split_once(':') else {
                match *word {
                    "delivery_rate" => sample.delivery_rate = rate(next()),
                    "pacing_rate" => sample.pacing_rate = rate(next()),
                    "app_limited" => sample.is_app_limited = true,
                    // It stands before the first value.
                    word if sample.mss.is_none() && is_controller(word) && sample.rtt.is_none() => {
                        sample.congestion = Some(word.to_owned());
                    }
                    _ => {}
                }
                continue;
            };
            let bytes = || value.parse().ok().map(Bytes::new);
            match name {
                "rtt" => sample.rtt = span(value.split('/').next().unwrap_or_default()),
                "minrtt" => sample.min_rtt = span(value),
                "mss" => sample.mss = bytes(),
                "cwnd" => window = value.parse::<u64>().ok(),
                "ssthresh" => ssthresh = value.parse::<u64>().ok(),
                "bytes_sent" => sample.bytes_sent = bytes(),
                "bytes_acked" => sample.bytes_acked = bytes(),
                "bytes_received" => sample.bytes_received = bytes(),
                "bytes_retrans" => sample.bytes_retrans = bytes(),
                "retrans" => {
                    let total = value.split_once('/').map_or(value, |(_, total)| total);
                    sample.retransmissions = total.parse().ok();
                }
                "dsack_dups" => sample.spurious = value.parse().ok(),
                "busy" => sample.busy = span(value),
                "rwnd_limited" => sample.rwnd_limited = span(value),
                "sndbuf_limited" => sample.sndbuf_limited = span(value),
                "snd_wnd" => sample.peer_window = bytes(),
                "notsent" => sample.not_sent = bytes(),
                _ => {}
            }
        }
        let mss = sample.mss.map_or(0, Bytes::get);
        let packets = |count: Option<u64>| {
            let bytes = count?.saturating_mul(mss);
            (bytes > 0).then(|| Bytes::new(bytes))
        };
        sample.window = packets(window);
        sample.ssthresh = packets(ssthresh);
        sample
    }
}

fn is_controller(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_lowercase()) && !FLAGS.contains(&word)
}

/// Reads a time in milliseconds, as in `433148ms(98.8%)`.
fn span(text: &str) -> Option<Span> {
    let number = text.split(['m', '(']).next()?;
    let ms = number.parse::<f64>().ok().filter(|ms| (0.0..=MAX_MS).contains(ms))?;
    Some(Span::from_secs_f64(ms / 1e3))
}

/// Reads a rate, as in `679016040bps` or, of old versions, `38.5Mbps`.
fn rate(text: &str) -> Option<Rate> {
    let number = text.strip_suffix("bps")?;
    let (number, factor) = match number.as_bytes().last()? {
        b'K' => (&number[..number.len() - 1], 1e3),
        b'M' => (&number[..number.len() - 1], 1e6),
        b'G' => (&number[..number.len() - 1], 1e9),
        _ => (number, 1.0),
    };
    let bps = number.parse::<f64>().ok()? * factor;
    (0.0..1e15).contains(&bps).then(|| Rate::from_bps(bps as u64))
}
