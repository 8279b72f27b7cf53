"""The shipped instances: optima by hand, recipes that rebuild the files, an index that fits them."""

import json
from fractions import Fraction

import pytest
from click.testing import CliRunner

from migopt.check import check
from migopt.cli.instances import command
from migopt.cli.instances.build import CASES, DAYS, DUE_FACTORS, crowds, day, small_case
from migopt.cli.instances.index import INDEX, TOLERANCE, instance_files, read_index
from migopt.errors import InputError
from migopt.io import instance_digest, load, read_instance, read_schedule, spec_of, write_instance
from migopt.metrics import measure
from migopt.model import Schedule, Segment
from migopt.registry import bundled_folder
from migopt.results import active_gap, gap

FOLDER = bundled_folder("instances")
TINY = sorted(path.stem for path in (FOLDER / "tiny").glob("*.json"))


@pytest.mark.parametrize("name", TINY)
def test_tiny_optimum_is_reached_exactly(name):
    """The schedule beside each tiny instance is legal and costs exactly the optimum stated in it."""
    instance = read_instance(FOLDER / "tiny" / f"{name}.json")
    schedule = read_schedule(FOLDER / "tiny" / "solutions" / f"{name}.json", instance)
    assert check(instance, schedule) == []
    optimum = instance.origin["optimum"]
    assert measure(instance, schedule).cost_exact == Fraction(optimum["cost"])
    assert len(optimum["derivation"]) > 100


def test_there_are_tiny_instances():
    """Eight optima by hand, and the README's table has each of them with its cost."""
    assert len(TINY) == 8
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    for name in TINY:
        cost = read_instance(FOLDER / "tiny" / f"{name}.json").origin["optimum"]["cost"]
        assert f"| `{name}` | {cost} |" in text


def test_small_files_are_what_the_recipe_builds():
    """All 60 small cases rebuild to the stored files, problem and origin alike."""
    files = instance_files(FOLDER, "small/*")
    assert files == [f"small/small-{case:02d}.json" for case in range(1, CASES + 1)]
    for case, file in enumerate(files, 1):
        stored, built = read_instance(FOLDER / file), small_case(case)
        assert instance_digest(stored) == instance_digest(built)
        assert stored.origin == built.origin


@pytest.mark.parametrize("case", [1, 2, 9, 24, 60])
def test_small_cases_follow_the_recipe(case):
    """Number of jobs, due factors, load, horizon and weight of a case are those of its number."""
    instance = read_instance(FOLDER / "small" / f"small-{case:02d}.json")
    parameters = instance.origin["parameters"]
    assert len(instance.jobs) == 5 + (case - 1) % 8
    assert (parameters["due_low"], parameters["due_high"]) == DUE_FACTORS[(case - 1) % 3]
    assert parameters["load"] == 0.9
    assert instance.horizon_ms == max(job.due_ms for job in instance.jobs)
    assert instance.origin["seed"][0] == case
    assert instance.weight_a == load(FOLDER / "day" / "s0-slack-1.json").weight_a


def test_crowds_counts_released_and_unfinished_jobs(two_jobs):
    """Two jobs at once crowd; one after the other they still do, as one is half of two."""
    placement = two_jobs.catalogue(0)[1].placements[0]
    apart = Schedule(
        (two_jobs.catalogue(0)[1],),
        (Segment(0, 4000, 0, placement, 0), Segment(4000, 5715, 0, placement, 1)),
    )
    assert crowds(two_jobs, apart)
    done_at_once = Schedule(apart.initial, tuple(Segment(-1, 0, 0, placement, j) for j in (0, 1)))
    assert not crowds(two_jobs, done_at_once)


@pytest.mark.parametrize("file", sorted(DAYS))
def test_specs_regenerate_to_their_digest(file):
    """Every spec of day/ and cluster/ is on disk and generates the instance with its digest."""
    instance = load(FOLDER / file)
    stored = json.loads((FOLDER / file).read_text(encoding="utf-8"))
    assert instance_digest(instance) == stored["digest"]
    assert spec_of(day(file)) == stored


def test_no_file_without_recipe():
    """day/ and cluster/ hold nothing that build-days does not write."""
    found = instance_files(FOLDER, "day/*") + instance_files(FOLDER, "cluster/*")
    assert sorted(found) == sorted(DAYS)


def test_a_spec_that_generates_another_instance_is_refused(tmp_path):
    """A changed seed, parameter or digest is one error that names the file and the key."""
    stored = json.loads((FOLDER / "day" / "s0-slack-1.json").read_text(encoding="utf-8"))
    changes = [
        ({"seed": 2}, "digest: s0-slack with seed 2 regenerates to"),
        ({"digest": "0" * 64}, "not to the stored 000000000000…"),
        ({"digest": "xyz"}, "digest: string should match"),
        ({"seed": -1}, "seed: "),
        ({"seed": "1"}, "seed: "),
        ({"generator": "s0-slak"}, "nearest: s0-slack"),
        ({"parameters": {"gpu": 1}}, "nearest: gpus"),
        ({"seeds": 1}, "unknown key of a spec 'seeds'; nearest: seed"),
        ({"version": 2}, "version: "),
    ]
    path = tmp_path / "spec.json"
    for change, message in changes:
        path.write_text(json.dumps(stored | change))
        with pytest.raises(InputError, match=message) as info:
            load(path)
        assert "spec.json" in str(info.value)


def test_load_reads_instance_files_too(tmp_path):
    """load takes an instance file, gzipped or not, as read_instance does."""
    instance = small_case(1)
    write_instance(instance, tmp_path / "one.json.gz")
    assert load(tmp_path / "one.json.gz") == read_instance(tmp_path / "one.json.gz") == instance


def test_only_a_generated_instance_has_a_spec(two_jobs):
    """An instance without generator in its origin cannot be written as a spec."""
    with pytest.raises(InputError, match="only a generated instance has a spec"):
        spec_of(two_jobs)


def test_index_has_a_sound_row_for_every_instance():
    """Each row fits its file's digest, has both bounds and who found them, and lower <= upper."""
    rows = read_index(FOLDER)
    assert sorted(rows) == instance_files(FOLDER)
    for file, row in rows.items():
        if not file.startswith("cluster/"):
            instance = load(FOLDER / file)
            assert row["digest"] == instance_digest(instance)
            assert row["jobs"] == len(instance.jobs)
            assert row["active_gap"] == active_gap(instance, row["upper"], row["lower"])
        assert row["upper_by"]
        assert row["lower_by"]
        assert row["lower"] <= row["upper"]
        assert row["gap"] == gap(row["upper"], row["lower"])


def test_index_knows_the_optima_by_hand():
    """Tiny instances are closed in the index."""
    rows = read_index(FOLDER)
    for name in TINY:
        row = rows[f"tiny/{name}.json"]
        assert row["gap"] == row["active_gap"] == 0
        cost = read_instance(FOLDER / "tiny" / f"{name}.json").origin["optimum"]["cost"]
        assert row["upper"] == pytest.approx(float(Fraction(cost)), rel=1e-12)


def _copy(tmp_path, *files):
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_bytes((FOLDER / file).read_bytes())
    return tmp_path


def test_index_command_keeps_what_is_better(tmp_path):
    """A second run with a worse solver changes nothing; a changed instance or --fresh forgets."""
    folder = _copy(tmp_path, "small/small-01.json", "small/small-02.json")
    run = CliRunner().invoke

    def index(solver, *more):
        arguments = ["index", "-d", str(folder), "--solver", solver, "--json", *more]
        result = run(command, arguments)
        assert result.exit_code == 0, result.output
        return {row["file"]: row for row in json.loads(result.stdout)}

    good = index("edf_ss+best_fixed")
    assert index("fifo+static:1") == good
    bounded = index("closed_form")
    assert bounded["small/small-01.json"]["upper"] == good["small/small-01.json"]["upper"]
    assert bounded["small/small-01.json"]["lower_by"].startswith("closed_form")
    changed = read_instance(folder / "small" / "small-01.json").replace(horizon_ms=10**6)
    write_instance(changed, folder / "small" / "small-01.json")
    after = index("fifo+static:1")
    assert after["small/small-01.json"]["lower"] is None
    assert after["small/small-01.json"]["upper_by"].startswith("fifo")
    assert after["small/small-02.json"] == bounded["small/small-02.json"]
    fresh = index("fifo+static:1", "--fresh")
    assert fresh["small/small-02.json"]["upper_by"].startswith("fifo")
    assert fresh["small/small-02.json"]["lower"] is None


def test_index_command_refuses_contradictions(tmp_path):
    """A lower bound above the cost of a legal schedule stops the command and names who claims it."""
    folder = _copy(tmp_path, "small/small-01.json")
    arguments = ["index", "-d", str(folder), "--solver", "edf_ss+best_fixed"]
    assert CliRunner().invoke(command, arguments).exit_code == 0
    document = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    row = document["instances"][0]
    row["lower"], row["lower_by"] = row["upper"] * (1 + 10 * TOLERANCE), "a rumour"
    (folder / INDEX).write_text(json.dumps(document))
    result = CliRunner().invoke(command, arguments)
    assert isinstance(result.exception, InputError)
    assert "a rumour claims" in str(result.exception)


def test_build_commands_write_the_shipped_files(tmp_path):
    """build-small and build-days write, byte for byte, what is in the repository."""
    for name in ("build-small", "build-days"):
        assert CliRunner().invoke(command, [name, "-d", str(tmp_path)]).exit_code == 0
    for file in instance_files(tmp_path):
        assert (tmp_path / file).read_bytes() == (FOLDER / file).read_bytes()
    assert len(instance_files(tmp_path)) == CASES + len(DAYS)


def test_list_command_prints_every_instance():
    """The list has a line per instance with bounds and gaps."""
    result = CliRunner().invoke(command, ["list"])
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == len(read_index(FOLDER))
    assert "tiny/mig-off.json" in result.stdout
