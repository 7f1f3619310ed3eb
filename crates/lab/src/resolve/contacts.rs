//! The hops of a contact plan.

use bentpipe_link::{
    DelayConfig, DelayStep, DirectionPatch, Distribution, InputFiles, QueueConfig, QueueLimit,
    RateConfig, RateStep, ReadFiles,
};
use bentpipe_orbit::contacts::{
    Contact, ContactError, Route, delay_steps, hop_name, rate_steps, read,
};
use bentpipe_scenario::{ContactsSection, Problem};
use bentpipe_units::{Bytes, Time};
use serde_spanned::Spanned;
use std::path::PathBuf;

/// Packet whose earliest arrival chooses the route.
const PACKET: Bytes = Bytes::new(1500);
/// Default storage for each link.
const STORAGE: Bytes = Bytes::new(1_000_000_000);

/// A hop of a plan.
pub(super) struct ContactHop {
    pub name: String,
    /// Directions towards the client and towards the server.
    pub forward: Spanned<DirectionPatch>,
    pub reverse: Spanned<DirectionPatch>,
}

/// Returns the hops of the route that `section` asks for, from the client to the server.
///
/// # Errors
/// A file cannot be read or is no plan, a node is unknown, or the plan has no such route.
pub(super) fn contact_hops(
    section: &Spanned<ContactsSection>,
    files: &InputFiles,
) -> Result<Vec<ContactHop>, Problem> {
    let contacts = section.get_ref();
    let refused = |error: ContactError| Problem::new(contacts.file.span(), error.to_string());
    let plan = text(&contacts.file, files)?;
    let events = contacts.events.as_ref().map(|file| text(file, files)).transpose()?;
    let plan = read(&plan, events.as_deref()).map_err(refused)?;
    let (from, to) = (contacts.from.get_ref(), contacts.to.get_ref());
    let nodes = if contacts.via.is_empty() {
        plan.earliest_arrival(from, to, Time::ZERO, PACKET).map_err(refused)?.1
    } else {
        contacts.via.clone()
    };
    if nodes.first() != Some(from) || nodes.last() != Some(to) || nodes.len() < 2 {
        let message = format!(
            "`via` is {}; allowed: nodes from `{from}` to `{to}`, both included",
            nodes.join(", ")
        );
        return Err(Problem::new(section.span(), message));
    }
    let back: Vec<String> = nodes.iter().rev().cloned().collect();
    let there = Route::new(&plan, &nodes).map_err(refused)?;
    let back = Route::new(&plan, &back).map_err(refused)?;
    let storage = contacts.storage.unwrap_or(STORAGE);
    let patch = |contacts: &[Contact]| Spanned::new(section.span(), direction(contacts, storage));
    let count = there.hops().len();
    let hops = there.hops().iter().enumerate().map(|(index, up)| ContactHop {
        name: hop_name(index + 1, &up[0].from, &up[0].to),
        forward: patch(back.hops()[count - 1 - index]),
        reverse: patch(up),
    });
    Ok(hops.collect())
}

fn text(file: &Spanned<PathBuf>, files: &InputFiles) -> Result<std::sync::Arc<str>, Problem> {
    let name = file.get_ref();
    files.read(name).map_err(|error| {
        Problem::new(file.span(), format!("cannot read {}: {error}", name.display()))
    })
}

/// Returns a direction that sends during these contacts only.
fn direction(contacts: &[Contact], storage: Bytes) -> DirectionPatch {
    let rates = rate_steps(contacts);
    let rate = match rates.as_slice() {
        [(Time::ZERO, rate)] => RateConfig::Constant(*rate),
        steps => RateConfig::Schedule {
            schedule: steps
                .iter()
                .map(|&(at, rate)| RateStep { at: at.since_start(), rate })
                .collect(),
            repeat: None,
        },
    };
    let delays = delay_steps(contacts);
    let delay = match delays.as_slice() {
        [(_, delay)] => DelayConfig::Constant(*delay),
        steps => DelayConfig::Schedule {
            schedule: steps
                .iter()
                .map(|&(at, delay)| DelayStep::new(at.since_start(), delay))
                .collect(),
            interpolate: false,
            repeat: None,
            distribution: Distribution::default(),
            keep_order: true,
        },
    };
    DirectionPatch {
        rate: Some(rate),
        delay: Some(delay),
        queue: Some(QueueConfig::drop_tail(QueueLimit::Bytes(storage))),
        ..DirectionPatch::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const PLAN: &str = "a contact +10 +20 e m 1000\na contact +30 +40 e m 1000\n\
                        a contact +0 +40 m e 2000\na range +0 +25 e m 600\n\
                        a range +25 +99 e m 601.5\n";

    fn hops(keys: &str) -> Result<Vec<ContactHop>, Problem> {
        let section: ContactsSection = toml::from_str(&format!("file = \"plan\"\n{keys}")).unwrap();
        let texts = BTreeMap::from([(PathBuf::from("plan"), PLAN.into())]);
        contact_hops(&Spanned::new(0..0, section), &InputFiles::from_texts(texts))
    }

    #[test]
    fn a_route_gives_hops_with_a_rate_only_during_contacts() {
        let hops = hops("from = \"e\"\nto = \"m\"\nstorage = \"5 MB\"").unwrap();
        let [hop] = hops.as_slice() else { panic!("one link") };
        assert_eq!(hop.name, "1-e-m");
        let up = hop.reverse.get_ref();
        let Some(RateConfig::Schedule { schedule, .. }) = &up.rate else { panic!("{:?}", up.rate) };
        let steps: Vec<_> =
            schedule.iter().map(|step| (step.at.as_secs_f64(), step.rate.as_bps())).collect();
        assert_eq!(steps, [(0.0, 0), (10.0, 8000), (20.0, 0), (30.0, 8000), (40.0, 0)]);
        let Some(DelayConfig::Schedule { schedule, .. }) = &up.delay else { panic!("two ranges") };
        assert_eq!(schedule[1].delay.as_secs_f64(), 601.5);
        assert_eq!(up.queue, Some(QueueConfig::drop_tail(QueueLimit::Bytes(Bytes::from_mb(5)))));
    }

    #[test]
    fn a_wrong_route_is_named_with_the_remedy() {
        let error = |keys: &str| hops(keys).err().unwrap().message;
        assert!(error("from = \"e\"\nto = \"x\"").contains("its nodes are e, m"));
        let via = error("from = \"e\"\nto = \"m\"\nvia = [\"m\", \"e\"]");
        assert!(via.contains("allowed: nodes from `e` to `m`"), "{via}");
    }
}
