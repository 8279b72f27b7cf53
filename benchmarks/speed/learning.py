"""Learning: decisions per second of the vector environment, and of DQN against Stable-Baselines3's DQN.

Both learners have the same days, states (the paper's), network (64, 64), batch, buffer, rate of Adam and
gradient steps per decision; one thread each. Theirs plays ``MigEnv``, ours many days at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
from _measure import Figure, cpu_seconds

from migopt.io.generators import generate
from migopt.metrics import measure
from migopt.rl.config import FIRST_TRAINING_SEED, DqnConfig
from migopt.rl.dqn import DqnRun, mean_cost
from migopt.rl.env import MigEnv
from migopt.rl.episodes import Episodes
from migopt.rl.vector_env import MigVectorEnv
from migopt.schedulers import parse_policy
from migopt.schedulers.learned.view import View

DAYS = 64
DECISIONS = 30_000
START = 1_000
SETTINGS = DqnConfig(
    scenario="s0-tight",
    layout="paper",
    network="mlp",
    hidden=(64, 64),
    double=False,
    dueling=False,
    compare=1,
    n_step=1,
    huber=1.0,
    discount_min=60.0,
    batch=32,
    buffer=50_000,
    steps_per_update=4.0,
    learn_start=START,
    learning_rate=1e-4,
    final_learning_rate=1e-4,
    target_every=10_000,
    episodes=64,
    steps=DECISIONS,
    validate_every=10 * DECISIONS,
)


def figures() -> Iterator[Figure]:
    """Yield the figures of this file."""
    days = [generate("s0-tight", seed=FIRST_TRAINING_SEED + number) for number in range(DAYS)]
    yield from vector(days)
    yield from through_gymnasium(days)
    yield from against_stable_baselines(days)


def vector(days: list) -> Iterator[Figure]:
    """Random decisions on all days together, states, masks and rewards included."""
    rule = parse_policy("edf_ss_restricted+static:1").dispatcher().compiled
    actions = np.random.default_rng(1).integers(1, 13, (4096, len(days)))
    for threads in (1, 2):
        copies = days * 16 if threads == 2 else days
        episodes = Episodes(
            copies, rule, View("paper").for_instance(days[0]), first=3, threads=threads
        )
        many = np.tile(actions, (1, len(copies) // len(days)))
        total = np.zeros(len(copies))

        def work(episodes=episodes, many=many, total=total) -> int:
            decisions, step = 0, 0
            total[:] = 0
            episodes.begin(np.arange(episodes.count))
            while going := len(episodes.going):
                episodes.step(many[step])
                total += episodes.rewards
                decisions += going
                step += 1
            return decisions

        decisions = work()
        cost = float(episodes.cost(3))
        assert abs(total[3] + cost) < 1e-9 * cost
        if threads == 1:
            seconds = cpu_seconds(work, 3)
            name = "vector environment, random decisions, 64 days"
            yield Figure(name, decisions / seconds / 1e6, "M decisions/s/core", at_least=1.0)
        else:
            name = "vector environment, random decisions, 1,024 days, two threads"
            yield from _two_threads(name, work)


def _two_threads(name: str, work: Callable[[], int]) -> Iterator[Figure]:
    """Yield decisions per second of CPU time of the calling thread, and of wall time.

    The calling thread does all that is not shared and steps one half: its CPU time is what two free
    cores take, but for waiting. Wall time on a busy machine is that of the cores that are left.
    """
    decisions, wall, cpu = 0, float("inf"), float("inf")
    for _ in range(6):
        begin, start = time.thread_time(), time.perf_counter()
        decisions = work()
        wall = min(wall, time.perf_counter() - start)
        cpu = min(cpu, time.thread_time() - begin)
    for how, seconds in ((", CPU time", cpu), (", wall", wall)):
        yield Figure(name + how, decisions / seconds / 1e6, "M decisions/s", at_least=2.0)


def through_gymnasium(days: list) -> Iterator[Figure]:
    """The same as Gymnasium's vector environment: 1,024 of them for 1,000 steps, episodes begun anew in between."""
    many = MigVectorEnv(1_024, days, first=3, threads=2)
    actions = np.random.default_rng(1).integers(0, 12, (1_000, 1_024))

    def work() -> int:
        many.reset(seed=1)
        over, resets = np.zeros(1_024, np.bool_), 0
        for row in actions:
            resets += int(over.sum())
            _, _, ended, cut, _ = many.step(row)
            over = ended | cut
        # A step that begins an episode anew takes no decision.
        return actions.size - resets

    work()
    yield from _two_threads("the same through gymnasium.vector, two threads", work)


def against_stable_baselines(days: list) -> Iterator[Figure]:
    """Train both for the same number of decisions; CPU time of one core, first steps left out."""
    import torch
    from stable_baselines3 import DQN

    torch.set_num_threads(1)
    environment = MigEnv(days, first=2)
    theirs = DQN(
        "MlpPolicy",
        environment,
        learning_rate=SETTINGS.learning_rate,
        buffer_size=SETTINGS.buffer,
        learning_starts=START,
        batch_size=SETTINGS.batch,
        train_freq=4,
        gradient_steps=1,
        target_update_interval=10_000,
        policy_kwargs={"net_arch": [64, 64]},
        seed=0,
    )
    start = time.process_time()
    theirs.learn(DECISIONS)
    their_seconds = time.process_time() - start
    run = DqnRun(SETTINGS, days, days[:2])
    run.advance()
    start, before = time.process_time(), run.steps
    while not run.finished:
        run.advance()
    our_seconds = time.process_time() - start
    # The same work was done, and what came out plays a day.
    assert abs(theirs._n_updates - run.learner.updates) <= 16, (theirs._n_updates, run.learner)
    idle = float(days[0].constant_cost)
    network = run.learner.online.network()
    assert np.isfinite(network.weights[0]).all()
    assert mean_cost(run.validating, run.encoder, network) > idle
    fixed = measure(days[0], parse_policy("edf_ss_restricted+static:2").run(days[0])).cost
    assert 0.5 * fixed < float(run.validating.cost(0)) < 20 * fixed
    theirs_rate = DECISIONS / their_seconds
    ours_rate = (run.steps - before) / our_seconds
    yield Figure("DQN of Stable-Baselines3, training", theirs_rate, "decisions/s/core")
    yield Figure("DQN of migopt, training", ours_rate, "decisions/s/core")
    yield Figure(
        "DQN, migopt against Stable-Baselines3", ours_rate / theirs_rate, "times", at_least=5
    )
