//! Packets that were captured more than once: by a mirror port that copies both what a switch
//! receives and what it sends, or on all interfaces of a machine at once.

use super::table::Entry;
use std::collections::HashMap;

/// Longest time in ns between the copies of a packet.
const LONGEST: u64 = 1_000_000;
/// Share of the packets that tell their copies that have one, from which on those that do not tell
/// are copies, too: on a machine's interfaces, those of one direction only may be.
const SHARE: f64 = 0.1;

/// Marks the copies among the packets of a connection, which are in the order of their times.
pub fn copies(entries: &[Entry]) -> Vec<bool> {
    // Those of the last millisecond, and of them the oldest that is forgotten next.
    let mut seen: HashMap<u32, u64> = HashMap::new();
    let mut oldest = entries.iter();
    let is_copy = entries.iter().map(|entry| {
        while let Some(old) = oldest.clone().next()
            && entry.at.saturating_sub(old.at) > LONGEST
        {
            if seen.get(&old.fingerprint.hash).is_some_and(|at| *at == old.at) {
                seen.remove(&old.fingerprint.hash);
            }
            oldest.next();
        }
        seen.insert(entry.fingerprint.hash, entry.at).is_some()
    });
    let mut marks: Vec<bool> = is_copy.collect();
    let unique = || entries.iter().zip(&marks).filter(|(entry, _)| entry.fingerprint.is_unique);
    let copied = unique().filter(|(_, is_copy)| **is_copy).count();
    if copied == 0 || (copied as f64) < SHARE * unique().count() as f64 {
        for (mark, entry) in marks.iter_mut().zip(entries) {
            *mark &= entry.fingerprint.is_unique;
        }
    }
    marks
}
