"""CDF of completion times: two controllers at two RTTs, with random losses."""

import bentpipe
import matplotlib.pyplot as plt

scenario = bentpipe.Scenario(
    name="cdf",
    path={"profile": "geo-50-10", "forward": {"loss": 0.001}},
    workload={"download": "50 MB"},
    variants=[{"name": "cubic"}, {"name": "bbr3", "congestion": "bbr3"}],
)
flows = scenario.sweep("path.rtt", ["60 ms", "600 ms"]).run(repeat=20).flows.to_pandas()

figure, axes = plt.subplots()
for (variant, rtt), group in flows.groupby(["variant", "point.path.rtt"]):
    axes.ecdf(group["completion_s"], label=f"{variant}, RTT {rtt}")
axes.set(xlabel="completion time [s]", ylabel="share of runs", xscale="log")
axes.legend()
figure.savefig("cdf.png")
