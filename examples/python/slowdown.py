"""Slowdown of a population of downloads: completion time over that on the idle path."""

import random

import bentpipe
import matplotlib.pyplot as plt

draw = random.Random(1)
sizes = [20, 50, 100, 200, 500, 1000, 2000, 5000]
common = {"path": {"profile": "geo-10-2"}, "output": {"time_series": "none"}}


def download(name, kilobytes, start_time):
    return {"name": name, "download": f"{kilobytes} kB", "start_time": f"{start_time:.3f} s"}


# Each size alone, one after another on an idle path.
alone = bentpipe.Scenario(
    name="alone",
    flows=[{"name": "main", "download": "20 kB"}],
    sweep={"flow.main.download": [f"{size} kB" for size in sizes]},
    **common,
)
# 300 downloads that start at random times within a minute, small ones more often.
population = bentpipe.Scenario(
    name="population",
    flows=[
        download(f"f{n}", draw.choices(sizes, [1 / size for size in sizes])[0], draw.uniform(0, 60))
        for n in range(300)
    ],
    **common,
)
idle = alone.run().flows.to_pandas().set_index("bytes")["completion_s"]
flows = population.run().flows.to_pandas()
flows["slowdown"] = flows["completion_s"] / flows["bytes"].map(idle)

figure, axes = plt.subplots()
axes.scatter(flows["bytes"] / 1000, flows["slowdown"], alpha=0.5)
median = flows.groupby("bytes")["slowdown"].median()
axes.plot(median.index / 1000, median, color="black", label="median")
axes.set(xlabel="size [kB]", ylabel="slowdown", xscale="log", yscale="log")
axes.legend()
figure.savefig("slowdown.png")
