//! Links of `[path.orbit]`: what each kind has, and where single shells differ.

use super::error_chain::error_chain;
use super::orbit_path::{LinkKind, LinkKinds, ShellKinds};
use bentpipe_link::{
    CapacityAllocation, DelayConfig, DirectionConfig, DirectionPatch, FlowMeterConfig, InputFiles,
    PolicerConfig, QueueConfig, RateConfig,
};
use bentpipe_orbit::{Constellation, Shell};
use bentpipe_scenario::Problem;
use bentpipe_scenario::{IslText, LinksSection, OrbitSection, ShellLinksSection};
use bentpipe_units::{Rate, Span};
use serde_spanned::Spanned;
use std::ops::Range;

/// Default rate of fibres: more than any of Bentpipe's satellite links carries.
const FIBRE_RATE: Rate = Rate::from_mbps(10_000);

/// The direction of one kind of link in a section, if it sets one.
type Own<'a> = Option<&'a Spanned<DirectionPatch>>;

/// Reads links from a scenario.
struct Reader<'a> {
    links: &'a LinksSection,
    /// Location of `[path.orbit]`.
    whole: Range<usize>,
    files: &'a InputFiles,
}

/// Returns the configuration of each kind of link. `fibres` is true if the network has any.
///
/// # Errors
/// A kind has no rate, a model cannot be made, or a shell does not exist.
pub(super) fn link_kinds(
    section: &OrbitSection,
    constellation: &Constellation,
    fibres: bool,
    whole: Range<usize>,
    files: &InputFiles,
) -> Result<LinkKinds, Problem> {
    let links = &section.links;
    let reader = Reader { links, whole, files };
    let isls = section.isl.as_ref().is_none_or(|isl| *isl.get_ref() != IslText::None);
    let of = |shell: &Shell| links.shell.iter().find(|(key, _)| *key.get_ref() == shell.name);
    let named = |key: &&Spanned<String>| {
        constellation.shells().iter().any(|shell| shell.name == *key.get_ref())
    };
    if let Some(unknown) = links.shell.keys().find(|key| !named(key)) {
        return Err(unknown_shell(unknown, constellation.shells()));
    }
    let own: Vec<_> = constellation.shells().iter().map(of).collect();
    // A kind that each shell gives a rate of its own needs no other.
    let general = |kind: fn(&ShellLinksSection) -> Own<'_>| {
        let has_rate = |own: Own<'_>| own.is_some_and(|own| own.get_ref().rate.is_some());
        own.is_empty() || !own.iter().all(|own| own.is_some_and(|(_, own)| has_rate(kind(own))))
    };
    let mut shells = Vec::new();
    for (index, (key, own)) in own.iter().enumerate().filter_map(|(i, own)| Some((i, (*own)?))) {
        shells.push(ShellKinds {
            shell: index as u32,
            name: key.get_ref().clone(),
            isl: reader.kind("isl", &[links.isl.as_ref(), own.isl.as_ref()], isls)?,
            up: reader.kind("up", &[links.up.as_ref(), own.up.as_ref()], true)?,
            down: reader.kind("down", &[links.down.as_ref(), own.down.as_ref()], true)?,
        });
    }
    let (isl, up, down) = (
        isls && general(|shell| shell.isl.as_ref()),
        general(|shell| shell.up.as_ref()),
        general(|shell| shell.down.as_ref()),
    );
    Ok(LinkKinds {
        isl: reader.kind("isl", &[links.isl.as_ref()], isl)?,
        up: reader.kind("up", &[links.up.as_ref()], up)?,
        down: reader.kind("down", &[links.down.as_ref()], down)?,
        fibre: reader.kind("fibre", &[links.fibre.as_ref()], fibres)?,
        shells,
    })
}

impl Reader<'_> {
    /// Returns the links of the kind `name`, for which `own` is set in addition to `links.all`, in
    /// rising precedence. `used` is false if the network has no such link.
    fn kind(&self, name: &'static str, own: &[Own<'_>], used: bool) -> Result<LinkKind, Problem> {
        let own = own.iter().flatten().copied();
        let patches: Vec<&Spanned<DirectionPatch>> = self.links.all.iter().chain(own).collect();
        let span = patches.last().map_or(self.whole.clone(), |patch| patch.span());
        let rate = patches.iter().rev().find_map(|patch| patch.get_ref().rate.clone());
        // A kind of link that the network does not have needs some rate too.
        let default =
            if used && name != "fibre" { None } else { Some(RateConfig::Constant(FIBRE_RATE)) };
        let rate = rate.or(default).ok_or_else(|| {
            let message = format!(
                "links of the kind `{name}` have no rate; allowed: `rate` in \
                [path.orbit.links.{name}], or in [path.orbit.links.all]"
            );
            Problem::new(span.clone(), message).help(
                "links.all = \
                { rate = \"10 Mbps\", queue = \"100 packets\" }",
            )
        })?;
        let mut config = DirectionConfig {
            rate,
            delay: DelayConfig::Constant(Span::ZERO),
            loss: Default::default(),
            queue: QueueConfig::default(),
            policer: PolicerConfig::None,
            flow_meter: FlowMeterConfig::None,
            frame: None,
            allocation: CapacityAllocation::None,
        };
        patches.iter().for_each(|patch| patch.get_ref().apply_to(&mut config));
        let model =
            config.load(self.files).map_err(|error| Problem::new(span, error_chain(&error)))?;
        Ok(LinkKind { config, model, used })
    }
}

/// Returns the error for a shell that the constellation does not have.
fn unknown_shell(name: &Spanned<String>, shells: &[Shell]) -> Problem {
    let names: Vec<String> = shells.iter().map(|shell| format!("`{}`", shell.name)).collect();
    let allowed = match names.as_slice() {
        [] => "no `shell`, because published elements name none".to_owned(),
        names => names.join(", "),
    };
    let message = format!("the constellation has no shell `{name}`; allowed: {allowed}");
    Problem::new(name.span(), message)
}
