"""``migopt mig place``, ``plan``, ``recommend``, ``lint``, ``convert``: notation, JSON keys, exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from migopt.cli import cli
from migopt.gpus import load_gpu
from migopt.mig.formats.write_listing import write_lgi, write_lgip, write_lgipp
from migopt.mig.state import GpuState, parse_have

A100 = ("--gpu", "A100-40GB")


LISTED = """\
+-----------------------------------------------------------------------------+
| GPU instance profiles:                                                      |
| GPU   Name             ID    Instances   Memory     P2P    SM    DEC   ENC  |
|                              Free/Total   GiB              CE    JPEG  OFA  |
|=============================================================================|
|   0  MIG 1g.7gb        19     3/3        6.75       No     14     0     0   |
|                                                             1     0     0   |
+-----------------------------------------------------------------------------+
|   0  MIG 2g.13gb        9     1/1        13.50      No     42     2     0   |
|                                                             3     0     0   |
+-----------------------------------------------------------------------------+
|   0  MIG 3g.20gb        0     1/1        19.25      No     98     5     0   |
|                                                             7     1     1   |
+-----------------------------------------------------------------------------+
GPU  0 Profile ID 19 Placements: {0,1,2}:1
GPU  0 Profile ID  9 Placement : {0}:2
GPU  0 Profile ID  0 Placement : {0}:3
"""


def run(*arguments: str, stdin: str | None = None) -> Result:
    """Run ``migopt mig`` in this process; nothing it does may be a traceback."""
    result = CliRunner().invoke(cli, ["mig", *arguments], input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def answer(code: int, *arguments: str) -> dict[str, Any]:
    """Run with ``--json``, check the exit code, and return the document."""
    result = run(*arguments, "--json")
    assert result.exit_code == code, result.output
    document = json.loads(result.stdout)
    assert isinstance(document, dict)
    return document


def test_place_json() -> None:
    """The keys possible, placements and reason, with profile and start."""
    good = answer(0, "place", *A100, "--have", "4g.20gb@0:busy,2g.10gb@4", "--want", "1g.5gb")
    assert (good["possible"], good["reason"]) == (True, None)
    assert [(p["profile"], p["start"]) for p in good["placements"]] == [("1g.5gb", 6)]
    bad = answer(1, "place", "--gpu", "A100-80GB", "--want", "7g.79gb")
    assert (bad["possible"], bad["placements"]) == (False, [])
    assert (bad["reason"]["rule"], bad["reason"]["conflict"]) == ("unknown_profile", ["7g.79gb"])
    assert bad["reason"]["instead"][0] == "7g.80gb"


def test_plan_json() -> None:
    """Steps in order with op, gpu, profile, start; counts; and the proof."""
    plan = answer(
        0, "plan", *A100, "--have", "4g.20gb@0:busy,2g.10gb@4", "--target", "4g.20gb@0,3g.20gb@4"
    )
    assert plan["steps"] == [
        {"op": "destroy", "gpu": 0, "profile": "2g.10gb", "start": 4},
        {"op": "create", "gpu": 0, "profile": "3g.20gb", "start": 4},
    ]
    assert (plan["destroys"], plan["creates"], plan["moves"]) == (1, 1, 0)
    assert plan["proved_minimal"] is True
    assert plan["possible"] is True


def test_several_gpus() -> None:
    """Repeated --gpu and --have are GPUs 0 and 1; a target may name its GPU."""
    two = (*A100, "--have", "3g.20gb@0:busy,3g.20gb@4:busy", *A100, "--have", "")
    for goal in (
        ("--target", "1=3g.20gb:2"),
        ("--want", "3g.20gb,3g.20gb"),
        ("--target", "-", "--target", "3g.20gb:2"),
    ):
        plan = answer(0, "plan", *two, *goal)
        assert {step["gpu"] for step in plan["steps"]} == {1}
        assert (plan["destroys"], plan["creates"]) == (0, 2)
    packed = answer(0, "place", *A100, "--have", "3g.20gb@4", *A100, "--want", "4g.20gb")
    assert [(p["gpu"], p["start"]) for p in packed["placements"]] == [(0, 0)]


def test_driver() -> None:
    """--driver 470 hides 4g beside 3g; the newest driver has it."""
    assert run("place", *A100, "--want", "4g.20gb,3g.20gb").exit_code == 0
    old = answer(1, "place", *A100, "--driver", "470", "--want", "4g.20gb,3g.20gb")
    assert old["reason"]["rule"] == "driver"


def test_memory() -> None:
    """A need in bytes takes the smallest profile that holds it, and says which do not."""
    found = answer(0, "place", *A100, "--memory", "22649242112")
    assert [p["profile"] for p in found["placements"]] == ["7g.40gb"]
    assert "3g.20gb, 4g.20gb too small" in found["warnings"][0]
    assert answer(1, "place", *A100, "--memory", "1TiB")["reason"]["rule"] == "memory_bytes"
    beside = answer(
        0, "place", *A100, "--have", "4g.20gb@0", "--memory", "9GiB", "--memory", "4GiB"
    )
    assert sorted(p["profile"] for p in beside["placements"]) == ["1g.10gb", "1g.5gb"]


def test_gpu_listing(tmp_path: Path) -> None:
    """A card is judged by its own listings; its slices count as busy until told otherwise."""
    model = load_gpu("A100-40GB")
    state = GpuState(model, parse_have("4g.20gb@0,3g.20gb@4", model))
    path = tmp_path / "listing.txt"
    path.write_text(write_lgip([state]) + write_lgipp([state]) + write_lgi([state]))
    listing = ("--gpu-listing", str(path))
    kept = run("plan", *listing, "--want", "7g.40gb")
    assert kept.exit_code == 1
    assert "all count as busy" in kept.stderr
    script = run("plan", *listing, "--listed-idle", "--target", "7g.40gb", "--commands", "-")
    assert script.exit_code == 0
    assert script.stdout.splitlines()[-1].startswith("nvidia-smi mig -i 0 -cgi 0:0 -C")
    assert answer(0, "place", *listing, "--have", "", "--want", "7g.40gb")["possible"]
    assert answer(1, "place", "--node", str(path), "--want", "1g.5gb")["reason"]["rule"] == "memory"


def test_gpu_listing_on_every_command(tmp_path: Path) -> None:
    """A card that no table knows is checked, listed and cut for a mix from its listings alone."""
    path = tmp_path / "listing.txt"
    path.write_text(LISTED)
    listing = ("--gpu-listing", str(path))
    assert run("check", *listing, "2g.13gb@0,1g.7gb@2").exit_code == 0
    assert run("check", *listing, "2g.13gb,1g.7gb:2").exit_code == 1
    assert answer(0, "list", *listing, "--maximal")["positional"] == 3
    jobs = ("--job", "a 2g.13gb=0.7,1g.7gb=0.4", "--job", "b 1g.7gb=0.3")
    best = answer(0, "recommend", *listing, *jobs)
    assert best["value"] == pytest.approx(1.0)
    assert best["partitions"] == [
        [{"profile": "2g.13gb", "start": 0}, {"profile": "1g.7gb", "start": 2}]
    ]
    both = answer(0, "recommend", "--gpu", "A30", *listing, *jobs, "--job", "c 4g.24gb=1")
    assert {row["job"]: row["gpu"] for row in both["assignment"]} == {"a": 1, "b": 1, "c": 0}
    path.write_text(LISTED + LISTED.replace("GPU  0", "GPU  1").replace("|   0 ", "|   1 "))
    assert "lists 2 GPUs" in run("check", *listing, "1g.7gb").stderr
    assert answer(0, "recommend", *listing, *jobs, *jobs)["value"] == pytest.approx(2.0)


def test_numbers_of_gpus(tmp_path: Path) -> None:
    """A GPU is named by its label where there is one, as in answers; others are refused."""
    path = tmp_path / "node.yaml"
    path.write_text(
        "format: migopt-node\nversion: 1\ngpus:\n  - {gpu: A30, label: 1}\n  - {gpu: A30, label: 5}\n"
    )
    node = ("--node", str(path))
    plan = answer(0, "plan", *node, "--target", "5=4g.24gb", "--have", "5=1g.6gb@0")
    assert {step["gpu"] for step in plan["steps"]} == {5}
    assert (plan["destroys"], plan["creates"]) == (1, 1)
    refused = run("plan", *node, "--target", "0=4g.24gb")
    assert (refused.exit_code, refused.stderr) == (
        2, "error: --target: there is no GPU 0; there are 1, 5\n",
    )  # fmt: skip


def test_node_file(tmp_path: Path) -> None:
    """A node document holds several GPUs and their targets."""
    path = tmp_path / "node.yaml"
    path.write_text(
        'format: migopt-node\nversion: 1\ngpus:\n  - {gpu: A30, have: "1g.6gb@0:busy", label: a}\n'
        '  - {gpu: A30, have: "1g.6gb@0:orphan", label: b, target: "4g.24gb"}\n'
    )
    plan = answer(0, "plan", "--node", str(path))
    assert [(s["op"], s["gpu"]) for s in plan["steps"]] == [("destroy", "b"), ("create", "b")]
    assert plan["orphans"] == [{"gpu": "b", "profile": "1g.6gb", "start": 0}]


def test_busy_rules() -> None:
    """Busy slices are moved only with --busy move, and the reason says that it would help."""
    rtx = ("--gpu", "RTX-PRO-6000-BW-96GB", "--have", "1g.24gb@3:busy,1g.24gb@6:busy")
    kept = answer(1, "plan", *rtx, "--want", "2g.48gb")
    assert {(m["from"], m["to"]) for m in kept["reason"]["moves"]} == {
        ("1g.24gb@3:busy", "1g.24gb@9"),
        ("1g.24gb@6:busy", "1g.24gb@0"),
    }
    moved = answer(0, "plan", *rtx, "--want", "2g.48gb", "--busy", "move")
    assert (moved["moves"], moved["destroys"], moved["creates"]) == (1, 1, 2)


def test_drawings(tmp_path: Path) -> None:
    """Plans, places and recommendations are drawn as SVG that parses; a page holds the steps."""
    svg, html = tmp_path / "plan.svg", tmp_path / "plan.html"
    have = ("--have", "2g.10gb@4:busy,1g.5gb@0")
    goal = ("--want", "4g.20gb", "--svg", str(svg), "--html", str(html))
    assert run("plan", *A100, *have, *goal, "--gpu", "A30").exit_code == 0
    text = "".join(ElementTree.parse(svg).getroot().itertext())
    assert "GPU 0 now" in text
    assert "4g.20gb" in text
    assert "<li>GPU 0: destroy <code>1g.5gb@0</code></li>" in html.read_text()
    assert run("place", *A100, "--want", "1g.5gb", "--svg", str(svg)).exit_code == 0
    assert "then" in "".join(ElementTree.parse(svg).getroot().itertext())
    job = ("--job", "a 7g.40gb=1")
    assert run("recommend", *A100, *job, "--svg", str(svg)).exit_code == 0
    ElementTree.parse(svg)


def test_recommend(tmp_path: Path) -> None:
    """The value, the runner-up and the reason; a file or options; one GPU or many."""
    jobs = (
        "--job",
        "train 7g.40gb=1,4g.20gb=0.7,3g.20gb=0.5",
        "--job",
        "serve 3g.20gb=0.3,1g.5gb=0.3",
    )
    one = answer(0, "recommend", *A100, *jobs)
    assert one["value"] == pytest.approx(1.0)
    assert {a["job"]: a["profile"] for a in one["assignment"]} == {
        "train": "4g.20gb",
        "serve": "1g.5gb",
    }
    assert one["runner_up"]["value"] <= one["value"]
    many = answer(0, "recommend", "--gpu", "A100-40GB:2", *jobs)
    assert many["value"] == pytest.approx(1.3)
    mix = tmp_path / "mix.yaml"
    mix.write_text(
        "format: migopt-mix\nversion: 1\njobs:\n  - {name: a, speed: {7g.40gb: 1}, minutes: 10, due_minutes: 5}\n"
    )
    et = answer(0, "recommend", *A100, "--mix", str(mix), "--objective", "et")
    # 10 min at 248.5 - 40 W above idle, 5 min late, a = 1.
    assert et["value"] == pytest.approx((2085 + 5) / 2)
    assert run("recommend", *A100, "--job", "a 7g.40gb=1", "--job", "b 7g.40gb=1").exit_code == 1


def test_lint(tmp_path: Path) -> None:
    """Exit 0 without findings, 1 with, 2 for what cannot be read."""
    assert run("lint", *A100, "--have", "4g.20gb@0,3g.20gb@4").exit_code == 0
    assert answer(1, "lint", *A100, "--have", "")["findings"][0]["rule"] == "no_slices"
    path = tmp_path / "config.yaml"
    path.write_text("version: v1\nmig-configs: {a: [{devices: all, mig-enabled: true}]}\n")
    assert answer(1, "lint", str(path))["findings"][0]["rule"] == "no_slices"
    path.write_text("version: v1\nmig-configs: {a: [")
    assert run("lint", str(path)).exit_code == 2


def test_convert() -> None:
    """From a mig-parted file on standard input to commands with starts, with a warning."""
    text = 'version: v1\nmig-configs:\n  a:\n    - {devices: all, mig-enabled: true, mig-devices: {"3g.20gb": 2}}\n'
    done = run("convert", "-", *A100, "--to", "commands", stdin=text)
    assert done.exit_code == 0
    assert done.stdout == "nvidia-smi mig -i 0 -cgi 9:0,9:4 -C\n"
    assert "no starts" in done.stderr
    assert "did" not in run("convert", *A100, "--have", "7g.40gb@0", "--to", "slurm").stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("place", *A100), "no slice is wanted"),
        (("place", "--want", "1g.5gb"), "no GPU is given"),
        (("place", *A100, "--have", "4g.20gb@1", "--want", "1g.5gb"), "may start at 0"),
        (("place", *A100, "--have", "4g.20gb", "--want", "1g.5gb"), "has no start"),
        (("place", *A100, "--have", "4g.20gb@0:bsy", "--want", "1g.5gb"), "nearest: busy"),
        (("place", *A100, "--have", "", "--have", "", "--want", "1g.5gb"), "2 --have for 1 GPUs"),
        (("place", *A100, "--memory", "3 parsecs"), "unknown unit"),
        (("place", "--gpu", "A100-41GB", "--want", "1g.5gb"), "nearest: A100-40GB"),
        (("place", *A100, "--driver", "new", "--want", "1g.5gb"), "not a driver version"),
        (("place", *A100, "--node", "x", "--want", "1g.5gb"), "excludes"),
        (("place", "--node", "no-such-file", "--want", "1g.5gb"), "cannot be read"),
        (("plan", *A100), "nothing is wanted"),
        (("plan", *A100, "--want", "1g.5gb", "--target", "1g.5gb"), "exclude each other"),
        (("plan", *A100, "--target", "7=1g.5gb"), "there is no GPU 7"),
        (("plan", *A100, "--target", ""), "no slice is named"),
        (("plan", *A100, *A100, "--target", "3g.20gb@0"), "needs the GPU"),
        (("plan", *A100, "--want", "1g.5gb:0"), "from 1 to 1000"),
        (("recommend", "--job", "a 7g.40gb=1"), "no GPU is given"),
        (("check", "1g.5gb"), "no GPU is given"),
        (("recommend", *A100), "give the jobs"),
        (("recommend", *A100, "--job", "a 7g.40gb"), "no profile=speed"),
        (("recommend", *A100, "--job", "a 7g.41gb=1"), "nearest: 7g.40gb"),
        (("recommend", *A100, "--job", "a 7g.40gb=nan"), "must be a number"),
        (
            ("recommend", *A100, "--job", "a 7g.40gb=1", "--objective", "et", "--weight-a", "x"),
            "no number",
        ),
        (("convert", *A100, "--to", "yaml"), "unknown format"),
        (("lint", "no-such-file"), "cannot be read"),
    ],
)
def test_unusable_input(arguments: tuple[str, ...], text: str) -> None:
    """Exit 2 and one line on stderr that says what is wrong."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert text in result.stderr
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
