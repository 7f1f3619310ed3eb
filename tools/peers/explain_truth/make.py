"""Draws cases by seed, and makes their transfers over Bentpipe's emulator."""

import concurrent.futures
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

from tools.peers.explain_truth import programs
from tools.peers.explain_truth.draw import Case, case_of, dominates
from tools.peers.explain_truth.kinds import KINDS

INSIDE = Path(__file__).resolve().parent / "inside.py"
# Buffers that never limit.
OPEN = {"net.ipv4.tcp_rmem": "4096 6291456 67108864",
        "net.ipv4.tcp_wmem": "4096 1048576 67108864"}
# Share of QUIC captures that come with keys: operators have none.
WITH_KEYS = 0.75
CAPTURES = ["tcpdump", "tcpdump-any", "dumpcap", "emulator"]
# Seconds until a client is ended, and until the whole emulation is.
TIMEOUT, WHOLE = 60, 120


class Draw:
    """The random choices of a case."""

    def __init__(self, seed, number, client, server):
        self.random = random.Random(f"{seed}/{number}")
        self.client, self.server, self.quic = client, server, client.quic

    def between(self, low, high):
        return self.random.uniform(low, high)

    def whole(self, low, high):
        return self.random.randint(low, high)

    def choice(self, values):
        return self.random.choice(values)

    def rate(self, low, high):
        """A rate in Mbps that the programs keep up with."""
        most = min(self.client.most, self.server.most)
        return min(self.between(low, high), self.between(0.8 * most, most))

    @staticmethod
    def bytes(rate, seconds):
        return int(rate * 1e6 / 8 * seconds)

    def both(self, feature):
        return feature in self.client.features and feature in self.server.features

    def tls(self):
        return self.choice(["", "1.3"]) if self.both("tls") else ""

    def may_upload(self):
        return self.both("upload") and self.random.random() < 0.5


def pairs(kind, has=lambda name: True):
    """The clients and servers of this kind that are installed."""
    return [(client, server) for client in programs.CLIENTS for server in programs.SERVERS
            if programs.fit(client, server)
            and (kind.quic if client.quic else kind.tcp)
            and kind.client <= client.features and kind.server <= server.features
            and not kind.without & {client.name, server.name}
            and has(client.name) and has(server.name)]


def draw_case(seed, number, kind, has=lambda name: True):
    """Draws a case of this kind whose cause dominates by arithmetic."""
    able = pairs(kind, has)
    if not able:
        return None
    choice = random.Random(f"{seed}/{number}/programs")
    # Equal chances for TCP and QUIC, however many pairs each has.
    quic = choice.choice(sorted({client.quic for client, _ in able}))
    client, server = choice.choice([pair for pair in able if pair[0].quic == quic])
    for attempt in range(100):
        draw = Draw(seed, f"{number}/{attempt}", client, server)
        path, work, size, parts = kind.draw(draw)
        if not dominates(kind.label, parts):
            continue
        capture = "emulator" if client.quic else draw.choice(CAPTURES)
        keys = client.quic and draw.between(0, 1) < WITH_KEYS
        name = f"{number:03}-{kind.name}"
        return Case(
            name, kind.name, draw.whole(1, 10 ** 6), client.name, server.name, client.quic, keys,
            capture, path, work, list(kind.label), kind.detail, size, parts)
    raise ValueError(f"{kind.name}: its cause does not dominate in 100 draws")


def draw_cases(seed, count, has=lambda name: True):
    """Draws this many cases, with equal numbers of each kind, or one less."""
    order = list(KINDS)
    random.Random(f"{seed}/order").shuffle(order)
    cases = [draw_case(seed, number, order[number % len(order)], has) for number in range(count)]
    return [case for case in cases if case]


def captures(case, folder):
    """The commands that capture at both ends; none if the emulator does."""
    made = {}
    for end in ("client", "server"):
        file = str(folder / f"{end}.{'pcapng' if case.capture == 'dumpcap' else 'pcap'}")
        if case.capture == "dumpcap":
            made[end] = ["dumpcap", "-q", "-i", "{device}", "-s", "128", "-w", file]
        elif case.capture.startswith("tcpdump"):
            device = "any" if case.capture.endswith("any") else "{device}"
            made[end] = [
                "tcpdump", "-Z", "root", "--immediate-mode", "-U", "-n", "-i", device, "-s", "128",
                "-w", file]
    return made


def sysctl(case):
    """Kernel parameters of the case. Programs without a setting of their own get buffers so."""
    made = dict(OPEN)
    work = case.work
    if work.receive_buffer and case.client == "curl":
        made["net.ipv4.tcp_rmem"] = f"4096 {2 * work.receive_buffer} {2 * work.receive_buffer}"
    if work.send_buffer and case.server != "python":
        made["net.ipv4.tcp_wmem"] = f"4096 {2 * work.send_buffer} {2 * work.send_buffer}"
    return made | work.sysctl


def play(case, installed, out):
    """Makes the transfer of a case; returns its record."""
    folder = out / case.id
    folder.mkdir()
    for end in ("client", "server"):
        (folder / f"{end}-qlog").mkdir()
    programs.certificate(folder)
    (folder / "path.toml").write_text(
        case.path.toml() + f'[workload]\ndownload = "{case.work.bytes()} B"\n')
    for name, text in case.path.files.items():
        (folder / name).write_text(text)
    port = programs.QUIC if case.quic or case.server == "bentpipe-tcp" else programs.PLAIN
    orders = {
        "address": programs.ADDRESS, "port": port, "quic": case.quic,
        "server": programs.serve(case, installed, folder),
        "client": programs.fetch(case, installed, folder),
        "captures": captures(case, folder), "competitor": case.work.competitor,
        "begin": case.work.begin, "rtt": case.path.rtt,
        "congestion": case.work.congestion, "initial_window": case.work.initial_window,
        "timeout": TIMEOUT,
        "environment": {end: programs.environment(case, end, folder)
                        for end in ("client", "server")}}
    inside = f"exec {sys.executable} {INSIDE} server {folder}"
    command = [installed.bentpipe, "shell", folder / "path.toml", "--seed", case.seed, "--json",
               *(word for pair in sysctl(case).items() for word in ("--sysctl", "=".join(pair)))]
    if case.capture == "emulator":
        command += ["--capture", folder / "server.pcapng",
                    "--capture-client", folder / "client.pcapng"]
    command += ["--serve", inside, "--", sys.executable, INSIDE, "client", folder]
    load = os.getloadavg()[0]
    (folder / "orders.json").write_text(json.dumps(orders | {"began": time.time()}))
    with open(folder / "shell.json", "wb") as output, open(folder / "shell.log", "wb") as log:
        try:
            subprocess.run([*map(str, command)], stdin=subprocess.DEVNULL, stdout=output,
                           stderr=log, timeout=WHOLE, check=False)
        except subprocess.TimeoutExpired:
            pass
    record = case.record() | outcome(case, folder) | {
        "load": [load, os.getloadavg()[0]], "files": files(case, folder)}
    tidy(folder)
    (folder / "case.json").write_text(json.dumps(record, indent=1) + "\n")
    return record


def outcome(case, folder):
    """What became of the transfer: its time, and how exact the emulator was."""
    found = {"measured_s": None, "status": "no result"}
    if (folder / "result.json").exists():
        result = json.loads((folder / "result.json").read_text())
        found["status"] = "complete" if result["status"] == 0 else f"failed: {result['status']}"
        # Programs of others measure no time; that of their process has their start in it.
        found["measured_s"] = result.get("said", {}).get("completion_s") or result.get("wall_s")
        says = case.client in programs.SAYS
        if says and found["status"] == "complete" and not result.get("said"):
            # Its exit status is 0 if the page did not load, too.
            found["status"] = "failed: nothing was transferred"
        if result.get("late_start_s", 0) > 0.3:
            found["status"] = f"began {result['late_start_s']:.1f} s late"
    if found["status"] == "complete" and not dominated(case, found["measured_s"]):
        found["status"] = "the cause did not dominate"
    found["late_ms"] = lateness(folder / "shell.json")
    return found


def dominated(case, measured):
    """Whether the time that was measured leaves the cause more than any other part: what the parts
    of the arithmetic do not explain is the cause's."""
    others = [value for name, value in case.parts.items() if name not in case.label]
    if "serialisation_s" in case.label:
        return case.parts["serialisation_s"] > measured / 2
    return measured - sum(others) > max(others)


def lateness(file):
    """How late packets were handed over at p99, in milliseconds, by direction."""
    try:
        found = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    return {direction["name"]: direction["late_p99_us"] / 1000
            for direction in found["directions"]}


def files(case, folder):
    """The files of both ends that an explanation can begin from."""
    found = []
    for end in ("client", "server"):
        captured = [path for path in folder.glob(f"{end}.pcap*")]
        logs = sorted(path for path in (folder / f"{end}-qlog").iterdir() if path.stat().st_size)
        for path in captured:
            found.append({"path": path.name, "end": end, "form": "capture"})
        # A program may write several: the largest is that of the transfer.
        for path in sorted(logs, key=lambda path: path.stat().st_size)[-1:]:
            if "other_flows_s" not in case.label:
                found.append({"path": str(path.relative_to(folder)), "end": end, "form": "qlog"})
    if case.client == "chromium-quic" and (folder / "net-log.json").exists():
        found.append({"path": "net-log.json", "end": "client", "form": "NetLog"})
    return found


def tidy(folder):
    """Removes what no explanation reads."""
    for name in ("root", "web", "received", "body", "proxy", "f", "u", "s"):
        subprocess.run(["rm", "-rf", str(folder / name)], check=False)
    (folder / "orders.json").unlink(missing_ok=True)


def make(options, installed):
    """Makes the cases that are not in the folder yet; writes truth.json."""
    options.out.mkdir(parents=True, exist_ok=True)
    cases = draw_cases(options.seed, options.count, installed.has)
    for name, reason in sorted(installed.missing.items()):
        print(f"left out: {name}: {reason}")
    for kind in KINDS:
        if not pairs(kind, installed.has):
            print(f"left out: kind {kind.name}: no installed programs can show it")
    labels = options.out / "labels.json"
    labels.write_text(json.dumps([case.record() for case in cases], indent=1) + "\n")
    records = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        started = {}
        for case in cases:
            done = options.out / case.id / "case.json"
            if done.exists():
                records[case.id] = json.loads(done.read_text())
            else:
                subprocess.run(["rm", "-rf", str(done.parent)], check=False)
                started[pool.submit(play, case, installed, options.out)] = case
        for future in concurrent.futures.as_completed(started):
            record = future.result()
            records[record["id"]] = record
            print(f"{record['id']}: {record['client']} from {record['server']}: "
                  f"{record['status']}, {record['measured_s'] or 0:.2f} s", flush=True)
            write(options.out, records)
    write(options.out, records)
    return 0


def write(out, records):
    ordered = [records[name] for name in sorted(records)]
    (out / "truth.json").write_text(json.dumps(ordered, indent=1) + "\n")


def truth(folder):
    """The cases of a folder, with their records. Those that `verify` found to have another cause
    are not complete."""
    records = json.loads((folder / "truth.json").read_text())
    verified = folder / "verified.json"
    rows = json.loads(verified.read_text()) if verified.exists() else []
    other = {row["case"] for row in rows if not row["dominates"]}
    for record in records:
        if record["id"] in other:
            record["status"] = "without the cause it is as slow"
    return [(case_of(record), record) for record in records]
