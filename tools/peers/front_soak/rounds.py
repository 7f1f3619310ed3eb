"""Starts the upstream, the front and the clients, and samples the front each minute."""

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from tools.peers.front_beside.rounds import OWN, free_ports
from tools.peers.front_beside.running import start

PROGRAMS = Path(__file__).resolve().parent / "programs"
HOST = "a.test"
SIZES = {"small": 1000, "middle": 100_000, "large": 20_000_000}
# What clients get after the time is up, for what they do at that moment.
LAST_S = 30


def run(arguments, folder):
    """Returns the samples."""
    python = str(arguments.python)
    subprocess.run([python, OWN / "certificates.py", folder, HOST], check=True)
    files = folder / "www" / HOST
    files.mkdir(parents=True)
    for name, size in SIZES.items():
        (files / name).write_bytes(os.urandom(size))
    application, port = free_ports(2)
    spec = {"port": port, "host": HOST, "ca": str(folder / "ca.pem"), "sizes": SIZES,
            "seconds": arguments.minutes * 60, "seed": arguments.seed}
    with contextlib.ExitStack() as stack:
        environment = dict(os.environ)
        start(stack, [python, str(OWN / "application.py"), str(application), str(folder / "www")],
              environment, ready=True)
        front = start(stack, front_command(arguments, folder, application, port), environment,
                      ready=True)
        clients = [client(stack, python, folder, name, spec) for name in ("ordinary", "hostile")]
        samples = sampled(arguments, front, clients, folder)
        for process in clients:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(LAST_S)
        samples.append(sample(front, folder, arguments.minutes))
    return samples


def front_command(arguments, folder, application, port):
    """The front as an operator runs it: a memory of paths, sessions, and default limits."""
    return [str(arguments.bentpipe), "front", "--certs", str(folder / "live"),
            "--upstream", f"http://127.0.0.1:{application}", "--listen", f"127.0.0.1:{port}",
            "--store", str(folder / "paths.sqlite"), "--log", "none"]


def client(stack, python, folder, name, spec):
    """Starts clients, which write what they counted to NAME.json each few seconds."""
    process = subprocess.Popen([python, PROGRAMS / f"{name}.py", json.dumps(spec),
                                folder / f"{name}.json"], stdout=sys.stderr)
    stack.callback(process.kill)
    return process


def sampled(arguments, front, clients, folder):
    """One sample a minute, until the time is up or a program has ended."""
    begin, samples = time.monotonic(), []
    while (minute := len(samples) + 1) < arguments.minutes:
        time.sleep(max(0, begin + minute * 60 - time.monotonic()))
        for process in (front, *clients):
            if process.poll() is not None:
                raise SystemExit(f"{process.args[1]} has ended with {process.returncode}")
        samples.append(sample(front, folder, minute))
        line = json.dumps(samples[-1])
        print(line, flush=True)
        if arguments.samples:
            with arguments.samples.open("a") as file:
                file.write(line + "\n")
    time.sleep(max(0, begin + arguments.minutes * 60 - time.monotonic()))
    return samples


def sample(front, folder, minute):
    """What the front holds, and what the clients have counted."""
    process = Path(f"/proc/{front.pid}")
    status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    times = (process / "stat").read_text().rpartition(")")[2].split()
    ticks = os.sysconf("SC_CLK_TCK")
    return {"minute": minute, "rss_kb": int(status["VmRSS"].split()[0]),
            "anonymous_kb": int(status["RssAnon"].split()[0]),
            "descriptors": len(list((process / "fd").iterdir())),
            "threads": int(status["Threads"]),
            "cpu_s": (int(times[11]) + int(times[12])) / ticks,
            **counted(folder / "ordinary.json", {"asked": 0, "failed": 0, "why": ""}),
            **counted(folder / "hostile.json", {"episodes": 0, "kinds": {}})}


def counted(path, nothing):
    return json.loads(path.read_text()) if path.exists() else nothing
