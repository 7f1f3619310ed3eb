"""Compact results of a scenario, and how two of them differ."""

from tools.atlas.stats import STATISTICS, rounded, statistics

# Metrics that every scenario keeps; those of expectations and published figures besides.
KEPT = [
    "completion_s",
    "goodput_mbps",
    "first_byte_s",
    "packets_sent",
    "packets_declared_lost",
    "packets_lost_queue",
    "packets_lost_channel",
    "packets_lost_policer",
    "packets_lost_routing",
    "reverse_bytes",
    "jain_index",
    "min_max_ratio",
    "share",
    "bottleneck_utilisation",
    "aggregate_goodput_mbps",
]
# A scenario that expects something of one part of the time budget keeps all parts.
BUDGET = "time_budget."


def compact(results):
    """Returns the rows of a results document that pages and checks need."""
    named = {row["metric"] for row in results["published"]}
    # The text of an expectation names its metric.
    words = {word for row in results["expectations"] for word in row["text"].split()}
    named |= words & {row["metric"] for row in results["summary"]}
    rows = []
    for row in results["summary"]:
        if row["metric"].startswith(BUDGET):
            continue
        if row["metric"] not in named and row["metric"] not in KEPT:
            continue
        if row["metric"].startswith("packets_lost") and row["p95"] == 0 and row["mean"] == 0:
            continue
        head = {key: row[key] for key in ("variant", "point", "flow", "visit", "metric", "n")}
        rows.append({**head, **{key: rounded(row.get(key)) for key in STATISTICS}})
    if any(name.startswith(BUDGET) for name in named):
        rows += budgets(results["runs"])
    incomplete = {}
    for run in results["runs"]:
        for flow in run["flows"]:
            key = (run["variant"], str(run["point"]), flow["name"])
            failed, total, point = incomplete.get(key, (0, 0, run["point"]))
            incomplete[key] = (failed + (not flow["completed"]), total + 1, point)
    return {
        "version": results["version"],
        "seed": results["seed"],
        "runs": len(results["runs"]),
        "rows": rows,
        "incomplete": [
            {"variant": variant, "point": point, "flow": flow, "incomplete": failed, "of": total}
            for (variant, _, flow), (failed, total, point) in incomplete.items()
            if failed
        ],
        "expectations": [
            {key: row[key] for key in ("text", "passed")} | {"measured": rounded(row["measured"])}
            for row in results["expectations"]
        ],
        "published": [
            {
                "label": row["label"],
                "variant": row["variant"],
                "point": row["point"],
                "metric": row["metric"],
                "value": row["value"],
                "measured": rounded(row["measured"]),
                "ratio": rounded(row["ratio"]),
            }
            for row in results["published"]
        ],
    }


def budgets(runs):
    """Returns rows of all parts of the time budgets of complete transfers; absent parts are 0."""
    groups, parts = {}, {}
    for run in runs:
        for flow in run["flows"]:
            if flow["completed"] and flow.get("time_budget"):
                head = {"variant": run["variant"], "point": run["point"]}
                head |= {"flow": flow["name"], "visit": flow["visit"]}
                key = str(list(head.values()))
                groups.setdefault(key, (head, []))[1].append(flow["time_budget"])
                parts.update(dict.fromkeys(flow["time_budget"]))
    return [
        {**head, "metric": BUDGET + part, **statistics([one.get(part, 0.0) for one in all_runs])}
        for head, all_runs in groups.values()
        for part in sorted(parts)
    ]


def point_text(point):
    """A sweep point in words."""
    return ", ".join(f"{key} = {value}" for key, value in point.items())


def identity(row):
    """What a row is about."""
    return (row["variant"], point_text(row["point"]), row["flow"], row["visit"], row["metric"])


def same(old, new):
    """True if two results, either of which may be `None`, differ in their commit at most."""
    if old is None or new is None:
        return old is new
    return {**old, "commit": None} == {**new, "commit": None}


def kept(old, new):
    """Returns which of two results to keep: the old one if they differ in their commit alone.

    A result that does not move is so from the first commit that gave it. If that was not clean, or
    none is known, a clean one takes its place.
    """
    if not same(old, new):
        return new
    clean = lambda document: not (document.get("commit") or "+").endswith("+")
    return new if clean(new) and not clean(old) else old


def moved(old, new):
    """Returns a line for each figure in which `new` differs from `old`, the largest first."""
    if old is None:
        return []
    lines = []
    before = {identity(row): row for row in old["rows"]}
    after = {identity(row): row for row in new["rows"]}
    for key, row in after.items():
        other = before.get(key)
        name = ", ".join(str(part) for part in key if part != "")
        if other is None:
            lines.append((float("inf"), f"{name}: new"))
            continue
        for what in ("n", *STATISTICS):
            a, b = other[what], row[what]
            if a == b:
                continue
            change = abs(b / a - 1) if a and b is not None else float("inf")
            said = f"{change:+.2%}" if change != float("inf") else "other"
            lines.append((change, f"{name}: {what} {a} -> {b} ({said})"))
    gone = [key for key in before if key not in after]
    lines += [(float("inf"), f"{', '.join(map(str, key))}: gone") for key in gone]
    passed = {row["text"]: row["passed"] for row in old["expectations"]}
    for row in new["expectations"]:
        was = passed.get(row["text"], row["passed"])
        if was != row["passed"]:
            change = f"{was} -> {row['passed']}"
            lines.append((float("inf"), f"expectation {row['text']}: {change}"))
    if old["incomplete"] != new["incomplete"]:
        change = f"{old['incomplete']} -> {new['incomplete']}"
        lines.append((float("inf"), f"incomplete runs: {change}"))
    return [line for _, line in sorted(lines, key=lambda pair: -pair[0])]
