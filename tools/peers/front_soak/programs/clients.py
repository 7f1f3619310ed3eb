"""What ordinary and hostile clients share: a connection from an address of the loopback."""

import asyncio
import contextlib
import json
import os
import ssl
import sys
import time
from pathlib import Path

from aioquic.h3.connection import H3_ALPN
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection

sys.path.append(str(Path(__file__).resolve().parents[2] / "front_beside/programs"))
from http3 import Client  # noqa: E402

SPEC, COUNTS = json.loads(sys.argv[1]), Path(sys.argv[2])
SERVER = ("127.0.0.1", SPEC["port"])
END = time.monotonic() + SPEC["seconds"]


def configuration(**options):
    made = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN, server_name=SPEC["host"],
                             idle_timeout=60, **options)
    made.load_verify_locations(SPEC["ca"])
    return made


def careless(**options):
    """A configuration that verifies nothing: hostile clients need not."""
    made = configuration(**options)
    made.verify_mode = ssl.CERT_NONE
    return made


async def open_connection(source, options, client=Client):
    """Sends a first packet from `source`. Returns the transport and the protocol."""
    connection = QuicConnection(configuration=options)
    transport, protocol = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: client(connection), local_addr=(source, 0))
    protocol.connect(SERVER)
    return transport, protocol


@contextlib.asynccontextmanager
async def connected(source, options, client=Client, farewell=True):
    """A connection; without `farewell`, it vanishes and does not say so."""
    transport, protocol = await open_connection(source, options, client)
    try:
        await asyncio.wait_for(protocol.wait_connected(), 20)
        yield protocol
    finally:
        if farewell:
            protocol.close()
            await asyncio.sleep(0)
        transport.close()
        cancel_timer(protocol)


def cancel_timer(protocol):
    """What has vanished must not send again."""
    if protocol._timer is not None:
        protocol._timer.cancel()
        protocol._timer = None


def left():
    return END - time.monotonic()


def write(counts):
    """Replaces what was counted, so that a reader never sees a half of it."""
    new = COUNTS.with_suffix(".new")
    new.write_text(json.dumps(counts))
    os.replace(new, COUNTS)
