//! `web_page`: objects that depend on each other, with the sizes of the median web page or those of
//! an HTTP Archive.

use super::clocks::Clocks;
use super::kind::Kind;
use super::transfer::{PlannedObject, Transfer};
use crate::error::Problem;
use bentpipe_results::Direction;
use bentpipe_tcp::http::{Names, Page, PageObject, page};
use bentpipe_units::Span;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde_spanned::Spanned;
use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

const FORMATS: &str = "a number of objects from 1 to 1000, or a table such as \
    { har = \"page.har\" }";

/// Largest round trip to a resolver behind the path: a question over UDP waits 1 s at first.
const MAX_RESOLVER_RTT: Span = Span::from_secs(1);

/// A web page.
#[derive(Debug, Clone)]
pub enum WebPage {
    /// A synthetic page with this number of objects, all from one server.
    Synthetic(usize),
    /// The page of an HTTP Archive.
    Archive(ArchivePage),
}

/// The page of an HTTP Archive, whose file is read after the scenario.
#[derive(Debug, Clone)]
pub struct ArchivePage {
    /// The file, relative to the scenario.
    pub file: PathBuf,
    /// Where its objects come from.
    pub origins: Origins,
    /// How the client learns addresses.
    pub dns: Dns,
    /// Round trip between the server's end of the path and the resolver.
    pub resolver_rtt: Span,
    /// The page, once the file has been read.
    pub page: Option<Arc<Page>>,
}

/// Value of the key: a number or a table.
#[derive(Debug, Clone)]
pub enum WebPageKey {
    /// Objects of a synthetic page.
    Count(i64),
    /// The page of a file.
    Table(Table),
}

/// The page of an HTTP Archive (HAR 1.2), as browsers and WebPageTest export them.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "WebPageTable")]
pub struct Table {
    /// The file, relative to the scenario.
    har: PathBuf,
    /// Where its objects come from; `separate` by default.
    #[serde(default)]
    origins: Origins,
    /// How the client learns the addresses of origins; `udp` by default.
    #[serde(default)]
    dns: Dns,
    /// Round trip between the server's end of the path and the resolver; 0 s by default.
    #[schemars(with = "Option<Span>")]
    resolver_rtt: Option<Spanned<Span>>,
}

/// Where the objects of a page come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Origins {
    /// Each of the recorded hosts is a server with connections, tickets and a path memory of its
    /// own. Hosts that had the same address are one.
    #[default]
    Separate,
    /// One server has all.
    One,
}

/// How a client learns the address of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Dns {
    /// By an exchange of DNS over UDP with a resolver at the server's end of the path, before the
    /// first connection to each origin. What a flow has learned it knows in later visits.
    #[default]
    Udp,
    /// By DNS over HTTPS (RFC 8484): a request of HTTP/3 for each origin, over a connection to the
    /// resolver that the flow keeps.
    Doh,
    /// It knows it.
    None,
}

pub(super) fn read(key: Spanned<WebPageKey>) -> Result<WebPage, Problem> {
    let span = key.span();
    match key.into_inner() {
        WebPageKey::Count(count) => match usize::try_from(count) {
            Ok(count @ 1..=1000) => Ok(WebPage::Synthetic(count)),
            _ => {
                let message = format!("`web_page` of {count} is out of range; allowed: 1 to 1000");
                Err(Problem::new(span, message))
            }
        },
        WebPageKey::Table(Table { har, origins, dns, resolver_rtt }) => {
            let rtt = resolver_rtt.map_or(Ok(Span::ZERO), |rtt| self::resolver_rtt(&rtt, dns))?;
            let page = ArchivePage { file: har, origins, dns, resolver_rtt: rtt, page: None };
            Ok(WebPage::Archive(page))
        }
    }
}

/// Checks the round trip to the resolver.
fn resolver_rtt(rtt: &Spanned<Span>, dns: Dns) -> Result<Span, Problem> {
    if dns == Dns::None {
        let message = "`resolver_rtt` has no effect without a resolver; allowed beside \
            dns = \"udp\" or \"doh\"";
        return Err(Problem::new(rtt.span(), message));
    }
    if *rtt.get_ref() > MAX_RESOLVER_RTT {
        let message =
            format!("`resolver_rtt` of {rtt} is out of range; allowed: 0 s to {MAX_RESOLVER_RTT}");
        return Err(Problem::new(rtt.span(), message));
    }
    Ok(*rtt.get_ref())
}

impl WebPage {
    /// The clocks that can run a synthetic page.
    pub(super) const CLOCKS: Clocks = Clocks::RealTcp;

    /// Returns the page; `None` before its file has been read. `seed` is that of the scenario.
    pub fn page(&self, seed: u64) -> Option<Arc<Page>> {
        match self {
            Self::Synthetic(count) => Some(Arc::new(Page {
                origins: vec!["server".to_owned()],
                objects: page(*count, seed),
                names: Names::Known,
                resolver_rtt: Span::ZERO,
            })),
            Self::Archive(archive) => archive.page.clone(),
        }
    }
}

impl Kind for WebPage {
    fn key(&self) -> &'static str {
        "web_page"
    }

    fn clocks(&self) -> Clocks {
        match self {
            Self::Synthetic(_) => Self::CLOCKS,
            Self::Archive(_) => Clocks::Virtual,
        }
    }

    /// `seed` is that of the scenario, so the page is the same in every run.
    fn transfer(&self, seed: u64) -> Transfer {
        let planned = |page: &PageObject| PlannedObject {
            name: page.name.clone(),
            bytes: page.object.bytes,
            after: page.object.after.clone(),
            delay: page.object.delay,
            pieces: None,
        };
        let page = self.page(seed);
        let objects = page.iter().flat_map(|page| &page.objects).map(planned);
        Transfer { direction: Direction::Download, objects: objects.collect(), duration: None }
    }

    fn suits_users(&self) -> bool {
        true
    }
}

impl<'de> Deserialize<'de> for WebPageKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = WebPageKey;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(FORMATS)
            }
            fn visit_i64<E: de::Error>(self, count: i64) -> Result<WebPageKey, E> {
                Ok(WebPageKey::Count(count))
            }
            fn visit_u64<E: de::Error>(self, count: u64) -> Result<WebPageKey, E> {
                Ok(WebPageKey::Count(i64::try_from(count).unwrap_or(i64::MAX)))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<WebPageKey, A::Error> {
                Table::deserialize(MapAccessDeserializer::new(map)).map(WebPageKey::Table)
            }
        }
        deserializer.deserialize_any(V)
    }
}

impl JsonSchema for WebPageKey {
    fn schema_name() -> Cow<'static, str> {
        "WebPage".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Web page: a number of objects, or the page of a file",
            "anyOf": [
                { "type": "integer", "minimum": 1, "maximum": 1000 },
                generator.subschema_for::<Table>(),
            ],
        })
    }
}
