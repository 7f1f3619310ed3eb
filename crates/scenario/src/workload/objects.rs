//! `objects`: several objects, which may depend on each other.

use super::clocks::Clocks;
use super::kind::Kind;
use super::transfer::{PlannedObject, Transfer};
use crate::error::Problem;
use crate::limits;
use bentpipe_results::Direction;
use bentpipe_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_spanned::Spanned;

/// One object to transfer.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Object {
    /// Name in results.
    pub name: String,
    /// Size of the object.
    #[schemars(with = "Bytes")]
    pub size: Spanned<Bytes>,
    /// Earlier objects of the list that must be complete before this one is requested; none by
    /// default.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub after: Vec<Spanned<String>>,
    /// Time between the completion of the last of them and the request; 0 s by default.
    pub delay: Option<Span>,
    /// Pieces in which the application of the sender writes the object; by default, it writes as
    /// fast as the transport takes it.
    pub pieces: Option<Pieces>,
}

/// Pieces of an object, which are written one after another.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pieces {
    /// Size of a piece.
    #[schemars(with = "Bytes")]
    pub size: Spanned<Bytes>,
    /// Time between two pieces.
    #[schemars(with = "Span")]
    pub interval: Spanned<Span>,
}

/// Objects in one direction.
#[derive(Debug, Clone)]
pub struct Objects {
    /// The objects, in the order of the file.
    pub list: Vec<Object>,
    /// Direction of all of them.
    pub direction: Direction,
}

pub(super) fn check(objects: &Spanned<Vec<Object>>) -> Result<(), Problem> {
    if objects.get_ref().is_empty() {
        return Err(Problem::new(
            objects.span(),
            "`objects` is empty; allowed: one or more, such as { name = \"page\", \
                size = \"1 MB\" }",
        ));
    }
    let mut names: Vec<&str> = Vec::new();
    for object in objects.get_ref() {
        super::transfer::above_zero(&object.size)?;
        if let Some(Pieces { size, interval }) = &object.pieces {
            super::transfer::above_zero(size)?;
            limits::above_zero("interval", interval)?;
        }
        if names.contains(&object.name.as_str()) {
            let message = format!("an object named `{}` already exists in this list", object.name);
            return Err(Problem::new(object.size.span(), message + "; allowed: each name once"));
        }
        // Only earlier objects are allowed, so dependencies have no cycle.
        for after in &object.after {
            if !names.contains(&after.get_ref().as_str()) {
                let above = names.iter().copied();
                return Err(Problem::not_one_of(
                    after.span(),
                    "object above this one",
                    after.get_ref(),
                    above,
                ));
            }
        }
        names.push(&object.name);
    }
    Ok(())
}

impl Objects {
    /// The clocks that can run it.
    pub(super) const CLOCKS: Clocks = Clocks::RealTcp;
}

impl Kind for Objects {
    fn key(&self) -> &'static str {
        "objects"
    }

    fn clocks(&self) -> Clocks {
        match self.list.iter().any(|object| object.pieces.is_some()) {
            // The simulated server writes them.
            true => Clocks::VirtualQuic,
            false => Self::CLOCKS,
        }
    }

    fn transfer(&self, _seed: u64) -> Transfer {
        let Self { list, direction } = self;
        let index =
            |name: &Spanned<String>| list.iter().position(|object| object.name == *name.get_ref());
        let planned = list.iter().map(|object| PlannedObject {
            name: object.name.clone(),
            bytes: *object.size.get_ref(),
            after: object.after.iter().filter_map(index).collect(),
            delay: object.delay.unwrap_or_default(),
            pieces: object
                .pieces
                .as_ref()
                .map(|pieces| (*pieces.size.get_ref(), *pieces.interval.get_ref())),
        });
        Transfer { direction: *direction, objects: planned.collect(), duration: None }
    }

    fn suits_users(&self) -> bool {
        true
    }
}
