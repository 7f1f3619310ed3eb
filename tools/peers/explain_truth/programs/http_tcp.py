"""A small HTTP/1.1 server and client over TCP, for `explain-truth`: with buffers of given sizes,
answers that come late or slowly, requests one after another, and a reader that is slow.

    http_tcp.py server --port 8080 [--send-buffer B] [--receive-buffer B] [--think S] [--pace B]
    http_tcp.py client URL [--count N] [--pause S] [--receive-buffer B] [--read-rate B] [--upload B]

The server answers `GET /N` with N bytes, and `PUT` once all of it has arrived. The client prints a
JSON document with the bytes and the time.
"""

import argparse
import json
import socket
import threading
import time
import urllib.parse

CHUNK = 65536


def read_head(stream):
    """Returns the first line and the headers of a message, or None at the end."""
    first = stream.readline()
    if not first:
        return None
    headers = {}
    while (line := stream.readline()) not in (b"\r\n", b""):
        name, _, value = line.partition(b":")
        headers[name.strip().lower()] = value.strip()
    return first.decode().strip(), headers


def answer(connection, options):
    """Serves the requests of a connection."""
    stream = connection.makefile("rb")
    while (head := read_head(stream)) is not None:
        first, headers = head
        method, path, _ = first.split()
        left = int(headers.get(b"content-length", 0))
        while left > 0 and (data := stream.read(min(left, CHUNK))):
            left -= len(data)
        time.sleep(options.think)
        size = 0 if method == "PUT" else int(path.removeprefix("/"))
        connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode())
        if options.pace:
            send_slowly(connection, size, options.pace)
        else:
            send(connection, size)


def send(connection, size):
    block = bytes(CHUNK)
    while size > 0:
        connection.sendall(block[:size])
        size -= len(block[:size])


def send_slowly(connection, size, pace):
    """Sends as a live source does: a part every 200 ms."""
    part, due = max(1, pace // 5), time.monotonic()
    while size > 0:
        connection.sendall(bytes(min(part, size)))
        size -= part
        due += 0.2
        time.sleep(max(0, due - time.monotonic()))


def serve(options):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if options.send_buffer:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, options.send_buffer)
    if options.receive_buffer:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, options.receive_buffer)
    listener.bind(("", options.port))
    listener.listen(16)
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=answer, args=(connection, options), daemon=True).start()


def fetch(options):
    where = urllib.parse.urlsplit(options.url)
    connection = socket.socket()
    if options.receive_buffer:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, options.receive_buffer)
    if options.send_buffer:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, options.send_buffer)
    begin, total = time.monotonic(), 0
    connection.connect((where.hostname, where.port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    stream = connection.makefile("rb", buffering=CHUNK)
    for number in range(options.count):
        if number:
            time.sleep(options.pause)
        method = "PUT" if options.upload else "GET"
        connection.sendall(f"{method} {where.path} HTTP/1.1\r\nHost: server\r\n"
                           f"Content-Length: {options.upload}\r\n\r\n".encode())
        send(connection, options.upload)
        first, headers = read_head(stream)
        if " 200 " not in first:
            raise OSError(first)
        total += options.upload + read(stream, int(headers[b"content-length"]), options.read_rate)
    print(json.dumps({"bytes": total, "completion_s": time.monotonic() - begin}))


def read(stream, size, rate):
    left, due = size, time.monotonic()
    while left > 0:
        data = stream.read(min(left, rate // 10 if rate else CHUNK))
        if not data:
            raise OSError(f"{left} bytes are missing")
        left -= len(data)
        if rate:
            due += len(data) / rate
            time.sleep(max(0, due - time.monotonic()))
    return size


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    roles = parser.add_subparsers(dest="role", required=True)
    server, client = roles.add_parser("server"), roles.add_parser("client")
    server.add_argument("--port", type=int, required=True)
    server.add_argument("--think", type=float, default=0, help="seconds before an answer")
    server.add_argument("--pace", type=int, default=0, help="bytes a second")
    client.add_argument("url")
    client.add_argument("--count", type=int, default=1)
    client.add_argument("--pause", type=float, default=0, help="seconds between requests")
    client.add_argument("--read-rate", type=int, default=0, help="bytes a second")
    client.add_argument("--upload", type=int, default=0, help="bytes")
    for role in (server, client):
        role.add_argument("--send-buffer", type=int, default=0)
        role.add_argument("--receive-buffer", type=int, default=0)
    options = parser.parse_args()
    serve(options) if options.role == "server" else fetch(options)


if __name__ == "__main__":
    main()
