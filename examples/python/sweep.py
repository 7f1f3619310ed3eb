"""Median goodput over the loss rate, with the 95 % confidence interval of the median."""

import bentpipe
import matplotlib.pyplot as plt

scenario = bentpipe.Scenario(
    name="sweep",
    repeat=10,
    path={"profile": "geo-50-10"},
    workload={"download": "20 MB"},
    defaults={"slow_start": "standard"},
    variants=[
        {"name": "newreno", "congestion": "newreno"},
        {"name": "cubic", "congestion": "cubic"},
        {"name": "bbr3", "congestion": "bbr3"},
    ],
)
results = scenario.sweep("path.forward.loss", [0.0001, 0.0003, 0.001, 0.003, 0.01]).run()
summary = results.summary.to_pandas()
goodput = summary[summary["metric"] == "goodput_mbps"]

figure, axes = plt.subplots()
for variant, rows in goodput.groupby("variant", sort=False):
    loss = rows["point.path.forward.loss.number"]
    axes.plot(loss, rows["median"], marker="o", label=variant)
    axes.fill_between(loss, rows["ci95_low"], rows["ci95_high"], alpha=0.2)
axes.set(xlabel="loss rate", ylabel="goodput [Mbps]", xscale="log", yscale="log")
axes.legend()
figure.savefig("sweep.png")
