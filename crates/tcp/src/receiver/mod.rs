//! A receiver: reassembly and acknowledgements.

use crate::segment::Segment;
use crate::settings::Settings;
use bentpipe_link::Ecn;
use bentpipe_units::{Span, Time};
use std::collections::BTreeMap;

/// A receiver.
#[derive(Debug)]
pub(crate) struct Receiver {
    buffer: u64,
    every: u32,
    delay: Span,
    quick: u32,
    segment: u32,
    next: u64,
    consumed: u64,
    fin: Option<u64>,
    ranges: BTreeMap<u64, u64>,
    recent: Option<(u64, u64)>,
    dsack: Option<(u64, u64)>,
    unacked: u32,
    due: Option<Time>,
    now_due: bool,
    advertised: u64,
    echo: Time,
    last_ack: u64,
    ece: bool,
    duplicates: u64,
}

impl Receiver {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            buffer: settings.receive_buffer.get() * u64::from(settings.window_share) / 1000,
            every: settings.ack.every,
            delay: settings.ack.delay,
            quick: settings.ack.quick,
            segment: settings.segment,
            next: 0,
            consumed: 0,
            fin: None,
            ranges: BTreeMap::new(),
            recent: None,
            dsack: None,
            unacked: 0,
            due: None,
            now_due: false,
            advertised: 0,
            echo: Time::ZERO,
            last_ack: 0,
            ece: false,
            duplicates: 0,
        }
    }
    pub(crate) fn open(&mut self, _: Time) {
        self.next = 1;
        self.last_ack = 1;
    }
    fn window(&self) -> u64 {
        self.buffer.saturating_sub(self.received() - self.consumed)
    }
    pub(crate) fn on_data(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        if ecn == Ecn::Ce {
            self.ece = true;
        }
        let (start, end) = (segment.seq, segment.end());
        if segment.flags.fin {
            self.fin = Some(end);
        }
        if start <= self.last_ack && segment.stamp > self.echo {
            self.echo = segment.stamp;
        }
        if end <= self.next || self.ranges.range(..=start).next_back().is_some_and(|(_, e)| *e >= end) {
            self.duplicates += 1;
            self.dsack = Some((start, end));
            self.now_due = true;
            return;
        }
        if end > self.next + self.window() + 1 {
            self.now_due = true;
            return;
        }
        if start > self.next {
            let (mut s, mut e) = (start, end);
            while let Some((&a, &b)) = self.ranges.range(..=e).next_back().filter(|(_, b)| **b >= s) {
                s = s.min(a);
                e = e.max(b);
                self.ranges.remove(&a);
            }
            self.ranges.insert(s, e);
            self.recent = Some((s, e));
            self.now_due = true;
            return;
        }
        self.next = end;
        let filled = !self.ranges.is_empty();
        while let Some((&a, &b)) = self.ranges.first_key_value().filter(|(a, _)| **a <= self.next) {
            self.next = self.next.max(b);
            self.ranges.remove(&a);
        }
        self.unacked += segment.len;
        if self.quick > 0 {
            self.quick -= 1;
            self.now_due = true;
        }
        if filled || segment.flags.fin || self.unacked >= self.every * self.segment {
            self.now_due = true;
        }
        self.due.get_or_insert(now + self.delay);
    }
    pub(crate) fn on_rtt(&mut self, _: Span) {}
    pub(crate) fn next_expected(&self) -> u64 {
        self.next
    }
    pub(crate) fn received(&self) -> u64 {
        let fin = u64::from(self.finished());
        self.next.saturating_sub(1 + fin)
    }
    pub(crate) fn consumed(&self) -> u64 {
        self.consumed
    }
    pub(crate) fn consume(&mut self, _: Time, bytes: u64) {
        self.consumed = (self.consumed + bytes).min(self.received());
        let edge = self.next + self.window();
        if edge >= self.advertised + (2 * u64::from(self.segment)).min(self.buffer / 2).max(1) {
            self.now_due |= self.advertised < self.next + self.buffer / 2;
        }
    }
    pub(crate) fn finished(&self) -> bool {
        self.fin == Some(self.next)
    }
    pub(crate) fn duplicates(&self) -> u64 {
        self.duplicates
    }
    pub(crate) fn wants_ack(&self, now: Time) -> bool {
        self.now_due || self.due.is_some_and(|due| due <= now)
    }
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        self.due
    }
    pub(crate) fn handle_timeout(&mut self, now: Time) {
        if self.due.is_some_and(|due| due <= now) {
            self.now_due = true;
        }
    }
    pub(crate) fn fill(&mut self, _: Time, segment: &mut Segment) {
        segment.ack = self.next;
        segment.window = self.window();
        self.advertised = self.next + self.window();
        segment.echo = self.echo;
        segment.flags.ece |= self.ece;
        if let Some((a, b)) = self.dsack.take() {
            segment.sack.push(a, b);
        }
        if let Some((a, b)) = self.recent {
            if a >= self.next {
                segment.sack.push(a, b);
            } else {
                self.recent = None;
            }
        }
        for (&a, &b) in self.ranges.iter().rev().take(3) {
            if self.recent != Some((a, b)) {
                segment.sack.push(a, b);
            }
        }
        self.last_ack = self.next;
        self.unacked = 0;
        self.due = None;
        self.now_due = false;
    }
    pub(crate) fn on_cwr(&mut self) {
        self.ece = false;
    }
    pub(crate) fn window_scale(settings: &Settings) -> u8 {
        let mut scale = 0;
        while scale < 14 && (settings.receive_buffer.get() >> scale) > 65_535 {
            scale += 1;
        }
        scale
    }
}
