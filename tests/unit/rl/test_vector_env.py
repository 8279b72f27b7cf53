"""The vector environment: equal to single environments step by step, in every way of beginning anew."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="gymnasium is not installed")

import gymnasium
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from migopt.errors import InputError
from migopt.rl.env import ENV_ID, MigEnv
from migopt.rl.vector_env import MigVectorEnv
from migopt.schedulers.learned.view import LAYOUTS, View
from migopt.testing.cases import small_instance

DAYS = [small_instance(seed, jobs=8) for seed in range(3)]


def assert_equal(ours: Any, theirs: Any, path: str = "") -> None:
    """Hold two results against each other: type, shape and every value of nested dictionaries."""
    if isinstance(theirs, dict):
        assert set(ours) == set(theirs), path
        for key in theirs:
            assert_equal(ours[key], theirs[key], f"{path}/{key}")
    elif theirs.dtype == object:
        assert ours.dtype == object
        for one, other in zip(ours, theirs, strict=True):
            assert (one is None) == (other is None), path
            assert one is None or np.array_equal(one, other), path
    else:
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), path
        assert np.array_equal(ours, theirs), path


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_equals_single_environments_step_by_step(layout: str, mode: AutoresetMode) -> None:
    """120 random steps of five environments: observations, rewards, ends and infos are those of
    Gymnasium's own vector of single environments, over several episodes each, with a cap or none."""
    for most_steps, threads in ((0, 1), (9, 2)):
        fields: dict[str, Any] = {"view": View(layout), "first": 3, "most_steps": most_steps}
        ours = MigVectorEnv(5, DAYS, autoreset_mode=mode, threads=threads, **fields)
        theirs = SyncVectorEnv([lambda f=fields: MigEnv(DAYS, **f)] * 5, autoreset_mode=mode)
        for space in ("observation_space", "action_space", "single_observation_space"):
            assert getattr(ours, space) == getattr(theirs, space)
        assert ours.metadata["autoreset_mode"] is mode
        assert_equal(ours.reset(seed=7)[0], theirs.reset(seed=7)[0])
        draw, ends = np.random.default_rng(1), 0
        for step in range(120):
            actions = draw.integers(0, 12, 5)
            found, expected = ours.step(actions), theirs.step(actions)
            names = ("observations", "rewards", "terminations", "truncations", "infos")
            for name, one, other in zip(names, found, expected, strict=True):
                assert_equal(one, other, f"{step}/{name}")
            assert found[0] in ours.observation_space
            ends += int((found[2] | found[3]).sum())
        assert ends >= 15


def test_without_autoreset_ended_episodes_are_reset_by_mask() -> None:
    """In mode disabled a step after an end is refused; a mask begins anew those it names, by the day asked."""
    ours = MigVectorEnv(3, DAYS, autoreset_mode="Disabled", most_steps=4)
    observations, infos = ours.reset(seed=1, options={"day": 2})
    assert infos["day"].tolist() == [2, 2, 2]
    assert (observations == observations[0]).all()
    for _ in range(4):
        *_, cut, infos = ours.step(np.zeros(3, np.int64))
    assert cut.all()
    with pytest.raises(InputError, match="environment 0 is over"):
        ours.step(np.zeros(3, np.int64))
    mask = np.array([True, False, False])
    _, infos = ours.reset(options={"reset_mask": mask, "day": 0})
    assert infos["decisions"].tolist() == [0, 0, 0]
    assert infos["_decisions"].tolist() == mask.tolist()
    with pytest.raises(InputError, match="environment 1 is over"):
        ours.step(np.zeros(3, np.int64))
    ours.reset(options={"reset_mask": ~mask})
    *_, cut, infos = ours.step(np.zeros(3, np.int64))
    assert infos["decisions"].tolist() == [1, 1, 1]
    assert not cut.any()


def test_gymnasium_makes_it_by_name() -> None:
    """``make_vec`` gives the compiled vector without a warning, ``make`` the single environment."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        many = gymnasium.make_vec(ENV_ID, num_envs=4, days=DAYS, first=2)
    assert isinstance(many, MigVectorEnv)
    assert many.spec is not None
    assert many.spec.id == ENV_ID
    assert many.reset(seed=0)[0].shape == (4, many.view.width)
    one = gymnasium.make(ENV_ID, days=DAYS, first=2)
    assert isinstance(one.unwrapped, MigEnv)


def test_bad_arguments_are_refused() -> None:
    """No days, no environments, a day, an action or seeds that are not there: one clear error each."""
    with pytest.raises(InputError, match="at least one day"):
        MigVectorEnv(2)
    with pytest.raises(InputError, match="at least one environment"):
        MigVectorEnv(0, DAYS)
    ours = MigVectorEnv(2, DAYS)
    with pytest.raises(InputError, match="days 0 to 2, not 3"):
        ours.reset(options={"day": 3})
    with pytest.raises(InputError, match="as many seeds"):
        ours.reset(seed=[1, 2, 3])
    with pytest.raises(InputError, match="2 booleans"):
        ours.reset(options={"reset_mask": np.array([True])})
    with pytest.raises(InputError, match="call reset first"):
        ours.step(np.array([0, 0]))
    ours.reset(seed=[1, None])
    for actions in (np.array([0, 12]), np.array([0, -1]), np.array([0.0, 1.0])):
        with pytest.raises(InputError, match="must be"):
            ours.step(actions)
    with pytest.raises(InputError, match=r"shape \(2,\)"):
        ours.step(np.array([0]))
