"""Compares the range in which `bentpipe explain` says that Bentpipe would complete with what it
takes on the true path, simulated."""

import json
import re
import statistics
import subprocess
import tempfile
from pathlib import Path

from tools.peers.explain_truth.command import explain, keys_of
from tools.peers.explain_truth.make import truth

# Runs of a path on which something is random.
REPEAT = 5
# Kinds whose path is not all in the scenario of one transfer.
WITHOUT = {"competing": "the other flow is not in the transfer's scenario"}


def shifted(text, seconds):
    """The scenario of a path that changes, for a transfer that begins at once."""
    def earlier(found):
        return f'{found.group(1)} = "{max(0.0, float(found.group(2)) - seconds):.3f} s"'
    return re.sub(r'\b(at|from|to) = "([0-9.]+) s"', earlier, text)


def with_path(scenario, path):
    """The scenario of `explain --scenario` with another path."""
    rest = scenario[scenario.index("[workload]"):]
    return path.rstrip() + "\n" + rest


def simulated(bentpipe, scenario, files):
    """The median completion time of a scenario in seconds, or None."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "case.toml"
        file.write_text(scenario)
        for name, text in files.items():
            (Path(folder) / name).write_text(text)
        done = subprocess.run(
            [str(bentpipe), "run", str(file), "--json", "--no-store", "--repeat", str(REPEAT),
             "--jobs", "1", "--out", f"{folder}/out"], capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            return None
    document = json.loads(done.stdout)
    times = [run["completion_s"] for run in completed(document)]
    return statistics.median(times) if times else None


def completed(document):
    """The transfers of a document of `run` that are complete."""
    return [flow for run in document["runs"] for flow in run["flows"] if flow["completed"]]


def compare(record, prediction, true):
    """A row: the range, the true time, whether it is inside, and how wide the range is."""
    row = {"case": record["id"], "kind": record["kind"], "true_s": true, "low_s": None,
           "high_s": None, "inside": None, "width": None}
    if prediction:
        low, high = prediction["low_s"], prediction["high_s"]
        row |= {"low_s": low, "high_s": high, "inside": low <= true <= high,
                "width": high / low if low > 0 else None}
    return row


def rows(options):
    for case, record in truth(options.folder):
        if record["status"] != "complete" or case.kind in WITHOUT or (
                options.kinds and case.kind not in options.kinds):
            continue
        for file in record["files"]:
            path = options.folder / case.id / file["path"]
            with tempfile.TemporaryDirectory() as folder:
                written = Path(folder) / "path.toml"
                document, _ = explain(options.bentpipe, path, keys_of(path),
                                      ["--scenario", written])
                if not document or not written.exists():
                    continue
                scenario = with_path(written.read_text(), case.path.toml())
            true = simulated(options.bentpipe, shifted(scenario, case.work.begin), case.path.files)
            if true is not None:
                yield compare(record, document.get("prediction"), true) | {"file": file["path"]}


def summary(found):
    told = [row for row in found if row["inside"] is not None]
    if not told:
        return f"{len(found)} files, no prediction"
    inside = sum(row["inside"] for row in told)
    widths = sorted(row["width"] for row in told if row["width"])
    narrow = sum(width <= 1.5 for width in widths)
    lines = [f"{len(found)} files, {len(told)} with a prediction: the true time is inside in "
             f"{inside} ({100 * inside / len(told):.0f} %); at most a factor of 1.5 wide in "
             f"{narrow} ({100 * narrow / len(told):.0f} %), median "
             f"{statistics.median(widths) if widths else 0:.2f}"]
    lines += [f"{row['case']}/{row['file']}: {row['low_s']:.2f} to {row['high_s']:.2f} s, true "
              f"{row['true_s']:.2f} s" for row in told if not row["inside"]]
    return "\n".join(lines)


def predict(options):
    found = list(rows(options))
    print(json.dumps(found, indent=1) if options.json else summary(found))
    return 0
