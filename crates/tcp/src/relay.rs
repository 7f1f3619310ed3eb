//! The split-connection proxy (RFC 3135 §3.1.1): what arrives on one connection is sent on another.

use crate::endpoint::{End, Endpoint, MakeController, Transmit};
use crate::receiver::Receiver;
use crate::segment::Segment;
use crate::settings::Settings;
use bentpipe_congestion::SenderMetrics;
use bentpipe_link::Ecn;
use bentpipe_units::{Bytes, Time};
use std::sync::Arc;

/// Which way a proxy looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Face {
    /// Towards the client, which opens.
    Client,
    /// Towards the server.
    Server,
}

/// One connection split in two, with a bounded buffer each way.
///
/// The client's SYN is answered here and now, and a connection towards the server is opened at the same time. A FIN or reset is passed on.
///
/// What arrives in order at one face is written to the other at once. It counts as taken from the first, and opens its window
/// again, only when the peer of the second has acknowledged it: both faces hold the same bytes, the window towards the one who
/// sends is the buffer less what is held, and a slow receiver is felt by the sender on the far side as a window that closes.
/// For a path to be full, the buffer must therefore hold at least its rate times the longer of the two round trips.
///
/// Call order as for [`crate::Endpoint`].
#[derive(Debug)]
pub struct Relay {
    client: Endpoint,
    /// From the client's SYN on.
    server: Option<Endpoint>,
    /// Until then.
    outward: Option<Outward>,
    /// Whether the FIN of the one was passed on to the other: to the client, to the server.
    finished: [bool; 2],
    /// Most bytes that were held and went out at the client's face, and at the server's.
    most: [u64; 2],
}

/// What the face towards the server is made of.
struct Outward {
    settings: Arc<Settings>,
    make: MakeController,
    metrics: Option<SenderMetrics>,
}

impl std::fmt::Debug for Outward {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outward").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Relay {
    /// A proxy that waits for the client's SYN. `settings` and `make` are of its two faces: towards the client, towards the server.
    /// `buffer`: bytes it holds at most in each direction, received and not yet acknowledged by where they go. It takes the place
    /// of the sizes of buffers in `settings`; it is there from the beginning and all of it is advertised.
    pub fn new(
        now: Time,
        settings: [Arc<Settings>; 2],
        make: [MakeController; 2],
        metrics: [Option<SenderMetrics>; 2],
        buffer: Bytes,
    ) -> Self {
        let [inward, outward] = settings.map(|settings| Arc::new(buffered(&settings, buffer)));
        let [make_inward, make_outward] = make;
        let [probe_inward, probe_outward] = metrics;
        Self {
            client: Endpoint::listen(now, inward, make_inward, probe_inward),
            server: None,
            outward: Some(Outward { settings: outward, make: make_outward, metrics: probe_outward }),
            finished: [false; 2],
            most: [0; 2],
        }
    }

    /// Takes a segment that arrived at `face`.
    pub fn handle_segment(&mut self, now: Time, face: Face, segment: &Segment, ecn: Ecn) {
        match face {
            Face::Client => {
                self.client.handle_segment(now, segment, ecn);
                let opens = segment.flags.syn && !segment.flags.ack && !segment.flags.rst;
                if opens
                    && self.client.end().is_none()
                    && let Some(Outward { settings, make, metrics }) = self.outward.take()
                {
                    self.server = Some(Endpoint::connect(now, settings, make, metrics));
                }
            }
            // Before the client's SYN nobody can answer what has not been asked.
            Face::Server => {
                if let Some(server) = &mut self.server {
                    server.handle_segment(now, segment, ecn);
                }
            }
        }
        self.pass_on(now);
    }

    /// Does what is due by `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        self.client.handle_timeout(now);
        if let Some(server) = &mut self.server {
            server.handle_timeout(now);
        }
        self.pass_on(now);
    }

    /// The next segment to send, and which way.
    pub fn poll_transmit(&mut self, now: Time) -> Option<(Face, Transmit)> {
        if let Some(transmit) = self.client.poll_transmit(now) {
            return Some((Face::Client, transmit));
        }
        let transmit = self.server.as_mut()?.poll_transmit(now)?;
        Some((Face::Server, transmit))
    }

    /// When to call [`Self::handle_timeout`].
    pub fn next_timeout(&self) -> Option<Time> {
        let server = self.server.as_ref().and_then(Endpoint::next_timeout);
        self.client.next_timeout().into_iter().chain(server).min()
    }

    /// Bytes held that go out at `face`, now.
    pub fn held(&self, face: Face) -> u64 {
        let acknowledged = self.server.as_ref().map_or(0, Endpoint::acknowledged);
        let received = self.server.as_ref().map_or(0, Endpoint::received);
        match face {
            Face::Client => received.saturating_sub(self.client.acknowledged()),
            Face::Server => self.client.received().saturating_sub(acknowledged),
        }
    }

    /// The most that were held.
    pub fn most_held(&self, face: Face) -> u64 {
        let [client, server] = self.most;
        match face {
            Face::Client => client,
            Face::Server => server,
        }
    }

    /// How both connections ended, once both have.
    pub fn end(&self) -> Option<End> {
        let ends = (self.client.end()?, self.server.as_ref()?.end()?);
        Some(match ends {
            (End::Closed, other) | (other, End::Closed) => other,
            // The one that timed out is why the other was reset.
            (End::TimedOut, _) | (_, End::TimedOut) => End::TimedOut,
            (End::Reset, End::Reset) => End::Reset,
        })
    }

    /// Lets each face know what has happened at the other.
    fn pass_on(&mut self, now: Time) {
        self.most[0] = self.most[0].max(self.held(Face::Client));
        self.most[1] = self.most[1].max(self.held(Face::Server));
        let Some(server) = &mut self.server else { return };
        let [to_client, to_server] = &mut self.finished;
        pass(now, &mut self.client, server, to_server);
        pass(now, server, &mut self.client, to_client);
    }
}

/// Settings of a face, with `buffer` for each of its buffers.
fn buffered(settings: &Settings, buffer: Bytes) -> Settings {
    let whole = Settings {
        receive_buffer: buffer,
        receive_buffer_start: buffer,
        window_share: 1000,
        autotune: false,
        send_buffer: buffer,
        ..settings.clone()
    };
    // The field of the window is rounded up, by less than its unit (RFC 7323 §2.4); what arrives on that account is held, too.
    let unit = Bytes::new((1 << Receiver::window_scale(&whole)) - 1);
    let window = buffer.saturating_sub(unit);
    Settings { receive_buffer: window, receive_buffer_start: window, ..whole }
}

/// Passes data, acknowledgements and the end from one connection on to the other. `finished`: whether the FIN was.
fn pass(now: Time, from: &mut Endpoint, to: &mut Endpoint, finished: &mut bool) {
    let arrived = from.received().saturating_sub(to.written());
    if arrived > 0 {
        to.write(now, arrived);
    }
    let done = to.acknowledged().saturating_sub(from.consumed());
    if done > 0 {
        from.consume(now, done);
    }
    if !*finished && from.peer_finished() && to.written() == from.received() {
        *finished = true;
        to.finish(now);
    }
    if matches!(from.end(), Some(End::Reset | End::TimedOut)) && to.end().is_none() {
        to.reset(now);
    }
}
