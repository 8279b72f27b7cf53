"""Scenario families: registry, parameters, reproducibility, and the published figures they must meet."""

from fractions import Fraction
from statistics import fmean

import pytest

from migopt.errors import InputError, UnknownNameError
from migopt.io.generators import generate, generator_names, parameter_table, stored_weight
from migopt.units import MS_PER_DAY, MS_PER_MINUTE

KEY = "A100-40GB"


def minutes_on_1g(instance):
    """Duration on 1g of every job, in minutes."""
    return [job.work / job.rates[KEY]["1g.5gb"] / MS_PER_MINUTE for job in instance.jobs]


def test_registry_lists_the_files():
    """The three scenarios are found by the names of their files."""
    assert generator_names() == ["s0-slack", "s0-tight", "smartmig"]


def test_unknown_scenario_names_the_nearest():
    """A misspelt scenario is one error with the nearest name."""
    with pytest.raises(UnknownNameError, match="nearest: s0-slack"):
        generate("s0_slack", seed=1)


@pytest.mark.parametrize("name", ["s0-slack", "s0-tight", "smartmig"])
def test_same_seed_same_instance(name):
    """Same name, seed and parameters give equal instances; another seed gives another one."""
    assert generate(name, seed=3) == generate(name, seed=3)
    assert generate(name, seed=3).jobs != generate(name, seed=4).jobs


@pytest.mark.parametrize("name", ["s0-slack", "s0-tight", "smartmig"])
def test_origin_regenerates_the_instance(name):
    """The origin states every resolved parameter, so it rebuilds the instance by itself."""
    instance = generate(name, seed=5, gpus=2, inference_share="0.5")
    origin = instance.origin
    again = generate(origin["generator"], seed=origin["seed"], **origin["parameters"])
    assert again == instance
    assert again.origin == origin


def test_seed_of_several_parts_differs_from_its_head():
    """Seed (1, 0) is not seed 1, though numpy pads seeds with zeros."""
    assert generate("s0-slack", seed=(1, 0)).jobs != generate("s0-slack", seed=1).jobs


def test_s0_fixed_choices():
    """S0: one A100-40GB, paper-12, MIG off allowed, free preemption, tau 4 s for the whole GPU, 24 h."""
    instance = generate("s0-tight", seed=1)
    assert [model.key for model in instance.gpus] == [KEY]
    assert instance.catalogue(0).name == "paper-12"
    assert len(instance.catalogue(0)) == 12
    assert instance.mig_off
    assert instance.preemption.mode == "free"
    assert (instance.repartition.scope, instance.repartition.tau_ms) == ("gpu", 4000)
    assert instance.horizon_ms == MS_PER_DAY
    assert instance.weight_a == stored_weight("s0-tight")
    assert instance.power[KEY].busy_mw[1] == 119_000


@pytest.mark.parametrize(
    ("name", "low", "high"), [("s0-tight", 1, 1.5), ("s0-slack", 2, 4), ("smartmig", 1, 1.5)]
)
def test_due_factors(name, low, high):
    """Due dates lie between the scenario's factors times the duration on 7g, rounded up."""
    for job in generate(name, seed=2).jobs:
        on_7g = Fraction(job.work, job.rates[KEY]["7g.40gb"])
        assert low * on_7g <= job.due_ms - job.release_ms < high * on_7g + 1


def test_linear_jobs_alone_gain_from_mig_off():
    """With MIG off a linear job is 6 % faster than on 7g; sublinear and capped jobs gain nothing."""
    for job in generate("s0-slack", seed=1).jobs:
        assert job.rates[KEY]["off"] == (1_060_000 if job.elasticity == "linear" else 1_000_000)


def test_classes_kinds_and_caps_are_equally_likely():
    """Thirds of the classes, thirds of the caps, quarters of the functions, 80 % inference."""
    jobs = generate("s0-slack", seed=1, days=40).jobs
    share = {
        label: fmean(job.elasticity == label for job in jobs)
        for label in {job.elasticity for job in jobs}
    }
    assert share.pop("linear") == pytest.approx(1 / 3, abs=0.01)
    assert {k: round(v * 9) for k, v in share.items() if k.startswith("capped")} == {
        "capped-2g": 1,
        "capped-3g": 1,
        "capped-4g": 1,
    }
    assert sorted(round(v * 12) for k, v in share.items() if ":" in k) == [1, 1, 1, 1]
    assert fmean(job.kind == "inference" for job in jobs) == pytest.approx(0.8, abs=0.01)


def test_durations_on_1g():
    """Inference durations have mean 3 min; training ones are uniform between 10 and 40 min."""
    instance = generate("s0-slack", seed=1, days=40)
    by_kind = {"inference": [], "training": []}
    for job, minutes in zip(instance.jobs, minutes_on_1g(instance), strict=True):
        by_kind[job.kind].append(minutes)
    assert fmean(by_kind["inference"]) == pytest.approx(3, rel=0.02)
    assert fmean(by_kind["training"]) == pytest.approx(25, rel=0.02)
    assert min(by_kind["training"]) >= 10
    assert max(by_kind["training"]) <= 40


def test_changing_one_option_does_not_reshuffle_the_others():
    """Another inference share moves kinds and durations only; arrivals and classes stay."""
    few, many = (generate("s0-slack", seed=1, inference_share=share) for share in (0.5, 0.8))
    assert [job.release_ms for job in few.jobs] == [job.release_ms for job in many.jobs]
    assert [job.elasticity for job in few.jobs] == [job.elasticity for job in many.jobs]
    same = [(a, b) for a, b in zip(few.jobs, many.jobs, strict=True) if a.kind == b.kind]
    assert 0.6 < len(same) / len(few.jobs) < 0.8
    assert all(a == b for a, b in same)


def test_scenarios_share_arrivals_and_kinds():
    """One seed gives tight and slack the same jobs; only due dates differ."""
    for a, b in zip(
        generate("s0-tight", seed=9).jobs, generate("s0-slack", seed=9).jobs, strict=True
    ):
        assert (a.release_ms, a.work, a.rates) == (b.release_ms, b.work, b.rates)
        assert a.due_ms < b.due_ms or a.work < 1_000_000


def test_smartmig_meets_the_published_workload():
    """SMART-MIG at 20x on 8 GPUs: 4,148 jobs a day, 12.27 1g-minutes each, energy bound 1,995,130.

    The published bound (arXiv 2606.29775) charges every job's duration on 1g with a seventh of the
    rise of power from idle to full: E = 8 H P(0) + sum p_1g (P(7) - P(0)) / 7.
    """
    counts, works, bounds = [], [], []
    for seed in range(50):
        instance = generate("smartmig", seed=seed, gpus=8)
        work = minutes_on_1g(instance)
        power = instance.power[KEY].busy_mw
        idle, rise = power[0] / 1000, (power[7] - power[0]) / 1000
        counts.append(len(work))
        works.append(fmean(work))
        bounds.append(8 * 1440 * idle + sum(work) * rise / 7)
    assert fmean(counts) == pytest.approx(4148.4, rel=0.01)
    assert fmean(works) == pytest.approx(12.273, rel=0.01)
    assert fmean(bounds) == pytest.approx(1_995_130, rel=0.015)


def test_smartmig_training_lies_between_40_and_60_minutes():
    """Nine in ten training jobs take 40 to 60 min on 1g; two thirds of the jobs are BERT."""
    instance = generate("smartmig", seed=1, days=60)
    training = [
        minutes
        for job, minutes in zip(instance.jobs, minutes_on_1g(instance), strict=True)
        if job.kind == "training"
    ]
    assert fmean(40 <= minutes <= 60 for minutes in training) == pytest.approx(0.9, abs=0.01)
    assert fmean(job.elasticity == "bert" for job in instance.jobs) == pytest.approx(
        2 / 3, abs=0.01
    )
    assert not instance.mig_off
    assert all("off" not in job.rates[KEY] for job in instance.jobs)


def test_small_case_by_jobs_and_load():
    """With jobs and load the rate is flat, there are exactly that many jobs and H is the last due."""
    instance = generate("s0-slack", seed=(4, 0), jobs=9, load=0.9)
    assert len(instance.jobs) == 9
    assert instance.horizon_ms == max(job.due_ms for job in instance.jobs)
    assert instance.origin["parameters"]["arrivals"] == "flat"


def test_load_is_rate_times_work_over_slices():
    """Load 0.9 on two GPUs offers 0.9 x 14 slices of 1g-minutes per minute."""
    instance = generate("s0-slack", seed=1, load=0.9, gpus=2, days=30)
    offered = sum(minutes_on_1g(instance)) / (30 * 1440)
    assert offered == pytest.approx(0.9 * 14, rel=0.02)


def test_multiplier_is_per_gpu_and_weight_is_shared():
    """By default G GPUs get G times the arrivals and a/G."""
    one, eight = (generate("s0-slack", seed=1, gpus=gpus) for gpus in (1, 8))
    assert eight.origin["parameters"]["rate_multiplier"] == 20
    assert eight.weight_a == one.weight_a / 8
    assert len(eight.jobs) == pytest.approx(8 * len(one.jobs), rel=0.1)
    assert generate("s0-slack", seed=1, weight_a="1/7").weight_a == Fraction(1, 7)


def test_measured_elasticities():
    """Measured models: training jobs from MISO, inference from ParvaGPU, rates as measured."""
    for job in generate("s0-slack", seed=1, elasticity="measured").jobs:
        source = job.elasticity.split(":")[0]
        assert source == {"training": "miso", "inference": "parvagpu"}[job.kind]
        if job.elasticity == "miso:resnet:512":
            assert job.rates[KEY]["3g.20gb"] == pytest.approx(653_100, rel=1e-3)
    only = generate("s0-slack", seed=1, elasticity="measured", measured="miso:gnn:64,parvagpu:bert")
    assert {j.elasticity for j in only.jobs if j.kind == "training"} == {"miso:gnn:64"}


def test_batches_and_day_factors_keep_the_mean_rate():
    """Batches of 3 on average and a random day factor leave the mean number of jobs as it was."""
    plain = len(generate("s0-slack", seed=1, days=100).jobs)
    batches = generate("s0-slack", seed=1, days=100, batch_mean=3)
    distinct = len({job.release_ms for job in batches.jobs})
    assert len(batches.jobs) == pytest.approx(plain, rel=0.05)
    assert len(batches.jobs) / distinct == pytest.approx(3, rel=0.05)
    varied = generate("s0-slack", seed=1, days=100, day_cv=0.42)
    assert len(varied.jobs) == pytest.approx(plain, rel=0.15)
    per_day = [0] * 100
    for job in varied.jobs:
        per_day[job.release_ms // MS_PER_DAY] += 1
    mean = fmean(per_day)
    spread = fmean((count - mean) ** 2 for count in per_day) ** 0.5 / mean
    assert spread == pytest.approx(0.42, abs=0.1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"gpus": 0}, "gpus: input should be greater than or equal to 1, not 0"),
        ({"loda": 1}, "unknown parameter of s0-slack 'loda'; nearest: load"),
        ({"load": 1, "rate_multiplier": 2}, "give load or rate_multiplier, not both"),
        ({"jobs": 3, "days": 2}, "give jobs or days, not both"),
        ({"due_low": 3, "due_high": 2}, "due_low 3 is above due_high 2"),
        ({"arrivals": "pai"}, "arrivals: unknown arrival shape 'pai'; nearest: pai-2020"),
        ({"class_weights": "0,0,0"}, "class_weights are all 0"),
        ({"training_low_min": 50}, "training_low_min is above training_high_min"),
        ({"sublinear": "exp:2;"}, "sublinear: unknown elasticity class"),
        ({"elasticity": "measured", "measured": "misso"}, "measured: unknown measured model"),
        ({"elasticity": "measured", "measured": "miso"}, "no measured model for task 'infer'"),
        ({"weight_a": "-1"}, "weight_a: must be at least 0"),
        ({"load": "nan"}, "load: input should be a finite number"),
        ({"catalogue": "paper-13"}, "nearest: paper-1"),
        ({"rate_multiplier": 1e12}, "about 2.07e\\+14 jobs; the most is 10,000,000"),
        ({"jobs": 9, "load": 1e-9}, "beyond the greatest time"),
    ],
)
def test_bad_parameters_are_one_clear_error(given, message):
    """Each bad parameter names itself, what is wrong and, for names, the nearest valid one."""
    with pytest.raises(InputError, match=message):
        generate("s0-slack", seed=1, **given)


def test_a_day_may_have_no_job():
    """A rate near 0 gives an instance without jobs, not an error."""
    instance = generate("s0-slack", seed=1, rate_multiplier=1e-9)
    assert instance.jobs == ()
    assert instance.horizon_ms == MS_PER_DAY


@pytest.mark.parametrize("seed", [-1, 1.5, True, (), (1, -2)])
def test_bad_seeds(seed):
    """A seed is a whole number of at least 0, or a sequence of such."""
    with pytest.raises(InputError, match="a seed is a whole number"):
        generate("s0-slack", seed=seed)


def test_parameter_table_describes_every_parameter():
    """Every parameter has a type and a description, and the table's defaults are accepted back."""
    for name in generator_names():
        table = parameter_table(name)
        assert all(row["description"] and row["type"] for row in table)
        given = {row["name"]: row["default"] for row in table if row["default"] is not None}
        assert generate(name, seed=1, **given) == generate(name, seed=1)
