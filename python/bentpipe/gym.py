"""An environment for reinforcement learning of congestion control.

Importing this module needs Gymnasium (``pip install gymnasium``) and registers
``bentpipe/Congestion-v0``::

    import bentpipe.gym
    import gymnasium

    env = gymnasium.make("bentpipe/Congestion-v0", rate_mbps=(10, 100), rtt_ms=600)
    observation, info = env.reset(seed=1)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

try:
    import gymnasium
    import numpy as np
    from numpy.typing import NDArray
except ImportError as error:
    raise ImportError(
        "bentpipe.gym needs Gymnasium and NumPy: pip install gymnasium numpy"
    ) from error

from ._bentpipe import Episode
from ._scenario import Scenario

Range = float | tuple[float, float]
"""A value, or the lowest and highest of a range that each episode draws from."""

#: Names of the observation's entries, in order.
OBSERVATION = (
    "delivery_rate",
    "highest_delivery_rate",
    "queueing_delay",
    "min_rtt",
    "loss",
    "cwnd",
    "in_flight",
    "last_action",
)
_HIGH = 10.0
_PATH = ("rate_mbps", "return_mbps", "rtt_ms", "loss", "queue_bdp", "download_mb")


class CongestionEnv(gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
    """A download whose congestion window an agent sets.

    An episode is one run of the simulator: a download over a path that is drawn when it starts.
    A step is one round trip, or a fixed interval. The window changes only by actions: not by
    losses, and not in slow start.

    **Action.** One number from -1 to 1. The window is multiplied by ``factor ** action``; it stays
    between two packets and ``max_cwnd`` bytes.

    **Observation.** Eight numbers from 0 to 10 (the last from -1 to 1), since the last step:

    ===  =========================  ====================================================
    0    ``delivery_rate``          delivered bytes per time, over the highest rate
    1    ``highest_delivery_rate``  highest of these so far
    2    ``queueing_delay``         mean RTT over the minimum RTT, minus 1
    3    ``min_rtt``                minimum RTT in seconds
    4    ``loss``                   lost bytes over lost and delivered bytes
    5    ``cwnd``                   window over highest rate times minimum RTT
    6    ``in_flight``              bytes in flight over the window
    7    ``last_action``            the last action
    ===  =========================  ====================================================

    "Highest rate" is the upper end of ``rate_mbps``. Larger values are cut off at 10.

    **Reward.** With ``reward="utility"``, ``log(1 + 100 x) / log(101)`` minus ``delay_weight *
    queueing_delay`` and ``loss_weight * loss``, where ``x`` is ``delivery_rate``. With
    ``reward="completion"``, the negative duration of the step in seconds: the return is the
    negative completion time.

    **End.** ``terminated`` when the download is complete; ``truncated`` after ``max_steps`` steps,
    or when the simulator's time limit ends the run. If the run has ended, ``info`` has
    ``completion_s`` (``None`` if the download is not complete) and counters.

    The same seed and actions give the same episode.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        *,
        rate_mbps: Range = (5.0, 50.0),
        return_mbps: Range = 10.0,
        rtt_ms: Range = (500.0, 700.0),
        loss: Range = 0.0,
        queue_bdp: Range = 1.0,
        download_mb: Range = 10.0,
        transport: str = "quic",
        interval_ms: float | None = None,
        factor: float = 2.0,
        max_cwnd: int = 1 << 30,
        reward: str = "utility",
        delay_weight: float = 1.0,
        loss_weight: float = 10.0,
        max_steps: int = 1000,
        scenario: Mapping[str, Any] | None = None,
        render_mode: str | None = None,
    ) -> None:
        """Describe paths and steps.

        Args:
            rate_mbps: Rate towards the client.
            return_mbps: Rate towards the server.
            rtt_ms: RTT of the idle path.
            loss: Fraction of packets lost towards the client.
            queue_bdp: Queue towards the client, in bandwidth-delay products.
            download_mb: Size of the download in MB.
            transport: ``quic`` or ``tcp``.
            interval_ms: Time between steps; the next ACK takes the step. ``None`` for round trips.
            factor: Factor of the window for an action of 1.
            max_cwnd: Largest window.
            reward: ``utility`` or ``completion``.
            delay_weight: Weight of the queueing delay.
            loss_weight: Weight of the loss.
            max_steps: Steps after which an episode is truncated.
            scenario: More keys of the scenario, by dotted path. They replace those above.
            render_mode: Only ``None``.
        """
        if render_mode is not None:
            raise ValueError(f"render_mode of {render_mode!r} is not available; allowed: None")
        if reward not in ("utility", "completion"):
            raise ValueError(f"reward of {reward!r} is unknown; allowed: 'utility', 'completion'")
        if factor <= 1:
            raise ValueError(f"factor of {factor} is too small; allowed: above 1")
        if max_steps < 1:
            raise ValueError(f"max_steps of {max_steps} is too small; allowed: 1 or more")
        if interval_ms is not None and interval_ms <= 0:
            raise ValueError(f"interval_ms of {interval_ms} is too small; allowed: above 0")
        given = (rate_mbps, return_mbps, rtt_ms, loss, queue_bdp, download_mb)
        self._ranges = {name: _range(name, value) for name, value in zip(_PATH, given, strict=True)}
        self._highest = self._ranges["rate_mbps"][1] * 1e6
        self._transport = transport
        self._interval = None if interval_ms is None else round(interval_ms * 1e6)
        self._factor = factor
        self._max_cwnd = max_cwnd
        self._reward = reward
        self._weights = (delay_weight, loss_weight)
        self._max_steps = max_steps
        self._scenario = dict(scenario or {})
        low = np.array([0.0] * 7 + [-1.0], dtype=np.float32)
        high = np.array([_HIGH] * 7 + [1.0], dtype=np.float32)
        self.observation_space = gymnasium.spaces.Box(low, high, dtype=np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), dtype=np.float32)
        self._episode: Episode | None = None
        self._over: dict[str, Any] | None = None
        self._current: Scenario | None = None
        Episode.register()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start an episode over a path drawn from the ranges.

        Args:
            seed: Seed of the paths and losses of this episode and the next ones.
            options: Ranges for this episode instead of those of the environment.
        """
        super().reset(seed=seed)
        self.close()
        ranges = dict(self._ranges)
        for name, value in (options or {}).items():
            if name not in ranges:
                raise ValueError(f"unknown option `{name}`; allowed: {', '.join(ranges)}")
            ranges[name] = _range(name, value)
        path = {name: float(self.np_random.uniform(*span)) for name, span in ranges.items()}
        run_seed = int(self.np_random.integers(1 << 53))
        self._current = self._made(path, run_seed)
        self._episode = Episode(self._current._plan, self._interval)
        self._steps = 0
        self._highest_delivered = 0.0
        self._action = 0.0
        state = self._episode.step()
        # A small download may be over before the first step, which then ends the episode.
        self._over = state if state["done"] else None
        self._cwnd = state.get("cwnd", 1)
        return self._observe(state), {"path": path}

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Set the window, and run to the next step."""
        if self._episode is None:
            raise RuntimeError("no episode is open; call reset()")
        self._action = float(np.clip(np.asarray(action, dtype=np.float64).reshape(-1)[0], -1, 1))
        if math.isnan(self._action):
            raise ValueError("the action is not a number; allowed: -1 to 1")
        cwnd = self._cwnd * self._factor**self._action
        # Rounded at once, so that windows are whole bytes for agent and engine.
        cwnd = max(1, min(round(cwnd), self._max_cwnd))
        state = self._over or self._episode.step(cwnd)
        self._steps += 1
        terminated = truncated = False
        info: dict[str, Any] = {}
        if state["done"]:
            terminated = bool(state.get("completed"))
            truncated = not terminated
            info = {key: value for key, value in state.items() if key not in ("done", "now_ns")}
            observation = self._last
            elapsed_s = self._end(state) - self._now_s
            self._episode = None
        else:
            self._cwnd = max(state["cwnd"], 1)
            elapsed_s = state["elapsed_ns"] / 1e9
            observation = self._observe(state)
            truncated = self._steps >= self._max_steps
            info = {"cwnd": self._cwnd, "now_s": self._now_s}
            if truncated:
                self.close()
        return observation, self._rewarded(observation, elapsed_s), terminated, truncated, info

    @property
    def scenario(self) -> Scenario:
        """The scenario of the last episode, with its path and seed.

        ``env.unwrapped.scenario.set("defaults.congestion", "cubic").run()`` is the same download
        with CUBIC.
        """
        if self._current is None:
            raise RuntimeError("no episode has started; call reset()")
        return self._current

    def close(self) -> None:
        """End an unfinished episode and its thread."""
        if self._episode is not None:
            self._episode.close()
            self._episode = None

    def _end(self, state: dict[str, Any]) -> float:
        """Return the time at which the run ended for the client, in seconds."""
        completion: float | None = state.get("completion_s")
        ended: float = state["now_ns"] / 1e9 if completion is None else completion
        return max(self._now_s, ended)

    def _observe(self, state: dict[str, Any]) -> NDArray[np.float32]:
        if state["done"]:
            # The download was over before the first round trip.
            self._now_s = 0.0
            self._last = np.zeros(len(OBSERVATION), dtype=np.float32)
            return self._last
        self._now_s = state["now_ns"] / 1e9
        elapsed = max(state["elapsed_ns"], 1) / 1e9
        delivered = state["delivered"] * 8 / elapsed / self._highest
        self._highest_delivered = max(self._highest_delivered, delivered)
        counted = state["delivered"] + state["lost"]
        values = (
            delivered,
            self._highest_delivered,
            max(state["rtt_ns"] / max(state["min_rtt_ns"], 1) - 1, 0.0) if state["rtt_ns"] else 0.0,
            state["min_rtt_ns"] / 1e9,
            state["lost"] / counted if counted else 0.0,
            state["cwnd"] * 8 / max(self._highest * state["min_rtt_ns"] / 1e9, 1.0),
            state["bytes_in_flight"] / max(state["cwnd"], 1),
        )
        self._last = np.array([min(value, _HIGH) for value in values] + [self._action], np.float32)
        return self._last

    def _rewarded(self, observation: NDArray[np.float32], elapsed_s: float) -> float:
        if self._reward == "completion":
            return -elapsed_s
        delivered, _, delay, _, loss = (float(value) for value in observation[:5])
        delay_weight, loss_weight = self._weights
        throughput = math.log1p(100 * delivered) / math.log(101)
        return throughput - delay_weight * delay - loss_weight * loss

    def _made(self, path: dict[str, float], seed: int) -> Scenario:
        queue = path["rate_mbps"] * 1e6 / 8 * path["rtt_ms"] / 1e3 * path["queue_bdp"]
        delay = f"{path['rtt_ms'] / 2:.3f} ms"
        keys: dict[str, Any] = {
            "name": "episode",
            "seed": seed,
            "path": {
                "forward": {
                    "rate": f"{path['rate_mbps']:.6f} Mbps",
                    "delay": delay,
                    "loss": path["loss"],
                    "queue": f"{max(round(queue), 3000)} B",
                },
                "return": {"rate": f"{path['return_mbps']:.6f} Mbps", "delay": delay},
            },
            "workload": {"download": f"{max(round(path['download_mb'] * 1e6), 1)} B"},
            "defaults": {
                "transport": self._transport,
                "congestion": "agent",
                "slow_start": "standard",
                "resume": "none",
            },
            "output": {"time_series": "none"},
        }
        made = Scenario(**keys)
        return made.set(self._scenario) if self._scenario else made


def _range(name: str, value: Range) -> tuple[float, float]:
    low, high = value if isinstance(value, tuple | list) else (value, value)
    low, high = float(low), float(high)
    least = 0.0 if name in ("loss", "queue_bdp") else 1e-6
    if not least <= low <= high < math.inf or (name == "loss" and high >= 1):
        raise ValueError(
            f"`{name}` of {value} is out of range; allowed: a value"
            f"{' from 0 to below 1' if name == 'loss' else ' above 0'}, or (lowest, highest)"
        )
    return low, high


if "bentpipe/Congestion-v0" not in gymnasium.registry:
    gymnasium.register("bentpipe/Congestion-v0", entry_point="bentpipe.gym:CongestionEnv")
