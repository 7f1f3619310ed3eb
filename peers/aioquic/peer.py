"""A small HTTP/3 client and server on aioquic, with the default settings of aioquic."""

import argparse
import asyncio
import json
import pathlib
import sys
import time
import urllib.parse

import aioquic.asyncio
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, ProtocolNegotiated, StreamReset


class Client(QuicConnectionProtocol):
    """A connection for one request. `fetch` returns when the response is complete."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = H3Connection(self._quic)
        self.ended = asyncio.get_running_loop().create_future()
        self.file = self.result = self.since = self.length = None

    async def fetch(self, authority, path, file, result, since):
        self.file, self.result, self.since = file, result, since
        stream = self._quic.get_next_available_stream_id()
        names = (b":method", b":scheme", b":authority", b":path")
        values = (b"GET", b"https", authority.encode(), path.encode())
        self.http.send_headers(stream, list(zip(names, values)), end_stream=True)
        self.transmit()
        await self.ended

    def fail(self, reason):
        if not self.ended.done():
            self.ended.set_exception(OSError(reason))

    def quic_event_received(self, event):
        if isinstance(event, ConnectionTerminated):
            self.fail(f"closed: {event.error_code} {event.reason_phrase}")
        elif isinstance(event, StreamReset):
            self.fail(f"the server reset the stream: {event.error_code}")
        for answer in self.http.handle_event(event):
            if isinstance(answer, HeadersReceived):
                headers = dict(answer.headers)
                self.length = headers.get(b"content-length")
                if headers.get(b":status") != b"200":
                    self.fail(f"status {headers.get(b':status')}")
            elif isinstance(answer, DataReceived) and answer.data:
                self.result["first_byte_s"] = self.result["first_byte_s"] or self.since()
                self.result["bytes"] += len(answer.data)
                self.file.write(answer.data)
            if getattr(answer, "stream_ended", False) and not self.ended.done():
                self.result["completion_s"] = self.since()
                if self.length is not None and int(self.length) != self.result["bytes"]:
                    self.fail(f"received {self.result['bytes']} of {int(self.length)} bytes")
                else:
                    self.ended.set_result(None)


async def client(options):
    where = urllib.parse.urlsplit(options.url)
    configuration = QuicConfiguration(
        alpn_protocols=H3_ALPN, is_client=True, server_name=options.name
    )
    configuration.load_verify_locations(cafile=options.ca)
    times = dict.fromkeys(("handshake_s", "first_byte_s", "completion_s"))
    result = {"bytes": 0, **times, "protocol": "h3"}
    begin = time.monotonic()

    def since():
        return time.monotonic() - begin

    async def fetch(file):
        connect = aioquic.asyncio.connect(
            where.hostname, where.port, configuration=configuration, create_protocol=Client
        )
        async with connect as protocol:
            result["handshake_s"] = since()
            await protocol.fetch(f"{options.name}:{where.port}", where.path, file, result, since)

    try:
        with open(options.output, "wb") as file:
            await asyncio.wait_for(fetch(file), options.timeout)
    finally:
        print(json.dumps(result), flush=True)


class Server(QuicConnectionProtocol):
    """Serves the files of `root`.

    aioquic has an unbounded send buffer, so each file is written at once.
    """

    root = None
    http = None

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated):
            self.http = H3Connection(self._quic)
        for request in self.http.handle_event(event) if self.http else ():
            if isinstance(request, HeadersReceived):
                path = dict(request.headers).get(b":path", b"")
                self.answer(request.stream_id, path.decode(errors="replace"))
        self.transmit()

    def answer(self, stream, path):
        name = path.removeprefix("/")
        file = self.root / name
        if not name or name.startswith(".") or "/" in name or not file.is_file():
            self.http.send_headers(stream, [(b":status", b"404")], end_stream=True)
            return
        length = str(file.stat().st_size).encode()
        self.http.send_headers(stream, [(b":status", b"200"), (b"content-length", length)])
        self.http.send_data(stream, file.read_bytes(), end_stream=True)


async def server(options):
    configuration = QuicConfiguration(alpn_protocols=H3_ALPN, is_client=False)
    configuration.load_cert_chain(options.cert, options.key)
    Server.root = pathlib.Path(options.root)
    await aioquic.asyncio.serve(
        options.address, options.port, configuration=configuration, create_protocol=Server
    )
    await asyncio.Future()


def main():
    parser = argparse.ArgumentParser()
    roles = parser.add_subparsers(required=True)
    role = roles.add_parser("client")
    for name in ("url", "name", "ca", "output"):
        role.add_argument(f"--{name}", required=True)
    role.add_argument("--timeout", type=float, default=60)
    role.set_defaults(run=client)
    role = roles.add_parser("server")
    for name in ("root", "address", "cert", "key"):
        role.add_argument(f"--{name}", required=True)
    role.add_argument("--port", type=int, required=True)
    role.set_defaults(run=server)
    options = parser.parse_args()
    try:
        asyncio.run(options.run(options))
    except (OSError, TimeoutError) as error:
        # A TimeoutError has no message.
        sys.exit(str(error) or f"not complete within {options.timeout} s")


main()
