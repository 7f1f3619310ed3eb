"""Clients that behave: ordinary.py SPEC COUNTS

Counts in COUNTS what they asked and what failed. A visit every two seconds, on a new connection,
reads files and sends one; every thirtieth follows events and opens a WebSocket as well. One
connection asks once a second for as long as it lasts, and its end counts as a failure.
"""

import asyncio
import json
import random

import clients
from clients import SPEC, configuration, connected, left, write

COUNTS = {"asked": 0, "failed": 0, "why": ""}
SENT = 20_000


async def counted(what, done):
    """Waits for a request, and counts it."""
    COUNTS["asked"] += 1
    try:
        wrong = await asyncio.wait_for(done, 30)
    except Exception as error:  # noqa: BLE001 (whatever it is, the request has failed)
        wrong = f"{type(error).__name__} {error}"
    if wrong:
        COUNTS["failed"] += 1
        COUNTS["why"] = COUNTS["why"] or f"{what}: {wrong}"
    return not wrong


async def file(client, name):
    stream = client.ask(SPEC["host"], f"/{name}")
    body = await stream.rest()
    if stream.status != "200" or len(body) != SPEC["sizes"][name]:
        return f"{stream.status}, {len(body)} bytes"
    return None


async def upload(client):
    stream = client.ask(SPEC["host"], "/app/upload", "POST", end=False)
    stream.send(bytes(SENT), end=True)
    body = await stream.rest()
    right = stream.status == "200" and json.loads(body)["length"] == SENT
    return None if right else f"{stream.status} {body[:80]}"


async def events(client):
    body = await client.ask(SPEC["host"], "/app/events").rest()
    return None if body.count(b"data:") == 3 else f"{body[:80]}"


async def websocket(client):
    stream = client.ask(SPEC["host"], "/app/ws", "CONNECT", [
        (":protocol", "websocket"), ("sec-websocket-version", "13"),
        ("origin", f"https://{SPEC['host']}")], end=False)
    await stream.next()
    stream.send(bytes([0x81, 0x85]) + bytes(4) + b"hello")
    back = b""
    while len(back) < 7 and not stream.ended:
        back += await stream.next()
    stream.send(bytes([0x88, 0x80]) + bytes(4), end=True)
    await stream.rest()
    return None if back == b"\x81\x05hello" else f"{stream.status} {back[:80]}"


async def visit(number):
    async with connected(source(), configuration()) as client:
        wanted = [("a small file", file(client, "small")), ("a file", file(client, "middle")),
                  ("an upload", upload(client))]
        if number % 30 == 0:
            wanted += [("events", events(client)), ("a WebSocket", websocket(client))]
        for what, done in wanted:
            await counted(what, done)


async def visits():
    number = 0
    while left() > 0:
        try:
            await visit(number)
        except Exception as error:  # noqa: BLE001 (a visit that does not begin has failed)
            await counted("a connection", failing(error))
        number += 1
        write(COUNTS)
        await asyncio.sleep(2)


async def lasting():
    while left() > 0:
        try:
            async with connected(source(), configuration()) as client:
                while left() > 0 and await counted("a request on a connection that stays",
                                                   file(client, "small")):
                    client.streams.clear()
                    await asyncio.sleep(1)
        except Exception as error:  # noqa: BLE001
            await counted("a connection that stays", failing(error))
            await asyncio.sleep(1)


async def failing(error):
    raise error


def source():
    """One of 4,000 addresses in 16 networks."""
    return f"127.7.{DRAW.randrange(16)}.{DRAW.randrange(1, 251)}"


async def main():
    await asyncio.gather(visits(), lasting())
    write(COUNTS)


DRAW = random.Random(clients.SPEC["seed"])
asyncio.run(main())
