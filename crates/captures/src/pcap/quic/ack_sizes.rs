//! What the sizes of acknowledgements say that are not opened: each gap in what has arrived takes
//! two bytes or more (RFC 9000 §19.3.1).

use super::covered::{Covered, Seen};
use std::collections::VecDeque;

/// Bytes of frames up to which a packet carries no data: an acknowledgement and two limits of flow
/// control have up to 20, and short requests of HTTP/3 with an acknowledgement 25 and more.
pub const NO_DATA: u64 = 24;
/// Bytes of frames up to which an acknowledgement may grow with the gaps that it names; it has
/// fewer than this more than the largest of the last ones and than the next one: a burst of losses,
/// or two limits of flow control.
const MOST: u64 = 200;
const STEP: u64 = 12;
const RECENT: usize = 8;
/// Size up to which the packets of an end are acknowledgements if more than half of its packets
/// have that size: some senders pad them.
const PADDED: u64 = 100;
/// Bytes over the usual ones of an end from which on an acknowledgement names gaps: the numbers in
/// it grow by four in a long transfer.
const NAMES: u64 = 5;
/// Acknowledgements in a row that are so large: limits of flow control are with single ones.
const IN_A_ROW: usize = 3;
/// Bytes over the largest of the last ones before a silence of this length, in nanoseconds: the
/// packets before it were lost, and the numbers do not grow at just that time.
const NAMES_AFTER: u64 = 2;
const SILENCE: u64 = 300_000_000;
/// Place of the usual size among all of an end.
const USUAL: f64 = 0.25;
/// Share of one size among them from which on they are padded, and say nothing.
const ALIKE: f64 = 0.95;
/// Fewest acknowledgements of which this is said.
const LEAST: usize = 20;

/// The sizes of an end's last acknowledgements, in bytes of frames.
#[derive(Debug, Default)]
pub struct RecentSizes(VecDeque<u64>);

impl RecentSizes {
    /// Returns true if a packet with so many bytes of `frames` carries no data, and notes it.
    /// `next` are those of the end's next packet: acknowledgements stay as large, as they go on to
    /// name their gaps.
    pub fn is_acknowledgement(&mut self, frames: u64, next: impl FnOnce() -> Option<u64>) -> bool {
        let grown = self.0.iter().max().map_or(0, |largest| largest + STEP).min(MOST);
        let stays = || next().is_some_and(|next| next + STEP > frames);
        if frames > NO_DATA && (frames >= grown || !stays()) {
            return false;
        }
        if self.0.len() == RECENT {
            self.0.pop_front();
        }
        self.0.push_back(frames);
        true
    }
}

/// Notes which packets without data of the end `sender` name gaps.
pub fn note_gaps(seen: &mut [Seen], covered: &[Covered], sender: usize) {
    let of_end = |seen: &[Seen], one: &&Covered| {
        let packet = seen.get(one.index);
        packet.is_some_and(|(_, of, packet)| *of == sender && packet.data.is_empty())
    };
    let all: Vec<usize> =
        covered.iter().filter(|one| of_end(seen, one)).map(|one| one.index).collect();
    let (times, sizes): (Vec<u64>, Vec<u64>) = all
        .iter()
        .filter_map(|index| seen.get(*index))
        .map(|(at, _, one)| (*at, one.bytes))
        .unzip();
    let mut sorted = sizes.clone();
    sorted.sort_unstable();
    let usual = sorted.get((sorted.len() as f64 * USUAL) as usize).copied().unwrap_or_default();
    let alike = sorted.chunk_by(|one, other| one == other).map(<[u64]>::len).max();
    if sizes.len() < LEAST || alike.unwrap_or_default() as f64 >= ALIKE * sizes.len() as f64 {
        return;
    }
    let mut names = vec![false; sizes.len()];
    let are_large = |row: &[u64]| row.iter().all(|size| *size >= usual + NAMES);
    let rows = sizes.windows(IN_A_ROW).enumerate();
    let large = rows.filter(|(_, row)| are_large(row)).map(|(begin, _)| begin);
    for begin in large.chain(after_silences(&times, &sizes)) {
        names.iter_mut().skip(begin).take(IN_A_ROW).for_each(|one| *one = true);
    }
    for (index, names) in all.into_iter().zip(names) {
        if let Some((.., packet)) = seen.get_mut(index) {
            packet.details.names_gaps = Some(names);
        }
    }
}

/// Returns where acknowledgements in a row are larger than all of the last ones before a silence.
fn after_silences(times: &[u64], sizes: &[u64]) -> Vec<usize> {
    let are_larger = |begin: usize| {
        let before = begin.checked_sub(RECENT).and_then(|from| sizes.get(from..begin));
        let after = sizes.get(begin..begin + IN_A_ROW).unwrap_or_default();
        let largest = before.and_then(|before| before.iter().max());
        largest.zip(after.iter().min()).is_some_and(|(old, new)| *new >= old + NAMES_AFTER)
    };
    let silences = times.windows(2).enumerate().filter_map(|(index, two)| match two {
        [before, after] => (after.saturating_sub(*before) >= SILENCE).then_some(index + 1),
        _ => None,
    });
    silences.filter(|begin| are_larger(*begin)).collect()
}

/// Returns the size of an end's padded acknowledgements, if it pads them.
pub fn padded_size(seen: &[Seen], covered: &[Covered], end: usize) -> Option<u64> {
    let packets = covered.iter().filter_map(|one| seen.get(one.index));
    let mut sizes: Vec<u64> =
        packets.filter(|(_, sender, _)| *sender == end).map(|(.., packet)| packet.bytes).collect();
    sizes.sort_unstable();
    // What more than half of them are is in the middle.
    let size = *sizes.get(sizes.len() / 2)?;
    let same = sizes.partition_point(|one| *one <= size) - sizes.partition_point(|one| *one < size);
    let is_usual = size <= PADDED && sizes.len() >= LEAST && same * 2 > sizes.len();
    is_usual.then_some(size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Packet;

    fn noted(sizes: &[u64]) -> Vec<usize> {
        let packet = |bytes: &u64| (0, 0, Packet { bytes: *bytes, ..Packet::default() });
        let mut seen: Vec<Seen> = sizes.iter().map(packet).collect();
        let of = |index| Covered { index, overhead: 9, spin: None };
        let covered: Vec<Covered> = (0..seen.len()).map(of).collect();
        note_gaps(&mut seen, &covered, 0);
        let named =
            seen.iter().enumerate().filter(|(_, (.., one))| one.details.names_gaps == Some(true));
        named.map(|(index, _)| index).collect()
    }

    #[test]
    fn acknowledgements_that_grow_name_gaps_and_limits_of_flow_control_do_not() {
        let mut sizes: Vec<u64> = (0..30).map(|number| 33 + number % 2).collect();
        sizes[10] = 44;
        sizes[20] = 38;
        assert_eq!(noted(&sizes), Vec::<usize>::new(), "limits");
        sizes[25..29].copy_from_slice(&[39, 41, 49, 49]);
        assert_eq!(noted(&sizes), [25, 26, 27, 28]);
        assert_eq!(noted(&sizes[24..]), Vec::<usize>::new(), "too few");
        let mut padded = vec![42; 100];
        padded[50..53].fill(60);
        assert_eq!(noted(&padded), Vec::<usize>::new(), "padded");
    }

    #[test]
    fn acknowledgements_that_are_larger_after_a_silence_name_what_was_lost_before_it() {
        let mut sizes = vec![42; 40];
        sizes[20..23].copy_from_slice(&[46, 47, 45]);
        let times = |silence| -> Vec<u64> {
            (0..40).map(|index| index * 10_000_000 + if index < 20 { 0 } else { silence }).collect()
        };
        assert_eq!(after_silences(&times(4_000_000_000), &sizes), [20]);
        assert_eq!(after_silences(&times(0), &sizes), Vec::<usize>::new(), "no silence");
        sizes[22] = 43;
        let after = after_silences(&times(4_000_000_000), &sizes);
        assert_eq!(after, Vec::<usize>::new(), "limits of flow control");
    }

    #[test]
    fn acknowledgements_may_grow_and_a_request_is_none() {
        let mut recent = RecentSizes::default();
        let sizes = [14, 15, 22, 28, 34, 40, 47, 120, 47, 14];
        let told: Vec<bool> = sizes
            .windows(2)
            .map(|two| recent.is_acknowledgement(two[0], || Some(two[1])))
            .collect();
        assert_eq!(told, [true, true, true, true, true, true, true, false, false]);
        let mut recent = RecentSizes::default();
        assert!(
            recent.is_acknowledgement(14, || Some(31)) && !recent.is_acknowledgement(31, || None)
        );
        // What is asked each time that all has come.
        let asks = [22, 36, 22, 36, 22];
        let told = asks.windows(2).filter(|two| recent.is_acknowledgement(two[0], || Some(two[1])));
        assert_eq!(told.count(), 2);
    }
}
