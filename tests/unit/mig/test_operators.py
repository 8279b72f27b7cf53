"""Cases of operators: cards whose listings differ, GPUs whose numbers are not 0, 1, …, job scripts."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from migopt.errors import InputError
from migopt.gpus import default_power, load_gpu, model_for_driver
from migopt.mig.convert import read_states, write_states
from migopt.mig.formats.commands import read_commands, run_commands, write_commands
from migopt.mig.formats.listing import parse_listing
from migopt.mig.formats.slurm import read_gres
from migopt.mig.formats.write_listing import write_devices, write_lgi, write_lgip, write_lgipp
from migopt.mig.lint import lint_node
from migopt.mig.listed import states_from_listing
from migopt.mig.node import parse_node
from migopt.mig.place import place
from migopt.mig.plan import make_room, reach, reach_counts
from migopt.mig.recommend import MixJob, Recommendation, recommend, recommend_fleet
from migopt.mig.state import GpuState, HeldSlice, gpu_numbers, parse_have, parse_request, told_apart
from migopt.units import FULL_RATE

A100 = load_gpu("A100-80GB")


def listed(name: str, label: str = "0") -> GpuState:
    """Return an empty A100-80GB whose listings call id 9 by ``name``."""
    empty = [GpuState(A100, label=label)]
    text = (write_lgip(empty) + write_lgipp(empty) + write_devices(empty)).replace("3g.40gb", name)
    return states_from_listing(parse_listing(text)).states[0]


def test_both_names_of_one_slice_in_one_request() -> None:
    """3g.39gb and 3g.40gb of id 9 together are two slices of one profile, wherever they are asked for."""
    state = listed("3g.39gb")
    both = parse_request("3g.40gb,3g.39gb")
    two = ["3g.39gb@0", "3g.39gb@4"]
    assert [str(p.placement) for p in place([state], both).placements] == two
    for answer in (
        make_room([state], both),
        reach([state], {0: both}),
        reach_counts([state], both),
    ):
        assert [str(p) for p in answer.finals[0]] == two
    three = place([state], parse_request("3g.40gb,3g.39gb:2"))
    assert three.reason is not None
    assert three.reason.rule == "memory"


@pytest.mark.parametrize("names", [("3g.40gb", "3g.39gb"), ("3g.39gb", "3g.40gb")])
@pytest.mark.parametrize("want", ["3g.40gb:4", "3g.39gb:4", "3g.39gb:2,3g.40gb:2"])
def test_two_drivers_on_one_node(names: tuple[str, str], want: str) -> None:
    """Two A100-80GB that name id 9 differently hold four of it together, under either name."""
    states = [listed(names[0]), listed(names[1], "1")]
    answer = place(states, parse_request(want))
    assert [(p.gpu, p.placement.profile, p.placement.start) for p in answer.placements] == [
        (i, names[i], start) for i in (0, 1) for start in (0, 4)
    ]
    assert make_room(states, parse_request(want), busy="move").creates == 4
    assert not place(states, parse_request("3g.39gb:5")).possible


def test_two_driver_versions_on_one_node() -> None:
    """R470 has no 1g.10gb on A100-40GB: of two cards only the newer one takes it."""
    card = load_gpu("A100-40GB")
    states = [GpuState(model_for_driver(card, "470")), GpuState(card, label="1")]
    for order in (states, states[::-1]):
        answer = place(order, parse_request("1g.10gb:4"))
        assert {order[p.gpu].label for p in answer.placements} == {"1"}
        assert not place(order, parse_request("1g.10gb:5")).possible
        full = place(order, parse_request("4g.20gb:2,3g.20gb"))
        on_three_gs = [p.gpu for p in full.placements if p.placement.profile == "3g.20gb"]
        assert [order[i].label for i in on_three_gs] == ["1"]
    keys = [state.model.key for state in told_apart(states)]
    assert len(set(keys)) == 2


def node(*labels: str) -> list[GpuState]:
    """Return A100-40GB cards with these labels, each with another slice."""
    card = load_gpu("A100-40GB")
    haves = ["3g.20gb@4", "2g.10gb@0", "1g.5gb@6"]
    return [
        GpuState(card, parse_have(have, card), label)
        for have, label in zip(haves, labels, strict=False)
    ]


def test_files_name_gpus_by_their_numbers() -> None:
    """GPUs 1 and 5 of a node stay 1 and 5 in every file, and are found again by these numbers."""
    states = node("1", "5")
    text, _ = write_states(states, "mig-parted")
    assert ("devices: [1]" in text, "devices: [5]" in text) == (True, True)
    back, _ = read_states(text, [GpuState(s.model, label=s.label) for s in states])
    assert [s.partition.profiles for s in back] == [("3g.20gb",), ("2g.10gb",)]
    for form in ("lgi", "list"):
        text, _ = write_states(states, form)
        told = read_states(text + write_lgip(states) + write_lgipp(states), [])[0]
        assert [s.label for s in told] == ["1", "5"]
        assert [s.partition.profiles for s in told] == [("3g.20gb",), ("2g.10gb",)]
    text, _ = write_states(states, "commands")
    assert text == "nvidia-smi mig -i 1 -cgi 9:4 -C\nnvidia-smi mig -i 5 -cgi 14:0 -C\n"
    bare = [GpuState(s.model, label=s.label) for s in states]
    after, _ = run_commands(bare, read_commands(text))
    assert [s.partition for s in after] == [s.partition for s in states]
    with pytest.raises(InputError, match="there is no GPU 0"):
        run_commands(bare, read_commands("nvidia-smi mig -i 0 -cgi 9:4 -C"))
    script = write_commands(states, reach(states, {1: parse_request("7g.40gb")}).steps)
    assert "gi_at 5 14 0" in script
    assert "-i 5 -cgi 0:0 -C" in script


def test_labels_that_are_no_numbers() -> None:
    """Where a label is a name, or two are equal, files count the GPUs in order."""
    for labels in (("rack one", "rack two"), ("3", "3"), ("7", "b")):
        states = node(*labels)
        assert gpu_numbers(states) == [0, 1]
        assert "-i 1 -cgi 14:0 -C" in write_states(states, "commands")[0]
        assert "|   1  MIG 2g.10gb" in write_lgi(states)


def test_job_scripts() -> None:
    """#SBATCH lines ask for gres; the other lines of a job script do not."""
    script = (
        "#!/bin/bash\n#SBATCH --job-name=gpu:x\n#SBATCH --gres=gpu:1g.24gb-me:1,gpu:a_1g.24gb+me.all:2\n"
        "#SBATCH --time=1:00  # an hour\nsrun python train.py\n"
    )
    assert read_gres(script) == {"1g.24gb-me": 1, "1g.24gb+me.all": 2}
    with pytest.raises(InputError, match="line 2: 'gpu:a100:2'|names no MIG profile"):
        read_gres("#!/bin/sh\n#SBATCH --gres=gpu:a100:2\n")
    with pytest.raises(InputError, match="names no gres"):
        read_gres("#!/bin/sh\nsrun hostname\n")


@pytest.mark.parametrize("objective", ["speed", "slowdown", "energy", "et"])
@pytest.mark.parametrize("count", [1, 2])
def test_slices_with_extra_engines_that_a_job_names(objective: str, count: int) -> None:
    """A decoding job that runs on 1g.5gb+me alone gets it; a second such job has no slice on one GPU."""
    card = load_gpu("A100-40GB")
    power = {card.key: default_power(card.key)}
    decode = MixJob("decode", {"1g.5gb+me": FULL_RATE // 7}, due_ms=60_000)
    other = MixJob("train", {"4g.20gb": FULL_RATE, "1g.5gb": FULL_RATE // 8}, due_ms=60_000)

    def ask(jobs: list[MixJob]) -> Recommendation:
        if count == 1:
            return recommend(card, jobs, objective, power=power[card.key])
        return recommend_fleet([card] * count, jobs, objective, power=power)

    answer = ask([decode, other])
    assert {place.profile for _, place in answer.assignment} == {"1g.5gb+me", "4g.20gb"}
    assert ask([decode] * count).possible
    assert not ask([decode] * (count + 1)).possible


def test_two_geometries_of_one_key_are_not_mixed_up() -> None:
    """An A100-40GB as driver R470 and as the newest sees it: refused, not answered for one of them."""
    card = load_gpu("A100-40GB")
    jobs = [MixJob("a", {"7g.40gb": FULL_RATE})]
    with pytest.raises(InputError, match="two of the GPUs are called A100-40GB"):
        recommend_fleet([card, model_for_driver(card, "470")], jobs)


def test_equal_cards_in_two_listings_are_one_model() -> None:
    """Where a listing comes from is no part of a geometry: a job may move between equal cards."""
    empty = [GpuState(A100)]
    texts = [write_lgip(empty) + write_lgipp(empty)] * 2
    states = [
        states_from_listing(parse_listing(text, source=f"{i}.txt")).states[0]
        for i, text in enumerate(texts)
    ]
    assert states[0].model == states[1].model
    busy = replace(states[0], slices=parse_have("1g.10gb@0:busy", A100))
    plan = make_room([busy, states[1]], parse_request("7g.80gb:2"), busy="move")
    assert not plan.possible
    plan = make_room([busy, states[1]], parse_request("7g.80gb,4g.40gb"), busy="move")
    assert (plan.possible, plan.moves) == (True, 1)


def test_room_decides_before_the_number_of_gpus() -> None:
    """Two 2g on two A30, one with 1g+me@2 busy: one on each leaves a 2g+me possible, two on one do not."""
    card = load_gpu("A30-24GB")
    states = [
        GpuState(card, parse_have("1g.6gb+me@2:busy", card)),
        GpuState(card, label="1"),
    ]
    answer = place(states, parse_request("2g.12gb:2"))
    assert {p.gpu for p in answer.placements} == {0, 1}
    left = [
        replace(s, slices=(*s.slices, *(HeldSlice(p.placement) for p in answer.placements if p.gpu == i)))
        for i, s in enumerate(states)
    ]  # fmt: skip
    assert place(left, parse_request("2g.12gb+me")).possible


def test_many_slices_on_many_gpus() -> None:
    """66 slices on 40 A100-40GB in six states: placed and proved in 5 s of processor time (0.7 s seen)."""
    card = load_gpu("A100-40GB")
    haves = ["3g.20gb@4:busy", "1g.5gb@0:busy,2g.10gb@4", "2g.10gb@0,1g.5gb@6:busy", ""]
    haves += ["4g.20gb@0:busy", "1g.5gb@2:busy,1g.5gb@5:orphan"]
    states = [GpuState(card, parse_have(haves[i % 6], card), str(i)) for i in range(40)]
    started = time.process_time()
    answer = place(states, parse_request("3g.20gb:22,2g.10gb:22,1g.5gb:22"))
    assert time.process_time() - started < 5
    assert (answer.possible, answer.proved, len(answer.placements)) == (True, True, 66)
    for i, state in enumerate(states):
        new = [p.placement for p in answer.placements if p.gpu == i]
        assert card.why_invalid([*state.partition, *new]) is None


def test_impossible_on_many_gpus_says_what_it_left_out() -> None:
    """22 4g on 40 GPUs of which 20 are busy at 0: told within 5 s, without a second search for moves."""
    card = load_gpu("A100-40GB")
    haves = ["1g.5gb@0:busy", "1g.5gb@6:busy"]
    states = [GpuState(card, parse_have(haves[i % 2], card), str(i)) for i in range(40)]
    started = time.process_time()
    plan = make_room(states, parse_request("4g.20gb:22,3g.20gb:22,1g.5gb:22"))
    assert time.process_time() - started < 5
    assert (plan.possible, plan.proved_minimal) == (False, True)
    assert plan.reason is not None
    assert "was not looked at" in plan.reason.message
    few = make_room(states[:2], parse_request("4g.20gb:2"))
    assert few.reason is not None
    assert "moving 1 busy slice makes room" in few.reason.message


def test_lint_names_a_gpu_once() -> None:
    """What a listing says otherwise than the table is told with the GPU's number once."""
    empty = [GpuState(A100)]
    text = (write_lgip(empty) + write_lgipp(empty)).replace("3g.40gb", "3g.39gb")
    found = lint_node(parse_node(text))
    assert [(f.rule, f.where, f.message.split(" is ")[0]) for f in found] == [
        ("listing", "GPU 0", "id 9")
    ]
