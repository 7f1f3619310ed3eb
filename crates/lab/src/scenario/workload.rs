//! What is transferred: one `[workload]`, or several `[[flow]]`s.

use super::transport;
use bentpipe_quic::Handshake;
use bentpipe_units::{Bytes, Rate, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_spanned::Spanned;

/// What one flow transfers. One of `download`, `upload`, `objects`, `page`, `lasts` or `visits` says it.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Where the client is, on a path with an orbit: a station, or a city.
    #[schemars(with = "Option<String>")]
    pub from: Option<Spanned<String>>,
    /// Where the server is, likewise.
    #[schemars(with = "Option<String>")]
    pub to: Option<Spanned<String>>,
    /// One object of this size from the server to the client.
    #[schemars(with = "Option<Bytes>")]
    pub download: Option<Spanned<Bytes>>,
    /// One object of this size from the client to the server.
    #[schemars(with = "Option<Bytes>")]
    pub upload: Option<Spanned<Bytes>>,
    /// Several objects that start together, in the direction of `direction`.
    #[schemars(with = "Option<Vec<Object>>")]
    pub objects: Option<Spanned<Vec<Object>>>,
    /// A web page of so many objects that depend on each other, sized as those of the median page are (docs: TCP and HTTP).
    #[schemars(with = "Option<u64>", range(min = 1, max = 1000))]
    pub page: Option<Spanned<u64>>,
    /// A flow that always has something to send, in the direction of `direction`: complete after so long, whatever has arrived by then.
    #[schemars(with = "Option<Span>")]
    pub lasts: Option<Spanned<Span>>,
    /// Direction of `objects` and `lasts`; download where left out.
    #[schemars(with = "Option<Direction>")]
    pub direction: Option<Spanned<Direction>>,
    /// The connections that the client makes, one after another.
    #[schemars(with = "Option<Vec<VisitSection>>")]
    pub visits: Option<Spanned<Vec<Spanned<VisitSection>>>>,
    /// Time between the first visit and the second, where `handshake = "0rtt"` implies them; 10 s where left out.
    #[schemars(with = "Option<Span>")]
    pub wait: Option<Spanned<Span>>,
    /// Each run draws the client's think time before its first packet from zero to this.
    pub think: Option<Span>,
}

/// Which way application data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the server to the client.
    #[default]
    Download,
    /// From the client to the server.
    Upload,
}

impl From<bentpipe_sim::Direction> for Direction {
    fn from(direction: bentpipe_sim::Direction) -> Self {
        match direction {
            bentpipe_sim::Direction::Download => Self::Download,
            bentpipe_sim::Direction::Upload => Self::Upload,
        }
    }
}
impl From<Direction> for bentpipe_sim::Direction {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::Download => Self::Download,
            Direction::Upload => Self::Upload,
        }
    }
}

/// One object to transfer.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Object {
    /// Name in results.
    pub name: String,
    /// Its size.
    #[schemars(with = "Bytes")]
    pub size: Spanned<Bytes>,
    /// Objects of the list that must be complete before it is asked for.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub after: Vec<Spanned<String>>,
    /// Time between the last of those and the request.
    pub delay: Option<Span>,
}

/// One connection of a sequence.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VisitSection {
    /// One object of this size from the server to the client.
    #[schemars(with = "Option<Bytes>")]
    pub download: Option<Spanned<Bytes>>,
    /// One object of this size from the client to the server.
    #[schemars(with = "Option<Bytes>")]
    pub upload: Option<Spanned<Bytes>>,
    /// Several objects that start together.
    #[schemars(with = "Option<Vec<Object>>")]
    pub objects: Option<Spanned<Vec<Object>>>,
    /// A web page of so many objects that depend on each other, sized as those of the median page are (docs: TCP and HTTP).
    #[schemars(with = "Option<u64>", range(min = 1, max = 1000))]
    pub page: Option<Spanned<u64>>,
    /// A flow that always has something to send, in the direction of `direction`: complete after so long, whatever has arrived by then.
    #[schemars(with = "Option<Span>")]
    pub lasts: Option<Spanned<Span>>,
    /// Direction of `objects` and `lasts`; download where left out.
    #[schemars(with = "Option<Direction>")]
    pub direction: Option<Spanned<Direction>>,
    /// `1rtt` for the first visit, the variant's for later ones where left out.
    #[schemars(with = "Option<Handshake>")]
    pub handshake: Option<Spanned<Handshake>>,
    /// Time since the previous visit ended; zero where left out.
    pub wait: Option<Span>,
    /// False where this visit only prepares the next.
    pub report: Option<bool>,
}

transport::keys! {
    /// One of several flows. Its transport keys win over the variant's.
    pub struct Flow {
        /// Name in results, lower-case letters, digits and hyphens.
        #[schemars(with = "String")]
        pub name: Spanned<String>,
        /// Where its client is, on a path with an orbit: a station, or a city.
        #[schemars(with = "Option<String>")]
        pub from: Option<Spanned<String>>,
        /// Where its server is, likewise.
        #[schemars(with = "Option<String>")]
        pub to: Option<Spanned<String>>,
        /// Instead of `from` and `to`: as many flows as this, called NAME-000 and so on, between random pairs of the so many largest cities, there and back.
        #[schemars(with = "Option<u64>", range(min = 2))]
        pub cities: Option<Spanned<u64>>,
        /// When the flow's client begins, counted from the run's beginning; zero where left out. (`start` is the controller's.)
        pub at: Option<Span>,
        /// The terminal that it runs on, counted from 0.
        #[schemars(with = "Option<u64>")]
        pub terminal: Option<Spanned<usize>>,
        /// The server that it talks to; flows that name the same one share what that server remembers of its clients.
        pub server: Option<String>,
        /// One object of this size from the server to the client.
        #[schemars(with = "Option<Bytes>")]
        pub download: Option<Spanned<Bytes>>,
        /// One object of this size from the client to the server.
        #[schemars(with = "Option<Bytes>")]
        pub upload: Option<Spanned<Bytes>>,
        /// Several objects that start together, in the direction of `direction`.
        #[schemars(with = "Option<Vec<Object>>")]
        pub objects: Option<Spanned<Vec<Object>>>,
        /// A web page of so many objects that depend on each other, sized as those of the median page are (docs: TCP and HTTP).
        #[schemars(with = "Option<u64>", range(min = 1, max = 1000))]
        pub page: Option<Spanned<u64>>,
        /// A flow that always has something to send, in the direction of `direction`: complete after so long, whatever has arrived by then.
        #[schemars(with = "Option<Span>")]
        pub lasts: Option<Spanned<Span>>,
        /// Direction of `objects` and `lasts`; download where left out.
        #[schemars(with = "Option<Direction>")]
        pub direction: Option<Spanned<Direction>>,
        /// The connections that the client makes, one after another.
        #[schemars(with = "Option<Vec<VisitSection>>")]
        pub visits: Option<Spanned<Vec<Spanned<VisitSection>>>>,
        /// Time between the implied first visit and the second; 10 s where left out.
        #[schemars(with = "Option<Span>")]
        pub wait: Option<Spanned<Span>>,
        /// Each run draws the client's think time before its first packet from zero to this.
        pub think: Option<Span>,
        /// The first and the last hop that the flow crosses, counted from the client; the whole path where left out.
        #[schemars(with = "Option<Vec<String>>")]
        pub hops: Option<Spanned<Vec<Spanned<String>>>>,
        /// Of `transport = "cbr"`: rate of its IP packets while it sends.
        #[schemars(with = "Option<Rate>")]
        pub rate: Option<Spanned<Rate>>,
        /// Of `cbr` and `ping`: size of the IP packets; `path.mtu`, or 84 B for a ping, where left out.
        #[schemars(with = "Option<Bytes>")]
        pub packet: Option<Spanned<Bytes>>,
        /// Of `cbr`: mean time of a burst. Bursts and silences take exponentially distributed times.
        #[schemars(with = "Option<Span>")]
        pub on: Option<Spanned<Span>>,
        /// Of `cbr`: mean time between two bursts.
        #[schemars(with = "Option<Span>")]
        pub off: Option<Spanned<Span>>,
        /// Of `ping`: time between two.
        #[schemars(with = "Option<Span>")]
        pub interval: Option<Spanned<Span>>,
    }
}

impl Flow {
    /// The workload keys alone.
    pub fn workload_keys(&self) -> Workload {
        Workload {
            from: self.from.clone(),
            to: self.to.clone(),
            download: self.download.clone(),
            upload: self.upload.clone(),
            objects: self.objects.clone(),
            page: self.page.clone(),
            lasts: self.lasts.clone(),
            direction: self.direction.clone(),
            visits: self.visits.clone(),
            wait: self.wait.clone(),
            think: self.think,
        }
    }
}
