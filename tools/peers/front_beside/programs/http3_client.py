"""Asks a front for everything on a list, on aioquic: http3_client.py SPEC

SPEC is JSON: `port`, `ca` (a PEM file), `hosts`, `megabytes` of the upload and the download,
`file_sha256` and `range_sha256`. Prints a JSON line for each thing asked: `asked`, `measured`,
`right`.
"""

import asyncio
import hashlib
import json
import os
import struct
import sys
import time

from aioquic.asyncio import connect
from aioquic.h3.connection import H3_ALPN
from aioquic.quic.configuration import QuicConfiguration
from http3 import Client

PIECE = 64 * 1024


def connected(spec, host):
    configuration = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN, server_name=host,
                                      max_data=16 << 20, max_stream_data=16 << 20)
    configuration.load_verify_locations(spec["ca"])
    return connect("127.0.0.1", spec["port"], configuration=configuration, create_protocol=Client)


async def page(client, host, spec):
    stream = client.ask(host, "/")
    body = await stream.rest()
    announced = stream.head.get("alt-svc", "none")
    right = stream.status == "200" and host.encode() in body and f":{spec['port']}" in announced
    return f"{stream.status}, Alt-Svc {announced}", right


async def who(client, host, _):
    fields = json.loads(await client.ask(host, "/app/who", fields=[("cookie", "a=1")]).rest())
    source, scheme = fields.get("x-forwarded-for", ""), fields.get("x-forwarded-proto")
    right = source.startswith("127.0.0.1") and scheme == "https" and fields["host"].startswith(host)
    return f"X-Forwarded-For {source}, Proto {scheme}, Host {fields['host']}", right


async def ranges(client, host, spec):
    stream = client.ask(host, "/file.bin", fields=[("range", "bytes=1000-1999")])
    body = await stream.rest()
    tail = client.ask(host, "/file.bin", fields=[("range", "bytes=-10")])
    last = await tail.rest()
    right = (stream.status, tail.status, len(body), len(last)) == ("206", "206", 1000, 10)
    right = right and hashlib.sha256(body).hexdigest() == spec["range_sha256"]
    return f"{stream.status} {len(body)} bytes, {tail.status} {len(last)} bytes", right


async def file(client, host, spec):
    body = await client.ask(host, "/file.bin").rest()
    right = hashlib.sha256(body).hexdigest() == spec["file_sha256"]
    return f"{len(body)} bytes", right


async def download(client, host, spec):
    begin, stream, length = time.monotonic(), client.ask(host, "/sparse.bin", fields=[
        ("range", f"bytes=0-{spec['megabytes'] * 1_000_000 - 1}")]), 0
    while not stream.ended:
        length += len(await stream.next())
    seconds = time.monotonic() - begin
    return (f"{stream.status} {length / 1e6:.0f} MB in {seconds:.1f} s",
            length == spec["megabytes"] * 1_000_000)


async def upload(client, host, spec):
    begin, digest, length = time.monotonic(), hashlib.sha256(), spec["megabytes"] * 1_000_000
    stream = client.ask(host, "/app/upload", "POST", [("content-length", str(length))], end=False)
    left = length
    while left:
        piece = os.urandom(min(PIECE, left))
        digest.update(piece)
        left -= len(piece)
        stream.send(piece, end=not left)
        # What waits in the library is not bounded by it.
        while len(client._quic._streams[stream.id].sender._buffer) > 1 << 20:
            await asyncio.sleep(0.002)
    answer = json.loads(await stream.rest())
    seconds = time.monotonic() - begin
    right = (answer["length"], answer["sha256"]) == (length, digest.hexdigest())
    return f"{answer['length'] / 1e6:.0f} MB in {seconds:.1f} s", right


async def events(client, host, _):
    begin, stream, times, text = time.monotonic(), client.ask(host, "/app/events"), [], b""
    while not stream.ended:
        data = await stream.next()
        if b"data:" in data:
            times.append(time.monotonic() - begin)
        text += data
    spread = times[-1] - times[0] if times else 0
    return (f"{text.count(b'data:')} events, the last {spread:.1f} s after the first",
            text.count(b"data:") == 3 and 0.4 < spread < 3)


async def websocket(client, host, _):
    stream = client.ask(host, "/app/ws", "CONNECT", [
        (":protocol", "websocket"), ("sec-websocket-version", "13"),
        ("origin", f"https://{host}")], end=False)
    await stream.next()
    if stream.status != "200":
        return f"{stream.status}", False
    text = b"hello over HTTP/3"
    mask = os.urandom(4)
    masked = bytes(byte ^ mask[place % 4] for place, byte in enumerate(text))
    stream.send(bytes([0x81, 0x80 | len(text)]) + mask + masked)
    back = b""
    while len(back) < 2 + len(text) and not stream.ended:
        back += await stream.next()
    # Close, which is sent back too.
    stream.send(bytes([0x88, 0x80]) + mask, end=True)
    await stream.rest()
    return f"200, {len(back) - 2} bytes back, closed", back == bytes([0x81, len(text)]) + text


async def call(client, host, method, messages):
    """Makes a call of gRPC. Returns the messages, and the status."""
    stream = client.ask(host, f"/echo.Echo/{method}", "POST", [
        ("content-type", "application/grpc"), ("te", "trailers")], end=False)
    received = bytearray()
    for message in messages:
        if stream.ended:
            break
        stream.send(struct.pack(">BI", 0, len(message)) + message)
        if method == "Both":
            before = len(received)
            while len(received) == before and not stream.ended:
                received += await stream.next()
    if not stream.ended:
        stream.send(b"", end=True)
    received += await stream.rest()
    found = []
    while len(received) >= 5:
        length = struct.unpack(">I", received[1:5])[0]
        found.append(bytes(received[5:5 + length]))
        del received[:5 + length]
    place = stream.trailers if "grpc-status" in stream.trailers else stream.head or {}
    return stream.status, found, place.get("grpc-status", "none")


def grpc(method, messages, expected, code):
    async def asked(client, host, _):
        status, found, got = await call(client, host, method, messages)
        text = f"{status}, {len(found)} messages, grpc-status {got}"
        return text, (status, found, got) == ("200", expected, code)
    return asked


LIST = {
    "page, and its announcement": page,
    "client, scheme and host at the application": who,
    "file of 1 MB": file,
    "ranges": ranges,
    "server-sent events": events,
    "WebSocket (RFC 9220)": websocket,
    "gRPC, one message": grpc("One", [b"hello"], [b"hello"], "0"),
    "gRPC, server streams": grpc("Many", [b"a"], [b"a"] * 3, "0"),
    "gRPC, client streams": grpc("Sum", [b"a", b"b", b"c"], [b"3"], "0"),
    "gRPC, both ways in turns": grpc("Both", [b"a", b"b"], [b"a", b"b"], "0"),
    "gRPC, an error without messages": grpc("Fails", [b"a"], [], "5"),
    "download": download,
    "upload": upload,
}


async def main(spec):
    for name, asked in LIST.items():
        for host in spec["hosts"][:2 if asked in (page, who, file) else 1]:
            try:
                async with connected(spec, host) as client:
                    measured, right = await asked(client, host, spec)
            except Exception as error:  # noqa: BLE001 (whatever it is, it is what was measured)
                measured, right = f"{type(error).__name__}: {error}", False
            report(f"{name} ({host})" if host != spec["hosts"][0] else name, measured, right)
    begin, good = time.monotonic(), 0
    for host in spec["hosts"]:
        try:
            async with connected(spec, host) as client:
                good += (await page(client, host, spec))[1]
        except (OSError, TimeoutError):
            pass
    report(f"{len(spec['hosts'])} hosts, each with its certificate",
           f"{good} right in {time.monotonic() - begin:.1f} s", good == len(spec["hosts"]))


def report(asked, measured, right):
    print(json.dumps({"asked": asked, "measured": measured, "right": right}), flush=True)


asyncio.run(main(json.loads(sys.argv[1])))
