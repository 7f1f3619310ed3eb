"""Whether what was sampled is flat."""

import statistics

# What may be added, beside a twentieth: memory of an allocator moves by as much.
SLACK = {"rss_kb": 4096, "descriptors": 16}
# Fewer samples have no quarters worth the name.
FEWEST = 8


def quarters(samples, field):
    """The medians of the second and of the last quarter; the first one fills tables."""
    size = len(samples) // 4
    middle = [sample[field] for sample in samples[size:2 * size]]
    last = [sample[field] for sample in samples[-size:]]
    return statistics.median(middle), statistics.median(last)


def grown(samples):
    """The fields that are not flat, with both medians."""
    if len(samples) < FEWEST:
        return {}
    found = {field: quarters(samples, field) for field in SLACK}
    return {field: (before, after) for field, (before, after) in found.items()
            if after > before * 1.05 + SLACK[field]}


def problems(samples):
    """What is wrong, as sentences."""
    if not samples:
        return ["there is no sample"]
    last = samples[-1]
    found = [f"{field} grew from {before:.0f} to {after:.0f}"
             for field, (before, after) in grown(samples).items()]
    if last["failed"]:
        found.append(f"{last['failed']} of {last['asked']} requests failed: {last['why']}")
    if not last["asked"]:
        found.append("ordinary clients asked for nothing")
    if not last["episodes"]:
        found.append("there was no hostile client")
    return found


def text(samples):
    """A few lines about all samples."""
    lines = []
    if samples:
        last = samples[-1]
        lines.append(f"{last['minute']:.0f} minutes: {last['failed']} of {last['asked']} requests "
                     f"failed, {last['episodes']} hostile clients, front used "
                     f"{last['cpu_s']:.0f} s of a processor")
    if len(samples) >= FEWEST:
        for field in SLACK:
            before, after = quarters(samples, field)
            most = max(sample[field] for sample in samples)
            lines.append(f"{field}: {before:.0f} in the second quarter, {after:.0f} in the last, "
                         f"at most {most}")
    else:
        lines.append("too short to say whether memory is flat")
    return "\n".join(lines + [f"PROBLEM: {problem}" for problem in problems(samples)])
