//! Draws the users of a run, and makes flows of them.

use super::{Arrivals, Bottleneck, Drawn, Population};
use crate::resolve::object;
use bentpipe_link::random::stream;
use bentpipe_scenario::Users;
use bentpipe_scenario::workload::{SizeOrder, WebPage, Workload};
use bentpipe_sim::{FlowSpec, Object};
use bentpipe_units::{Bytes, Span};
use std::sync::Arc;

/// A population of a case: how the flows of a variant become its users.
#[derive(Debug, Clone)]
pub(crate) struct Expansion {
    pub population: Arc<Population>,
    pub bottleneck: Bottleneck,
    /// Index of the flow of each share, with its users; without users for a single flow.
    pub shares: Vec<(usize, Option<Users>)>,
    /// Terminal of the first user.
    pub first_terminal: usize,
    /// True if each user has a terminal of its own. A network of satellites has one for all.
    pub own_terminals: bool,
}

/// What is drawn for one user.
#[derive(Debug, Clone, Default)]
struct DrawnUser {
    start: Span,
    /// Objects of each visit that the scenario describes; `None` for the planned ones.
    visits: Vec<Option<Vec<Object>>>,
    /// Time for which the user thinks before each of these visits.
    thinks: Vec<Span>,
}

impl Expansion {
    /// Returns the flows of run number `run` with `seed` for each share, whose flows are in
    /// `templates`. Every variant draws the same users.
    pub fn expand(
        &self,
        seed: u64,
        run: u64,
        templates: &[FlowSpec],
    ) -> Vec<(usize, Vec<FlowSpec>)> {
        let drawn = self.draw(seed, run, templates);
        let flow = |index: usize, number: usize| {
            let mut flow = templates[index].clone();
            let own = &drawn[number];
            flow.start += own.start;
            // An implied first visit comes before those that the scenario describes.
            let implied = flow.visits.len() - own.visits.len();
            for (visit, objects) in flow.visits[implied..].iter_mut().zip(&own.visits) {
                if let Some(objects) = objects {
                    visit.objects.clone_from(objects);
                    // What they are is known of planned ones alone.
                    visit.page = None;
                }
            }
            for (visit, think) in flow.visits[implied..].iter_mut().zip(&own.thinks) {
                visit.idle_before += *think;
            }
            flow
        };
        let share = |(index, users): &(usize, Option<Users>)| {
            let Some(users) = users else { return (*index, vec![flow(*index, 0)]) };
            let user = |&number: &usize| {
                let mut flow = flow(*index, number);
                flow.in_population = true;
                flow.name = user_name(&flow.name, number);
                if self.own_terminals {
                    flow.terminal = self.first_terminal + number;
                }
                if users.own_servers {
                    flow.server = user_name(&flow.server, number);
                }
                flow
            };
            (*index, users.members.iter().map(user).collect())
        };
        self.shares.iter().map(share).collect()
    }

    fn draw(&self, seed: u64, run: u64, templates: &[FlowSpec]) -> Vec<DrawnUser> {
        let Population { name, users, arrivals, visits, thinks } = &*self.population;
        let (none, still) = (vec![None; visits.len()], vec![Span::ZERO; visits.len()]);
        let mut drawn = vec![DrawnUser { visits: none, thinks: still, ..<_>::default() }; *users];
        for (index, visit) in visits.iter().enumerate() {
            let mut stream = stream(seed, run, &format!("population/{name}/visit/{index}"));
            for (number, user) in drawn.iter_mut().enumerate() {
                let one = |size: Bytes| Some(vec![Object::new("object", size)]);
                user.visits[index] = match visit {
                    Drawn::Nothing => None,
                    Drawn::Lognormal(lognormal) => one(lognormal.draw(&mut stream)),
                    Drawn::Pareto(pareto) => one(pareto.draw(&mut stream)),
                    Drawn::Listed(sizes, SizeOrder::Random) => {
                        one(sizes[stream.below(sizes.len() as u64) as usize])
                    }
                    Drawn::Listed(sizes, SizeOrder::Listed) => one(sizes[number % sizes.len()]),
                    Drawn::Page(count) => Some(page(*count, stream.below(u64::MAX))),
                };
            }
        }
        for (index, mean) in thinks.iter().enumerate() {
            let Some(mean) = mean else { continue };
            let mut stream = stream(seed, run, &format!("population/{name}/think/{index}"));
            for user in &mut drawn {
                user.thinks[index] = mean.mul_f64(stream.exponential());
            }
        }
        let template = self.shares.first().and_then(|(index, _)| templates.get(*index));
        let mut stream = stream(seed, run, &format!("population/{name}/arrivals"));
        let mut poisson = |rate: f64, drawn: &mut [DrawnUser]| {
            let mut at = 0.0;
            for user in drawn {
                at += stream.exponential() / rate;
                user.start = Span::from_nanos((at * 1e9) as u64);
            }
        };
        match arrivals {
            Arrivals::AtOnce => {}
            Arrivals::Rate(rate) => poisson(*rate, &mut drawn),
            Arrivals::Load(load) => {
                let offered: u64 = drawn
                    .iter()
                    .map(|user| self.offered(user, template))
                    .fold(0, u64::saturating_add);
                let mean = offered.max(1) as f64 / *users as f64;
                let capacity = self.bottleneck.rate.as_bps() as f64 / 8.0;
                poisson(load * capacity / mean, &mut drawn);
            }
            Arrivals::Times(times) => {
                for (user, time) in drawn.iter_mut().zip(times) {
                    user.start = *time;
                }
            }
        }
        drawn
    }

    /// Returns the wire bytes that all visits of a user offer.
    fn offered(&self, user: &DrawnUser, template: Option<&FlowSpec>) -> u64 {
        let planned = template.map_or(&[][..], |flow| &flow.visits);
        let bytes = user.visits.iter().enumerate().map(|(index, drawn)| {
            let planned = planned.get(index).map_or(&[][..], |visit| &visit.objects);
            let objects = drawn.as_deref().unwrap_or(planned);
            objects.iter().map(|object| object.bytes.get()).fold(0, u64::saturating_add)
        });
        bytes.map(|bytes| self.bottleneck.offered(bytes)).fold(0, u64::saturating_add)
    }
}

/// Returns the name of a user's flow or server.
pub(super) fn user_name(share: &str, number: usize) -> String {
    format!("{share}-{number:03}")
}

/// Returns the objects of a page that `seed` determines.
fn page(count: usize, seed: u64) -> Vec<Object> {
    let transfer = Workload::WebPage(WebPage::Synthetic(count)).transfer(seed);
    transfer.objects.into_iter().map(object).collect()
}
