//! Reads the pages of HTTP Archives that a scenario names.

use bentpipe_captures::{HarKind, HarLog, HarObject, HarPage};
use bentpipe_link::{InputFiles, ReadFiles};
use bentpipe_scenario::workload::{ArchivePage, Dns, Origins, WebPage, Work, Workload};
use bentpipe_scenario::{Flow, Problem, Scenario};
use bentpipe_tcp::http::{Names, Object, ObjectKind, Page, PageObject, Priority, Source};
use bentpipe_units::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Largest file: 64 MB. Those of large pages with all content have a few.
const MAX_FILE: usize = 64_000_000;

/// The pages that the points of a plan have read: each file is parsed once.
#[derive(Debug, Default)]
pub(crate) struct Archives {
    parsed: BTreeMap<PathBuf, HarPage>,
    /// What the pages lack.
    pub notes: BTreeSet<String>,
}

impl Archives {
    /// Reads the pages of `scenario`.
    ///
    /// # Errors
    /// A file cannot be read, or is no page.
    pub fn load(&mut self, scenario: &mut Scenario, files: &InputFiles) -> Result<(), Problem> {
        for flow in scenario.variants.iter_mut().flat_map(|variant| &mut variant.flows) {
            let Flow { work, span, .. } = flow;
            let workloads: Vec<&mut Workload> = match work {
                Work::Once(workload) => vec![workload],
                Work::Visits(visits) => {
                    visits.iter_mut().map(|visit| &mut visit.workload).collect()
                }
            };
            for workload in workloads {
                let Workload::WebPage(WebPage::Archive(archive)) = workload else { continue };
                let file = archive.file.display().to_string();
                let in_file =
                    |error: String| Problem::new(span.clone(), format!("{file}: {error}"));
                let own = self.read(&archive.file, files).map_err(in_file)?;
                self.notes.extend(own.notes.iter().map(|note| format!("{file}: {note}")));
                archive.page = Some(Arc::new(page(own, archive)));
            }
        }
        Ok(())
    }

    fn read(&mut self, file: &Path, files: &InputFiles) -> Result<HarPage, String> {
        // Every point uses the file, which is part of its identity.
        let text = files.read(file).map_err(|error| error.to_string())?;
        if let Some(page) = self.parsed.get(file) {
            return Ok(page.clone());
        }
        if text.len() > MAX_FILE {
            return Err(format!(
                "the file has {} bytes; allowed: at most {MAX_FILE}. Export it without content",
                text.len()
            ));
        }
        let log = HarLog::parse(text.as_bytes()).map_err(|error| error.to_string())?;
        let page = HarPage::of(&log).map_err(|error| error.to_string())?;
        self.parsed.insert(file.to_owned(), page.clone());
        Ok(page)
    }
}

/// Returns the page as it is loaded.
fn page(own: HarPage, archive: &ArchivePage) -> Page {
    let one = archive.origins == Origins::One;
    let mut origins = own.origins;
    if one {
        origins.truncate(1);
    }
    let object = |object| self::object(object, one);
    Page {
        origins,
        objects: own.objects.into_iter().map(object).collect(),
        names: match archive.dns {
            Dns::Udp => Names::Udp,
            Dns::Doh => Names::Https,
            Dns::None => Names::Known,
        },
        resolver_rtt: archive.resolver_rtt,
    }
}

fn object(own: HarObject, one_origin: bool) -> PageObject {
    let kind = match own.kind {
        HarKind::Document => ObjectKind::Document,
        HarKind::Style => ObjectKind::Style,
        HarKind::Script => ObjectKind::Script,
        HarKind::Font => ObjectKind::Font,
        HarKind::Image => ObjectKind::Image,
        HarKind::Media => ObjectKind::Media,
        HarKind::Data => ObjectKind::Data,
        HarKind::Other => ObjectKind::Other,
    };
    let usual = kind.priority();
    let urgency = own.urgency.unwrap_or(usual.urgency);
    PageObject {
        name: own.name,
        object: Object {
            bytes: Bytes::new(own.bytes),
            after: own.after.into_iter().collect(),
            delay: own.delay,
            source: Source {
                origin: if one_origin { 0 } else { own.origin },
                server_time: own.server_time,
                priority: Priority { urgency, ..usual },
            },
        },
        kind,
        blocks_render: own.blocks_render,
        after_load: own.after_load,
    }
}
