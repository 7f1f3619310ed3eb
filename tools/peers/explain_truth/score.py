"""Runs `bentpipe explain` on each file of known truth, and compares what it names first."""

import collections
import json

from tools.peers.explain_truth.command import explain, keys_of, reason
from tools.peers.explain_truth.make import truth

# Parts that every transfer needs: an explanation names causes before them.
NEEDED = ["handshake_s", "request_s", "serialisation_s", "headers_s"]
UNKNOWN = "unattributed_s"
VERDICTS = ["right", "wrong", "unknown", "refused"]
# How far bytes and duration may be from those of the programs: TLS and HTTP add bytes, and a
# program's start adds time.
BYTES, SECONDS = 0.1, 0.1
SLACK_BYTES, SLACK_SECONDS = 20_000, 0.4
# A window counts as right within this share of it.
WINDOW = 0.25


def recorded(document):
    """The transfer of the file, not the simulated one beside it."""
    return next(one for one in document["transfers"] if one["variant"] == "recorded")


def first(transfer, label):
    """What an explanation names first. A cause stands before what every transfer needs; if the
    truth is one of the needed parts, the largest part counts."""
    budget = transfer["time_budget"]
    if set(label) & set(NEEDED) or not transfer["causes"]:
        return max(budget, key=budget.get, default=UNKNOWN)
    return transfer["causes"][0]


def judge(record, document):
    """Returns (verdict, what it names first) of an explanation."""
    if document is None:
        return "refused", None
    named = first(recorded(document), record["label"])
    if named in record["label"]:
        return "right", named
    return ("unknown" if named == UNKNOWN else "wrong"), named


def sizes(record, document):
    """What of bytes and duration differs from what the programs say."""
    if document is None:
        return []
    found, work = [], record["work"]
    expected, told = work["size"] * work["count"], document["bytes"]
    if abs(told - expected) > BYTES * expected + SLACK_BYTES:
        found.append(f"{told} bytes, transferred {expected}")
    took, told = record["measured_s"], recorded(document)["completion_s"]
    # iperf3 has its own end, on a second connection; picoquic waits until its peer has closed.
    slack = 3 if record["client"] in ("iperf3", "picoquic") else SLACK_SECONDS
    if abs(told - took) > SECONDS * took + slack:
        found.append(f"{told:.2f} s, took {took:.2f} s")
    return found


def detail(record, document):
    """Whether the document says where packets were lost, which window it was or whose pauses:
    True, False, or None if the truth has no such detail or the first cause is wrong."""
    if document is None or judge(record, document)[0] != "right":
        return None
    losses, pauses = document.get("losses") or {}, document.get("pauses") or {}
    limit = (document.get("flow_control") or {}).get("limit", "")
    queue = 2 * losses.get("at_a_full_queue", 0) > losses.get("packets", 0)
    sends = "client" if document["direction"] == "upload" else "server"
    match record["detail"]:
        case "queue":
            return queue
        case "channel" | "policer":
            return not queue and losses.get("packets", 0) > 0
        case "receive window" | "send buffer":
            return record["detail"] in limit
        case "reader":
            return "reads too slowly" in limit
        case "stream" | "connection":
            return f"{record['detail']} window" in limit
        case "server" | "client":
            ours = "sender_s" if record["detail"] == sends else "receiver_s"
            return 2 * pauses.get(ours, 0) > sum(pauses.values())
    return None


def window(record, document):
    """How many times the true window the one that is told is, or None if there is none."""
    true = record.get("size", {}).get("window")
    told = ((document or {}).get("flow_control") or {}).get("bytes")
    return told / true if true and told else None


def explained(folder, bentpipe, kinds=(), without_keys=False):
    """Explains every file of the complete cases; yields a row for each. `without_keys` explains
    all captures of QUIC as if they had none, and nothing else."""
    for _, record in truth(folder):
        if record["status"] != "complete" or (kinds and record["kind"] not in kinds):
            continue
        for file in record["files"]:
            path = folder / record["id"] / file["path"]
            if without_keys and (file["form"] != "capture" or not record["quic"]):
                continue
            keys = None if without_keys else keys_of(path)
            document, ended = explain(bentpipe, path, keys)
            verdict, named = judge(record, document)
            program = record["client" if file["end"] == "client" else "server"]
            form = file["form"] if file["form"] != "capture" else (
                "TCP capture" if not record["quic"] else "QUIC capture"
                if keys else "QUIC capture without keys")
            yield {
                "file": f"{record['id']}/{file['path']}", "kind": record["kind"],
                "form": f"{form}, {file['end']}", "program": program, "verdict": verdict,
                "named": named, "label": record["label"], "detail": detail(record, document),
                "window": window(record, document),
                "differs": sizes(record, document), "error": reason(ended) if not document else "",
                "seconds": round(ended.seconds, 2), "memory_mb": round(ended.memory_mb),
                "load": max(record["load"]),
                "text": recorded(document)["text"] if document else None}


def table(rows, column):
    """A table of verdicts by the values of a column."""
    counts = collections.defaultdict(collections.Counter)
    for row in rows:
        counts[row[column]][row["verdict"]] += 1
    lines = [f"| {column} | files | " + " | ".join(VERDICTS) + " |", "|---" * 6 + "|"]
    for name, count in sorted(counts.items()):
        total = sum(count.values())
        lines.append(f"| {name} | {total} | " + " | ".join(
            str(count[verdict] or "") for verdict in VERDICTS) + " |")
    return "\n".join(lines)


def total(rows):
    count = collections.Counter(row["verdict"] for row in rows)
    shares = ", ".join(f"{count[verdict]} {verdict} ({100 * count[verdict] / len(rows):.0f} %)"
                       for verdict in VERDICTS)
    return f"{len(rows)} explanations: {shares}"


def summary(rows):
    """The whole report as text."""
    if not rows:
        return "no complete case"
    parts = [total(rows)]
    parts += [table(rows, column) for column in ("kind", "form", "program")]
    told = [row["detail"] for row in rows if row["detail"] is not None]
    parts.append(f"of {len(told)} right ones, {sum(told)} have the right place of losses, "
                 "window or end that pauses")
    ratios = [row["window"] for row in rows if row["window"] is not None]
    near = sum(abs(ratio - 1) <= WINDOW for ratio in ratios)
    parts.append(f"of {len(ratios)} windows that are told, {near} are within {100 * WINDOW:.0f} %")
    parts.append(f"bytes or duration differ in {sum(bool(row['differs']) for row in rows)}; "
                 f"longest {max(row['seconds'] for row in rows):.2f} s")
    missed = [f"{row['file']}: {row['verdict']}: {row['named'] or row['error']}, planted "
              f"{' or '.join(row['label'])}\n    {row['text'] or ''}"
              for row in rows if row["verdict"] != "right"]
    differing = [f"{row['file']}: {'; '.join(row['differs'])}" for row in rows if row["differs"]]
    return "\n\n".join([*parts, "\n".join(missed), "\n".join(differing)])


def left_out(folder):
    """The cases that do not count, by reason."""
    count = collections.Counter(record["status"] for _, record in truth(folder))
    del count["complete"]
    return "; ".join(f"{number} left out: {reason}" for reason, number in sorted(count.items()))


def score(options):
    rows = list(explained(options.folder, options.bentpipe, options.kinds, options.without_keys))
    if options.json:
        print(json.dumps(rows, indent=1))
    else:
        print("\n".join(text for text in (left_out(options.folder), summary(rows)) if text))
    return 0
