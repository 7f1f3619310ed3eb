"""The part of a case that runs in the namespaces of the emulator.

    inside.py server|client FOLDER     starts captures and programs of an end; orders.json has them
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

# Capture programs write what arrived within this time.
FLUSH = 0.5



def devices():
    """The interfaces of this network namespace: /sys shows those of the namespace that mounted
    it."""
    return [name.strip() for line in Path("/proc/self/net/dev").read_text().splitlines()[2:]
            for name in [line.split(":")[0]]]


def set_congestion(name, window):
    """Gives the routes of this namespace a TCP controller, as a namespace may not choose each as
    its default, and an initial window in segments."""
    more = ["initcwnd", str(window)] if window else []
    routes = subprocess.run(["ip", "route"], capture_output=True, text=True, check=True).stdout
    for route in routes.splitlines():
        subprocess.run(["ip", "route", "change", *route.split(), "congctl", name, *more],
                       check=True)


def start_capture(words, log):
    """Starts a capture, and returns when it captures."""
    outside = next(name for name in devices() if name != "lo")
    words = [outside if word == "{device}" else word for word in words]
    with open(log, "wb") as output:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    limit = time.monotonic() + 20
    while process.poll() is None and time.monotonic() < limit:
        text = log.read_text(errors="replace")
        if "listening on" in text or "File: " in text:
            break
        time.sleep(0.02)
    return process


def end(process):
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(1)
        except subprocess.TimeoutExpired:
            process.kill()


def waited(done, seconds):
    limit = time.monotonic() + seconds
    while not done() and time.monotonic() < limit:
        time.sleep(0.02)
    return done()


def listens(quic, port):
    """Whether something is bound to the port."""
    families = ("udp", "udp6") if quic else ("tcp", "tcp6")
    lines = [line for family in families
             for line in Path(f"/proc/self/net/{family}").read_text().splitlines()[1:]]
    return any(line.split()[1].endswith(f":{port:04X}") and (quic or line.split()[3] == "0A")
               for line in lines)


def server(folder, orders):
    # `bentpipe shell` starts the client once something listens for TCP.
    listener = socket.create_server(("127.0.0.1", 9))
    capture = orders["captures"].get("server")
    running = [start_capture(capture, folder / "server-capture.log")] if capture else []
    with open(folder / "server.log", "wb") as log:
        for words in orders["server"]:
            running.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=orders["environment"]["server"]))
        if orders["competitor"]:
            running.append(subprocess.Popen(["iperf3", "-s", "-p", "5300"], stdout=log, stderr=log))

    def stop(*_):
        time.sleep(FLUSH)
        for process in reversed(running):
            end(process)
        os._exit(0)

    signal.signal(signal.SIGTERM, stop)
    if waited(lambda: listens(orders["quic"], orders["port"]), 30):
        (folder / "ready").touch()
    while True:
        listener.accept()[0].close()


def client(folder, orders):
    begin = orders["began"] + orders["begin"]
    capture = orders["captures"].get("client")
    capturing = start_capture(capture, folder / "client-capture.log") if capture else None
    result = {"status": "the server does not listen"}
    if waited(lambda: (folder / "ready").exists(), 40):
        result = transfer(folder, orders, begin)
    (folder / "result.json").write_text(json.dumps(result))
    # The last packets cross the path.
    time.sleep(FLUSH + orders["rtt"])
    if capturing:
        end(capturing)


def transfer(folder, orders, begin):
    beside = None
    if orders["competitor"]:
        beside = subprocess.Popen(
            ["iperf3", "-c", orders["address"], "-p", "5300", "-u", "-R", "-t", "60", "-l", "1200",
             "-b", f"{orders['competitor']:.3f}M"], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        time.sleep(2)
    late = time.time() - begin if orders["begin"] else 0
    if orders["begin"]:
        time.sleep(max(0, -late))
    started = time.monotonic()
    with open(folder / "client.log", "wb") as log:
        process = subprocess.Popen(orders["client"], stdin=subprocess.DEVNULL, cwd=folder,
                                   stdout=subprocess.PIPE, stderr=log,
                                   env=orders["environment"]["client"])
        try:
            output, _ = process.communicate(timeout=orders["timeout"])
            status = process.returncode
        except subprocess.TimeoutExpired:
            process.kill()
            output, status = process.communicate()[0], "timeout"
    took = time.monotonic() - started
    if beside:
        end(beside)
    (folder / "client.out").write_bytes(output)
    return {"status": status, "wall_s": took, "late_start_s": max(0, late),
            "said": said(output)}


def said(output):
    """The JSON object that a program, or a page of ours, printed last."""
    found = re.findall(r'\{"bytes":[^{}]*\}', output.decode(errors="replace"))
    return json.loads(found[-1]) if found else {}


if __name__ == "__main__":
    part, where = sys.argv[1:]
    given = json.loads((Path(where) / "orders.json").read_text())
    set_congestion(given["congestion"], given["initial_window"])
    {"server": server, "client": client}[part](Path(where), given)
