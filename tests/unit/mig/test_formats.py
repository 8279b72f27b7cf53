"""Listings, files and command lists: read, written, and refused where they are garbled."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from migopt.cli import cli
from migopt.errors import InputError, MigoptError
from migopt.gpus import gpu_keys, load_gpu
from migopt.mig.convert import READ, convert, guess_format, read_states, write_states
from migopt.mig.formats.commands import read_commands, run_commands, write_commands
from migopt.mig.formats.kubernetes import profile_name, read_limits, resource_name, write_limits
from migopt.mig.formats.listing import parse_listing
from migopt.mig.formats.mig_parted import order_warning, read_mig_parted, slices_on
from migopt.mig.formats.slurm import gres_type, read_gres, write_gres
from migopt.mig.formats.write_listing import (
    write_devices,
    write_lgi,
    write_lgip,
    write_lgipp,
)
from migopt.mig.formats.yaml_file import read_yaml
from migopt.mig.listed import states_from_listing
from migopt.mig.node import parse_node
from migopt.mig.place import place
from migopt.mig.plan import make_room, reach
from migopt.mig.state import GpuState, parse_have, parse_request
from migopt.model import Partition
from migopt.placement import maximal_partitions, valid_partitions

A100 = load_gpu("A100-40GB")
WITH_IDS = [
    key for key in gpu_keys() if all(p.driver_id is not None for p in load_gpu(key).profiles)
]

WIDE = """\
+-------------------------------------------------------------------------------+
| GPU instance profiles:                                                        |
| GPU   Name               ID    Instances   Memory     P2P    SM    DEC   ENC  |
|                                Free/Total   GiB              CE    JPEG  OFA  |
|===============================================================================|
|   0  MIG 1g.10gb         19     7/7        9.50       No     14     0     0   |
|                                                               1     0     0   |
+-------------------------------------------------------------------------------+
|   0  MIG 3g.39gb          9     2/2        39.25      No     42     2     0   |
|                                                               3     0     0   |
+-------------------------------------------------------------------------------+
|   0  MIG 7g.80gb          0     1/1        79.00      No     98     5     0   |
|                                                               7     1     1   |
+-------------------------------------------------------------------------------+
"""
LGI = """\
+-------------------------------------------------------+
| GPU instances:                                        |
| GPU   Name             Profile  Instance   Placement  |
|                          ID       ID       Start:Size |
|=======================================================|
|   0  MIG 1g.5gb          19        7          0:1     |
+-------------------------------------------------------+
|   0  MIG 3g.20gb          9        2          4:4     |
+-------------------------------------------------------+
"""
LCI = """\
+--------------------------------------------------------------------+
| Compute instances:                                                 |
| GPU     GPU       Name             Profile   Instance   Placement  |
|       Instance                       ID        ID       Start:Size |
|         ID                                                         |
|====================================================================|
|   0      2       MIG 3g.20gb          2         0          0:3     |
+--------------------------------------------------------------------+
"""
PROCESSES = """\
+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0    2    0             4711      C   python train.py                        1024MiB |
+-----------------------------------------------------------------------------------------+
"""
DEVICES = """\
GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-b4895dbf-9350-2524-a89b-98161ddd9fe4)
  MIG 3g.20gb     Device  0: (UUID: MIG-7089d0f3-293f-58c9-8f8c-5ea666eedbde)
  MIG 2g.10gb     Device  1: (UUID: MIG-56c30729-347f-5dd6-8da0-c3cc59e969e0)
"""
OLD_DEVICES = """\
GPU 0: A100-SXM4-40GB (UUID: GPU-e86cb44c-6756-fd30-cd4a-1e6da3caf9b0)
  MIG 3g.20gb Device 0: (UUID: MIG-GPU-e86cb44c-6756-fd30-cd4a-1e6da3caf9b0/2/0)
"""
PARTED = """\
version: v1
mig-configs:
  night:
    - device-filter: ["0x20B010DE"]
      devices: [0, 1]
      mig-enabled: true
      mig-devices:
        "1g.5gb": 2
        "2g.10gb": 1
        "3g.20gb": 1
"""


def gpu(key: str, have: str = "", label: str = "0") -> GpuState:
    """Return a GPU of the tables with some slices."""
    model = load_gpu(key)
    return GpuState(model, parse_have(have, model), label)


@pytest.mark.parametrize("key", WITH_IDS)
def test_a_card_is_known_from_its_listings_alone(key: str) -> None:
    """-lgip and -lgipp of any card, under a product name nobody knows, give all its partitions."""
    state = gpu(key)
    text = write_lgip([state]) + write_lgipp([state]) + "GPU 0: Unheard Of 9000 (UUID: GPU-1)\n"
    text = text.replace("gb ", "gb  ")
    model = states_from_listing(parse_listing(text)).states[0].model
    assert maximal_partitions(model) == maximal_partitions(state.model)
    assert [p.memory_bytes is not None for p in model.profiles]


def test_an_unknown_geometry() -> None:
    """A card of a new family, five units long, is placed and planned from its listings."""
    text = """\
+-----------------------------------------------------------------------------+
| GPU instance profiles:                                                      |
| GPU   Name             ID    Instances   Memory     P2P    SM    DEC   ENC  |
|                              Free/Total   GiB              CE    JPEG  OFA  |
|=============================================================================|
|   3  MIG 1g.7gb         101    5/5        7.00       No     10     1     0  |
|                                                             1     0     0   |
+-----------------------------------------------------------------------------+
|   3  MIG 2g.14gb        102    2/2        14.00      No     20     2     0  |
|                                                             2     0     0   |
+-----------------------------------------------------------------------------+
|   3  MIG 5g.35gb        103    1/1        35.00      No     50     5     0  |
|                                                             5     1     1   |
+-----------------------------------------------------------------------------+
GPU  3 Profile ID 101 Placements: {0,1,2,3,4}:1
GPU  3 Profile ID 102 Placements: {0,3}:2
GPU  3 Profile ID 103 Placement : {0}:5
"""
    state = states_from_listing(parse_listing(text)).states[0]
    assert state.label == "3"
    assert [str(p.placement) for p in place([state], parse_request("1g.7gb")).placements] == [
        "1g.7gb@2"
    ]
    script = write_commands([state], make_room([state], parse_request("2g.14gb")).steps)
    assert "nvidia-smi mig -i 3 -cgi 102:" in script


def test_several_widths_and_a_name_by_id() -> None:
    """A wide -lgip with 3g.39gb and id 9 is the A100-80GB's 3g.40gb, with a warning; both names work."""
    node = states_from_listing(parse_listing(WIDE))
    state = node.states[0]
    assert "3g.39gb" in node.warnings[0]
    assert "the same slice" in node.warnings[0]
    for name in ("3g.39gb", "3g.40gb"):
        assert place([state], parse_request(name)).placements[0].placement.profile == "3g.39gb"
    assert (
        parse_have("3g.40gb@4", state.model, synonyms=state.synonyms)[0].placement.profile
        == "3g.39gb"
    )


def test_states_of_slices() -> None:
    """Processes make slices busy, missing compute instances make orphans, silence means busy."""
    every = states_from_listing(parse_listing(LGI + LCI + PROCESSES), gpu=A100).states[0]
    assert [str(held) for held in every.slices] == ["1g.5gb@0:orphan", "3g.20gb@4:busy"]
    assert [held.instance_id for held in every.slices] == [7, 2]
    idle = PROCESSES.replace("0    2    0             4711", "0  N/A  N/A             4711")
    quiet = states_from_listing(parse_listing(LGI + LCI + idle), gpu=A100).states[0]
    assert [held.state for held in quiet.slices] == ["orphan", "idle"]
    unknown = states_from_listing(parse_listing(LGI), gpu=A100).states[0]
    assert [held.state for held in unknown.slices] == ["busy", "busy"]
    old = states_from_listing(parse_listing(OLD_DEVICES + LGI)).states[0]
    assert [held.state for held in old.slices] == ["orphan", "busy"]


def test_full_or_blocked_inventory() -> None:
    """Every Free count 0 and no device: reported as full or blocked, nothing planned."""
    text = write_lgip([gpu("A100-40GB")])
    for total in (1, 2, 3, 4, 7):
        text = text.replace(f" {total}/{total} ", f" 0/{total} ")
    for listing in (text, text + "No GPU instances found: Not Found\n"):
        state = states_from_listing(parse_listing(listing), gpu=A100).states[0]
        for answer in (
            place([state], parse_request("1g.5gb")),
            make_room([state], parse_request("1g.5gb")),
        ):
            assert not answer.possible
            assert answer.reason is not None
            assert answer.reason.rule == "blocked"
            assert "full or blocked" in answer.reason.message
    full = gpu("A100-40GB", "7g.40gb@0")
    told = states_from_listing(parse_listing(text + write_lgi([full])), gpu=A100).states[0]
    assert told.blocked == ""


def test_no_instances_and_mig_off() -> None:
    """An empty node and a node without MIG are told apart."""
    empty = states_from_listing(parse_listing("No GPU instances found: Not Found\n"), gpu=A100)
    assert (empty.states[0].slices, empty.states[0].mig) == ((), True)
    off = states_from_listing(parse_listing("No MIG-enabled devices found.\n"), gpu=A100)
    assert not off.states[0].mig


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "holds no nvidia-smi listing"),
        ("hello", "line 1: not a line"),
        (WIDE[:900], "cut"),
        (WIDE.replace("7/7", "8/7"), "no counts"),
        (
            WIDE.replace("|   0  MIG 3g.39gb          9 ", "|   0  MIG 3g.39gb          x "),
            "line 9: not a row",
        ),
        ("\n".join(WIDE.splitlines()[5:]), "without a title"),
        (WIDE + WIDE, "listed twice"),
        (LGI.replace("4:4", "4"), "not a row of GPU instances"),
        (LGI.replace("        2          4:4", "        7          4:4"), "listed twice"),
        (LGI.rsplit("+", 2)[0].rstrip(), "cut"),
        ("GPU  0 Profile ID 19 Placements: {0,0}:1", "twice"),
        ("GPU  0 Profile ID 19 Placements: {0,1:1", "not a line"),
        ("  MIG 3g.20gb     Device  0: (UUID: MIG-1)", "before its GPU"),
        ("Failed to display compute instances: Insufficient Permissions", "reports an error"),
        (
            "Unable to create a GPU instance on GPU  0 using profile 9: Insufficient Resources",
            "reports",
        ),
    ],
)
def test_garbled_listings(text: str, fault: str) -> None:
    """Each fault is one clear error, with the line where there is one."""
    with pytest.raises(InputError, match=fault):
        parse_listing(text)


def test_listings_that_contradict_the_card() -> None:
    """An id or a size that the card does not have, and slices that overlap, are refused with what exists."""
    with pytest.raises(InputError, match="1g.5gb has id 77 here and 19"):
        states_from_listing(parse_listing(LGI.replace("19        7", "77        7")), gpu=A100)
    other = LGI.replace("19        7", "77        7").replace("1g.5gb ", "1g.9gb ")
    with pytest.raises(InputError, match=r"id 77 .* there are 19 \(1g.5gb\)"):
        states_from_listing(parse_listing(other), gpu=A100)
    with pytest.raises(InputError, match="covers 2 memory units"):
        states_from_listing(parse_listing(LGI.replace("0:1 ", "0:2 ")), gpu=A100)
    with pytest.raises(InputError, match="cannot exist"):
        states_from_listing(parse_listing(LGI.replace("0:1 ", "5:1 ")), gpu=A100)
    with pytest.raises(InputError, match="-lgipp"):
        states_from_listing(parse_listing(WIDE.replace(" 9 ", " 8 ").replace(" 19 ", " 99 ")))


def test_device_list() -> None:
    """-L, new and old, gives slices; compute instances of one slice count once."""
    node = states_from_listing(parse_listing(DEVICES))
    assert sorted(node.states[0].partition.profiles) == ["2g.10gb", "3g.20gb"]
    assert "does not tell where" in node.warnings[0]
    shared = OLD_DEVICES + OLD_DEVICES.splitlines()[1].replace("Device 0", "Device 1").replace(
        "/0)", "/1)"
    )
    shared = shared.replace("MIG 3g.20gb", "MIG 1c.3g.20gb")
    assert states_from_listing(parse_listing(shared)).states[0].partition.profiles == ("3g.20gb",)


HAVES = [
    str(partition) for partition in valid_partitions(A100)[:: len(valid_partitions(A100)) // 25]
]


@pytest.mark.parametrize("form", ["notation", "node", "lgi", "commands"])
@pytest.mark.parametrize("have", HAVES)
def test_formats_with_places_come_back(form: str, have: str) -> None:
    """What is written with starts is read back to the same slices."""
    state = gpu("A100-40GB", have)
    text, warnings = write_states([state], form)
    assert warnings == []
    back, _ = read_states(text, [gpu("A100-40GB")])
    assert back[0].partition == state.partition


@pytest.mark.parametrize("form", ["list", "list-old", "mig-parted", "kubernetes", "slurm"])
@pytest.mark.parametrize("have", HAVES)
def test_formats_without_places_keep_the_slices(form: str, have: str) -> None:
    """What cannot say starts keeps the slices, and a warning says that starts were chosen."""
    state = gpu("A100-40GB", have)
    text, _ = write_states([state], form)
    back, warnings = read_states(text, [gpu("A100-40GB")])
    assert sorted(back[0].partition.profiles) == sorted(state.partition.profiles)
    assert warnings


def test_mig_parted() -> None:
    """Filters, device lists and counts are read; the filter decides by PCI id."""
    entry = read_mig_parted(PARTED)["night"][0]
    assert (entry.devices, entry.filters, entry.enabled) == ((0, 1), ("0x20B010DE",), True)
    assert sorted(slices_on(entry, A100)) == ["1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb"]
    done = convert(PARTED, "notation", [gpu("A100-40GB"), gpu("A100-80GB", label="1")])
    assert done.states[1].slices == ()
    assert any("no entry applies to GPU 1" in warning for warning in done.warnings)
    number = PARTED.replace('["0x20B010DE"]', "0x20B010DE")
    assert read_mig_parted(number)["night"][0].filters == ("0x20B010DE",)
    compute = PARTED.replace('"3g.20gb": 1', '"1c.3g.20gb": 3')
    assert slices_on(read_mig_parted(compute)["night"][0], A100).count("3g.20gb") == 1


def test_names_of_another_board_are_refused() -> None:
    """A GB200 that lists 23/47/93/186 refuses a file with 24/47/95/189 and tells what exists."""
    text = PARTED.replace('    - device-filter: ["0x20B010DE"]\n      devices', "    - devices")
    for old, new in (("1g.5gb", "1g.24gb"), ("2g.10gb", "2g.47gb"), ("3g.20gb", "3g.95gb")):
        text = text.replace(old, new)
    with pytest.raises(InputError, match=r"1g\.24gb.*there are 1g\.23gb.*3g\.93gb.*7g\.186gb"):
        convert(text, "notation", [gpu("GB200-186GB"), gpu("GB200-186GB", label="1")])


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("version: v1", "version: v2", "version must be v1"),
        ("mig-configs:", "mig-config:", "nearest: mig-configs"),
        ("devices: [0, 1]", "devices: some", "must be a list"),
        ("devices: [0, 1]", "devices: [-1]", "count from 0"),
        ("mig-enabled: true", "mig-enabled: maybe", "true or false"),
        ("mig-enabled: true", "mig-enabled: false", "beside mig-enabled: false"),
        ('"1g.5gb": 2', '"1g.5gb": two', "count from 0"),
        ('"1g.5gb": 2', '"2g.10gb": 2', "line 9: key '2g.10gb' twice"),
        ("0x20B010DE", "20B0", "no PCI id"),
        (
            "    - device-filter",
            "    - !!python/object/apply:os.system [ls]\n    - device-filter",
            "not YAML",
        ),
        ("mig-devices:\n", "mig-devices: [\n", "not YAML"),
        ("version: v1\n", "version: v1\n---\n", "not YAML"),
    ],
)
def test_mig_parted_errors(old: str, new: str, fault: str) -> None:
    """Each fault of a mig-parted file is one clear error."""
    with pytest.raises(InputError, match=fault):
        read_mig_parted(PARTED.replace(old, new, 1))


def test_truncated_yaml() -> None:
    """A file cut at any byte is read as what is there or refused; never an empty plan or a traceback."""
    for end in range(len(PARTED)):
        try:
            configs = read_mig_parted(PARTED[:end])
        except InputError:
            continue
        assert all(entry.slices or entry.enabled for rows in configs.values() for entry in rows)
        assert end > PARTED.index("mig-enabled")


def test_anchors_and_aliases() -> None:
    """Anchors, aliases and merge keys mean what YAML says."""
    text = PARTED + "  copy: &rows\n" + PARTED.split("  night:\n")[1] + "  again: *rows\n"
    configs = read_mig_parted(text)
    assert configs["again"] == [
        type(e)(e.devices, e.filters, e.enabled, e.slices, e.where.replace("copy", "again"))
        for e in configs["copy"]
    ]
    assert read_yaml("a: &x {b: 1}\nc: {<<: *x, d: 2}")["c"] == {"b": 1, "d": 2}


def test_aliases_that_explode() -> None:
    """A billion laughs and an alias of its own parent are refused at once."""
    laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12)
    )
    start = time.perf_counter()
    with pytest.raises(InputError, match="aliases stand for more than"):
        read_yaml(laughs)
    merges = "m0: &m0 {a: 1}\n" + "".join(
        f"m{i}: &m{i} {{<<: [{', '.join([f'*m{i - 1}'] * 10)}]}}\n" for i in range(1, 12)
    )
    with pytest.raises(InputError, match="aliases stand for more than"):
        read_yaml(merges)
    with pytest.raises(InputError, match="part of"):
        read_yaml("a: &a [1, *a]")
    with pytest.raises(InputError, match=r"nested too deeply|not YAML"):
        read_yaml("[" * 20_000)
    assert time.perf_counter() - start < 5


def test_ten_thousand_lines() -> None:
    """Files of 10,000 lines are read in a few seconds."""
    start = time.perf_counter()
    rows = PARTED.split("  night:\n")[1]
    text = "version: v1\nmig-configs:\n" + "".join(f"  c{i}:\n{rows}" for i in range(1250))
    assert text.count("\n") > 10_000
    assert len(read_mig_parted(text)) == 1250
    listing = "".join(
        f"GPU {i}: NVIDIA A100-SXM4-40GB (UUID: GPU-{i})\n"
        + "".join(f"  MIG 1g.5gb Device {d}: (UUID: MIG-{i}-{d})\n" for d in range(7))
        for i in range(1250)
    )
    assert len(states_from_listing(parse_listing(listing)).states) == 1250
    assert time.perf_counter() - start < 20


def test_order_warnings() -> None:
    """Writing mig-parted warns where the result depends on the order of creation, and only there."""
    assert order_warning(A100, Partition.parse("7g.40gb@0")) == ""
    assert order_warning(A100, Partition.parse("4g.20gb@0,3g.20gb@4")) != ""
    three = order_warning(A100, Partition.parse("2g.10gb@0,2g.10gb@2,3g.20gb@4"))
    assert "some orders of creation fail" in three
    _, warnings = write_states([gpu("A100-40GB", "3g.20gb@4,1g.5gb@0")], "mig-parted")
    assert "arrangements" in warnings[0]


def test_commands_run_and_read_back(tmp_path: Path) -> None:
    """The script of a plan looks up ids by place, and a fake driver ends with the planned slices."""
    state = gpu("A100-40GB", "2g.10gb@0:busy,1g.5gb@4,1g.5gb@6:orphan")
    plan = reach([state], {0: parse_request("2g.10gb@0,3g.20gb@4")})
    script = write_commands([state], plan.steps)
    (tmp_path / "lgi").write_text(write_lgi([state]))
    fake = tmp_path / "nvidia-smi"
    fake.write_text(
        f'#!/bin/sh\ncase "$*" in *-lgi*) cat {tmp_path}/lgi;; *) echo "$@" >> {tmp_path}/log;; esac\n'
    )
    fake.chmod(0o755)
    done = subprocess.run(
        ["sh", "-c", script],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    log = "\n".join(f"nvidia-smi {line}" for line in (tmp_path / "log").read_text().splitlines())
    listed = states_from_listing(
        parse_listing(write_lgi([state])), gpu=A100, jobs_unknown="idle"
    ).states
    after, warnings = run_commands(list(listed), read_commands(log))
    assert after[0].partition == plan.finals[0]
    assert warnings == []
    lines = log.splitlines()
    assert lines[-1] == "nvidia-smi mig -i 0 -cgi 9:4 -C"
    assert sum("-dci" in line for line in lines) == 1


def test_commands_with_known_ids() -> None:
    """With ids from a listing the script needs no look-up; compute instances go first."""
    state = states_from_listing(parse_listing(LGI), gpu=A100, jobs_unknown="idle").states[0]
    script = write_commands([state], reach([state], {0: parse_request("7g.40gb")}).steps)
    body = [line.split("  #")[0] for line in script.splitlines()[2:]]
    assert body == [
        "nvidia-smi mig -i 0 -dci -gi 7",
        "nvidia-smi mig -i 0 -dgi -gi 7",
        "nvidia-smi mig -i 0 -dci -gi 2",
        "nvidia-smi mig -i 0 -dgi -gi 2",
        "nvidia-smi mig -i 0 -cgi 0:0 -C",
    ]


def test_command_lists_by_hand() -> None:
    """Ids, short names, long options and missing starts are understood; the driver's choice is told."""
    text = '$ sudo nvidia-smi mig -i 0 -cgi 9:4,1g.10gb:0 -C\nnvidia-smi mig --id=0 -cgi "MIG 1g.5gb" -C\n'
    after, warnings = run_commands([gpu("A100-40GB")], read_commands(text))
    assert str(after[0].partition).startswith("1g.10gb@0,")
    assert "the driver chooses" in warnings[0]
    for bad, fault in (
        ("nvidia-smi mig -cgi 9:x -C", "no profile or profile:start"),
        ("nvidia-smi mig -frob", "not understood"),
        ("rm -rf /", "not an nvidia-smi mig command"),
        ("nvidia-smi mig -i 0", "needs -cgi"),
        ("nvidia-smi mig -i", "needs a value"),
        ("", "no nvidia-smi mig command"),
    ):
        with pytest.raises(InputError, match=fault):
            read_commands(bad)
    for bad, fault in (
        ("nvidia-smi mig -i 5 -cgi 9 -C", "no GPU 5"),
        ("nvidia-smi mig -cgi 77 -C", "no profile id 77"),
        ("nvidia-smi mig -cgi 9:4,5:4 -C", "may start at 0"),
        ("nvidia-smi mig -dgi -gi 3", "no GPU instance 3"),
    ):
        with pytest.raises(InputError, match=fault):
            run_commands([gpu("A100-40GB")], read_commands(bad))
    busy = gpu("A100-40GB", "7g.40gb@0:busy")
    with pytest.raises(InputError, match="in use by another client"):
        run_commands([busy], read_commands("nvidia-smi mig -dgi"))


@pytest.mark.parametrize("key", gpu_keys())
def test_kubernetes_names(key: str) -> None:
    """Each profile has a resource name of its own that reads back; + becomes a dot, a dash stays."""
    names = [profile.name for profile in load_gpu(key).profiles]
    resources = [resource_name(name) for name in names]
    assert [profile_name(resource) for resource in resources] == names
    assert not any("+" in resource for resource in resources)


def test_kubernetes_pods() -> None:
    """Limits are summed over containers, requests beside limits are not counted twice."""
    pod = """
spec:
  containers:
    - resources: {limits: {nvidia.com/mig-1g.5gb: 2}, requests: {nvidia.com/mig-1g.5gb: 2}}
    - resources: {limits: {nvidia.com/mig-1g.24gb-me: "1", nvidia.com/mig-1g.24gb.me.all: 1}}
"""
    assert read_limits(pod) == {"1g.5gb": 2, "1g.24gb-me": 1, "1g.24gb+me.all": 1}
    assert write_limits(["1g.5gb+me"]).splitlines()[2] == "    nvidia.com/mig-1g.5gb.me: 1"
    assert write_limits(["1g.5gb"] * 3, single=True).splitlines()[2] == "    nvidia.com/gpu: 3"
    states = [gpu("A30-24GB", "1g.6gb@0,1g.6gb@1")]
    assert read_limits("limits: {nvidia.com/gpu: 1}", states) == {"1g.6gb": 1}
    for bad, fault in (
        ("limits: {cpu: 1}", "names no MIG resource"),
        ("limits: {nvidia.com/mig-huge: 1}", "no MIG resource"),
        ("limits: {nvidia.com/mig-1g.5gb: 1.5}", "count from 0"),
        ("limits: {nvidia.com/gpu: 1}", "all of one profile"),
    ):
        with pytest.raises(InputError, match=fault):
            read_limits(bad)
    with pytest.raises(InputError, match="one profile per node"):
        write_limits(["1g.5gb", "2g.10gb"], single=True)


def test_slurm() -> None:
    """Gres entries, options and gres.conf lines are read; types carry the profile at their end."""
    assert gres_type(A100, "3g.20gb") == "nvidia_a100_3g.20gb"
    text = write_gres([gpu("A100-40GB", "3g.20gb@0,1g.5gb@4,1g.5gb@5")])
    assert text == "Gres=gpu:nvidia_a100_1g.5gb:2,gpu:nvidia_a100_3g.20gb:1\n"
    assert read_gres(text) == {"1g.5gb": 2, "3g.20gb": 1}
    assert read_gres("srun --gres=gpu:3g.20gb:2") == {"3g.20gb": 2}
    assert read_gres("Name=gpu Type=nvidia_a100_2g.10gb File=/dev/nvidia0 Count=3") == {
        "2g.10gb": 3
    }
    for bad, fault in (
        ("gpu:a100:2", "names no MIG profile"),
        ("cpu:3", "is no gres"),
        ("gpu:1g.5gb:-1", "is no count"),
        ("", "no gres"),
    ):
        with pytest.raises(InputError, match=fault):
            read_gres(bad)
    with pytest.raises(InputError, match="slurmd refuses"):
        write_gres([gpu("A30-24GB")])


def test_one_name_on_two_cards() -> None:
    """1g.10gb on a node of both A100 is written with the id of each card, and limits warn."""
    states = [gpu("A100-40GB", "1g.10gb@6"), gpu("A100-80GB", "1g.10gb@6", "1")]
    text, _ = write_states(states, "commands")
    assert text == "nvidia-smi mig -i 0 -cgi 15:6 -C\nnvidia-smi mig -i 1 -cgi 19:6 -C\n"
    assert "not the same slice" in write_states(states, "kubernetes")[1][0]


def test_node_documents() -> None:
    """A node document is read strictly; its faults name the place."""
    good = 'format: migopt-node\nversion: 1\ngpus:\n  - {gpu: A30-24GB, have: "1g.6gb@0:busy", target: "2g.12gb"}\n'
    node = parse_node(good)
    assert [str(h) for h in node.states().states[0].slices] == ["1g.6gb@0:busy"]
    assert node.targets()[0].free == ("2g.12gb",)
    for old, new, fault in (
        ("A30-24GB", "A31", r"gpus\[0\]: unknown GPU"),
        ("have", "hav", "nearest: have"),
        ("@0:busy", "@7", "may start at"),
        ("gpus:\n", "gpus: {}\n#", "must be a list"),
        ("version: 1", "version: 7", "version: 1"),
    ):
        with pytest.raises(InputError, match=fault):
            parse_node(good.replace(old, new)).states()


PIECES = [WIDE, LGI, LCI, PROCESSES, DEVICES, OLD_DEVICES, PARTED, "3g.20gb@0,1g.5gb@4\n",
          "nvidia-smi mig -i 0 -cgi 9:4,19:0 -C\n", "limits: {nvidia.com/mig-1g.5gb: 2}\n",
          "Gres=gpu:nvidia_a100_1g.5gb:2\n", write_lgipp([gpu("A100-40GB")]),
          write_devices([gpu("A100-40GB", "7g.40gb@0")])]  # fmt: skip


@given(data=st.data())
@settings(max_examples=400, deadline=None)
def test_fuzz(data: st.DataObject) -> None:
    """Damaged text of every format is read or refused by an error of ours, never a traceback."""
    text = data.draw(st.sampled_from(PIECES))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        kind = data.draw(st.sampled_from(["cut", "insert", "remove", "swap"]))
        junk = data.draw(
            st.text(alphabet="0123456789{}[]:,|+-=&*!@ \n\tgbGPUMIG%\x00é", max_size=6)
        )
        end = at + data.draw(st.integers(0, 12))
        if kind == "cut":
            text = text[:at]
        elif kind == "insert":
            text = text[:at] + junk + text[at:]
        elif kind == "remove":
            text = text[:at] + text[end:]
        else:
            text = text[:at] + junk + text[end:]
    form = data.draw(st.sampled_from([None, *READ]))
    try:
        states, _ = read_states(text, [gpu("A100-40GB")], form=form)
    except MigoptError:
        return
    for state in states:
        assert state.model.why_invalid(state.partition) is None


def test_formats_are_guessed() -> None:
    """Each format is recognised from its text."""
    guesses = [guess_format(text) for text in PIECES]
    assert guesses == [*["listing"] * 6, "mig-parted", "notation", "commands", "kubernetes", "slurm",
                       "listing", "listing"]  # fmt: skip
    with pytest.raises(InputError, match="no format"):
        guess_format("nonsense")


@pytest.mark.parametrize(
    ("start", "text"),
    [("4000000000", "beyond memory unit 256"), ("9" * 5000, "more than 18 digits")],
)
def test_numbers_no_gpu_has(start: str, text: str) -> None:
    """A start far outside the GPU, and a number too long to read, are one clear error with the line."""
    with pytest.raises(InputError, match=text):
        parse_listing(f"GPU  0 Profile ID 14 Placements: {{0,{start}}}:2")


@pytest.mark.parametrize(
    "arguments", [["--want", "1g.5gb:{}"], ["--memory", "{}"], ["--want", "{}g.5gb"]]
)
def test_numbers_too_long_to_read(arguments: list[str]) -> None:
    """Python refuses to read 5,000 digits; every command says what is wrong instead of crashing."""
    given = [part.format("9" * 5000) for part in arguments]
    done = CliRunner().invoke(cli, ["mig", "place", "--gpu", "A100-40GB", *given])
    assert done.exit_code in (1, 2)
    assert isinstance(done.exception, SystemExit | MigoptError)
