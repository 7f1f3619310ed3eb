"""The application behind the web servers, over HTTP/1.1: application.py PORT FOLDER

/app/who         the fields of the request, as JSON
/app/upload      the length and the SHA-256 of what it is sent
/app/events      three server-sent events, one each 300 ms
/app/ws          a WebSocket that sends back what it gets
/app/result      what was last sent there, which a page found out
Other paths are files of FOLDER/HOST, by ranges too, for web servers that have none.
"""

import asyncio
import base64
import hashlib
import json
import sys
from pathlib import Path

RESULT = []
GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
PIECE = 256 * 1024


async def serve(reader, writer):
    try:
        while await answer(reader, writer):
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def answer(reader, writer):
    """Answers one request. Returns whether another may follow."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ")
    fields = {line.split(":", 1)[0].lower(): line.split(":", 1)[1].strip()
              for line in head[1:] if ":" in line}
    digest, length, sent = hashlib.sha256(), 0, b""
    if path != "/app/ws":
        async for piece in content(reader, fields):
            digest.update(piece)
            length += len(piece)
            sent += piece[:PIECE - len(sent)]
    match path.split("?")[0]:
        case "/app/who":
            reply(writer, json.dumps({"method": method, "path": path, **fields}).encode())
        case "/app/upload":
            reply(writer, json.dumps({"length": length, "sha256": digest.hexdigest()}).encode())
        case "/app/result":
            RESULT.extend([sent] if sent else [])
            reply(writer, RESULT[-1] if RESULT else b"")
        case "/app/events":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                         b"Cache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n")
            for number in range(3):
                event = f"data: {number}\n\n".encode()
                writer.write(b"%x\r\n%s\r\n" % (len(event), event))
                await writer.drain()
                await asyncio.sleep(0.3)
            writer.write(b"0\r\n\r\n")
        case "/app/ws":
            proof = hashlib.sha1((fields["sec-websocket-key"] + GUID).encode()).digest()
            writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                         b"Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n"
                         % base64.b64encode(proof))
            while await echo(reader, writer):
                await writer.drain()
            return False
        case other:
            await file(writer, method, other, fields)
    return fields.get("connection", "").lower() != "close"


async def content(reader, fields):
    if "chunked" in fields.get("transfer-encoding", ""):
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            yield await reader.readexactly(size)
            await reader.readexactly(2)
        await reader.readuntil(b"\r\n")
        return
    left = int(fields.get("content-length", 0))
    while left:
        piece = await reader.read(min(left, PIECE))
        if not piece:
            raise ConnectionError
        left -= len(piece)
        yield piece


async def echo(reader, writer):
    """Sends one frame of a WebSocket back, without its mask (RFC 6455 §5.2)."""
    first, second = await reader.readexactly(2)
    length = second & 0x7f
    if length >= 126:
        length = int.from_bytes(await reader.readexactly(2 if length == 126 else 8))
    mask = await reader.readexactly(4)
    payload = await reader.readexactly(length)
    payload = bytes(byte ^ mask[place % 4] for place, byte in enumerate(payload))
    sized = bytes([length]) if length < 126 else bytes([126]) + length.to_bytes(2)
    writer.write(bytes([first]) + sized + payload)
    return first & 0xf != 8


async def file(writer, method, path, fields):
    host = fields["host"].partition(":")[0]
    found = FOLDER / host / ("index.html" if path == "/" else path.lstrip("/"))
    if not found.is_file():
        return reply(writer, b"not here", "404 Not Found")
    size = found.stat().st_size
    start, end, status = 0, size - 1, "200 OK"
    if fields.get("range", "").startswith("bytes="):
        begin, _, stop = fields["range"][6:].partition("-")
        start = int(begin) if begin else size - int(stop)
        end = int(stop) if begin and stop else size - 1
        status = "206 Partial Content"
    head = f"HTTP/1.1 {status}\r\nContent-Length: {end + 1 - start}\r\n"
    if status.startswith("206"):
        head += f"Content-Range: bytes {start}-{end}/{size}\r\n"
    writer.write(head.encode() + b"\r\n")
    if method == "HEAD":
        return None
    with found.open("rb") as opened:
        opened.seek(start)
        left = end + 1 - start
        while left:
            piece = opened.read(min(left, PIECE))
            left -= len(piece)
            writer.write(piece)
            await writer.drain()
    return None


def reply(writer, body, status="200 OK"):
    writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)


async def main(port):
    server = await asyncio.start_server(serve, "127.0.0.1", port, limit=PIECE)
    print("ready", flush=True)
    await server.serve_forever()


FOLDER = Path(sys.argv[2])
asyncio.run(main(int(sys.argv[1])))
