"""Learns a congestion controller that beats CUBIC on one geostationary path.

The cross-entropy method finds nine weights of a linear policy, with NumPy alone: each generation
draws policies around a mean, downloads with each, and moves the mean to the best of them. Seeds
are fixed, so that every call prints the same. It takes a few minutes::

    python examples/python-controllers/learn.py
"""

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from bentpipe.gym import CongestionEnv
from numpy.typing import NDArray

PATH: dict[str, Any] = {"rate_mbps": 50.0, "rtt_ms": 600.0, "loss": 0.0005, "queue_bdp": 1.0, "download_mb": 10.0}
LIMIT_S = 120.0
Policy = NDArray[np.float64]


def environment() -> CongestionEnv:
    """Create the environment. The window can at most quadruple in a round trip."""
    return CongestionEnv(**PATH, factor=4.0, reward="completion", max_steps=200)


def completion_s(policy: Policy, seed: int) -> float:
    """Download once with the policy, and return the completion time."""
    env = environment()
    observation, _ = env.reset(seed=seed)
    while True:
        action = np.tanh(policy[:-1] @ observation + policy[-1])
        observation, _, terminated, truncated, info = env.step(np.array([action], np.float32))
        if terminated:
            return float(info["completion_s"])
        if truncated:
            env.close()
            return LIMIT_S


def train(
    generations: int = 15, population: int = 24, elite: int = 6, episodes: int = 4, seed: int = 1
) -> tuple[Policy, list[float]]:
    """Return the best policy found, and its mean completion time after each generation."""
    random = np.random.default_rng(seed)
    mean, deviation = np.zeros(9), np.ones(9)
    best, best_s, curve = mean, float("inf"), []
    # The runs need no lock of the interpreter, so threads use all processors.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for generation in range(generations):
            policies = mean + deviation * random.standard_normal((population, 9))
            tasks = [(policy, seed) for policy in policies for seed in range(episodes)]
            times = np.array(list(pool.map(lambda task: completion_s(*task), tasks)))
            means = times.reshape(population, episodes).mean(axis=1)
            order = np.argsort(means, kind="stable")
            chosen = policies[order[:elite]]
            # A floor keeps the search from ending at the first good policy.
            mean, deviation = chosen.mean(axis=0), chosen.std(axis=0) + 0.05
            if means[order[0]] < best_s:
                best, best_s = policies[order[0]], float(means[order[0]])
            curve.append(best_s)
            print(
                f"generation {generation:2}: best {means[order[0]]:6.2f} s, "
                f"median {np.median(means):6.2f} s",
                flush=True,
            )
    return best, curve


def compare(policy: Policy, seeds: Iterable[int]) -> tuple[list[float], list[float]]:
    """Return completion times of the policy and of CUBIC, over the same path and losses."""
    ours, cubic = [], []
    for seed in seeds:
        ours.append(completion_s(policy, seed))
        env = environment()
        env.reset(seed=seed)
        scenario = env.scenario.set("defaults.congestion", "cubic")
        env.close()
        cubic.extend(scenario.run(jobs=1, progress=False).flows["completion_s"])
    return ours, cubic


def main() -> None:
    """Train, then compare over seeds that the training has not seen."""
    policy, _ = train()
    ours, cubic = compare(policy, range(1000, 1020))
    print(f"weights: {np.array2string(policy, precision=2, separator=', ')}")
    print("10 MB over 50 Mbit/s and 600 ms with 0.05 % loss, median of 20 seeds not trained on:")
    print(f"  learned policy                  {np.median(ours):6.2f} s")
    print(f"  CUBIC with standard slow start  {np.median(cubic):6.2f} s")
    faster = sum(own < other for own, other in zip(ours, cubic, strict=True))
    print(f"  the policy is faster with {faster} of {len(ours)} seeds")


if __name__ == "__main__":
    main()
