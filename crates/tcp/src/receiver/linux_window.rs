//! The receive window as Linux keeps it (6.18): buffers count the memory of packets, and the window
//! grows with each segment that arrives.
//!
//! Names of kernel functions in `net/ipv4/tcp_input.c` and `tcp_output.c` say which behaviour a
//! method models. Memory pressure and the pruning of queues are not modelled, since the window
//! keeps a sender from filling the buffer. Neither is the compression of selective acknowledgements
//! (`tcp_comp_sack_delay_ns`): it loses little if losses come in runs, as they do behind a sender
//! that hands several segments to its network card at once, which ours does not.

use crate::settings::TcpSettings;
use bentpipe_units::{Span, Time};
use std::collections::BTreeMap;

/// Largest value of the window field.
const FIELD: u64 = 65_535;
/// Bits of the ratio of payload to memory (`TCP_RMEM_TO_WIN_SCALE`).
const RATIO_BITS: u32 = 8;
/// Ratio assumed before a full segment has arrived: one half (`TCP_DEFAULT_SCALING_RATIO`).
const DEFAULT_RATIO: u64 = 128;
/// Assumed size of segments before one has arrived, in bytes (`TCP_MSS_DEFAULT`).
const DEFAULT_SEGMENT: u64 = 536;
/// Payload below which a segment in order does not grow the window (`tcp_event_data_recv`).
const SMALLEST_GROWTH: u64 = 128;
/// Assumed initial window of the sender, in segments (`TCP_INIT_CWND`).
const FIRST_FLIGHT: u64 = 10;
/// Maximum number of quick acknowledgements (`TCP_MAX_QUICKACKS`).
const MAX_QUICK: u64 = 16;
/// Options in a segment, which its size during the handshake includes: timestamps.
const TIMESTAMPS: u64 = 12;
/// Headers of IPv4 and TCP with timestamps, in bytes.
const HEADERS: u64 = 52;
/// Memory beside the data of a packet: `struct sk_buff` and `struct skb_shared_info`, aligned.
const SK_BUFF: u64 = 256;
const SHARED_INFO: u64 = 320;
/// Space before a packet (`NET_SKB_PAD`), and the alignment of its data: a cache line.
const PAD: u64 = 64;
const PAGE: u64 = 4096;

/// Returns the memory that a received packet with `payload` bytes takes, in bytes (`truesize`): a
/// buffer of a power of two up to a page, otherwise whole pages. It is 2304 for packets of 1500
/// bytes.
fn truesize(payload: u64) -> u64 {
    let packet = payload.saturating_add(HEADERS + PAD);
    if packet >= PAGE {
        let pages = packet.div_ceil(PAGE).saturating_mul(PAGE);
        return pages.saturating_add(2 * SK_BUFF + SHARED_INFO);
    }
    let buffer = packet.next_multiple_of(PAD) + SHARED_INFO;
    SK_BUFF + buffer.next_power_of_two()
}

/// The window of one direction. Positions are those of [`crate::Segment`].
#[derive(Debug)]
pub(super) struct LinuxWindow {
    scale: u8,
    /// Largest payload of a segment, in bytes (`advmss`).
    segment: u64,
    /// Size of the segments that arrive (`rcv_mss`).
    arriving: u64,
    /// Buffer and its maximum, in bytes of memory (`sk_rcvbuf`, `tcp_rmem[2]`).
    buffer: u64,
    max_buffer: u64,
    /// Payload in 256 bytes of memory (`scaling_ratio`).
    ratio: u64,
    /// Upper limit of the window (`window_clamp`), and the window that the arrivals so far justify
    /// (`rcv_ssthresh`).
    clamp: u64,
    threshold: u64,
    /// Last advertised window (`rcv_wnd`), and its right edge, which never moves back.
    window: u64,
    edge: u64,
    autotune: bool,
    rtt: Option<Span>,
    /// Start of the current autotuning round, the bytes read by then, and the largest number of
    /// bytes read in a round (`rcvq_space`).
    round_began: Time,
    round_consumed: u64,
    taken: u64,
    /// Segments not yet read: end and memory by first position; and the sum of that memory
    /// (`sk_rmem_alloc`).
    held: BTreeMap<u64, (u64, u64)>,
    memory: u64,
}

impl LinuxWindow {
    pub(super) fn new(settings: &TcpSettings, scale: u8) -> Self {
        let max_buffer = settings.receive_buffer.get();
        let start = settings.receive_buffer_start.get().min(max_buffer);
        let segment = u64::from(settings.segment).max(1);
        let buffer = if settings.autotune { start } else { max_buffer };
        let mut window = Self {
            scale,
            segment,
            arriving: DEFAULT_SEGMENT.min(segment),
            buffer,
            max_buffer,
            ratio: DEFAULT_RATIO,
            clamp: FIELD << scale,
            threshold: 0,
            window: 0,
            edge: 0,
            autotune: settings.autotune,
            rtt: None,
            round_began: Time::ZERO,
            round_consumed: 0,
            taken: 0,
            held: BTreeMap::new(),
            memory: 0,
        };
        // `tcp_select_initial_window`: whole segments, if there is space for one.
        let space = window.of(buffer).min(FIELD);
        let full = segment + TIMESTAMPS;
        window.window = if space > full { space / full * full } else { space };
        window.threshold = window.window;
        window
    }

    /// Completes the handshake. Data starts at `first` (`tcp_init_buffer_space`).
    pub(super) fn open(&mut self, now: Time, first: u64) {
        let (space, segment) = (self.of(self.buffer), self.segment);
        self.clamp = self.clamp.min(space);
        // One segment is reserved.
        if self.clamp > 2 * segment && self.clamp + segment > space {
            self.clamp = (2 * segment).max(space.saturating_sub(segment));
        }
        self.threshold = self.threshold.min(self.clamp);
        self.taken = self.threshold.min(self.window).min(FIRST_FLIGHT * segment).max(1);
        self.edge = first + self.window;
        self.round_began = now;
    }

    /// Returns the window field of a SYN.
    pub(super) fn unscaled(&self) -> u64 {
        self.window.min(FIELD)
    }

    /// Returns an upper bound of the window, in bytes.
    pub(super) fn largest_limit(&self) -> u64 {
        self.max_buffer
    }

    /// Returns the end of the accepted positions.
    pub(super) fn accepts_before(&self) -> u64 {
        self.edge
    }

    /// Returns the maximum number of quick acknowledgements after a duplicate or a pause: half of
    /// the window (`tcp_incr_quickack`).
    pub(super) fn max_quick(&self) -> u32 {
        let half = self.window / (2 * self.arriving);
        if half == 0 { 2 } else { half.min(MAX_QUICK) as u32 }
    }

    /// Handles a segment in order. Returns true if the window may grow
    /// (`tcp_event_data_recv`).
    pub(super) fn on_in_order(&mut self, start: u64, bytes: u64) -> bool {
        self.charge(start, bytes);
        self.measure(bytes);
        bytes >= SMALLEST_GROWTH && self.grow(bytes)
    }

    /// Handles a segment beyond a gap, when the last byte received is before `last` and the next
    /// expected is `next`. Returns true if the window may grow (`tcp_data_queue_ofo`).
    pub(super) fn on_beyond_gap(&mut self, start: u64, bytes: u64, next: u64, last: u64) -> bool {
        let grows = self.grow(bytes);
        self.charge(start, bytes);
        self.enlarge(self.taken, last.saturating_sub(next));
        grows
    }

    /// Returns the window to advertise with acknowledgement `next` (`tcp_select_window`), and true
    /// if so much of the buffer is used that quick acknowledgements end.
    pub(super) fn advertise(&mut self, next: u64) -> (u64, bool) {
        let (chosen, tight) = self.choose();
        let left = self.edge.saturating_sub(next);
        let window = if chosen < left { self.aligned(left) } else { chosen };
        self.window = window.min(FIELD << self.scale) >> self.scale << self.scale;
        self.edge = self.edge.max(next.saturating_add(self.window));
        (self.window, tight)
    }

    /// Returns true if a window update is due because the application has read
    /// (`tcp_cleanup_rbuf`): the window can at least double.
    pub(super) fn wants_update(&self, next: u64) -> bool {
        let left = self.edge.saturating_sub(next);
        if left.saturating_mul(2) > self.clamp {
            return false;
        }
        let (chosen, _) = self.choose();
        chosen > 0 && chosen >= left.saturating_mul(2)
    }

    /// Adds an RTT sample (`tcp_rcv_rtt_update`). A longer one counts for an eighth, and only if
    /// the application has read everything.
    pub(super) fn on_rtt(&mut self, sample: Span, all_read: bool) {
        self.rtt = match self.rtt {
            Some(rtt) if sample > rtt && !all_read => Some(rtt),
            Some(rtt) if sample > rtt => Some(rtt + sample.saturating_sub(rtt) / 8),
            _ => Some(sample),
        };
    }

    /// Returns the RTT, if measured.
    pub(super) fn rtt(&self) -> Option<Span> {
        self.rtt
    }

    /// Handles that the application has read up to `position`, `consumed` bytes in total, while
    /// `unread` wait (`tcp_rcv_space_adjust`).
    pub(super) fn on_consumed(&mut self, now: Time, position: u64, consumed: u64, unread: u64) {
        while let Some(first) = self.held.first_entry().filter(|first| first.get().0 <= position) {
            self.memory -= first.remove().1;
        }
        let Some(rtt) = self.rtt else { return };
        if now.since(self.round_began) < rtt {
            return;
        }
        let taken = consumed.saturating_sub(self.round_consumed).saturating_sub(unread);
        if taken > self.taken {
            self.enlarge(taken, 0);
        }
        self.round_began = now;
        self.round_consumed = consumed;
    }

    /// Enlarges the buffer for `taken` bytes per RTT and `beyond` bytes out of order: twice that,
    /// because it is one RTT late, and twice the growth (`tcp_rcvbuf_grow`).
    fn enlarge(&mut self, taken: u64, beyond: u64) {
        let before = std::mem::replace(&mut self.taken, taken);
        if !self.autotune {
            return;
        }
        let steady = taken.saturating_mul(2);
        let growth = steady.saturating_mul(taken.saturating_sub(before)) / before.max(1);
        let window = steady.saturating_add(growth.saturating_mul(2)).saturating_add(beyond);
        let buffer = (window.saturating_mul(1 << RATIO_BITS) / self.ratio).min(self.max_buffer);
        if buffer > self.buffer {
            self.buffer = buffer;
            self.clamp = self.of(buffer);
        }
    }

    /// Follows the size of segments. The ratio of payload to memory changes with it
    /// (`tcp_measure_rcv_mss`, `tcp_set_window_clamp`).
    fn measure(&mut self, bytes: u64) {
        if bytes < self.arriving {
            return;
        }
        let ratio = ((bytes << RATIO_BITS) / truesize(bytes)).max(1);
        if bytes != self.arriving && ratio != self.ratio {
            self.ratio = ratio;
            let clamp = self.of(self.buffer);
            if clamp < self.clamp {
                self.threshold = self.threshold.min(clamp);
            } else {
                self.threshold = self.threshold.max(self.window.min(clamp));
            }
            self.clamp = clamp;
            self.taken = self.taken.min(clamp).max(1);
        }
        self.arriving = bytes.min(self.segment);
    }

    /// Grows the window by two segments if the buffer has space, and packets do not take too much
    /// memory for their payload (`tcp_grow_window`). Returns true if there was space.
    fn grow(&mut self, bytes: u64) -> bool {
        let room = self.clamp.min(self.free()).saturating_sub(self.threshold);
        if room == 0 {
            return false;
        }
        let memory = self.of(truesize(bytes));
        let growth =
            if memory <= bytes { 2 * self.segment } else { self.small_growth(bytes, memory) };
        if growth > 0 {
            self.threshold += room.min(growth.max(2 * bytes));
        }
        growth > 0
    }

    /// Returns the growth for a segment whose memory would fit into the buffer only while the
    /// window is small (`__tcp_grow_window`).
    fn small_growth(&self, bytes: u64, memory: u64) -> u64 {
        let (mut memory, mut window) = (memory / 2, self.of(self.max_buffer) / 2);
        while self.threshold <= window {
            if memory <= bytes {
                return 2 * self.arriving;
            }
            memory /= 2;
            window /= 2;
        }
        0
    }

    /// Returns the window that the buffer permits, and true if less than half of it is free
    /// (`__tcp_select_window`).
    fn choose(&self) -> (u64, bool) {
        let all = self.of(self.buffer);
        let full = self.clamp.min(all);
        let segment = self.arriving.min(full);
        let mut free = self.free();
        let tight = free < full / 2;
        if tight {
            free = free >> self.scale << self.scale;
            if free < all / 16 || free < segment {
                return (0, true);
            }
        }
        let free = free.min(self.threshold);
        let window = if self.scale > 0 {
            self.aligned(free)
        } else if self.window + segment <= free || self.window > free {
            free / segment.max(1) * segment
        } else {
            self.window
        };
        (window, tight)
    }

    /// Adds the memory of a segment.
    fn charge(&mut self, start: u64, bytes: u64) {
        let memory = truesize(bytes);
        self.memory += memory;
        if let Some((_, before)) = self.held.insert(start, (start.saturating_add(bytes), memory)) {
            self.memory -= before;
        }
    }

    /// Returns the payload that fits into the free part of the buffer (`tcp_space`).
    fn free(&self) -> u64 {
        self.of(self.buffer.saturating_sub(self.memory))
    }

    /// Returns the payload in `memory` bytes of memory (`tcp_win_from_space`).
    fn of(&self, memory: u64) -> u64 {
        memory.saturating_mul(self.ratio) >> RATIO_BITS
    }

    /// Rounds up to the unit of the window field.
    fn aligned(&self, window: u64) -> u64 {
        window.next_multiple_of(1 << self.scale)
    }
}

#[cfg(test)]
mod tests;
