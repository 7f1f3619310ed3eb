"""A small endpoint of the QUIC interop runner on aioquic, with the library's default settings.

The test case, and all that it needs, are in the environment and in /certs, /www and /downloads.
HTTP/0.9 only: its package has no HTTP/3 client or server to take instead.
"""

import asyncio
import os
import ssl
import sys
from pathlib import Path
from urllib.parse import urlsplit

from aioquic.asyncio import connect, serve
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import StreamDataReceived
from aioquic.tls import CipherSuite

CLIENT = {"handshake", "transfer", "chacha20", "multiconnect", "resumption", "zerortt",
          "keyupdate", "retry"}
SERVER = CLIENT - {"keyupdate"}


def configuration(test_case, is_client):
    keys = os.environ.get("SSLKEYLOGFILE")
    made = QuicConfiguration(
        alpn_protocols=["hq-interop"], is_client=is_client,
        secrets_log_file=open(keys, "a") if keys else None)
    if is_client:
        # The chain may be longer than the library's verifier follows.
        made.verify_mode = ssl.CERT_NONE
    else:
        made.load_cert_chain("/certs/cert.pem", "/certs/priv.key")
    if test_case == "chacha20":
        made.cipher_suites = [CipherSuite.CHACHA20_POLY1305_SHA256]
    return made


class Server(QuicConnectionProtocol):
    """Responds to `GET /file` with the file."""

    def __init__(self, *words, **named):
        super().__init__(*words, **named)
        self.requests = {}

    def quic_event_received(self, event):
        if not isinstance(event, StreamDataReceived):
            return
        request = self.requests.setdefault(event.stream_id, bytearray())
        request += event.data
        if event.end_stream:
            name = bytes(self.requests.pop(event.stream_id)).split()[1].decode().lstrip("/")
            content = (Path("/www") / Path(name).name).read_bytes()
            self._quic.send_stream_data(event.stream_id, content, end_stream=True)
            self.transmit()


class Client(QuicConnectionProtocol):
    """Requests files, each over a stream of its own."""

    def __init__(self, *words, **named):
        super().__init__(*words, **named)
        self.content, self.complete = {}, {}
        self.on_data = None

    def get(self, path):
        stream = self._quic.get_next_available_stream_id()
        self.content[stream] = bytearray()
        self.complete[stream] = asyncio.get_running_loop().create_future()
        self._quic.send_stream_data(stream, f"GET {path}\r\n".encode(), end_stream=True)
        self.transmit()
        return stream

    def quic_event_received(self, event):
        if isinstance(event, StreamDataReceived):
            self.content[event.stream_id] += event.data
            if self.on_data:
                self.on_data, update = None, self.on_data
                update()
            if event.end_stream:
                self.complete[event.stream_id].set_result(None)


async def fetch(urls, config, tickets, key_update=False, early=False):
    """Downloads over one connection."""
    parts = urlsplit(urls[0])
    async with connect(parts.hostname, parts.port, configuration=config, create_protocol=Client,
                       session_ticket_handler=tickets.append, wait_connected=not early) as client:
        if key_update:
            client.on_data = client.request_key_update
        streams = [(client.get(urlsplit(url).path), url) for url in urls]
        for stream, url in streams:
            await client.complete[stream]
            name = Path(urlsplit(url).path).name
            (Path("/downloads") / name).write_bytes(client.content[stream])


async def run_client(test_case):
    urls, tickets = os.environ["REQUESTS"].split(), []
    config = configuration(test_case, True)
    if test_case == "multiconnect":
        for url in urls:
            await fetch([url], configuration(test_case, True), tickets)
    elif test_case in ("resumption", "zerortt"):
        await fetch(urls[:1], config, tickets)
        again = configuration(test_case, True)
        again.session_ticket = tickets[-1]
        await fetch(urls[1:], again, tickets, early=test_case == "zerortt")
    else:
        await fetch(urls, config, tickets, key_update=test_case == "keyupdate")


async def run_server(test_case):
    tickets = {}
    await serve("::", 443, configuration=configuration(test_case, False), create_protocol=Server,
                session_ticket_fetcher=lambda label: tickets.pop(label, None),
                session_ticket_handler=lambda ticket: tickets.update({ticket.ticket: ticket}),
                retry=test_case == "retry")
    await asyncio.Future()


def main():
    test_case, role = os.environ.get("TESTCASE", ""), os.environ.get("ROLE")
    if test_case not in (CLIENT if role == "client" else SERVER):
        print(f"unsupported test case: {test_case}", file=sys.stderr)
        return 127
    asyncio.run(run_client(test_case) if role == "client" else run_server(test_case))
    return 0


if __name__ == "__main__":
    sys.exit(main())
