"""Suite files: what they may hold, the one error for what they may not, and the runs they name."""

from __future__ import annotations

from pathlib import Path

import pytest

from migopt.bench.expand import Suite, load_suite
from migopt.bench.suite import find_suite, read_suite
from migopt.errors import InputError

GOOD = """
title = "a suite"
seeds = 2
entries = ["edf_fs+static:3", "fifo+static:1"]

[budget]
time_limit_s = 5

[[instances]]
class = "days"
name = "day"
generator = "s0-slack"
"""


def suite(folder: Path, text: str, **options: object) -> Suite:
    """Write a suite file and load it."""
    path = folder / "mine.toml"
    path.write_text(text)
    return load_suite(path, **options)  # type: ignore[arg-type]


def test_runs_are_instances_by_seeds_by_entries(tmp_path: Path) -> None:
    """Keys are readable, and all entries of one seed follow each other."""
    loaded = suite(tmp_path, GOOD)
    assert loaded.name == "mine"
    assert [run.key for run in loaded.runs] == [
        "day/1/edf_fs+static:3/5s",
        "day/1/fifo+static:1/5s",
        "day/2/edf_fs+static:3/5s",
        "day/2/fifo+static:1/5s",
    ]
    assert loaded.runs[2].instance.source == "s0-slack"
    assert loaded.runs[2].budget.seed == 2
    assert loaded.runs[0].hard_limit_s == 17.5


def test_budget_in_the_key(tmp_path: Path) -> None:
    """Every budget is a run of its own, and gap and threads show when they are not the default."""
    text = GOOD.replace("time_limit_s = 5", "time_limit_s = [0.5, 60]\ngap = 0.01\nthreads = 2")
    keys = [run.key for run in suite(tmp_path, text, only="day/1/fifo*").runs]
    assert keys == [
        "day/1/fifo+static:1/0.5s,gap=0.01,threads=2",
        "day/1/fifo+static:1/60s,gap=0.01,threads=2",
    ]


def test_seeds_and_filter_options(tmp_path: Path) -> None:
    """``seeds`` replaces the file's; ``only`` is a part of the key or a pattern."""
    assert len(suite(tmp_path, GOOD, seeds=3).runs) == 6
    assert {run.entry for run in suite(tmp_path, GOOD, only="fifo").runs} == {"fifo+static:1"}
    assert {run.seed for run in suite(tmp_path, GOOD, only="*/2/*").runs} == {2}
    with pytest.raises(InputError, match="no run key matches 'nothing'"):
        suite(tmp_path, GOOD, only="nothing")


def test_files_run_once_unless_their_group_has_seeds(tmp_path: Path) -> None:
    """A file is one instance whatever the seed, so the suite's seeds do not multiply it."""
    for name in ("b.json", "a.json.gz", "notes.txt"):
        (tmp_path / name).write_bytes(name.encode())
    text = GOOD.replace('name = "day"\ngenerator = "s0-slack"', 'files = "*"')
    loaded = suite(tmp_path, text)
    assert [(run.instance.name, run.seed) for run in loaded.runs[::2]] == [("a", 1), ("b", 1)]
    assert len(loaded.runs[0].instance.content) == 64
    assert len(suite(tmp_path, text + "seeds = [7, 9]\n").runs) == 8


def test_entries_for_some_classes(tmp_path: Path) -> None:
    """An entry with ``classes`` runs only there; an unknown class names the nearest."""
    second = '[[instances]]\nclass = "small"\ngenerator = "s0-tight"\n'
    some = GOOD.replace('"fifo+static:1"', '{spec = "fifo+static:1", classes = ["small"]}')
    loaded = suite(tmp_path, some + second)
    entries = [(run.instance.instance_class, run.entry) for run in loaded.runs]
    assert ("small", "edf_fs+static:3") in entries
    assert ("days", "fifo+static:1") not in entries
    with pytest.raises(InputError, match=r"entries\[1\]\.classes: unknown class 'smal'.*small"):
        suite(tmp_path, some.replace('["small"]', '["smal"]') + second)


def test_entries_for_the_first_seeds(tmp_path: Path) -> None:
    """An entry with ``seeds = 1`` runs on the first seed of a group's list only, whatever its number."""
    some = GOOD.replace('"fifo+static:1"', '{spec = "fifo+static:1", seeds = 1}')
    loaded = suite(tmp_path, some.replace("seeds = 2", "seeds = [7, 9]"))
    assert [(run.seed, run.entry) for run in loaded.runs] == [
        (7, "edf_fs+static:3"),
        (7, "fifo+static:1"),
        (9, "edf_fs+static:3"),
    ]
    with pytest.raises(InputError, match=r"entries\[1\]\.seeds: .*greater than or equal to 1"):
        suite(tmp_path, some.replace("seeds = 1", "seeds = 0"))


def test_which_schedules_are_kept(tmp_path: Path) -> None:
    """``first_seed`` keeps those of one seed per instance, ``none`` none."""
    first = suite(tmp_path, 'keep_schedules = "first_seed"\n' + GOOD)
    assert [run.keep_schedule for run in first.runs] == [True, True, False, False]
    none = suite(tmp_path, 'keep_schedules = "none"\n' + GOOD)
    assert not any(run.keep_schedule for run in none.runs)


def test_solver_and_rule_files_are_relative_to_the_suite(tmp_path: Path) -> None:
    """A file's stem is its name in keys, and its path does not depend on where migopt is run."""
    solver = '"""Mine."""\nCLAIMS = "heuristic"\ndef applies(instance): ...\ndef make(): ...\n'
    (tmp_path / "mine_too.py").write_text(solver)
    loaded = suite(tmp_path, GOOD.replace('"fifo+static:1"', '"./mine_too.py"'))
    assert loaded.runs[1].entry == "mine_too"
    assert loaded.runs[1].spec == str(tmp_path / "mine_too.py")


BAD = {
    "time_limit_s = 5": ("time_limit = 5", r"budget.time_limit: unknown key .*time_limit_s"),
    "seeds = 2": ("sed = 2", "sed: unknown key 'sed'; nearest: seeds"),
    "class =": ("clas =", r"instances\[0\].clas: unknown key 'clas'; nearest: class"),
    'class = "days"': ("", r"instances\[0\].class: missing"),
    '"s0-slack"': ('"s0-slak"', r"instances\[0\].generator: unknown scenario .*s0-slack"),
    "generator": ("#", r"instances\[0\]: needs exactly one of files, bundled, generator, import"),
    '"fifo+static:1"': ('"fif+static:1"', r"entries\[1\]: unknown solver or rule 'fif'.*fifo"),
    "fifo+static:1": ("edf_fs+static:3", r"entries\[1\]: edf_fs\+static:3 is entries\[0\]"),
    '["edf_fs+static:3", "fifo+static:1"]': ("[]", "entries: List should have at least 1"),
    "name =": ("parameters = {lod = 1}\nname =", r"\[0\]\.parameters.*unknown .*'lod'.*load"),
    'name = "day"': ('name = "a/b"', r"instances\[0\].name: 'a/b' cannot be part of a run key"),
}


@pytest.mark.parametrize("old", BAD)
def test_one_error_says_where_and_what_would_do(old: str, tmp_path: Path) -> None:
    """A bad suite file gives one error with file, key path and nearest valid name."""
    new, message = BAD[old]
    assert old in GOOD
    with pytest.raises(InputError, match=message) as caught:
        suite(tmp_path, GOOD.replace(old, new))
    assert str(tmp_path / "mine.toml") in str(caught.value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("5\ntime_limit_s = 6", "not TOML"),
        ("-1", r"time_limit_s: Input should be greater than 0"),
        ("[1, 0]", r"time_limit_s\[1\]: Input should be greater than 0"),
        ("inf", "time_limit_s: Input should be"),
        ('"5"', "time_limit_s: Input should be a valid number"),
    ],
)
def test_bad_budgets(value: str, message: str, tmp_path: Path) -> None:
    """A time limit is a positive finite number, or a list of such."""
    with pytest.raises(InputError, match=message):
        suite(tmp_path, GOOD.replace("time_limit_s = 5", f"time_limit_s = {value}"))


def test_two_instances_of_one_name_are_refused(tmp_path: Path) -> None:
    """Keys would clash, so the error prints where both come from."""
    twin = '[[instances]]\nclass = "other"\nname = "day"\ngenerator = "s0-tight"\n'
    with pytest.raises(InputError, match="two instances are called day: .*s0-slack and .*s0-tight"):
        suite(tmp_path, GOOD + twin)


def test_an_absent_trace_is_no_error_of_the_suite(tmp_path: Path) -> None:
    """An import whose file is missing stays in the list of runs, to be skipped with a reason."""
    text = GOOD.replace('generator = "s0-slack"', 'import = "openb"\nfile = "absent.csv"')
    loaded = suite(tmp_path, text)
    assert loaded.runs[0].instance.how == "import"
    assert loaded.runs[0].instance.content == ""
    for old, new, message in (
        ("openb", "opnb", r"instances\[0\].import: unknown trace format 'opnb'; nearest: openb"),
        ('"absent.csv"', '"absent.csv"\nparameters = {dy = 1}', r"\[0\].parameters.*'dy'.*day"),
    ):
        with pytest.raises(InputError, match=message):
            suite(tmp_path, text.replace(old, new))


def test_files_that_match_nothing_are_an_error(tmp_path: Path) -> None:
    """A pattern without a match is a mistake in the suite."""
    text = GOOD.replace('name = "day"\ngenerator = "s0-slack"', 'files = ["no*.json"]')
    with pytest.raises(InputError, match=r"instances\[0\].files\[0\]: no instance file"):
        suite(tmp_path, text)


def test_bundled_suites_are_found_by_name(tmp_path: Path) -> None:
    """A name is a bundled suite, anything with a suffix or slash a path; both err with the nearest."""
    (tmp_path / "quick.toml").write_text(GOOD)
    assert find_suite("quick", tmp_path) == tmp_path / "quick.toml"
    with pytest.raises(InputError, match="unknown suite 'quik'; nearest: quick"):
        find_suite("quik", tmp_path)
    with pytest.raises(InputError, match="no such suite file"):
        find_suite("./other.toml", tmp_path)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """An unreadable suite is an input error with its path."""
    with pytest.raises(InputError, match="cannot read"):
        read_suite(tmp_path / "absent.toml")
