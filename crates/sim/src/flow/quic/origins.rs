//! Connections of a page to its other origins, each a host of its own.

use super::connection::configure;
use super::endpoints::Endpoints;
use super::recording::Recording;
use crate::app;
use crate::datagram::Role;
use crate::error::SimError;
use crate::flow::current_visit::VisitStart;
use crate::flow::progress::FlowProgress;
use crate::flow::shared::Shared;
use crate::outcome::QlogFile;
use crate::visit_progress::VisitProgress;
use bentpipe_quic::{Accept, Conn, ConnectionConfig, Handshake, QuicSettings};
use bentpipe_units::Time;
use std::net::SocketAddr;

/// The other origins of a visit's page.
#[derive(Default)]
pub struct Origins {
    /// By number, from 1.
    origins: Vec<Origin>,
    /// Whether a server of the page takes its time.
    servers_wait: bool,
    handshake: Handshake,
    /// The client's address.
    client: Option<SocketAddr>,
}

/// An origin.
struct Origin {
    name: String,
    recording: Recording,
    /// What both ends need for the connection, until it is opened.
    waiting: Option<(ConnectionConfig, Accept)>,
    conn: Option<Conn>,
}

impl Origins {
    /// Prepares the connections of a visit with `settings`, whose first one `first` records.
    ///
    /// # Errors
    /// QUIC does not support a setting, or a host has no tokens.
    pub fn new(
        settings: &QuicSettings,
        endpoints: &Endpoints,
        start: &VisitStart,
        progress: &FlowProgress,
        first: &Recording,
        shared: &Shared,
    ) -> Result<Self, SimError> {
        let names = start.visit.page.iter().flat_map(|page| page.origins.iter().enumerate());
        let mut origins = Vec::new();
        for (number, name) in names.skip(1) {
            let flow = &progress.spec.name;
            let recording = first.of_origin(flow, start, number, settings.connection_window);
            let configure =
                |side| configure((side, number), settings, start, progress, &recording, shared);
            let (config, attachments) = configure(Role::Server)?.server(&endpoints.server_config);
            let (own, visit) = (settings.clone(), start.progress.clone());
            let reports = progress.limits().zip(Some(recording.metrics().clone()));
            let app = Box::new(move |conn: Conn| {
                if let Some((limits, metrics)) = reports {
                    let validated = conn.clone();
                    // Until then nothing waits for its sender.
                    conn.spawn(async move {
                        if validated.handshaken().await.is_ok() {
                            metrics.report_limits(limits, number as u32);
                        }
                    });
                }
                app::server(conn, &own, visit)
            });
            let waiting = Some((configure(Role::Client)?, Accept { config, attachments, app }));
            origins.push(Origin { name: name.clone(), recording, waiting, conn: None });
        }
        let mut objects = start.visit.page.iter().flat_map(|page| &page.objects);
        Ok(Self {
            origins,
            servers_wait: objects.any(|one| !one.object.source.server_time.is_zero()),
            handshake: start.visit.handshake,
            client: Some(progress.address(Role::Client)),
        })
    }

    /// Opens the connections that are due from a client to the server at `remote`.
    pub fn open(
        &mut self,
        now: Time,
        (settings, remote): (&QuicSettings, SocketAddr),
        endpoints: &mut Endpoints,
        progress: &VisitProgress,
    ) {
        let is_due = |(number, due): (usize, Time)| (number > 0 && due <= now).then_some(number);
        let due: Vec<usize> = match &progress.state().page {
            Some(page) => page.to_open().filter_map(is_due).collect(),
            None => return,
        };
        for number in due {
            self.connect(now, number, (settings, remote), endpoints, progress);
        }
    }

    fn connect(
        &mut self,
        now: Time,
        number: usize,
        (settings, mut remote): (&QuicSettings, SocketAddr),
        endpoints: &mut Endpoints,
        progress: &VisitProgress,
    ) {
        let (Some(origin), Some(client)) = (self.origins.get_mut(number - 1), self.client) else {
            return;
        };
        let Some((config, accept)) = origin.waiting.take() else { return };
        progress.state().page.as_mut().map(|page| page.opened(number, now));
        endpoints.accept_from(client.port().wrapping_add(number as u16), accept);
        remote.set_port(remote.port().wrapping_add(number as u16));
        let state = endpoints.origin(&origin.name);
        let parts = state.parts(self.handshake);
        let (mut config, attachments) = config.client(parts.crypto.clone());
        config
            .initial_dst_cid_provider(parts.initial_cids.clone())
            .token_store(state.tokens.clone());
        let (settings, visit) = (settings.clone(), progress.clone());
        let app = move |conn| app::client(conn, &settings, visit, number);
        let name = app::SERVER_NAME;
        match endpoints.client.connect(now, config, remote, name, attachments, app) {
            Ok(conn) => origin.conn = Some(conn),
            Err(error) => {
                progress.failed(format!("no connection to {}: {error}", origin.name));
            }
        }
    }

    /// Returns true if a server of the page takes its time.
    pub fn servers_wait(&self) -> bool {
        self.servers_wait
    }

    /// Returns true if there are other origins.
    pub fn any(&self) -> bool {
        !self.origins.is_empty()
    }

    /// Returns the number of connections that have been opened.
    pub fn connections(&self) -> usize {
        self.origins.iter().filter(|origin| origin.conn.is_some()).count()
    }

    /// Adds what these connections have done to the record of the first, and tells the page how
    /// long their handshakes took.
    pub fn report(&self, first: &Recording, progress: &VisitProgress) -> Vec<QlogFile> {
        let mut qlog = Vec::new();
        for (index, origin) in self.origins.iter().enumerate() {
            first.metrics().stats().absorb(&origin.recording.metrics().stats());
            qlog.extend(origin.recording.take_qlog());
            let connected = origin.conn.as_ref().and_then(Conn::connected_at);
            if let (Some(at), Some(page)) = (connected, &mut progress.state().page) {
                page.connected(index + 1, 0, at);
            }
        }
        qlog
    }
}
