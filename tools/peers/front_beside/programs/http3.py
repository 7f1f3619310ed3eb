"""An HTTP/3 client on aioquic: a connection, and a stream for each request."""

import asyncio

from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.events import ConnectionTerminated, StreamReset

LIMIT = 60


class Client(QuicConnectionProtocol):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.http, self.streams = H3Connection(self._quic), {}

    def quic_event_received(self, event):
        if isinstance(event, ConnectionTerminated):
            for queue in self.streams.values():
                queue.put_nowait(event)
        if isinstance(event, StreamReset) and event.stream_id in self.streams:
            self.streams[event.stream_id].put_nowait(event)
        for found in self.http.handle_event(event):
            if found.stream_id in self.streams:
                self.streams[found.stream_id].put_nowait(found)

    def ask(self, host, path, method="GET", fields=(), end=True):
        return Stream(self, host, path, method, fields, end)


class Stream:
    """A request and its response."""

    def __init__(self, client, host, path, method, fields, end):
        self.client, self.id = client, client._quic.get_next_available_stream_id()
        self.queue = client.streams[self.id] = asyncio.Queue()
        head = [(":method", method), (":scheme", "https"), (":authority", host), (":path", path)]
        head = [(name.encode(), value.encode()) for name, value in [*head, *fields]]
        # Pseudo-header fields come first.
        head.sort(key=lambda field: not field[0].startswith(b":"))
        client.http.send_headers(self.id, head, end)
        client.transmit()
        self.head, self.trailers, self.ended, self.failed = None, {}, False, None

    def send(self, data, end=False):
        self.client.http.send_data(self.id, data, end)
        self.client.transmit()

    async def next(self):
        """Waits for the next event. Returns its data, which may be none."""
        event = await asyncio.wait_for(self.queue.get(), LIMIT)
        if isinstance(event, HeadersReceived):
            fields = {name.decode(): value.decode() for name, value in event.headers}
            if self.head is None or self.head[":status"].startswith("1"):
                self.head = fields
            else:
                self.trailers = fields
        elif not isinstance(event, DataReceived):
            self.failed = repr(event)
            self.ended = True
            return b""
        self.ended |= event.stream_ended
        return event.data if isinstance(event, DataReceived) else b""

    async def rest(self):
        data = []
        while not self.ended:
            data.append(await self.next())
        return b"".join(data)

    @property
    def status(self):
        return self.failed or (self.head or {}).get(":status")
