"""The environment for reinforcement learning."""

import pathlib
import time
import warnings
from typing import Any

import pytest

gymnasium = pytest.importorskip("gymnasium")
np = pytest.importorskip("numpy")

from bentpipe.gym import OBSERVATION, CongestionEnv  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402

from .test_controller import example  # noqa: E402

SMALL: dict[str, Any] = {"download_mb": 1.0, "rate_mbps": (5.0, 20.0)}


def action(value: float) -> Any:
    return np.array([value], dtype=np.float32)


def play(env: Any, policy: Any, seed: int | None = None) -> tuple[list[Any], dict[str, Any]]:
    """Play an episode; return its observations and rewards, and the last info."""
    observation, info = env.reset(seed=seed)
    steps = [(observation.tolist(), 0.0)]
    ended = False
    while not ended:
        observation, reward, terminated, truncated, info = env.step(policy(observation))
        steps.append((observation.tolist(), reward))
        ended = terminated or truncated
    return steps, info


def episode_threads() -> int:
    tasks = pathlib.Path("/proc/self/task").iterdir()
    def is_episode(task: pathlib.Path) -> bool:
        try:
            return (task / "comm").read_text().startswith("bentpipe-episod")
        except FileNotFoundError:
            # The thread has ended since its directory was listed.
            return False

    return sum(map(is_episode, tasks))


def episode_threads_end() -> bool:
    """Wait up to two seconds for no thread to be left; return whether none is.

    A joined thread leaves /proc a moment after the join returns.
    """
    for _ in range(100):
        if episode_threads() == 0:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize(
    "options",
    [{}, {"reward": "completion"}, {"interval_ms": 100.0}, {"transport": "tcp"}, {"max_steps": 3}],
)
def test_gymnasium_accepts_the_environment(options: dict[str, Any]) -> None:
    env = gymnasium.make("bentpipe/Congestion-v0", **(SMALL | options))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped, skip_render_check=True)
    env.close()
    assert episode_threads_end()


def test_the_same_seed_and_actions_give_the_same_episode() -> None:
    env = CongestionEnv(**SMALL, loss=(0.0, 0.01))
    policy = lambda observation: action(0.5 - observation[2])  # noqa: E731
    first, second, other = (play(env, policy, seed) for seed in (1, 1, 2))
    assert first == second
    assert first != other
    # Episodes that follow without a seed differ from each other.
    assert play(env, policy)[0] != play(env, policy)[0]


def test_a_download_terminates_with_its_completion_time() -> None:
    env = CongestionEnv(**SMALL, rtt_ms=600.0, reward="completion")
    steps, info = play(env, lambda _: action(1.0), seed=3)
    assert info["completed"] and info["bytes"] == 1_000_000
    # The rewards are the negative durations of the steps, after the first one.
    first = info["completion_s"] + sum(reward for _, reward in steps)
    assert 0.5 < first < 2.0, "the time before the first step"
    assert len(OBSERVATION) == len(steps[0][0])


def test_a_run_that_ends_before_the_first_step_ends_with_it() -> None:
    env = CongestionEnv(**SMALL, rtt_ms=600.0, scenario={"time_limit": "100 ms"})
    env.reset(seed=1)
    *_, terminated, truncated, info = env.step(action(0.0))
    assert (terminated, truncated) == (False, True)
    assert info["completion_s"] is None
    with pytest.raises(RuntimeError, match=r"call reset\(\)"):
        env.step(action(0.0))


def test_the_agent_alone_sets_the_window() -> None:
    env = CongestionEnv(**SMALL, rtt_ms=600.0, loss=0.01)
    _, info = env.reset(seed=1)
    windows = []
    for _ in range(4):
        *_, info = env.step(action(0.0))
        windows.append(info["cwnd"])
    assert len(set(windows)) == 1, "losses and slow start do not change it"
    *_, info = env.step(action(1.0))
    assert info["cwnd"] == 2 * windows[0]
    env.close()


def test_an_interval_gives_more_steps_than_round_trips() -> None:
    rounds, _ = play(CongestionEnv(**SMALL), lambda _: action(0.3), seed=1)
    often, _ = play(CongestionEnv(**SMALL, interval_ms=50), lambda _: action(0.02), seed=1)
    assert len(often) > len(rounds)


def test_steps_are_limited() -> None:
    env = CongestionEnv(**SMALL, max_steps=2)
    env.reset(seed=1)
    assert env.step(action(0.0))[2:4] == (False, False)
    assert env.step(action(0.0))[2:4] == (False, True)
    with pytest.raises(RuntimeError, match=r"call reset\(\)"):
        env.step(action(0.0))
    assert episode_threads_end()


def test_closing_resetting_or_dropping_ends_the_thread_of_an_episode() -> None:
    env = CongestionEnv(**SMALL)
    env.reset(seed=1)
    assert episode_threads() == 1
    env.reset(seed=2)
    assert episode_threads() == 1
    env.close()
    env.close()
    assert episode_threads_end()
    for _ in range(5):
        CongestionEnv(**SMALL).reset(seed=1)
    assert episode_threads_end()


def test_options_fix_the_path_of_an_episode() -> None:
    env = CongestionEnv(**SMALL)
    _, info = env.reset(seed=1, options={"rate_mbps": 7.0, "rtt_ms": (100, 101)})
    assert info["path"]["rate_mbps"] == 7.0 and 100 <= info["path"]["rtt_ms"] <= 101
    _, info = env.reset(seed=1)
    assert 500 <= info["path"]["rtt_ms"] <= 700
    with pytest.raises(ValueError, match="unknown option `rate`; allowed: rate_mbps"):
        env.reset(options={"rate": 7.0})
    env.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate_mbps": (10, 5)}, "`rate_mbps` of .* is out of range"),
        ({"loss": 1.0}, "`loss` of 1.0 is out of range; allowed: a value from 0 to below 1"),
        ({"reward": "speed"}, "allowed: 'utility', 'completion'"),
        ({"factor": 1.0}, "allowed: above 1"),
        ({"max_steps": 0}, "allowed: 1 or more"),
        ({"interval_ms": 0.0}, "allowed: above 0"),
        ({"render_mode": "human"}, "allowed: None"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CongestionEnv(**options)


def test_keys_of_the_scenario_can_be_added() -> None:
    alone, _ = play(CongestionEnv(**SMALL), lambda _: action(0.5), seed=1)
    env = CongestionEnv(**SMALL, scenario={"path.forward.policer": {"rate": "2 Mbps", "burst": "50 kB"}})
    assert play(env, lambda _: action(0.5), seed=1)[0] != alone


def test_the_example_learns(root: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    learn = example(root, "learn")
    policy, curve = learn.train(generations=2, population=6, elite=2, episodes=1)
    assert len(curve) == 2 and curve[-1] <= curve[0]
    ours, cubic = learn.compare(policy, seeds=range(100, 102))
    assert len(ours) == len(cubic) == 2 and all(time > 0 for time in ours + cubic)
    assert "generation" in capsys.readouterr().out
