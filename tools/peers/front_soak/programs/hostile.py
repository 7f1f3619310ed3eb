"""Clients that do not behave: hostile.py SPEC COUNTS

One episode each second, of each kind in turn, from one of 256 networks. Every episode is bounded in
what it sends and in time, and at most MOST of them last at once.
"""

import asyncio
import os
import random
import socket

from aioquic.buffer import encode_uint_var as number
from clients import (
    SERVER,
    SPEC,
    cancel_timer,
    careless,
    connected,
    left,
    open_connection,
    write,
)
from http3 import Client

MOST = 100
# The type of the stream in which a client of Bentpipe returns path tokens.
PATH_TOKENS = 0x2b45560f88502680


class Unread(Client):
    """Grants nothing beyond its first windows."""

    def __init__(self, connection, *arguments, **options):
        super().__init__(connection, *arguments, **options)
        connection._write_connection_limits = lambda **_: None
        connection._write_stream_limits = lambda **_: None


async def unread_responses(source):
    options = careless(max_data=4096, max_stream_data=1024)
    async with connected(source, options, Unread) as client:
        for _ in range(20):
            client.ask(SPEC["host"], "/large")
        await pinged(client, 80)


async def half_open_handshake(source):
    """A client's first packet, and nothing after it."""
    for _ in range(5):
        transport, protocol = await open_connection(source, careless())
        transport.close()
        cancel_timer(protocol)


async def half_open_streams(source):
    """Requests whose heads stop within a frame."""
    async with connected(source, careless()) as client:
        for _ in range(50):
            stream = client._quic.get_next_available_stream_id()
            client._quic.send_stream_data(stream, b"\x01\x40\xff\x00\x00")
        client.transmit()
        await pinged(client, 60)


async def wrong_tokens(source):
    """Tokens of addresses and of paths that the server has never given out."""
    for length in (1, 40, 63, 300):
        options = careless(token=os.urandom(length))
        async with connected(source, options) as client:
            token = os.urandom(length)
            raw(client, number(PATH_TOKENS) + b"\x01" + number(length) + token)
            await client.ask(SPEC["host"], "/small").rest()


async def first_packets(source):
    """Datagrams that look like first packets and cannot be decrypted, and of unknown versions."""
    for count in range(200):
        version = b"\x00\x00\x00\x01" if count % 2 else os.urandom(4)
        identifiers = b"\x08" + os.urandom(8) + b"\x08" + os.urandom(8)
        head = b"\xc3" + version + identifiers + b"\x00\x44\x00"
        datagram(source, head + os.urandom(1200 - len(head)))


async def junk(source):
    """Short packets of connections that there are not, and lengths from 1 to 1,500."""
    for _ in range(200):
        packet = bytes([0x40 | DRAW.randrange(64)]) + os.urandom(DRAW.randrange(1500))
        datagram(source, packet)


async def upload_without_end(source):
    """A quick one of two megabytes, and one of a byte a second, neither of which ends."""
    async with connected(source, careless()) as client:
        quick = client.ask(SPEC["host"], "/app/upload", "POST", end=False)
        slow = client.ask(SPEC["host"], "/app/upload", "POST", end=False)
        for count in range(60):
            if client._quic._close_event is not None:
                break
            if count < 20:
                quick.send(bytes(100_000))
            slow.send(b"x")
            await asyncio.sleep(1)


async def vanished(source):
    """Asks for much, and is gone in the midst of it."""
    async with connected(source, careless(), farewell=False) as client:
        client.ask(SPEC["host"], "/large")
        await asyncio.sleep(0.1)


async def resets(source):
    """Requests that are cancelled at once."""
    async with connected(source, careless()) as client:
        for _ in range(90):
            stream = client.ask(SPEC["host"], "/large")
            client._quic.stop_stream(stream.id, 0x10c)
            client.transmit()
        await asyncio.sleep(1)


async def protocol_errors(source):
    """What ends a connection: a second control stream, a frame out of place, a stream of junk."""
    wrong = [b"\x00\x04\x00", b"\x00" + os.urandom(50), b"\x02" + os.urandom(200),
             b"\x00\x04" + number(1 << 40) + b"\x00" * 100]
    for content in wrong:
        async with connected(source, careless()) as client:
            raw(client, content)
            stream = client._quic.get_next_available_stream_id()
            client._quic.send_stream_data(stream, b"\x00\x05hello")
            client.transmit()
            await asyncio.sleep(0.2)


async def long_fields(source):
    """Heads with as many bytes as fit, which are refused."""
    async with connected(source, careless()) as client:
        for _ in range(10):
            fields = [(f"x-{count}", "a" * 500) for count in range(200)]
            client.ask(SPEC["host"], "/small", fields=fields)
        await asyncio.sleep(2)


async def moved(source):
    """One connection whose packets come from many addresses."""
    async with connected(source, careless()) as client:
        await client.ask(SPEC["host"], "/small").rest()
        for count in range(30):
            packet_from(client, f"127.67.{count}.1")
            await asyncio.sleep(0.05)


async def silent_websockets(source):
    async with connected(source, careless()) as client:
        for _ in range(5):
            client.ask(SPEC["host"], "/app/ws", "CONNECT", [
                (":protocol", "websocket"), ("sec-websocket-version", "13")], end=False)
        await pinged(client, 60)


async def pinged(client, seconds):
    """Stays, and answers."""
    for count in range(seconds // 5):
        if client._quic._close_event is not None:
            return
        client._quic.send_ping(count)
        client.transmit()
        await asyncio.sleep(5)


def raw(client, content):
    """Sends bytes on a one-way stream."""
    stream = client._quic.get_next_available_stream_id(is_unidirectional=True)
    client._quic.send_stream_data(stream, content)
    client.transmit()


def packet_from(client, source):
    """Sends a PING of a connection from another address."""
    own = client._transport

    class Elsewhere:
        def sendto(self, data, _=None):
            datagram(source, data)

        def __getattr__(self, name):
            return getattr(own, name)

    client._transport = Elsewhere()
    client._quic.send_ping(1)
    client.transmit()
    client._transport = own


def datagram(source, data):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.bind((source, 0))
        sender.sendto(data, SERVER)


KINDS = [unread_responses, half_open_handshake, half_open_streams, wrong_tokens, first_packets,
         junk, upload_without_end, vanished, resets, protocol_errors, long_fields, moved,
         silent_websockets]


async def episode(kind, counts):
    source = f"127.66.{DRAW.randrange(256)}.{DRAW.randrange(1, 251)}"
    try:
        await kind(source)
    except Exception as error:  # noqa: BLE001 (the server may end it however it likes)
        outcome = type(error).__name__
    else:
        outcome = "done"
    kinds = counts["kinds"].setdefault(kind.__name__, {})
    kinds[outcome] = kinds.get(outcome, 0) + 1
    counts["episodes"] += 1


async def main():
    counts, running, turn = {"episodes": 0, "kinds": {}}, set(), 0
    while left() > 0:
        if len(running) < MOST:
            task = asyncio.create_task(episode(KINDS[turn % len(KINDS)], counts))
            running.add(task)
            task.add_done_callback(running.discard)
            turn += 1
        write(counts)
        await asyncio.sleep(1)
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    write(counts)


DRAW = random.Random(SPEC["seed"])
asyncio.run(main())
