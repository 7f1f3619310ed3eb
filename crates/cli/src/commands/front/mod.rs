//! `bentpipe front`: HTTP/3 beside the web server of a site.

mod announce;
mod check;
mod firewall;
mod gain;

use crate::args::Front;
use crate::output;
use crate::service::messages::Messages;
use crate::service::server::{
    self, Announcement, ExtraDescriptors, Failure, Hangup, Reload, usage,
};
use crate::service::upstream;
use crate::status::USAGE;
use bentpipe_lab::LabError;
use bentpipe_net::front::{CertificateStore, Reloaded, Sites, SitesError};
use bentpipe_net::serve::{CertificateResolver, Limits, Server};
use bentpipe_net::{RealClock, RoutableIds};
use bentpipe_units::Span;
use check::Report;
use std::collections::BTreeMap;
use std::path::PathBuf;
use tokio::time::{Duration, Instant, sleep_until};

/// Most upstreams of hosts. Our choice: each has its own connections.
const MAX_SITES: usize = 64;

/// Shortest time between two looks for changed certificates. Our choice.
const MIN_PAUSE: Duration = Duration::from_secs(1);

/// Directories in which other programs keep certificates, if they exist.
const KNOWN_PLACES: [&str; 4] = [
    "/etc/letsencrypt/live",
    "/var/lib/caddy/.local/share/caddy/certificates",
    "/root/.acme.sh",
    "/etc/apache2/md/domains",
];

/// Serves until a signal stops it.
pub fn run(args: &Front) -> Result<u8, LabError> {
    if !args.gain.is_empty() {
        return gain::run(&args.gain, args.json);
    }
    Ok(match prepare(args) {
        Ok((sites, limits)) => server::block_on(serve(args, sites, limits)),
        Err(reason) => output::refuse(&reason, USAGE),
    })
}

fn prepare(args: &Front) -> Result<(Sites, Limits), String> {
    let groups = by_host(&args.upstream);
    if groups.len() > MAX_SITES {
        return Err(format!("upstreams of {} hosts; allowed: 1 to {MAX_SITES}", groups.len()));
    }
    let connections = upstream::connections(&args.options, groups.len());
    // Unused connections are kept for each upstream as well.
    let descriptors = connections.saturating_mul(groups.len()).saturating_mul(2);
    let limits = server::limits(&args.server, ExtraDescriptors::Upstream(descriptors))?;
    Ok((sites(args, &groups, connections)?, limits))
}

/// Returns the URLs of upstreams by their host, which is empty for those of all others.
fn by_host(upstreams: &[String]) -> BTreeMap<&str, Vec<&str>> {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for text in upstreams {
        let split = text.split_once('=').filter(|(host, _)| !host.contains([':', '/']));
        let (host, url) = split.unwrap_or(("", text));
        groups.entry(host).or_default().push(url);
    }
    groups
}

fn sites(
    args: &Front,
    groups: &BTreeMap<&str, Vec<&str>>,
    connections: usize,
) -> Result<Sites, String> {
    let servers = groups.iter().map(|(host, urls)| Ok((*host, upstream::servers(urls)?)));
    let servers: Vec<_> = servers.collect::<Result<_, String>>()?;
    let https = servers.iter().any(|(_, servers)| servers.is_https());
    upstream::check_tls_options(&args.upstream, https, &args.options)?;
    let mut sites = Sites::default();
    for (host, servers) in servers {
        let upstream = upstream::with_options(servers, &args.options, connections)?;
        sites = if host.is_empty() {
            sites.with_default(upstream)
        } else {
            sites.with_host(host, upstream).map_err(|error: SitesError| error.to_string())?
        };
    }
    Ok(sites)
}

/// Returns the directories of certificates.
fn directories(args: &Front) -> Vec<PathBuf> {
    if !args.certs.is_empty() {
        return args.certs.clone();
    }
    KNOWN_PLACES.iter().map(PathBuf::from).filter(|place| place.is_dir()).collect()
}

async fn serve(args: &Front, sites: Sites, limits: Limits) -> Result<u8, Failure> {
    let messages = Messages::new(args.server.log);
    let directories = directories(args);
    if directories.is_empty() {
        let places = KNOWN_PLACES.join(", ");
        return Err(usage(&format!(
            "no directory of certificates is given, and none of these exists: {places}; allowed: \
             --certs DIR"
        )));
    }
    let mut store = CertificateStore::new(directories);
    let Reloaded { table, warnings, .. } = store.reload(RealClock::new().system());
    if !args.check {
        warnings.iter().for_each(|warning| messages.warn(warning));
    }
    let Some(table) = table.filter(|table| !table.is_empty() || args.check) else {
        let places: Vec<String> =
            store.directories().iter().map(|place| place.display().to_string()).collect();
        return Err(usage(&format!("no certificate can be used in {}", places.join(", "))));
    };
    if args.check {
        let now = RealClock::new().system();
        let report = Report::make(&sites, table, &store, args.listen, now).await;
        return report.print(args.json).map_err(|error| usage(&error));
    }
    let hosts = table.len();
    let builder = Server::front(sites, table).listen(args.listen);
    let builder = server::configure(builder, &args.server, limits, &messages, true);
    let builder = match args.holdback {
        Some(share) => builder.holdback(share),
        None => builder,
    };
    let builder = match routable_ids(args)? {
        Some(ids) => builder.routable_ids(ids),
        None => builder,
    };
    let announcement = Announcement {
        what: format!("{hosts} hosts of {}", args.upstream.join(", ")),
        versions: "HTTP/3",
        note: None,
        json: vec![("hosts", hosts.into())],
    };
    let files = Certificates::new(store, args.certs_interval, args.drain_reload);
    server::run(builder, &args.server, &messages, &announcement, files).await
}

/// Returns what makes connection IDs for a balancer, if there is one.
fn routable_ids(args: &Front) -> Result<Option<RoutableIds>, Failure> {
    let (Some(name), Some(key)) = (&args.server_id, &args.cid_key) else { return Ok(None) };
    RoutableIds::from_file(name, key, args.cid_config).map(Some).map_err(|error| usage(&error))
}

/// The certificates in directories.
struct Certificates {
    store: CertificateStore,
    interval: Duration,
    next: Instant,
    /// When it was looked for changes.
    looked: Instant,
    drain: Span,
}

impl Certificates {
    fn new(store: CertificateStore, interval: Span, drain: Span) -> Self {
        let interval = interval.into();
        let looked = Instant::now();
        Self { store, interval, next: looked + interval, looked, drain }
    }
}

impl Reload for Certificates {
    fn on_hangup(&self) -> Hangup {
        Hangup::HandOver(self.drain)
    }

    async fn due(&mut self, certificates: &CertificateResolver) {
        tokio::select! {
            () = sleep_until(self.next) => {}
            // A site's own server may have a new one, which is in a file by then.
            () = certificates.asked_for_unknown() => sleep_until(self.looked + MIN_PAUSE).await,
        }
    }

    fn reload(&mut self, certificates: &CertificateResolver, messages: &Messages) {
        let store = &mut self.store;
        let now = RealClock::new().system();
        let reloaded = tokio::task::block_in_place(|| store.reload(now));
        // Also when the next one expires. That second is its own.
        let end = store.next_end().and_then(|end| end.duration_since(now).ok());
        let end = end.map_or(self.interval, |left| left + Duration::from_secs(1));
        self.looked = Instant::now();
        self.next = self.looked + self.interval.min(end);
        reloaded.warnings.iter().for_each(|warning| messages.warn(warning));
        let Some(table) = reloaded.table else { return };
        let hosts = table.len();
        messages.info(&match reloaded.read {
            0 => format!("certificates have expired or are gone; {hosts} hosts"),
            read => format!("{read} certificates were read again; {hosts} hosts"),
        });
        certificates.replace_table(table);
    }
}
