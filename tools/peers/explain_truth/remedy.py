"""Applies the remedy that `bentpipe explain` proposes, makes the transfer again, and compares what
it saves with what the explanation said."""

import copy
import json
import re
import sys

from tools.peers.explain_truth.command import explain, keys_of
from tools.peers.explain_truth.make import play, truth

# The saving that is told may be this far from that of the change.
WITHIN = 0.25
UNITS = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "": 1}
RATES = {"bps": 1e-6, "kbps": 1e-3, "Mbps": 1, "Gbps": 1e3, "": 1e-6}


def quantity(value, units):
    """A number, or a text such as `7 MB`, in the unit of the table; None if it is neither."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value * units[""]
    found = re.fullmatch(r"\s*([0-9.]+)\s*([A-Za-z]*)\s*", str(value))
    if not found or found.group(2) not in units:
        return None
    return float(found.group(1)) * units[found.group(2)]


def size(value):
    found = quantity(value, UNITS)
    return None if found is None else int(found)


def with_window(case, value, setting):
    """Sets the window or the buffer that the case is about. The kernel doubles what a program asks
    for (`SO_RCVBUF`, `SO_SNDBUF`), but takes `tcp_rmem` and `tcp_wmem` as they are; about half of
    a receive buffer is the window."""
    match case.kind:
        case "receive-window":
            case.work.receive_buffer = value // 2 if "rmem" in setting else value
        case "send-buffer":
            case.work.send_buffer = value if setting == "SO_SNDBUF" else value // 2
        case "stream-window":
            case.work.stream_window = value
        case "connection-window":
            case.work.connection_window = value


def mended(case, remedy):
    """The case with the change of a remedy, or None if the emulator or the programs have no such
    setting, or if it is not for the planted cause."""
    if remedy.get("cause") not in case.label:
        return None
    new = copy.deepcopy(case)
    new.id += "-mended"
    path, work, value = new.path, new.work, remedy.get("value")
    match case.kind:
        case "receive-window" | "send-buffer" | "stream-window" | "connection-window":
            if not (found := size(value)):
                return None
            with_window(new, found, str(remedy.get("setting")))
        case "random-loss" | "policer" | "small-queue" | "reordering" if value == "BBR":
            if case.quic:
                return None
            work.congestion = "bbr"
        case "small-queue":
            if not (found := size(value)):
                return None
            path.queue = f"{found} B"
        case "thin-return":
            if not (found := quantity(value, RATES)):
                return None
            path.back = found
        case "random-loss" | "policer" | "frames" | "lost-handshake":
            path.forward, path.files = "", {}
        case "on-demand":
            path.back_keys = ""
        case "blockage" | "handover" | "outage":
            path.forward = path.back_keys = path.forward_rate = path.forward_delay = ""
        case "reordering":
            path.forward_delay = ""
        case "server-thinks":
            work.think = 0
        case "client-late":
            work.pause = 0
        case "paced-source":
            work.pace = 0
        case "slow-reader":
            work.read_rate = 0
        case "held-acks":
            work.ack_delay = 0
        case "competing":
            work.competitor = 0
        case "slow-start":
            found = quantity(value, {"": 1, "packets": 1})
            if not found or case.quic:
                return None
            work.initial_window = int(found)
        case "sequential-requests":
            if case.client not in ("quic-go", "aioquic") and case.server != "bentpipe-tcp":
                return None
            work.parallel = work.count
        case "long-handshake":
            # One round trip, as with a session that resumes.
            work.tls = ""
        case _:
            return None
    return new


def compare(record, remedy, again):
    """A row: what was to be saved, what was, and whether that is near enough: of what is saved at
    most, whether it was not more."""
    saved = record["measured_s"] - again["measured_s"]
    is_bound = remedy.get("saves_s") is None
    told = remedy["saves_up_to_s" if is_bound else "saves_s"]
    within = saved > 0 and (
        saved <= (1 + WITHIN) * told if is_bound else abs(told - saved) <= WITHIN * saved)
    return {"case": record["id"], "kind": record["kind"], "setting": remedy.get("setting"),
            "value": remedy.get("value"), "is_bound": is_bound, "told_s": told, "saved_s": saved,
            "within": within}


def rows(options, installed):
    out = options.folder / "mended"
    out.mkdir(exist_ok=True)
    for case, record in truth(options.folder):
        if record["status"] != "complete" or (options.kinds and case.kind not in options.kinds):
            continue
        again = None
        for file in record["files"]:
            path = options.folder / case.id / file["path"]
            document, _ = explain(options.bentpipe, path, keys_of(path))
            remedy = proposed(case, document or {})
            if not remedy:
                continue
            new = mended(case, remedy)
            if again is None or new != again[0]:
                again = (new, played(copy.deepcopy(new), installed, out))
            if again[1]["measured_s"] is not None:
                yield compare(record, remedy, again[1]) | {"file": file["path"]}


def proposed(case, document):
    """The first remedy of a document that can be applied, with a saving; or else with the most
    that it saves."""
    able = [remedy for remedy in document.get("remedies") or [] if mended(case, remedy)]
    return next((remedy for told in ("saves_s", "saves_up_to_s") for remedy in able
                 if remedy.get(told) is not None), None)


def played(case, installed, out):
    """Makes the transfer; each change of a case has a folder of its own."""
    base, number = case.id, 1
    while (out / case.id).exists():
        number += 1
        case.id = f"{base}-{number}"
    return play(case, installed, out)


def summary(found):
    if not found:
        return "no remedy that can be applied"
    lines = []
    for is_bound, words in ((False, f"save within {100 * WITHIN:.0f} % of what was said"),
                            (True, "save no more than was said to be the most")):
        rows = [row for row in found if row["is_bound"] == is_bound]
        within, cases = sum(row["within"] for row in rows), len({row["case"] for row in rows})
        lines.append(f"{len(rows)} remedies of {cases} cases: {within} "
                     f"({100 * within / max(1, len(rows)):.0f} %) {words}")
    lines += [f"{row['case']}/{row['file']}: {row['setting']} to {row['value']}: said "
              f"{'up to ' * row['is_bound']}{row['told_s']:.2f} s, saved {row['saved_s']:.2f} s"
              for row in found if not row["within"]]
    return "\n".join(lines)


def remedy(options, installed):
    found = []
    for row in rows(options, installed):
        found.append(row)
        print(f"{row['case']}/{row['file']}: {row['setting']}: said {row['told_s']:.2f} s, "
              f"saved {row['saved_s']:.2f} s", file=sys.stderr, flush=True)
    print(json.dumps(found, indent=1) if options.json else summary(found))
    return 0
