//! A QUIC client that sends what each step says, whatever HTTP/3 permits: the stack without an
//! application.

use super::frames;
use super::steps::{Content, Step};
use bentpipe_quic::Clock;
use bentpipe_quic::noq_proto::{
    self as noq, ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EndpointConfig,
    FourTuple, StreamId, VarInt,
};
use bentpipe_units::Time;
use bytes::{Bytes, BytesMut};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// A client with one connection at a time.
pub struct Peer {
    endpoint: noq::Endpoint,
    config: ClientConfig,
    clock: Clock,
    server: SocketAddr,
    pub address: SocketAddr,
    handle: ConnectionHandle,
    pub connection: Connection,
    /// All streams that this side opened.
    pub streams: Vec<StreamId>,
    /// Bytes read of each stream.
    pub received: BTreeMap<StreamId, u64>,
    /// Bytes that flow control did not yet permit.
    unsent: BTreeMap<StreamId, Vec<u8>>,
    /// Streams that end once their bytes are sent.
    finishing: Vec<StreamId>,
}

impl Peer {
    pub fn new(
        clock: Clock,
        config: ClientConfig,
        server: SocketAddr,
        address: SocketAddr,
        now: Time,
    ) -> Self {
        let mut endpoint = noq::Endpoint::new(Arc::new(EndpointConfig::default()), None, true);
        let (handle, connection) =
            endpoint.connect(clock.instant(now), config.clone(), server, "server.test").unwrap();
        Self {
            endpoint,
            config,
            clock,
            server,
            address,
            handle,
            connection,
            streams: Vec::new(),
            received: BTreeMap::new(),
            unsent: BTreeMap::new(),
            finishing: Vec::new(),
        }
    }

    /// Closes the connection and begins another.
    pub fn reconnect(&mut self, now: Time, code: u8) {
        let instant = self.clock.instant(now);
        self.connection.close(instant, VarInt::from(u32::from(code)), Bytes::new());
        let connected =
            self.endpoint.connect(instant, self.config.clone(), self.server, "server.test");
        (self.handle, self.connection) = connected.unwrap();
        self.streams.clear();
        self.received.clear();
        self.unsent.clear();
        self.finishing.clear();
    }

    /// Takes a step that concerns the connection alone.
    pub fn take(&mut self, step: &Step) {
        match step {
            Step::OpenRequest => drop(self.open(Dir::Bi)),
            Step::OpenUni => drop(self.open(Dir::Uni)),
            Step::Write { stream, what } => {
                if let Some(id) = self.stream(*stream) {
                    let bytes = frames::encode(what);
                    self.write(id, &bytes);
                }
            }
            Step::Finish { stream } => {
                if let Some(id) = self.stream(*stream) {
                    self.finish(id);
                }
            }
            Step::Reset { stream, code } => {
                if let Some(id) = self.stream(*stream) {
                    self.reset(id, *code);
                }
            }
            Step::Stop { stream, code } => {
                if let Some(id) = self.stream(*stream).filter(|id| id.dir() == Dir::Bi) {
                    let _ = self.connection.recv_stream(id).stop(VarInt::from(u32::from(*code)));
                }
            }
            Step::Read { stream } => {
                if let Some(id) = self.stream(*stream).filter(|id| id.dir() == Dir::Bi) {
                    self.read(id);
                }
            }
            Step::Ping => self.connection.ping(),
            Step::KeyUpdate if !self.connection.is_handshaking() => {
                self.connection.force_key_update();
            }
            _ => {}
        }
    }

    pub fn open(&mut self, dir: Dir) -> Option<StreamId> {
        let id = self.connection.streams().open(dir)?;
        self.streams.push(id);
        Some(id)
    }

    fn stream(&self, number: u8) -> Option<StreamId> {
        let count = self.streams.len();
        // The newest is number 0, since the last ones are the open ones.
        (count > 0).then(|| self.streams[count - 1 - usize::from(number) % count.min(16)])
    }

    pub fn write(&mut self, id: StreamId, bytes: &[u8]) {
        self.unsent.entry(id).or_default().extend_from_slice(bytes);
    }

    pub fn finish(&mut self, id: StreamId) {
        self.finishing.push(id);
    }

    pub fn reset(&mut self, id: StreamId, code: u8) {
        self.unsent.remove(&id);
        let _ = self.connection.send_stream(id).reset(VarInt::from(u32::from(code)));
    }

    /// Sends a GET, in full.
    pub fn get(&mut self, kilobytes: u16) -> Option<StreamId> {
        let id = self.open(Dir::Bi)?;
        self.write(id, &frames::encode(&Content::Get(kilobytes)));
        self.finish(id);
        Some(id)
    }

    /// Reads all that has arrived on a stream. Returns true at its end, however it ended.
    pub fn read(&mut self, id: StreamId) -> bool {
        let mut stream = self.connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return true };
        let ended = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => {
                    *self.received.entry(id).or_default() += chunk.bytes.len() as u64
                }
                Ok(None) => break true,
                Err(noq::ReadError::Blocked) => break false,
                Err(noq::ReadError::Reset(_)) => break true,
            }
        };
        let _ = chunks.finalize();
        ended
    }

    /// Writes what flow control permits now.
    pub fn push(&mut self) {
        let connection = &mut self.connection;
        self.unsent.retain(|id, bytes| {
            let mut stream = connection.send_stream(*id);
            match stream.write(bytes) {
                Ok(written) => {
                    bytes.drain(..written);
                    !bytes.is_empty()
                }
                Err(noq::WriteError::Blocked) => true,
                // Stopped by the server, or ended.
                Err(_) => {
                    let _ = stream.reset(VarInt::from(0u32));
                    false
                }
            }
        });
        let unsent = &self.unsent;
        self.finishing.retain(|id| {
            if unsent.contains_key(id) {
                return true;
            }
            let _ = connection.send_stream(*id).finish();
            false
        });
    }

    /// A datagram that arrived.
    pub fn handle(&mut self, now: Time, data: &[u8]) {
        let path = FourTuple::new(self.server, None);
        let mut response = Vec::new();
        let instant = self.clock.instant(now);
        let event = self.endpoint.handle(instant, path, None, BytesMut::from(data), &mut response);
        if let Some(DatagramEvent::ConnectionEvent(handle, event)) = event
            && handle == self.handle
        {
            self.connection.handle_event(event);
        }
        while self.connection.poll().is_some() {}
        self.exchange_events();
    }

    fn exchange_events(&mut self) {
        while let Some(event) = self.connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(self.handle, event) {
                self.connection.handle_event(event);
            }
        }
    }

    pub fn next_timeout(&self) -> Option<Time> {
        self.connection.poll_timeout().map(|instant| self.clock.time(instant))
    }

    pub fn handle_timeout(&mut self, now: Time) {
        self.connection.handle_timeout(self.clock.instant(now));
        while self.connection.poll().is_some() {}
        self.exchange_events();
    }

    /// Datagrams that may leave now.
    pub fn transmit(&mut self, now: Time) -> Vec<Vec<u8>> {
        self.push();
        let mut datagrams = Vec::new();
        let mut buffer = Vec::new();
        while let Some(transmit) =
            self.connection.poll_transmit(self.clock.instant(now), NonZeroUsize::MIN, &mut buffer)
        {
            datagrams.push(buffer[..transmit.size].to_vec());
            buffer.clear();
        }
        self.exchange_events();
        datagrams
    }
}
