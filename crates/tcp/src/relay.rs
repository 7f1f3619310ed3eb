//! The split-connection proxy (PEP, RFC 3135 §3.1.1), which forwards the data of one connection on
//! another.

use crate::endpoint::{CloseReason, Endpoint, Transmit};
use crate::receiver::Receiver;
use crate::segment::Segment;
use crate::settings::{MakeController, TcpSettings};
use bentpipe_congestion::SenderMetrics;
use bentpipe_link::Ecn;
use bentpipe_units::{Bytes, Time};
use std::sync::Arc;

/// One of a proxy's two connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leg {
    /// The connection to the client.
    Client,
    /// The connection to the server.
    Server,
}

/// A connection split in two, with a bounded buffer per direction.
///
/// The proxy answers the client's SYN at once and opens a connection to the server at the same
/// time. FINs and resets are forwarded.
///
/// Data received in order on one leg is written to the other at once. It counts as read on the
/// first leg, and opens its window, only when the second leg's peer has acknowledged it: both legs
/// hold the same bytes, the advertised window is the buffer minus the bytes held, and a slow
/// receiver closes the sender's window. To fill a path, the buffer needs its rate times the longer
/// of the two RTTs.
///
/// The call order is that of [`crate::Endpoint`].
#[derive(Debug)]
pub struct Relay {
    client: Endpoint,
    /// Created at the client's SYN.
    server: Option<Endpoint>,
    /// Parameters of the server's connection until it is created.
    outward: Option<Outward>,
    /// Whether the FIN was forwarded to the client and to the server.
    finished: [bool; 2],
    /// Maximum bytes held for the client's leg and for the server's.
    most: [u64; 2],
}

/// Parameters of the leg to the server.
struct Outward {
    settings: Arc<TcpSettings>,
    make: MakeController,
    metrics: Option<SenderMetrics>,
}

impl std::fmt::Debug for Outward {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outward").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Relay {
    /// Creates a proxy that waits for the client's SYN.
    ///
    /// `settings` and `make` are those of the two legs: to the client, to the server. `buffer` is
    /// the maximum number of bytes held per direction, received and not yet acknowledged by the
    /// destination. It replaces the buffer sizes of `settings`, does not grow, and is advertised in
    /// full.
    pub fn new(
        now: Time,
        settings: [Arc<TcpSettings>; 2],
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
            outward: Some(Outward {
                settings: outward,
                make: make_outward,
                metrics: probe_outward,
            }),
            finished: [false; 2],
            most: [0; 2],
        }
    }

    /// Processes a segment received on `leg`.
    pub fn handle_segment(&mut self, now: Time, leg: Leg, segment: &Segment, ecn: Ecn) {
        match leg {
            Leg::Client => {
                self.client.handle_segment(now, segment, ecn);
                let opens = segment.flags.syn && !segment.flags.ack && !segment.flags.rst;
                if opens
                    && self.client.end().is_none()
                    && let Some(Outward { settings, make, metrics }) = self.outward.take()
                {
                    self.server = Some(Endpoint::connect(now, settings, make, metrics));
                }
            }
            // Before the client's SYN, no segment of the server can be a response.
            Leg::Server => {
                if let Some(server) = &mut self.server {
                    server.handle_segment(now, segment, ecn);
                }
            }
        }
        self.pass_on(now);
    }

    /// Handles timers that expired by `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        self.client.handle_timeout(now);
        if let Some(server) = &mut self.server {
            server.handle_timeout(now);
        }
        self.pass_on(now);
    }

    /// Returns the next segment to send, and its leg.
    pub fn poll_transmit(&mut self, now: Time) -> Option<(Leg, Transmit)> {
        if let Some(transmit) = self.client.poll_transmit(now) {
            return Some((Leg::Client, transmit));
        }
        let transmit = self.server.as_mut()?.poll_transmit(now)?;
        Some((Leg::Server, transmit))
    }

    /// Returns when to call [`Self::handle_timeout`].
    pub fn next_timeout(&self) -> Option<Time> {
        let server = self.server.as_ref().and_then(Endpoint::next_timeout);
        self.client.next_timeout().into_iter().chain(server).min()
    }

    /// Returns the bytes currently held for `leg`.
    pub fn buffered(&self, leg: Leg) -> u64 {
        let acknowledged = self.server.as_ref().map_or(0, Endpoint::acknowledged);
        let received = self.server.as_ref().map_or(0, Endpoint::received);
        match leg {
            Leg::Client => received.saturating_sub(self.client.acknowledged()),
            Leg::Server => self.client.received().saturating_sub(acknowledged),
        }
    }

    /// Returns the maximum bytes held for `leg`.
    pub fn max_buffered(&self, leg: Leg) -> u64 {
        let [client, server] = self.most;
        match leg {
            Leg::Client => client,
            Leg::Server => server,
        }
    }

    /// Returns how the connections ended, once both have.
    pub fn end(&self) -> Option<CloseReason> {
        let ends = (self.client.end()?, self.server.as_ref()?.end()?);
        Some(match ends {
            (CloseReason::Closed, other) | (other, CloseReason::Closed) => other,
            // The connection that timed out caused the reset of the other.
            (CloseReason::TimedOut, _) | (_, CloseReason::TimedOut) => CloseReason::TimedOut,
            (CloseReason::Reset, CloseReason::Reset) => CloseReason::Reset,
        })
    }

    /// Forwards data, FINs and resets between the legs.
    fn pass_on(&mut self, now: Time) {
        self.most[0] = self.most[0].max(self.buffered(Leg::Client));
        self.most[1] = self.most[1].max(self.buffered(Leg::Server));
        let Some(server) = &mut self.server else { return };
        let [to_client, to_server] = &mut self.finished;
        pass(now, &mut self.client, server, to_server);
        pass(now, server, &mut self.client, to_client);
    }
}

/// Returns the settings of a leg, with `buffer` for each of its buffers.
fn buffered(settings: &TcpSettings, buffer: Bytes) -> TcpSettings {
    let whole = TcpSettings {
        receive_buffer: buffer,
        receive_buffer_start: buffer,
        window_share: 1000,
        autotune: false,
        send_buffer: buffer,
        ..settings.clone()
    };
    // The window field is rounded up by less than its unit (RFC 7323 §2.4). Bytes that arrive
    // because of it are held as well.
    let unit = Bytes::new((1 << Receiver::window_scale(&whole)) - 1);
    let window = buffer.saturating_sub(unit);
    TcpSettings { receive_buffer: window, receive_buffer_start: window, ..whole }
}

/// Forwards data, acknowledgements and the FIN from one leg to the other. `finished` is true once
/// the FIN was forwarded.
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
    if matches!(from.end(), Some(CloseReason::Reset | CloseReason::TimedOut)) && to.end().is_none()
    {
        to.reset(now);
    }
}
