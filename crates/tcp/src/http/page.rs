//! Synthetic web pages with realistic object counts, sizes and dependencies.
//!
//! Sizes and proportions are those of the median desktop page in the Web Almanac 2024 (HTTP
//! Archive, chapter Page Weight, crawl of October 2024): images 1,054 kB in 18 requests, scripts
//! 613 kB in 24, fonts 131 kB, style sheets 78 kB, HTML 18 kB. The numbers of requests for fonts
//! (4) and style sheets (8) are our choice. A page of 66 objects then has 2.3 MB on average; the
//! chapter gives 66 requests and 2,311 kB for the median mobile page, 71 and 2,652 kB for desktop.
//!
//! Sizes of one kind are log-normal around its average. Their spread, the references between
//! objects, and the time until a browser requests them are our choice.

use super::types::{Object, Source};
use bentpipe_link::random::{Stream, stream};
use bentpipe_units::{Bytes, Priority, Span};

/// A page: what its objects are, and where they come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Names of the origins, the first of which has the root.
    pub origins: Vec<String>,
    /// The objects, the first of which is the root.
    pub objects: Vec<PageObject>,
    /// How a client learns the addresses of the origins' names.
    pub names: Names,
    /// Round trip between the server's end of the path and the resolver of names.
    pub resolver_rtt: Span,
}

/// How a client learns the address of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Names {
    /// It knows it.
    #[default]
    Known,
    /// By DNS over UDP (RFC 1035).
    Udp,
    /// By DNS over HTTPS (RFC 8484), over HTTP/3.
    Https,
}

/// An object of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageObject {
    /// File name: `image-07.webp`.
    pub name: String,
    /// The object.
    pub object: Object,
    /// What it is.
    pub kind: ObjectKind,
    /// True if nothing is shown before it is complete.
    pub blocks_render: bool,
    /// True if the page is loaded without it.
    pub after_load: bool,
}

impl PageObject {
    /// Returns true if the user sees it: its bytes count for the byte index (Bocchi et al. 2016).
    pub fn is_visible(&self) -> bool {
        use ObjectKind::{Document, Font, Image};
        !self.after_load && matches!(self.kind, Document | Font | Image)
    }
}

/// What an object of a page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectKind {
    /// HTML.
    Document,
    /// A style sheet.
    Style,
    /// A script.
    Script,
    /// A font.
    Font,
    /// An image.
    Image,
    /// Video or audio.
    Media,
    /// What a script has fetched.
    Data,
    /// Anything else.
    Other,
}

impl ObjectKind {
    /// Returns the word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Document => "document",
            Self::Style => "style",
            Self::Script => "script",
            Self::Font => "font",
            Self::Image => "image",
            Self::Media => "media",
            Self::Data => "data",
            Self::Other => "other",
        }
    }

    /// Returns the priority that a browser gives it, if nothing else is known. The urgencies are
    /// those of Chromium's priorities for objects of a page's head; that documents, images and
    /// media are incremental follows from what can be shown of them.
    pub const fn priority(self) -> Priority {
        let (urgency, incremental) = match self {
            Self::Document => (0, true),
            Self::Style => (0, false),
            Self::Script | Self::Font | Self::Data => (1, false),
            Self::Image | Self::Media => (3, true),
            Self::Other => (3, false),
        };
        Priority { urgency, incremental }
    }
}

/// Objects of one kind.
struct Kind {
    kind: ObjectKind,
    stem: &'static str,
    suffix: &'static str,
    /// Requests for this kind on the source page.
    requests: usize,
    /// Total size in bytes.
    bytes: f64,
    /// Time between the referencing object and the request: parsing HTML, computing styles, running
    /// scripts.
    found: [Span; 3],
}

/// Referencing objects: indices into [`Kind::found`].
const HTML: usize = 0;
const STYLE: usize = 1;
const SCRIPT: usize = 2;

const FOUND: [Span; 3] = [Span::from_millis(5), Span::from_millis(10), Span::from_millis(50)];
const fn of_kind(
    kind: ObjectKind,
    (stem, suffix): (&'static str, &'static str),
    requests: usize,
    bytes: f64,
) -> Kind {
    Kind { kind, stem, suffix, requests, bytes, found: FOUND }
}
const ROOT: Kind =
    Kind { found: [Span::ZERO; 3], ..of_kind(ObjectKind::Document, ("index", "html"), 1, 18e3) };
const STYLES: Kind = of_kind(ObjectKind::Style, ("style", "css"), 8, 78e3);
const SCRIPTS: Kind = of_kind(ObjectKind::Script, ("script", "js"), 24, 613e3);
const FONTS: Kind = of_kind(ObjectKind::Font, ("font", "woff2"), 4, 131e3);
const IMAGES: Kind = of_kind(ObjectKind::Image, ("image", "webp"), 18, 1054e3);
/// Requests of the source page, without the root.
const REST: usize = STYLES.requests + SCRIPTS.requests + FONTS.requests + IMAGES.requests;

/// Standard deviation of the logarithm of sizes.
const SPREAD: f64 = 1.0;
/// Fraction of images referenced by the root, and of the rest by style sheets. Scripts fetch the
/// others.
const IMAGES_IN_ROOT: f64 = 0.6;
const IMAGES_IN_STYLES: f64 = 0.5;
/// Minimum size of an object, in bytes.
const SMALLEST: u64 = 100;

/// Returns a page of `objects` objects, starting with the root; deterministic for a `seed`.
///
/// The root references style sheets, scripts and most images; style sheets reference fonts and some
/// images; scripts fetch the other images.
pub fn page(objects: usize, seed: u64) -> Vec<PageObject> {
    let mut page = Vec::with_capacity(objects);
    let Some(rest) = objects.checked_sub(1) else { return page };
    let mut random = stream(seed, 0, "page");
    let share = |kind: &Kind| (rest * kind.requests + REST / 2) / REST;
    let (styles, scripts, fonts) = (share(&STYLES), share(&SCRIPTS), share(&FONTS));
    page.push(make(&ROOT, 1, None, &mut random));
    let root = Some((0, HTML));
    let one_of = |first: usize, count: usize, place: usize, random: &mut Stream| {
        if count == 0 { root } else { Some((first + random.below(count as u64) as usize, place)) }
    };
    for number in 1..=styles {
        page.push(make(&STYLES, number, root, &mut random));
    }
    for number in 1..=scripts {
        page.push(make(&SCRIPTS, number, root, &mut random));
    }
    for number in 1..=fonts {
        let style = one_of(1, styles, STYLE, &mut random);
        page.push(make(&FONTS, number, style, &mut random));
    }
    for number in 1..=rest.saturating_sub(styles + scripts + fonts) {
        let found = if random.chance(IMAGES_IN_ROOT) {
            root
        } else if random.chance(IMAGES_IN_STYLES) {
            one_of(1, styles, STYLE, &mut random)
        } else {
            one_of(1 + styles, scripts, SCRIPT, &mut random)
        };
        page.push(make(&IMAGES, number, found, &mut random));
    }
    page
}

fn make(
    kind: &Kind,
    number: usize,
    found: Option<(usize, usize)>,
    random: &mut Stream,
) -> PageObject {
    let mean = kind.bytes / kind.requests as f64;
    // The mean of a log-normal distribution exceeds its median by the factor exp(spread² / 2).
    let size = mean * libm::exp(SPREAD * random.normal() - SPREAD * SPREAD / 2.0);
    let name = match found {
        None => format!("{}.{}", kind.stem, kind.suffix),
        Some(_) => format!("{}-{number:02}.{}", kind.stem, kind.suffix),
    };
    let object = Object {
        bytes: Bytes::new((size as u64).max(SMALLEST)),
        after: found.iter().map(|(index, _)| *index).collect(),
        delay: found.map_or(Span::ZERO, |(_, place)| kind.found[place]),
        source: Source { priority: kind.kind.priority(), ..Source::default() },
    };
    // Nothing is shown before what the root references: all style sheets and scripts.
    let blocks_render =
        matches!(kind.kind, ObjectKind::Document | ObjectKind::Style | ObjectKind::Script);
    PageObject { name, object, kind: kind.kind, blocks_render, after_load: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_the_requested_objects_and_its_root_first() {
        for objects in [0, 1, 2, 3, 10, 70, 1000] {
            let page = page(objects, 1);
            assert_eq!(page.len(), objects);
            for (index, entry) in page.iter().enumerate() {
                assert_eq!(entry.object.after.is_empty(), index == 0, "{}", entry.name);
                assert!(entry.object.after.iter().all(|other| *other < index), "{}", entry.name);
            }
            let mut names: Vec<&str> = page.iter().map(|entry| entry.name.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), objects, "names must differ");
        }
    }

    #[test]
    fn the_seed_selects_the_page() {
        assert_eq!(page(70, 1), page(70, 1));
        assert_ne!(page(70, 1), page(70, 2));
    }

    #[test]
    fn pages_have_the_published_size_on_average() {
        let pages = 400;
        let total: u64 =
            (0..pages).flat_map(|seed| page(66, seed)).map(|entry| entry.object.bytes.get()).sum();
        let mean = total as f64 / pages as f64;
        // One HTML object, and 65 others in their proportions.
        let expected: f64 = 18e3 + 65.0 / 54.0 * (78e3 + 613e3 + 131e3 + 1054e3);
        // A page varies by about 0.4 MB: five standard errors, plus the rounding of object counts.
        assert!(
            (mean - expected).abs() < 5.0 * 0.4e6 / libm::sqrt(pages as f64) + 30e3,
            "{mean} {expected}"
        );
    }
}
