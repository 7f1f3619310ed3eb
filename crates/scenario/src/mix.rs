//! Mixes: one `[[flow]]` with `mix` stands for populations of several kinds of users.

use crate::arrivals::Arrivals;
use crate::error::{Problem, quoted};
use crate::limits::between;
use crate::mix_name::Mix;
use crate::population::{MAX_USERS, PopulationKeys, Users};
use crate::section;
use crate::tree::{Node, Tree};
use bentpipe_units::Span;
use serde::Deserialize;
use serde_spanned::Spanned;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;
use toml::de::{DeArray, DeTable, DeValue, Deserializer};

/// Keys that a `[[flow]]` with `mix` can have. Those of transports belong to layers that hold for
/// several kinds of flows.
const ALLOWED: [&str; 12] = [
    "name",
    "mix",
    "count",
    "own_servers",
    "start_time",
    "start_jitter",
    "server",
    "from",
    "to",
    "from_hop",
    "to_hop",
    "dscp",
];

/// One kind of users of a mix.
pub struct MixClass {
    /// Its name, the last part of the population's.
    pub name: &'static str,
    /// Users for each one that `count` counts.
    pub per: f64,
    /// Time in which they arrive at random; `None` if they begin at once.
    pub over: Option<Span>,
    /// Where its numbers are from.
    pub source: String,
    /// Its keys of `[[flow]]`, with positions in another text.
    keys: Tree<'static>,
}

/// A mix as the file has it.
pub struct MixTable {
    /// Its name.
    pub mix: Mix,
    /// Title, one line.
    pub title: String,
    /// Where its numbers are from.
    pub source: String,
    /// Its kinds of users, in the order of the alphabet.
    pub classes: Vec<MixClass>,
}

/// What the file says of a class beside the keys of its flow.
#[derive(Deserialize)]
struct ClassKeys {
    per: f64,
    over: Option<Span>,
    source: String,
}

static MIXES: LazyLock<Vec<MixTable>> = LazyLock::new(|| {
    // The file is part of the program. A test verifies that it can be read.
    let Ok(file) = DeTable::parse(include_str!("mixes.toml")) else { return Vec::new() };
    Mix::ALL.into_iter().filter_map(|mix| table(mix, file.get_ref())).collect()
});

/// Returns all mixes.
pub fn mixes() -> &'static [MixTable] {
    &MIXES
}

fn table(mix: Mix, file: &Tree<'static>) -> Option<MixTable> {
    let DeValue::Table(found) = file.get(mix.name())?.get_ref() else { return None };
    let text = |key: &str| Some(found.get(key)?.get_ref().as_str()?.to_owned());
    let classes = found.iter().filter_map(|(name, value)| {
        let DeValue::Table(keys) = value.get_ref() else { return None };
        let mut keys = keys.clone();
        let mut own = Tree::new();
        for key in ["per", "over", "source"] {
            own.extend(keys.remove_entry(key));
        }
        let own = Deserializer::from(Spanned::new(0..0, own));
        let ClassKeys { per, over, source } = ClassKeys::deserialize(own).ok()?;
        let Cow::Borrowed(name) = name.get_ref() else { return None };
        Some(MixClass { name, per, over, source, keys })
    });
    Some(MixTable {
        mix,
        title: text("title")?,
        source: text("source")?,
        classes: classes.collect(),
    })
}

/// A population of a mix: its name, its keys of `[[flow]]`, and its users.
pub(crate) struct Expanded<'i> {
    pub name: Spanned<String>,
    pub table: Tree<'i>,
    pub users: Users,
}

/// Returns the populations that the `[[flow]]` called `name` stands for if it has a `mix`.
///
/// # Errors
/// Returns an error for an unknown mix, for keys that a mix cannot have, and for too many users.
pub(crate) fn expand<'i>(
    name: &Spanned<String>,
    table: &Tree<'i>,
    span: &Range<usize>,
) -> Result<Option<Vec<Expanded<'i>>>, Problem> {
    let Some((place, _)) = table.get_key_value("mix") else { return Ok(None) };
    if let Some(key) = table.keys().find(|key| !ALLOWED.contains(&key.get_ref().as_ref())) {
        let message = format!(
            "`{}` and `mix` exclude each other: a mix has flows of several kinds; allowed beside \
             it: {}, and keys of transports in [defaults], in a [[variant]] or in its \
             `flow.NAME-CLASS`",
            key.get_ref(),
            quoted(&ALLOWED)
        );
        return Err(Problem::new(key.span(), message));
    }
    let mut rest = table.clone();
    let keys: PopulationKeys = section::take(&mut rest, span.clone())?;
    let Some(mix) = keys.mix.map(Spanned::into_inner) else { return Ok(None) };
    let Some(count) = keys.count else {
        let message = format!("`mix` needs `count`: the number of {}", mix.counted());
        return Err(Problem::new(place.span(), message).help("count = 10"));
    };
    between("count", &count, 1, MAX_USERS as u64)?;
    rest.remove("name");
    let found = mixes().iter().find(|one| one.mix == mix);
    let classes = found.into_iter().flat_map(|mix| &mix.classes).map(|class| {
        let users = (*count.get_ref() as f64 * class.per).round().max(1.0);
        if users > MAX_USERS as f64 {
            let message = format!(
                "{count} {} are {users} users of the class `{}`; allowed: up to {MAX_USERS}",
                mix.counted(),
                class.name
            );
            return Err(Problem::new(count.span(), message));
        }
        let arrivals = match class.over {
            Some(over) => Arrivals::Rate(users / over.as_secs_f64()),
            None => Arrivals::AtOnce,
        };
        let own = format!("{}-{}", name.get_ref(), class.name);
        let mut table = rest.clone();
        // Errors point at the mix.
        table.extend(moved(&class.keys, &place.span()));
        Ok(Expanded {
            table,
            users: Users {
                population: own.clone(),
                total: users as usize,
                members: (0..users as usize).collect(),
                arrivals,
                own_servers: keys.own_servers.unwrap_or(false),
                mix: Some(mix),
            },
            name: Spanned::new(name.span(), own),
        })
    });
    classes.collect::<Result<_, _>>().map(Some)
}

/// Returns `keys` with all positions at `span`.
fn moved(keys: &Tree<'static>, span: &Range<usize>) -> Tree<'static> {
    fn node(value: &Node<'static>, span: &Range<usize>) -> Node<'static> {
        let value = match value.get_ref() {
            DeValue::Table(table) => DeValue::Table(moved(table, span)),
            DeValue::Array(entries) => {
                let mut all = DeArray::new();
                entries.iter().for_each(|entry| all.push(node(entry, span)));
                DeValue::Array(all)
            }
            other => other.clone(),
        };
        Spanned::new(span.clone(), value)
    }
    let entry = |(key, value): (&Spanned<Cow<'static, str>>, &Node<'static>)| {
        (Spanned::new(span.clone(), key.get_ref().clone()), node(value, span))
    };
    keys.iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mix_can_be_read_and_says_where_its_numbers_are_from() {
        assert_eq!(mixes().len(), Mix::ALL.len());
        for mix in mixes() {
            let file: toml::Table = toml::from_str(include_str!("mixes.toml")).unwrap();
            let classes = file[mix.mix.name()].as_table().unwrap();
            let classes = classes.values().filter(|value| value.is_table()).count();
            assert_eq!(mix.classes.len(), classes, "{}", mix.title);
            assert!(!mix.source.is_empty() && mix.classes.iter().all(|one| one.per > 0.0));
            assert!(mix.classes.iter().all(|one| !one.source.is_empty()));
        }
    }
}
