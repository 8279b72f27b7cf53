"""The published JSON Schemas: current, valid, and of one mind with the reader about form."""

from __future__ import annotations

import json
import re

import jsonschema
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings

from conftest import REPOSITORY
from factories import OFF, P_43, P_223, change, make_schedule, seg
from io_cases import REMOVE, changed, document, documents
from migopt.cli import cli
from migopt.errors import InputError, UnknownNameError
from migopt.io import (
    instance_from_dict,
    instance_to_dict,
    json_schema,
    schedule_to_dict,
)
from migopt.io.generators import generate

KINDS = ("instance", "schedule")
FOLDER = REPOSITORY / "docs" / "schema"


def validator(kind):
    """Return a validator for files of a kind."""
    return jsonschema.Draft202012Validator(json_schema(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_the_published_file_is_current(kind):
    """docs/schema holds what `migopt schema` prints; run it with -o after a change."""
    printed = CliRunner().invoke(cli, ["schema", kind])
    assert printed.exit_code == 0
    published = (FOLDER / f"{kind}.schema.json").read_text(encoding="utf-8")
    assert published == printed.output
    assert json.loads(published) == json_schema(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_a_json_schema(kind):
    """The document is valid under the dialect it names."""
    jsonschema.Draft202012Validator.check_schema(json_schema(kind))
    assert json_schema(kind)["$schema"].endswith("2020-12/schema")


@pytest.mark.parametrize("kind", KINDS)
def test_every_object_with_fixed_keys_is_closed(kind):
    """The schema refuses unknown keys wherever the reader does."""
    schema = json_schema(kind)
    for part in (schema, *schema["$defs"].values()):
        assert part["additionalProperties"] is False


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(documents())
def test_what_is_read_and_written_is_valid(made):
    """Files that are read, and files that are written, keep to the schema."""
    check = validator("instance")
    check.validate(made)
    check.validate(instance_to_dict(instance_from_dict(made)))


def test_generated_instances_and_schedules_are_valid():
    """A generated day and a schedule with every kind of entry keep to the schemas."""
    validator("instance").validate(instance_to_dict(generate("s0-slack", seed=1)))
    schedule = make_schedule(
        seg(0, "off", 0, 5), change(P_43, P_223, 0, 1), initial=(P_43, OFF, P_223)
    )
    made = schedule_to_dict(schedule, instance_from_dict(document()))
    validator("schedule").validate(json.loads(json.dumps(made)))


def test_the_examples_of_the_documentation_are_valid():
    """The two files on the page about formats keep to the schemas."""
    page = (REPOSITORY / "docs" / "formats.md").read_text(encoding="utf-8")
    found = re.findall(r"<!-- file: (\w+).json -->\n```json\n(.*?)```", page, re.S)
    assert [name for name, _ in found] == ["tiny", "schedule"]
    for kind, (_, text) in zip(KINDS, found, strict=True):
        validator(kind).validate(json.loads(text))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["horizon"], 1),
        (["jobs", 0, "due"], 1),
        (["jobs", 0, "work"], REMOVE),
        (["jobs", 0, "work"], "7"),
        (["jobs", 0, "work"], 0),
        (["jobs", 0, "work"], 1.5),
        (["jobs", 0, "id"], True),
        (["jobs", 0, "rates"], 5),
        (["jobs", 1, "rates", "A100-40GB", "1g.5gb"], -1),
        (["weight_a"], "0.5"),
        (["catalogue", "A30-24GB", 0, 0], "2g.12gb"),
        (["catalogue"], []),
        (["preemption", "mode"], "some"),
        (["format"], "migopt-schedule"),
        (["version"], 2),
        (["kind"], "gang"),
        (["gpus"], []),
    ],
)
def test_faults_of_form_are_faults_of_the_schema_too(path, value):
    """What the reader refuses for its form, the schema refuses as well."""
    made = changed(path, value)
    assert not validator("instance").is_valid(made)
    with pytest.raises(InputError):
        instance_from_dict(made)


def test_an_unknown_kind_is_answered_with_the_known_ones():
    """There are two kinds of files."""
    with pytest.raises(UnknownNameError, match="nearest: instance"):
        json_schema("instances")


def test_schema_command(tmp_path):
    """`migopt schema` writes a file, says so as text or JSON, and refuses what it does not know."""
    runner, target = CliRunner(), tmp_path / "s.json"
    done = runner.invoke(cli, ["schema", "schedule", "-o", str(target)])
    assert (done.exit_code, done.output) == (0, f"{target}\n")
    assert json.loads(target.read_text(encoding="utf-8")) == json_schema("schedule")
    done = runner.invoke(cli, ["schema", "schedule", "-o", str(target), "--json"])
    assert json.loads(done.output) == {"schema_file": str(target)}
    for arguments, message in (
        (["schema", "schedul"], "error: unknown kind of file 'schedul'; nearest: schedule"),
        (["schema", "schedule", "-o", str(tmp_path / "no" / "s.json")], "cannot be written"),
    ):
        done = runner.invoke(cli, arguments)
        assert done.exit_code == 2
        assert message in done.output
