"""The environment: rewards that sum to the cost, no second physics, masks, truncation, Gymnasium's checker."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest

from migopt.errors import InfeasiblePartitionError, InputError, NotApplicableError
from migopt.io.generators import generate
from migopt.metrics import measure
from migopt.model import Instance, Partition
from migopt.rl.episodes import Episodes
from migopt.schedulers import parse_policy
from migopt.schedulers.learned.view import LAYOUTS, View
from migopt.sim import episodes as at
from migopt.sim import layout
from migopt.sim.stepper import ARRIVALS_AND_COMPLETIONS, Stepper
from migopt.testing.cases import random_instance, small_instance


def compiled_rule(name: str) -> Any:
    """Return a dispatch rule as the kernel knows it."""
    return parse_policy(f"{name}+static:1").dispatcher().compiled  # type: ignore[attr-defined]


def one_gpu_cases() -> list[Instance]:
    """Random instances of one GPU with jobs and a positive energy weight or none, all modes and scopes."""
    found = [random_instance(seed) for seed in range(220)]
    found = [case for case in found if len(case.gpus) == 1 and case.jobs]
    return [case for case in found if case.power or not case.weight_a]


def by_stepper(case: Instance, rule: Any, first: int, draw: random.Random) -> tuple[Any, list[int]]:
    """Play random decisions on the stepper; return the figures of its schedule and the decisions."""
    stepper, actions = Stepper(case, rule), []
    catalogue = case.catalogue(0)
    stepper.reset([catalogue[first]])
    while stepper.advance():
        gpu = stepper.run.gpus[0]
        free = gpu[layout.UNTIL] == layout.NEVER and gpu[layout.CHANGED] != stepper.now_ms
        if stepper.cause & ARRIVALS_AND_COMPLETIONS and free:
            number = draw.randint(1, len(catalogue))
            actions.append(number)
            target: Partition = catalogue[number]
            if target != stepper.partitions[0] and stepper.may_repartition(0, target):
                stepper.repartition(0, target)
        stepper.dispatch()
    return measure(case, stepper.schedule()), actions


def test_rewards_sum_to_minus_the_cost() -> None:
    """Rewards of 60 and more random cases sum to -ET within 1e-9 relative, exact costs are equal.

    ET is measured on the schedule that the stepper plays with the same decisions.
    """
    compared = 0
    for number, case in enumerate(one_gpu_cases()):
        draw = random.Random(number)
        rule = compiled_rule(draw.choice(["edf_ss_restricted", "edf_fs", "edf_ss", "fifo"]))
        first = draw.randint(1, len(case.catalogue(0)))
        view = View(draw.choice(LAYOUTS)).for_instance(case)
        try:
            figures, actions = by_stepper(case, rule, first, draw)
            episodes = Episodes([case], rule, view, first=first)
            episodes.begin(0)
            total = 0.0
            for action in actions:
                assert episodes.figures[0, at.STATUS] == at.GOING
                episodes.step(np.array([action]))
                total += float(episodes.rewards[0])
        except InfeasiblePartitionError:
            continue
        assert episodes.figures[0, at.STATUS] == at.ENDED
        assert episodes.cost(0) == figures.cost_exact, case.name
        assert total == pytest.approx(-float(figures.cost_exact), rel=1e-9, abs=1e-300)
        compared += 1
    assert compared >= 60


def test_gains_are_exact_and_add_up() -> None:
    """Energy and tardiness gained per step are integers whose sums are those of the whole run."""
    case = small_instance(3, jobs=20)
    episodes = Episodes([case], compiled_rule("edf_ss_restricted"), View().for_instance(case))
    episodes.begin(0)
    draw, energy, late = random.Random(1), 0, 0
    while len(episodes.going):
        episodes.step(np.array([draw.randint(1, 12)]))
        row = episodes.figures[0]
        energy, late = energy + int(row[at.GAIN_ENERGY]), late + int(row[at.GAIN_LATE])
    assert energy == episodes.figures[0, at.ENERGY] > 0
    assert late == episodes.figures[0, at.LATE]


def test_results_do_not_depend_on_threads_or_on_company() -> None:
    """States, masks and rewards of a day are the same alone, among others, and with two threads."""
    days = [small_instance(seed, jobs=12) for seed in range(6)]
    rule = compiled_rule("edf_ss_restricted")
    view = View("forecast", actions=12, job_minutes_per_wmin=0.01)
    together = [Episodes(days, rule, view, threads=threads) for threads in (1, 2)]
    alone = [Episodes([day], rule, view) for day in days]
    for episodes in together:
        episodes.begin(np.arange(6))
    for one in alone:
        one.begin(0)
    draw = np.random.default_rng(0)
    while len(together[0].going):
        actions = draw.integers(1, 13, 6)
        for episodes in together:
            episodes.step(actions)
        assert np.array_equal(together[0].states, together[1].states)
        assert np.array_equal(together[0].rewards, together[1].rewards)
        for number, one in enumerate(alone):
            one.step(actions[number : number + 1])
            assert one.rewards[0] == together[0].rewards[number]
            if len(one.going):
                assert np.array_equal(one.states[0], together[0].states[number])
                assert np.array_equal(one.masks[0], together[0].masks[number])


def test_attempts_end_at_the_same_arrival_and_change_nothing() -> None:
    """All actions are tried up to the next arrival; where a step gets just there, it gives the same."""
    day = small_instance(4, jobs=25)
    rule, view = compiled_rule("edf_ss_restricted"), View("queue").for_instance(day)
    episodes = Episodes([day], rule, view)
    episodes.begin(0)
    draw, compared = np.random.default_rng(2), 0
    releases = {job.release_ms for job in day.jobs}
    now = min(releases)
    while len(episodes.going):
        tries = draw.permutation(12)[None, :5] + 1
        before = {name: array.copy() for name, array in episodes.arrays.items()}
        found = episodes.attempt(tries, 1)
        for name, array in episodes.arrays.items():
            assert np.array_equal(array, before[name])
        going = found.figures[0, :, at.STATUS] == at.GOING
        elapsed = found.figures[0, :, at.ELAPSED]
        later = [release for release in releases if release > now]
        assert (now + elapsed[going] == min(later, default=0)).all()
        pick = int(draw.integers(5))
        episodes.step(tries[:, pick])
        now += int(episodes.figures[0, at.ELAPSED])
        if going[pick] and episodes.figures[0, at.ELAPSED] == elapsed[pick]:
            compared += 1
            for field in (at.GAIN_ENERGY, at.GAIN_LATE):
                assert found.figures[0, pick, field] == episodes.figures[0, field]
            assert np.array_equal(found.states[0, pick], episodes.states[0])
            assert np.array_equal(found.masks[0, pick], episodes.masks[0])
    assert compared > 3


def test_the_papers_state_by_hand(two_jobs: Instance) -> None:
    """Two jobs released at 0, of 28 s and 12 s on 1g, under [7g]: the first decision shows partition 1,
    hour 0, and per job its due date and duration on 7g (4 s and 1 715 ms), in minutes."""
    episodes = Episodes([two_jobs], compiled_rule("edf_fs"), View().for_instance(two_jobs), first=1)
    episodes.begin(0)
    jobs = sorted(two_jobs.jobs, key=lambda job: (job.due_ms, job.release_ms, job.id))
    full = {0: 4000, 1: 1715}
    expected = [1.0, 0.0]
    for job in jobs:
        expected += [min(1440.0, job.due_ms / 60_000), full[job.id] / 60_000]
    assert episodes.states[0].tolist() == pytest.approx([*expected, 1440.0, 0.0], rel=1e-6)
    assert episodes.masks[0].all()


def test_a_cap_on_steps_truncates() -> None:
    """After ``most_steps`` decisions the episode is cut, not ended, and its rewards fall short of the cost."""
    day = small_instance(3, jobs=20)
    episodes = Episodes([day], compiled_rule("edf_fs"), View().for_instance(day), most_steps=4)
    episodes.begin(0)
    for _ in range(4):
        assert episodes.figures[0, at.STATUS] == at.GOING
        episodes.step(np.array([1]))
    assert episodes.figures[0, at.STATUS] == at.CUT
    episodes.step(np.array([1]))
    assert episodes.rewards[0] == 0.0


def test_masks_forbid_what_may_not_be_stopped() -> None:
    """While a job that may not be stopped runs, only the present partition may be chosen (scope gpu)."""
    day = small_instance(5, jobs=10, mode="none")
    episodes = Episodes([day], compiled_rule("fifo"), View().for_instance(day), first=3)
    episodes.begin(0)
    episodes.step(np.array([3]))
    assert episodes.masks[0].tolist() == [number == 3 for number in range(1, 13)]


def test_bad_arguments_are_refused() -> None:
    """Several GPUs, no jobs, an unknown layout and a partition that is not there are one clear error each."""
    rule = compiled_rule("edf_fs")
    day = small_instance(1)
    with pytest.raises(NotApplicableError, match="one GPU"):
        View().for_instance(small_instance(1, gpus=2))
    with pytest.raises(InputError, match="no jobs"):
        Episodes([small_instance(1, jobs=0)], rule, View().for_instance(day))
    with pytest.raises(InputError, match="nearest: paper"):
        View("papr")
    with pytest.raises(InputError, match="no partition 13"):
        Episodes([day], rule, View().for_instance(day), first=13)


def test_actions_beyond_the_catalogue_are_refused() -> None:
    """Compiled code checks no index: another number, shape or type, a day or an episode that is not there, is refused.

    Before a day has begun nothing is due and a step pays nothing.
    """
    days = [small_instance(seed, jobs=10) for seed in (1, 2)]
    episodes = Episodes(days, compiled_rule("edf_fs"), View().for_instance(days[0]))
    episodes.step(np.array([1, 1]))
    assert len(episodes.going) == 0
    assert episodes.rewards.tolist() == [0.0, 0.0]
    for chosen, text in (((0, 2), "day .* 0 to 1, not 2"), ((-1, 0), "day .*not -1")):
        with pytest.raises(InputError, match=text):
            episodes.begin(np.array(chosen))
    with pytest.raises(InputError, match="episode .*not 5"):
        episodes.begin(0, np.array([5]))
    episodes.begin(np.arange(2))
    before = {name: array.copy() for name, array in episodes.arrays.items()}
    for actions, text in (
        (np.array([1, 13]), "from 0 to 12, not 13"),
        (np.array([-1, 1]), "not -1"),
        (np.array([1]), r"shape \(2,\), not int64 of \(1,\)"),
        (np.array([1.0, 2.0]), "not float64"),
    ):
        with pytest.raises(InputError, match=text):
            episodes.step(actions)
    for tries in (np.array([[1, 2]]), np.array([[1, 2], [3, 99]])):
        with pytest.raises(InputError):
            episodes.attempt(tries, 1)
    for name, array in episodes.arrays.items():
        assert np.array_equal(array, before[name])


# --- Gymnasium -------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gymnasium_accepts_the_environment(layout: str) -> None:
    """Gymnasium's checker passes for every layout, without a warning but that it was not registered."""
    pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    from gymnasium.utils.env_checker import check_env

    from migopt.rl.env import MigEnv

    environment = MigEnv([small_instance(1, jobs=12)], view=View(layout))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(environment, skip_render_check=True)
    assert [str(item.message) for item in caught if "spec" not in str(item.message)] == []


def test_an_episode_of_the_environment_sums_to_its_cost() -> None:
    """A random day of S0: rewards sum to -ET; infos count the decisions; a wrong day is refused."""
    pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    from migopt.rl.env import MigEnv

    day = generate("s0-tight", seed=1_000_000, jobs=60)
    environment = MigEnv([day], first=2)
    _, info = environment.reset(seed=1, options={"day": 0})
    draw, total, ended = np.random.default_rng(1), 0.0, False
    while not ended:
        action = draw.choice(np.flatnonzero(info["action_mask"]))
        _, reward, ended, cut, info = environment.step(action)
        total += reward
        assert not cut
    assert total == pytest.approx(-float(environment.episodes.cost(0)), rel=1e-9)
    assert info["decisions"] > 60
    with pytest.raises(InputError, match="days 0 to 0"):
        environment.reset(options={"day": 1})


def test_the_environment_refuses_what_is_no_action() -> None:
    """A step before ``reset``, and actions -1, 12 and 2.5 of twelve, are one clear error each."""
    pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    from migopt.rl.env import MigEnv

    environment = MigEnv([small_instance(1, jobs=12)])
    with pytest.raises(InputError, match="call reset first"):
        environment.step(0)
    environment.reset(seed=1)
    for action in (-1, 12, 2.5, "a", np.array([1, 2])):
        with pytest.raises(InputError, match="from 0 to 11"):
            environment.step(action)
    for action in (0, np.int64(11), np.array([3]), np.array(4)):
        environment.step(action)


def test_stable_baselines3_trains_on_it() -> None:
    """DQN of Stable-Baselines3 learns 600 decisions on the environment; its policy then plays a day."""
    pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed")
    from stable_baselines3 import DQN

    from migopt.rl.env import MigEnv

    environment = MigEnv([generate("s0-tight", seed=1_000_000, jobs=40)], first=2)
    model = DQN("MlpPolicy", environment, learning_starts=100, buffer_size=1000, seed=1)
    model.learn(600)
    assert model.num_timesteps == 600
    observation, _ = environment.reset(seed=1)
    ended = False
    while not ended:
        action, _ = model.predict(observation, deterministic=True)
        observation, _, ended, _, _ = environment.step(action)
    assert float(environment.episodes.cost(0)) > float(environment.episodes.days[0].constant_cost)
