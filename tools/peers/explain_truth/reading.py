"""Draws explanations to be read without knowledge of the run, and the answers apart from them."""

import json
import random

from tools.peers.explain_truth.command import keys_of, run
from tools.peers.explain_truth.make import truth

QUESTIONS = """For each: what was the limit, how large was it (seconds, or the size of a window, a
rate, a count), and what would have to change, at which end? Only from the text."""


def drawn(folder, seed, count):
    """Files of as many different kinds as there are, in an order that is drawn."""
    draw = random.Random(seed)
    by_kind = {}
    for case, record in truth(folder):
        if record["status"] == "complete":
            by_kind.setdefault(case.kind, []).extend(
                (case, record, file) for file in record["files"])
    kinds = sorted(by_kind)
    draw.shuffle(kinds)
    return [draw.choice(by_kind[kinds[number % len(kinds)]]) for number in range(count)]


def answer(case, record):
    """What a reader has to find, in a line."""
    work = case.work
    size = ", ".join(f"{name} {value:.6g}" for name, value in case.size.items())
    cause = max((case.parts.get(name, 0) for name in case.label), default=0)
    return (f"{case.kind} ({' or '.join(case.label)}{': ' + case.detail if case.detail else ''}); "
            f"{size or f'{work.bytes()} bytes'}; by arithmetic {cause:.2f} of "
            f"{record['measured_s']:.2f} s")


def read(options):
    texts, answers = [f"{QUESTIONS}\n"], []
    for number, (case, record, file) in enumerate(
            drawn(options.folder, options.seed, options.count), 1):
        path = options.folder / case.id / file["path"]
        keys = keys_of(path)
        more = ["--keys", keys] if keys else []
        ended = run([options.bentpipe, "explain", path, *more], 60)
        text = ended.output.decode() or ended.error.replace(str(path), "FILE")
        texts.append(f"## {number}\n\n{text}")
        answers.append({"number": number, "file": f"{case.id}/{file['path']}",
                        "answer": answer(case, record)})
    options.out.write_text("\n".join(texts))
    options.answers.write_text(json.dumps(answers, indent=1) + "\n")
    return 0
