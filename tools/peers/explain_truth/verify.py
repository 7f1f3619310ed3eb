"""Checks labels without any explanation: makes each transfer again without its cause. What that
saves must be more than any other part takes. The cases are in verified.json; `score` leaves out
those that are wrong."""

import concurrent.futures
import json

from tools.peers.explain_truth.make import play, truth
from tools.peers.explain_truth.remedy import mended

# Windows and rates that limit nothing.
OPEN = {"thin-return": "20 Mbps", "slow-start": 200}
WINDOW = "64 MB"


def removed(case):
    """The case without its cause, or None if that cannot be: some causes are part of any
    transfer."""
    if case.kind == "long-handshake":
        return None
    found = (mended(case, {"cause": cause, "value": OPEN.get(case.kind, WINDOW)})
             for cause in case.label)
    return next((new for new in found if new), None)


def compare(case, record, again):
    """A row: what the removal saved, and whether that is more than each other part."""
    saved = record["measured_s"] - again["measured_s"]
    others = [value for name, value in case.parts.items() if name not in case.label]
    return {"case": case.id, "kind": case.kind, "measured_s": record["measured_s"],
            "saved_s": saved, "dominates": saved > max(others)}


def verify(options, installed):
    out = options.folder / "removed"
    out.mkdir(exist_ok=True)

    def one(pair):
        case, record = pair
        new = removed(case)
        if not new:
            return None
        done = out / new.id / "case.json"
        again = json.loads(done.read_text()) if done.exists() else play(new, installed, out)
        return compare(case, record, again) if again["measured_s"] is not None else None

    pairs = [(case, record) for case, record in truth(options.folder)
             if record["status"] == "complete" and not (
                 options.kinds and case.kind not in options.kinds)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        rows = [row for row in pool.map(one, pairs) if row]
    (options.folder / "verified.json").write_text(json.dumps(rows, indent=1) + "\n")
    print(json.dumps(rows, indent=1) if options.json else summary(rows, len(pairs)))
    return 0


def summary(rows, count):
    good = sum(row["dominates"] for row in rows)
    lines = [f"{count} cases, {len(rows)} made again without their cause: in {good} that saves "
             "more than any other part takes"]
    lines += [f"{row['case']}: {row['measured_s']:.2f} s, saved {row['saved_s']:.2f} s"
              for row in rows if not row["dominates"]]
    return "\n".join(lines)
