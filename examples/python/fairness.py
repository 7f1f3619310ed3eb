"""Heat map of fairness: every controller against every other over one GEO access."""

import bentpipe
import matplotlib.pyplot as plt

names = ["newreno", "cubic", "copa", "bbr1", "bbr3"]
scenario = bentpipe.Scenario(
    name="fairness",
    path={"profile": "geo-10-2"},
    flows=[
        {"name": "a", "bulk": {"duration": "120 s"}, "start_jitter": "650 ms"},
        {"name": "b", "bulk": {"duration": "120 s"}, "start_jitter": "650 ms"},
    ],
    defaults={"resume": "none"},
    output={"time_series": "none"},
)
pairs = scenario.sweep("flow.a.congestion", names).sweep("flow.b.congestion", names)
shares = pairs.run(repeat=1).table("shares").to_pandas()
first = shares[shares["flow"] == "a"]
grid = first.pivot(
    index="point.flow.a.congestion", columns="point.flow.b.congestion", values="share"
).loc[names, names]

figure, axes = plt.subplots()
image = axes.imshow(grid, cmap="RdBu", vmin=0, vmax=1)
axes.set_xticks(range(len(names)), names)
axes.set_yticks(range(len(names)), names)
axes.set(xlabel="competes with", ylabel="controller")
for row in range(len(names)):
    for column in range(len(names)):
        axes.text(column, row, f"{grid.iat[row, column]:.2f}", ha="center", va="center")
figure.colorbar(image, label="share of the bottleneck")
figure.savefig("fairness.png")
