//! Scenarios drawn from a seed as users write them, each with one planted key that makes the
//! transfer slow: the explanation names its cause first, and where packets were lost; and what it
//! attributes to the cause is what the transfer saves without it.
//!
//! `planted_causes.rs` plants the parts of a budget in bare TCP; here are keys of all kinds, in
//! scenarios of whole stacks, QUIC and TCP. `BENTPIPE_SEED` changes the seed, `BENTPIPE_EACH`
//! the number of scenarios of each kind, and `BENTPIPE_KIND` names the only kind.

#![allow(clippy::unwrap_used)]

mod planted;

use bentpipe_results::Results;
use bentpipe_results::explanation::{Account, accounts, composition};
use planted::{Kind, kinds, number, run};

/// Scenarios of each kind; `make validate` has ten of another seed.
const EACH: u64 = 3;
/// Share of scenarios whose planted cause must be named first.
const NAMED_FIRST: f64 = 0.97;
/// Scenarios of each kind that are compared with those without the cause.
const COMPARED: u64 = 2;
/// Share of these in which what is attributed must be what is saved.
const SAVED: f64 = 0.9;
/// By how much they may differ.
const TOLERANCE: f64 = 0.2;
/// Share of the completion time that the removal must save: otherwise, the cause is not what made
/// the transfer slow.
const DOMINANT: f64 = 0.1;

fn main_account(results: &Results) -> Option<Account<'_>> {
    accounts(results).into_iter().find(|account| account.flow == "main")
}

/// Returns what is wrong with the explanation of a scenario; `None` if it names the cause first.
fn named_otherwise(kind: &Kind, text: &str) -> Option<String> {
    let results = run(text);
    let main = main_account(&results);
    let found = main.as_ref().map(composition).unwrap_or_else(|| "not complete".to_owned());
    // As in the sentence: causes, else what every transfer needs.
    let first = main.and_then(|account| {
        let least = 0.02 * account.completion_s;
        let causes = account.longest_parts(false).into_iter();
        let cause = causes.filter(|(_, time)| *time >= least).map(|(part, _)| part).next();
        cause.or(account.longest_parts(true).first().map(|(part, _)| *part))
    });
    let named = first.is_some_and(|part| kind.parts.contains(&part.name()));
    (!named || !found.contains(kind.words)).then_some(found)
}

#[test]
fn the_cause_of_the_planted_key_is_named_first() {
    let (seed, each) = (number("BENTPIPE_SEED", 21), number("BENTPIPE_EACH", EACH));
    let (mut wrong, mut all) = (Vec::new(), 0);
    for kind in kinds() {
        let before = wrong.len() as u64;
        for index in 0..each {
            let text = kind.scenario(seed, index, true);
            let found = named_otherwise(kind, &text);
            wrong.extend(found.map(|found| format!("{} {index}: {found}\n{text}", kind.name)));
        }
        all += each;
        println!("{}: {} of {each}", kind.name, each + before - wrong.len() as u64);
    }
    println!("seed {seed}: {} of {all} named otherwise\n{}", wrong.len(), wrong.join("\n"));
    let most = all as f64 * (1.0 - NAMED_FIRST);
    assert!(wrong.len() as f64 <= most, "seed {seed}");
}

/// Returns the completion time of the main flow in seconds, the time of these parts, and all parts
/// in words.
fn times(text: &str, parts: &[&str]) -> Option<(f64, f64, String)> {
    let results = run(text);
    let account = main_account(&results)?;
    let time = parts.iter().map(|part| account.time_s(part)).sum();
    Some((account.completion_s, time, composition(&account)))
}

#[test]
fn what_is_attributed_to_a_cause_is_what_its_removal_saves() {
    let (seed, each) = (number("BENTPIPE_SEED", 21), number("BENTPIPE_EACH", COMPARED));
    let (mut wrong, mut all) = (Vec::new(), 0);
    for kind in kinds().filter(|kind| kind.removable) {
        let mut ratios = Vec::new();
        for index in 0..each {
            let [with, without] = [true, false]
                .map(|planted| times(&kind.scenario(seed, index, planted), kind.parts));
            let (Some((with, attributed, words)), Some((without, ..))) = (with, without) else {
                wrong.push(format!("{} {index}: not complete", kind.name));
                continue;
            };
            let saved = with - without;
            if saved < DOMINANT * with {
                continue;
            }
            all += 1;
            let ratio = attributed / saved;
            ratios.push(format!("{ratio:.2}"));
            if (ratio - 1.0).abs() > TOLERANCE {
                wrong.push(format!(
                    "{} {index}: {attributed:.2} s attributed, {saved:.2} s of {with:.2} s saved: \
                     {words}",
                    kind.name
                ));
            }
        }
        println!("{}: {}", kind.name, ratios.join(" "));
    }
    println!("seed {seed}: {} of {all} differ\n{}", wrong.len(), wrong.join("\n"));
    assert!(wrong.len() as f64 <= f64::from(all) * (1.0 - SAVED), "seed {seed}");
}
