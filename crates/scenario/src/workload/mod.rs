//! Workloads: what a flow transfers. Each workload has a module with its keys, its checks, the
//! transfer that it plans, and the [`Clocks`] that can run it.

mod abr;
mod bulk;
mod call;
mod cbr;
mod clocks;
mod download;
mod external;
mod kind;
mod objects;
mod ping;
mod probe;
mod responsiveness;
mod sizes;
mod transfer;
mod upload;
mod video;
mod visits;
mod web_page;

pub use abr::{Abr, AbrAlgorithm};
pub use bulk::Bulk;
pub use call::{Call, CallAdaptation, CallDirection, CallVideo, Framing, Playout};
pub use cbr::Cbr;
pub use clocks::{Clocks, RealCarrier};
pub use download::Download;
pub use external::External;
pub use objects::{Object, Objects, Pieces};
pub use ping::Ping;
pub use probe::Probe;
pub use responsiveness::Responsiveness;
pub use sizes::{Lognormal, MAX_SIZES, Pareto, SizeOrder, Sizes, check_list};
pub use transfer::{PlannedObject, Transfer};
pub use upload::Upload;
pub use video::Video;
pub use visits::{Sequence, Visit, VisitKeys, VisitTable, Work};
pub use web_page::{ArchivePage, Dns, Origins, WebPage};

use kind::Kind;
use web_page::WebPageKey;

use super::section::section;
use crate::error::{Problem, quoted};
use crate::limits::Check;
use bentpipe_results::Direction;
use bentpipe_units::Span;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_spanned::Spanned;
use std::ops::Range;

/// The keys of workloads. A flow has exactly one of them.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// One object of this size from the server to the client.
    #[schemars(with = "Option<Sizes>")]
    #[schemars(extend("x-clocks" = Download::CLOCKS.cells()))]
    pub download: Option<Spanned<Sizes>>,
    /// One object of this size from the client to the server.
    #[schemars(with = "Option<Sizes>")]
    #[schemars(extend("x-clocks" = Upload::CLOCKS.cells()))]
    pub upload: Option<Spanned<Sizes>>,
    /// Several objects that start together, in the direction of `direction`.
    #[schemars(with = "Option<Vec<Object>>")]
    #[schemars(extend("x-clocks" = Objects::CLOCKS.cells()))]
    pub objects: Option<Spanned<Vec<Object>>>,
    /// Direction of `objects`; download by default.
    #[schemars(with = "Option<Direction>")]
    pub direction: Option<Spanned<Direction>>,
    /// A web page: this number of objects that depend on each other, with the sizes of the median
    /// page (see "TCP" in the book), or those of an HTTP Archive, as in `{ har = "page.har" }`.
    #[schemars(with = "Option<WebPageKey>")]
    #[schemars(extend("x-clocks" = WebPage::CLOCKS.cells()))]
    pub web_page: Option<Spanned<WebPageKey>>,
    /// Segments of a video, requested at regular times.
    #[schemars(with = "Option<Video>")]
    #[schemars(extend("x-clocks" = Video::CLOCKS.cells()))]
    pub video: Option<Spanned<Video>>,
    /// Adaptive video, whose player chooses the bitrate of each segment.
    #[schemars(with = "Option<Abr>")]
    #[schemars(extend("x-clocks" = Abr::CLOCKS.cells()))]
    pub abr: Option<Spanned<Abr>>,
    /// Unlimited data for a fixed time.
    #[schemars(with = "Option<Bulk>")]
    #[schemars(extend("x-clocks" = Bulk::CLOCKS.cells()))]
    pub bulk: Option<Spanned<Bulk>>,
    /// UDP datagrams at a constant rate, or in bursts, without congestion control.
    #[schemars(with = "Option<Cbr>")]
    #[schemars(extend("x-clocks" = Cbr::CLOCKS.cells()))]
    pub cbr: Option<Spanned<Cbr>>,
    /// A call: audio and video over UDP or QUIC.
    #[schemars(with = "Option<Call>")]
    #[schemars(extend("x-clocks" = Call::CLOCKS.cells()))]
    pub call: Option<Spanned<Call>>,
    /// A test of responsiveness, idle and beside a load of its own.
    #[schemars(with = "Option<Responsiveness>")]
    #[schemars(extend("x-clocks" = Responsiveness::CLOCKS.cells()))]
    pub responsiveness: Option<Spanned<Responsiveness>>,
    /// ICMP echo requests from the client.
    #[schemars(with = "Option<Ping>")]
    #[schemars(extend("x-clocks" = Ping::CLOCKS.cells()))]
    pub ping: Option<Spanned<Ping>>,
    /// Small requests at regular times.
    #[schemars(with = "Option<Probe>")]
    #[schemars(extend("x-clocks" = Probe::CLOCKS.cells()))]
    pub probe: Option<Spanned<Probe>>,
}
section!(Task);

/// The workload `external`, whose commands variants can set.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExternalKey {
    /// One download by other programs, on the real clock.
    #[schemars(with = "Option<External>")]
    #[schemars(extend("x-clocks" = External::CLOCKS.cells()))]
    pub external: Option<Spanned<External>>,
}
section!(ExternalKey);

/// A checked workload.
#[derive(Debug, Clone)]
pub enum Workload {
    /// `download`
    Download(Download),
    /// `upload`
    Upload(Upload),
    /// `objects`
    Objects(Objects),
    /// `web_page`
    WebPage(WebPage),
    /// `video`
    Video(Video),
    /// `abr`
    Abr(Box<Abr>),
    /// `bulk`
    Bulk(Bulk),
    /// `cbr`
    Cbr(Cbr),
    /// `call`
    Call(Box<Call>),
    /// `ping`
    Ping(Ping),
    /// `probe`
    Probe(Probe),
    /// `responsiveness`
    Responsiveness(Responsiveness),
    /// `external`
    External(External),
}

impl Task {
    /// Returns each workload's key, and whether it is set.
    fn given(&self) -> impl Iterator<Item = (&'static str, bool)> {
        [
            ("download", self.download.is_some()),
            ("upload", self.upload.is_some()),
            ("objects", self.objects.is_some()),
            ("web_page", self.web_page.is_some()),
            ("video", self.video.is_some()),
            ("abr", self.abr.is_some()),
            ("bulk", self.bulk.is_some()),
            ("cbr", self.cbr.is_some()),
            ("call", self.call.is_some()),
            ("ping", self.ping.is_some()),
            ("probe", self.probe.is_some()),
            ("responsiveness", self.responsiveness.is_some()),
        ]
        .into_iter()
    }

    /// Checks that exactly one workload is set, and its values. `span` is the position of its
    /// table.
    ///
    /// # Errors
    /// Returns an error for none or several workloads, or for a value that is out of range.
    pub fn workload(
        self,
        external: Option<Spanned<External>>,
        span: Range<usize>,
        limit: Span,
    ) -> Result<Workload, Problem> {
        one_of(self.given().chain([("external", external.is_some())]), span.clone())?;
        if let (Some(direction), None) = (&self.direction, &self.objects) {
            let message = "`direction` belongs to `objects`; `bulk`, `cbr` and `call` have a \
                `direction` of their own";
            return Err(Problem::new(direction.span(), message));
        }
        let direction = self.direction.map(Spanned::into_inner).unwrap_or_default();
        if let Some(size) = self.download {
            sizes::check(&size).map(|()| Workload::Download(Download(size.into_inner())))
        } else if let Some(size) = self.upload {
            sizes::check(&size).map(|()| Workload::Upload(Upload(size.into_inner())))
        } else if let Some(objects) = self.objects {
            objects::check(&objects)?;
            Ok(Workload::Objects(Objects { list: objects.into_inner(), direction }))
        } else if let Some(page) = self.web_page {
            web_page::read(page).map(Workload::WebPage)
        } else if let Some(video) = self.video {
            video.get_ref().check(limit).map(|()| Workload::Video(video.into_inner()))
        } else if let Some(abr) = self.abr {
            abr.get_ref().check(limit).map(|()| Workload::Abr(Box::new(abr.into_inner())))
        } else if let Some(bulk) = self.bulk {
            bulk.get_ref().check(limit).map(|()| Workload::Bulk(bulk.into_inner()))
        } else if let Some(cbr) = self.cbr {
            cbr.get_ref().check(limit).map(|()| Workload::Cbr(cbr.into_inner()))
        } else if let Some(call) = self.call {
            call.get_ref().check(limit).map(|()| Workload::Call(Box::new(call.into_inner())))
        } else if let Some(ping) = self.ping {
            ping.get_ref().check(limit).map(|()| Workload::Ping(ping.into_inner()))
        } else if let Some(probe) = self.probe {
            probe.get_ref().check(limit).map(|()| Workload::Probe(probe.into_inner()))
        } else if let Some(test) = self.responsiveness {
            test.get_ref().check(limit).map(|()| Workload::Responsiveness(test.into_inner()))
        } else if let Some(external) = external {
            external.get_ref().check(external.span())?;
            Ok(Workload::External(external.into_inner()))
        } else {
            Err(Problem::new(span, "the flow has no workload"))
        }
    }
}

impl Workload {
    fn kind(&self) -> &dyn Kind {
        match self {
            Self::Download(kind) => kind,
            Self::Upload(kind) => kind,
            Self::Objects(kind) => kind,
            Self::WebPage(kind) => kind,
            Self::Video(kind) => kind,
            Self::Abr(kind) => kind.as_ref(),
            Self::Bulk(kind) => kind,
            Self::Cbr(kind) => kind,
            Self::Call(kind) => kind.as_ref(),
            Self::Ping(kind) => kind,
            Self::Probe(kind) => kind,
            Self::Responsiveness(kind) => kind,
            Self::External(kind) => kind,
        }
    }

    /// Returns the workload's key in scenarios.
    pub fn name(&self) -> &'static str {
        self.kind().key()
    }

    /// Returns the transfer. `seed` determines the sizes of a web page.
    pub fn transfer(&self, seed: u64) -> Transfer {
        self.kind().transfer(seed)
    }

    /// Returns the distribution of its size, if that is drawn for each run.
    pub fn drawn(&self) -> Option<&Sizes> {
        self.kind().drawn()
    }

    /// Returns the clocks that can run the workload.
    pub fn clocks(&self) -> Clocks {
        self.kind().clocks()
    }

    /// Returns true if users of a population can have it.
    pub fn suits_users(&self) -> bool {
        self.kind().suits_users()
    }

    /// Returns true if it is keystrokes and their echoes.
    pub fn is_echo(&self) -> bool {
        matches!(self, Self::Probe(probe) if probe.is_echo())
    }

    /// Returns true if its bytes are known before it begins.
    pub fn has_size(&self) -> bool {
        self.kind().has_size()
    }
}

fn one_of(given: impl Iterator<Item = (&'static str, bool)>, span: Range<usize>) -> Check {
    let (mut names, mut found) = (Vec::new(), Vec::new());
    for (name, given) in given {
        names.push(name);
        found.extend(given.then_some(name));
    }
    match found.len() {
        1 => Ok(()),
        0 => Err(Problem::new(
            span,
            format!("the workload is missing here; allowed: one of {}", quoted(&names)),
        )),
        _ => {
            let message = format!(
                "{} exclude each other; allowed: one of {}",
                quoted(&found),
                quoted(&names)
            );
            Err(Problem::new(span, message))
        }
    }
}
