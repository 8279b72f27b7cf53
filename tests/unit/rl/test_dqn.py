"""The learner: returns by hand, targets at ends and cuts, gradients, determinism, exact resume, files."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from migopt.errors import InputError, NotApplicableError
from migopt.rl.config import DqnConfig
from migopt.rl.returns import n_step
from migopt.schedulers import parse_policy
from migopt.schedulers.learned.checkpoint import load_policy, save_policy
from migopt.schedulers.learned.network import Encoder, Network
from migopt.schedulers.learned.view import View
from migopt.testing.cases import small_instance
from toy import toy_day

torch = pytest.importorskip("torch", reason="torch is not installed")

TINY = DqnConfig(
    days=3,
    validation_days=2,
    hidden=(8,),
    steps=1024,
    episodes=2,
    batch=8,
    buffer=300,
    learn_start=64,
    validate_every=256,
    compare=3,
    compare_arrivals=2,
    value_weight=0.5,
    double=True,
)


def tiny_run(**changes: Any) -> Any:
    """Return a small run on small instances."""
    from dataclasses import replace

    from migopt.rl.dqn import DqnRun

    config = replace(TINY, **changes)
    days = [small_instance(seed, jobs=12) for seed in range(5)]
    return DqnRun(config, days[:3], days[3:])


# --- returns ----------------------------------------------------------------------------------------


def column(*values: float) -> np.ndarray[Any, Any]:
    """Return values as the steps of one episode."""
    return np.array(values)[:, None]


def test_returns_by_hand() -> None:
    """Rewards -1, -2, -4 with 10, 20, 30 minutes after each and T = 20 min.

    R = -1 - 2 e^(-10/20) - 4 e^(-30/20) = -3.1055820; what follows counts e^(-60/20) = 0.0497871.
    """
    no = column(0, 0, 0).astype(bool)
    found = n_step(column(-1, -2, -4), column(10, 20, 30), no, no, 20.0)
    assert found[0][0] == pytest.approx(-1 - 2 * math.exp(-0.5) - 4 * math.exp(-1.5))
    assert found[0][0] == pytest.approx(-3.1055820, abs=1e-7)
    assert found[1][0] == pytest.approx(0.0497871, abs=1e-7)
    assert found[2][0] == 2


def test_a_return_stops_at_an_end_and_owes_nothing_after_it() -> None:
    """If the episode ends with the second step, R = -1 - 2 e^(-1/2) and the factor is 0."""
    ended, no = column(0, 1, 0).astype(bool), column(0, 0, 0).astype(bool)
    returns, factors, last = n_step(column(-1, -2, -4), column(10, 20, 30), ended, no, 20.0)
    assert returns[0] == pytest.approx(-1 - 2 * math.exp(-0.5))
    assert (factors[0], last[0]) == (0.0, 1)


def test_a_return_stops_at_a_cut_and_bootstraps_there() -> None:
    """If it is cut with the second step, what follows counts e^(-30/20): a cut is no end."""
    cut, no = column(0, 1, 0).astype(bool), column(0, 0, 0).astype(bool)
    returns, factors, last = n_step(column(-1, -2, -4), column(10, 20, 30), no, cut, 20.0)
    assert returns[0] == pytest.approx(-1 - 2 * math.exp(-0.5))
    assert factors[0] == pytest.approx(math.exp(-1.5))
    assert last[0] == 1


def test_targets_by_hand() -> None:
    """Target = return + factor times the target network's value; plain takes its best, double the other's."""
    from migopt.rl.learner import targets
    from migopt.rl.qnet import QNet
    from migopt.rl.replay import Replay

    encoder = Encoder(View("paper", jobs=0, actions=2))
    online, target = (QNet(encoder, (), dueling=False) for _ in range(2))
    online.biases[-1].copy_(torch.tensor([1.0, 2.0]))
    target.biases[-1].copy_(torch.tensor([5.0, 3.0]))
    replay = Replay(3, encoder.width, 2, 1)
    nothing = np.zeros((3, encoder.width + 2), np.float32)
    rest = [[0.0, -1.0, 0.5], [0.0, -1.0, 0.0], [1.0, -1.0, 0.5]]
    tried = np.concatenate([nothing, np.array(rest, np.float32)], axis=1)[:, None]
    # In the last of the three only the second partition may be chosen.
    tried[2, 0, encoder.width] = -np.inf
    replay.add(nothing, tried)
    batch = type(replay.sample(1, np.random.default_rng(0)))(replay.rows, replay)
    assert targets(batch, online, target, double=False)[:, 0].tolist() == [1.5, -1.0, 0.5]
    assert targets(batch, online, target, double=True)[:, 0].tolist() == [0.5, -1.0, 0.5]


def test_replay_after_an_end_owes_nothing_and_after_a_cut_the_value() -> None:
    """Plain DQN on days cut after 5 decisions: rows from a cut have a factor above 0, from an end 0."""
    run = tiny_run(compare=1, n_step=2, layout="paper", network="mlp", steps=256)
    seen = {"ended": 0, "cut": 0}
    run.playing._settings[5] = 5
    while not run.finished:
        before = run.replay.added
        run.advance()
        if run.replay.added == before:
            continue
        row = (run.rounds - 2) % 2
        rows = run.replay.rows.numpy()[(before + np.arange(2)) % 300]
        for name in seen:
            hit = run.past[name][row]
            seen[name] += int(hit.sum())
            assert ((rows[hit, -1] > 0) == (name == "cut")).all()
    assert seen["cut"] > 5


# --- the network -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "dueling"), [("mlp", False), ("mlp", True), ("shared", False)])
def test_gradients_are_those_of_autograd(kind: str, dueling: bool) -> None:
    """The written-out gradient equals automatic differentiation, and numpy gives the same values."""
    from migopt.rl.qnet import QNet

    encoder = Encoder(View("forecast", jobs=2, actions=4), kind=kind)
    net = QNet(encoder, (7, 5), dueling=dueling)
    draw = np.random.default_rng(3)
    net.draw(draw)
    net.weights[-1].copy_(torch.from_numpy(draw.normal(size=net.weights[-1].shape)).float())
    inputs = torch.from_numpy(draw.normal(size=(6, encoder.width))).float()
    slope = torch.from_numpy(draw.normal(size=(6, 4))).float()
    rows = net.rows(inputs)
    outputs = net.forward(rows)
    net.backward(rows, outputs, slope.view(outputs[-1].shape))
    flat = net.flat.clone().requires_grad_(True)
    net.weights, net.biases = net._views(flat)
    net._transposed = [weight.t() for weight in net.weights]
    x = rows
    for number, weight in enumerate(net._transposed):
        x = torch.addmm(net.biases[number], x, weight)
        x = torch.relu(x) if number < 2 else x
    if dueling:
        x = x[:, 1:] - x[:, 1:].mean(1, keepdim=True) + x[:, :1]
    (x.view(6, 4) * slope).sum().backward()
    assert torch.allclose(flat.grad, net.grad, rtol=1e-4, atol=1e-5)
    plain = net.network(flat.detach())
    values = plain(encoder.rows(inputs.numpy())).reshape(6, 4)
    assert np.allclose(values, x.detach().numpy().reshape(6, 4), rtol=1e-4, atol=1e-5)


def test_adam_is_torchs() -> None:
    """Twenty steps equal those of torch.optim.Adam."""
    from migopt.rl.qnet import Adam

    ours, adam = torch.ones(5), Adam(5, clip=0)
    theirs = torch.ones(5, requires_grad=True)
    optimiser = torch.optim.Adam([theirs], lr=0.01)
    draw = np.random.default_rng(0)
    for _ in range(20):
        gradient = torch.from_numpy(draw.normal(size=5)).float()
        adam.step(ours, gradient.clone(), 0.01)
        theirs.grad = gradient
        optimiser.step()
    assert torch.allclose(ours, theirs.detach(), rtol=1e-5, atol=1e-6)


# --- the run -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("changes", [{}, {"compare": 1, "n_step": 3, "network": "mlp"}])
def test_two_runs_of_one_seed_are_equal_to_the_bit(changes: dict[str, Any]) -> None:
    """Weights, average and curve agree bit by bit; another seed gives other weights."""
    runs = [tiny_run(seed=seed, **changes) for seed in (1, 1, 2)]
    curves = [[point for point in run.points() if point is not None] for run in runs]
    flats = [run.learner.average.numpy().tobytes() for run in runs]
    assert flats[0] == flats[1] != flats[2]
    assert repr(curves[0]) == repr(curves[1])
    assert runs[0].learner.updates > 50


@pytest.mark.parametrize("changes", [{}, {"compare": 1, "n_step": 3, "dueling": True}])
def test_a_resumed_run_is_the_uninterrupted_one(tmp_path: Path, changes: dict[str, Any]) -> None:
    """A run saved half way and taken up by a fresh object ends with the same bits and the same curve."""
    from migopt.rl.resume import load_run, save_run

    whole = tiny_run(**changes)
    curve = [point for point in whole.points() if point is not None]
    first = tiny_run(**changes)
    earlier = []
    while first.steps < 600:
        point = first.advance()
        earlier += [point] if point is not None else []
    save_run(first, earlier, {"digest": "d"}, tmp_path / "resume.safetensors")
    second = tiny_run(**changes)
    later = load_run(second, {"digest": "d"}, tmp_path / "resume.safetensors")
    assert second.steps == first.steps
    later += [point for point in second.points() if point is not None]
    assert repr(later) == repr(curve)
    assert (
        second.learner.online.flat.numpy().tobytes() == whole.learner.online.flat.numpy().tobytes()
    )
    assert second.best.numpy().tobytes() == whole.best.numpy().tobytes()
    with pytest.raises(InputError, match=r"other settings \(seed\)"):
        load_run(tiny_run(seed=9, **changes), {"digest": "d"}, tmp_path / "resume.safetensors")
    with pytest.raises(InputError, match="other days"):
        load_run(tiny_run(**changes), {"digest": "e"}, tmp_path / "resume.safetensors")


def test_it_solves_a_toy_with_a_known_optimum() -> None:
    """Plain DQN finds the optimum of ``toy_day`` from rewards alone: 5 x 4 s of tardiness over 60 jobs."""
    from migopt.rl.dqn import DqnRun

    days = [toy_day(seed) for seed in range(6)]
    config = DqnConfig(
        layout="queue",
        network="mlp",
        compare=1,
        n_step=3,
        first=1,
        days=4,
        validation_days=2,
        hidden=(32,),
        steps=8_000,
        episodes=4,
        steps_per_update=4.0,
        batch=64,
        learn_start=500,
        target_every=100,
        average=0.99,
        validate_every=1_000,
        learning_rate=2e-3,
        final_learning_rate=5e-5,
        double=True,
        discount_min=60.0,
        huber=1.0,
        epsilon_start=0.5,
        epsilon_end=0.02,
        buffer=50_000,
    )
    run = DqnRun(config, days[:4], days[4:])
    assert run.validate(run.learner.online.network()) > 1.0  # [7g]: 1 + 2 + 3 + 4 minutes per batch
    curve = [point for point in run.points() if point is not None]
    assert curve[-1].best_cost == pytest.approx(5 * 4 / 60 / 60, rel=1e-9)


# --- files -------------------------------------------------------------------------------------------


def good_header(day: Any, **changes: Any) -> dict[str, Any]:
    """Return a header that fits a day."""
    from migopt.schedulers.learned.checkpoint import catalogue_of

    view = View("paper", jobs=1).for_instance(day)
    return {
        "view": view.as_dict(),
        "unit": 1.0,
        "network": "mlp",
        "slack": 0.5,
        "first": 2,
        "catalogue": catalogue_of(day),
        **changes,
    }


def plain_network(inputs: int, outputs: int = 12) -> Network:
    """Return a network of zeros."""
    return Network((np.zeros((outputs, inputs), np.float32),), (np.zeros(outputs, np.float32),))


def test_bad_files_are_refused_in_one_line(tmp_path: Path) -> None:
    """Truncated, foreign, of another shape, layout, or version: one InputError of one line with the file's name."""
    day = small_instance(1)
    good = tmp_path / "good.safetensors"
    width = Encoder(View("paper", jobs=1)).width
    save_policy(good, plain_network(width), good_header(day))
    assert load_policy(good).first == 2
    content = good.read_bytes()
    bad = tmp_path / "bad.safetensors"

    def refused(match: str) -> None:
        with pytest.raises(InputError, match=match) as caught:
            load_policy(bad)
        assert "\n" not in str(caught.value)
        assert str(caught.value).startswith(str(bad))

    for length in (0, 5, 40, len(content) - 1):
        bad.write_bytes(content[:length])
        refused("no readable safetensors file")
    bad.write_bytes(b"\x80\x04K\x01.")
    refused("no readable safetensors file")
    save_policy(bad, plain_network(width + 1), good_header(day))
    refused("layer 0 has shape")
    save_policy(bad, plain_network(width, 11), good_header(day))
    refused("its last layer has 11 outputs, not 12")
    other = good_header(day)["view"] | {"version": 2}
    save_policy(bad, plain_network(width), good_header(day, view=other))
    refused("state layout has version 2; this migopt knows 1")
    other = good_header(day)["view"] | {"layout": "pixels"}
    save_policy(bad, plain_network(width), good_header(day, view=other))
    refused("no state layout 'pixels'")
    save_policy(bad, plain_network(width), good_header(day, version=2))
    refused("has version 2; this migopt reads version 1")
    save_policy(bad, plain_network(width), good_header(day, format="cat"))
    refused("is no policy of migopt")
    broken = plain_network(width)
    broken.biases[0][3] = np.nan
    save_policy(bad, broken, good_header(day))
    refused("not finite")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("unit", math.nan),
        ("unit", math.inf),
        ("slack", math.nan),
        ("slack", -1.0),
        ("first", 13),
        ("view.job_minutes_per_wmin", math.nan),
        ("view.job_minutes_per_wmin", "0.1"),
        ("view.jobs", 2.5),
        ("view.actions", 12.0),
        ("view.due_edges_min", ["a"]),
        ("view.mean_edges_min", [2.0, 1.0]),
        ("catalogue", None),
    ],
)
def test_headers_that_would_play_nonsense_are_refused(
    tmp_path: Path, key: str, value: object
) -> None:
    """Numbers that are none, of another type or out of their range: one line with the file's name."""
    day = small_instance(1)
    header = good_header(day)
    part, _, name = key.rpartition(".")
    (header[part] if part else header)[name] = value
    file = tmp_path / "bad.safetensors"
    save_policy(file, plain_network(Encoder(View("paper", jobs=1)).width), header)
    with pytest.raises(InputError) as caught:
        load_policy(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert "\n" not in str(caught.value)


def test_another_catalogue_or_gpu_is_refused(tmp_path: Path) -> None:
    """A policy for paper-12 refuses an instance of another catalogue, and one of two GPUs."""
    day = small_instance(1)
    file = tmp_path / "p.safetensors"
    width = Encoder(View("paper", jobs=1)).width
    save_policy(file, plain_network(width), good_header(day))
    policy = parse_policy(f"edf_fs+dqn:{file}")
    assert policy.run(day, engine="compiled") == policy.run(day, engine="reference")
    with pytest.raises(
        NotApplicableError, match=r"trained for catalogue paper-12 of A100-40GB, not"
    ):
        policy.run(small_instance(1, gpu="A30-24GB", catalogue="maximal"))
    with pytest.raises(NotApplicableError, match="one GPU"):
        policy.run(small_instance(1, gpus=2))


@pytest.mark.parametrize("layout", ["paper", "paper-binned", "queue", "forecast"])
@pytest.mark.parametrize("kind", ["mlp", "shared"])
def test_engines_agree_on_random_networks(tmp_path: Path, layout: str, kind: str) -> None:
    """Random weights in every layout: the kernel and the readable simulator repartition alike."""
    changes = 0
    for seed in range(3):
        day = small_instance(seed, jobs=10, mode=("free", "cost", "none")[seed])
        view = View(layout, jobs=2).for_instance(day)
        encoder = Encoder(view, 1.0, kind)
        draw = np.random.default_rng(seed)
        sizes = [encoder.row_width, 6, 12 if kind == "mlp" else 1]
        weights = [
            draw.normal(size=(o, i)).astype(np.float32) for i, o in ((sizes[0], 6), (6, sizes[2]))
        ]
        network = Network(tuple(weights), tuple(np.zeros(len(w), np.float32) for w in weights))
        file = tmp_path / f"{seed}.safetensors"
        save_policy(file, network, good_header(day, view=view.as_dict(), network=kind))
        policy = parse_policy(f"edf_ss_restricted+dqn:{file}")
        expected = policy.run(day, engine="reference")
        assert policy.run(day, engine="compiled") == expected
        changes += len(expected.reconfigurations)
    assert changes > 0


# --- settings ----------------------------------------------------------------------------------------


def test_settings_come_back_from_their_document() -> None:
    """A document of settings, also through JSON, gives the same settings; odd ones are refused with a hint."""
    config = DqnConfig(hidden=(32, 16), double=False)
    assert DqnConfig.from_dict(json.loads(json.dumps(config.as_dict()))) == config
    with pytest.raises(InputError, match="no setting 'epsilonstart'; nearest: epsilon_start"):
        DqnConfig.from_dict({"epsilonstart": 1.0})
    with pytest.raises(InputError, match="batch: must be at least 1, not 0"):
        DqnConfig(batch=0)
    with pytest.raises(InputError, match="double: must be of type bool, not 1"):
        DqnConfig.from_dict({"double": 1})


def test_training_never_sees_a_held_out_day() -> None:
    """Seeds for training, validation and held out are disjoint, and the record's digest tells days apart."""
    from dataclasses import replace

    from migopt.rl.days import split_of, split_record

    split = split_of(DqnConfig())
    parts = [set(split.training), set(split.validation), set(split.held_out)]
    assert not parts[0] & parts[1]
    assert not (parts[0] | parts[1]) & parts[2]
    days = [small_instance(seed) for seed in range(3)]
    digests = {split_record(split, days[:2], days[2:])["digest"]}
    digests.add(split_record(split, days[1:], days[2:])["digest"])
    digests.add(split_record(split_of(replace(TINY, days=2)), days[:2], days[2:])["digest"])
    assert len(digests) == 3
