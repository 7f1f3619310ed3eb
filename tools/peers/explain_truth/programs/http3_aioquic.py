"""A small HTTP/3 server and client on aioquic, for `explain-truth`: with windows, pauses, answers
that come late or slowly, and acknowledgements that the client holds back.

QLOGDIR names the folder of qlog files, SSLKEYLOGFILE that of the keys. The client prints a JSON
document with the bytes and the time.
"""

import argparse
import asyncio
import json
import os
import ssl
import time
import urllib.parse

import aioquic.asyncio
import aioquic.quic.connection as stack
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, ProtocolNegotiated
from aioquic.quic.logger import QuicFileLogger


def configuration(is_client):
    keys = os.environ.get("SSLKEYLOGFILE")
    made = QuicConfiguration(
        alpn_protocols=H3_ALPN, is_client=is_client,
        secrets_log_file=open(keys, "a") if keys else None,
        quic_logger=QuicFileLogger(os.environ["QLOGDIR"]) if "QLOGDIR" in os.environ else None)
    made.verify_mode = ssl.CERT_NONE
    made.idle_timeout = 60
    return made


class Client(QuicConnectionProtocol):
    def __init__(self, *words, **named):
        super().__init__(*words, **named)
        self.http = H3Connection(self._quic)
        self.waiting, self.bytes = {}, 0

    async def get(self, authority, path):
        stream = self._quic.get_next_available_stream_id()
        self.waiting[stream] = asyncio.get_running_loop().create_future()
        self.http.send_headers(stream, [
            (b":method", b"GET"), (b":scheme", b"https"), (b":authority", authority.encode()),
            (b":path", path.encode())], end_stream=True)
        self.transmit()
        await self.waiting[stream]

    def quic_event_received(self, event):
        if isinstance(event, ConnectionTerminated):
            for future in self.waiting.values():
                if not future.done():
                    future.set_exception(OSError(event.reason_phrase))
        for part in self.http.handle_event(event):
            if isinstance(part, DataReceived):
                self.bytes += len(part.data)
            ended = getattr(part, "stream_ended", False)
            if ended and not self.waiting[part.stream_id].done():
                self.waiting[part.stream_id].set_result(None)


def announce_ack_delay(seconds):
    """Makes connections announce this max_ack_delay; aioquic has no setting for it."""
    original = stack.QuicTransportParameters
    stack.QuicTransportParameters = lambda **named: original(
        **named | {"max_ack_delay": round(seconds * 1000)})


async def client(options):
    where = urllib.parse.urlsplit(options.url)
    made = configuration(is_client=True)
    made.max_data, made.max_stream_data = options.connection_window, options.stream_window
    if options.ack_delay:
        announce_ack_delay(options.ack_delay)
    begin = time.monotonic()
    async with aioquic.asyncio.connect(where.hostname, where.port, configuration=made,
                                       create_protocol=Client) as protocol:
        if options.ack_delay:
            # There is no setting: this is the time until aioquic sends an acknowledgement.
            protocol._quic._ack_delay = options.ack_delay
        for done in range(0, options.count, options.parallel):
            if done:
                await asyncio.sleep(options.pause)
            await asyncio.gather(*(protocol.get(where.netloc, where.path) for _ in range(
                min(options.parallel, options.count - done))))
        print(json.dumps({"bytes": protocol.bytes, "completion_s": time.monotonic() - begin}),
              flush=True)


class Server(QuicConnectionProtocol):
    options = http = None

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated):
            self.http = H3Connection(self._quic)
        for part in self.http.handle_event(event) if self.http else ():
            if isinstance(part, HeadersReceived):
                size = int(dict(part.headers)[b":path"].decode().removeprefix("/"))
                asyncio.ensure_future(self.answer(part.stream_id, size))

    async def answer(self, stream, size):
        await asyncio.sleep(self.options.think)
        self.http.send_headers(stream, [(b":status", b"200"),
                                        (b"content-length", str(size).encode())])
        part = max(1, self.options.pace // 5) if self.options.pace else size
        while size > part:
            self.http.send_data(stream, bytes(part), end_stream=False)
            self.transmit()
            size -= part
            await asyncio.sleep(0.2)
        self.http.send_data(stream, bytes(size), end_stream=True)
        self.transmit()


async def server(options):
    Server.options = options
    made = configuration(is_client=False)
    made.load_cert_chain(options.cert, options.key)
    host, port = options.listen.rsplit(":", 1)
    await aioquic.asyncio.serve(host, int(port), configuration=made, create_protocol=Server)
    await asyncio.Future()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    roles = parser.add_subparsers(dest="role", required=True)
    made = roles.add_parser("client")
    made.add_argument("--url", required=True)
    made.add_argument("--count", type=int, default=1)
    made.add_argument("--parallel", type=int, default=1)
    made.add_argument("--pause", type=float, default=0, help="seconds between requests")
    made.add_argument("--ack-delay", type=float, default=0, help="seconds")
    made.add_argument("--stream-window", type=int, default=64 << 20, help="bytes")
    made.add_argument("--connection-window", type=int, default=256 << 20, help="bytes")
    made = roles.add_parser("server")
    for name in ("listen", "cert", "key"):
        made.add_argument(f"--{name}", required=True)
    made.add_argument("--think", type=float, default=0, help="seconds before an answer")
    made.add_argument("--pace", type=int, default=0, help="bytes a second")
    options = parser.parse_args()
    asyncio.run({"client": client, "server": server}[options.role](options))


if __name__ == "__main__":
    main()
