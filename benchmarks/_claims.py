"""What the seed paper claims, and for each claim what the records of the S0 suites say of it.

A claim holds in a scenario where the 95 % interval of the paired comparison lies on its side of zero, does
not where it lies on the other, and is not told apart where zero lies within; below 0.1 % it is empty. A
published number holds where it lies in the interval of ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean

from _paired import (
    CLASSES,
    NEXT_TO_NOTHING,
    RULES,
    R,
    Runs,
    above,
    best_static,
    cost,
    mean_by_seed,
    paired,
    percent,
    percent_text,
    ratio,
    recalibrated,
    table,
)

from migopt.report.statistics import Interval, mean_interval

#: ET in Table II (dispatch rules) and Table III (partition rules), as printed.
PUBLISHED = {
    "edf_fs": "5.53",
    "edf_ss": "5.37",
    "llf": "6.32",
    "lalf": "6.83",
    "no_mig": "8.56",
    "static": "3.97",
    "day_night": "3.68",
    "dynamic": "2.82",
}
#: "About the same ET": within this share.
ABOUT = 0.10
YES, NO, OPEN, NIL, ABSENT = "yes", "no", "open", "nil", "absent"
WORDS = {
    YES: "holds",
    NO: "does not hold",
    OPEN: "not told apart",
    NIL: "empty (a difference below 0.1 %)",
    ABSENT: "not measured",
}
Suites = dict[str, dict[str, Runs]]


@dataclass(frozen=True)
class Finding:
    """What one scenario says of a claim: text, and whether it holds."""

    text: str
    state: str


def judged(found: Interval | None, more: str = "") -> Finding:
    """Return a finding for a claim that a gain is above zero."""
    if found is None or found.low is None or found.high is None:
        return Finding("–", ABSENT)
    state = YES if found.low > 0 else NO if found.high < 0 else OPEN
    if abs(found.mean) < NEXT_TO_NOTHING:
        state = NIL
    return Finding(percent_text(found) + more, state)


def verdict(findings: dict[str, Finding]) -> str:
    """Return holds, does not hold, or under which scenario which."""
    states = {finding.state for finding in findings.values()}
    if len(states) == 1:
        return WORDS[states.pop()]
    return "; ".join(f"{WORDS[f.state]} under `{name}`" for name, f in findings.items())


def verdicts(suites: Suites) -> str:
    """Return the table of claims: theirs, ours with intervals, verdict."""
    rows = []
    for claim, theirs, judge in claims():
        findings = {name: judge(suites, name) for name in CLASSES}
        rows.append([claim, theirs, *(findings[name].text for name in CLASSES), verdict(findings)])
    heads = ["claim of the paper", "theirs", *(f"ours, `{name}`" for name in CLASSES), "verdict"]
    return table(heads, rows)


Judge = Callable[[Suites, str], Finding]


def claims() -> list[tuple[str, str, Judge]]:
    """Return every published ordering and number, in the paper's order."""
    listed: list[tuple[str, str, Judge]] = [
        ("EDF-SS is below EDF-FS", _less("edf_ss", "edf_fs"), _rules("edf_ss", "edf_fs")),
        ("EDF-FS is below LLF", _less("edf_fs", "llf"), _rules("edf_fs", "llf")),
        ("LLF is below LALF", _less("llf", "lalf"), _rules("llf", "lalf")),
        ("restricted EDF-SS preempts less, by partition", "63 to 99 %", _fewer_preemptions),
        ("restricted EDF-SS: about the same ET", "about the same (here: within 10 %)", _same_cost),
        ("partition 3 is the best Static", "3", _best_partition),
        ("No MIG is worse than the best Static", "2.16 times its ET", _no_mig),
        ("Day-Night is below the best Static", _less("day_night", "static"), _day_night),
    ]
    for base, text in (("no_mig", "68 %"), ("static", "31 %"), ("day_night", "26 %")):
        theirs = f"{_less('dynamic', base)}; in the text {text}"
        name = {"no_mig": "No MIG", "static": "the best Static", "day_night": "Day-Night"}[base]
        listed.append((f"Dynamic (DQN) is below {name}", theirs, _dynamic(base, f"{R}+dqn")))
        listed.append((f"… our best online policy below {name}", "", _dynamic(base, None)))
    for key, label in (
        ("edf_fs", "EDF-FS"),
        ("edf_ss", "EDF-SS"),
        ("llf", "LLF"),
        ("lalf", "LALF"),
        ("no_mig", "No MIG"),
        ("static", "Static"),
        ("day_night", "Day-Night"),
        ("dynamic", "Dynamic"),
    ):
        listed.append((f"ET of {label}, a recalibrated", PUBLISHED[key], _number(key)))
    return listed


def _less(one: str, other: str) -> str:
    top, bottom = float(PUBLISHED[one]), float(PUBLISHED[other])
    return f"{PUBLISHED[one]} / {PUBLISHED[other]}: {100 * (1 - top / bottom):.1f} %"


def _rules(one: str, other: str) -> Judge:
    def judge(suites: Suites, name: str) -> Finding:
        runs = suites["s0-table2"][name]
        first, second = (
            mean_by_seed(runs, [f"{rule}+static:{n}" for n in range(1, 13)])
            for rule in (one, other)
        )
        return judged(ratio([(first[s], second[s]) for s in first if s in second]))

    return judge


def _fewer_preemptions(suites: Suites, name: str) -> Finding:
    runs, shares = suites["s0-preemption"][name], {}
    for n in range(1, 13):
        pairs = paired(
            runs,
            f"{R}+static:{n}",
            f"edf_ss+static:{n}",
            lambda r: float(r.metrics["preemptions"]),
        )
        found = ratio(pairs) if sum(free for _, free in pairs) else None
        if found is not None:
            shares[n] = found
    # On [7g] both rules stop the running job for one that is due earlier.
    others = [found for n, found in shares.items() if n > 1]
    least, most = min(f.mean for f in others), max(f.mean for f in others)
    state = YES if all(f.low is not None and f.low > 0 for f in others) else NO
    text = f"{percent(least)} to {percent(most)} % on partitions 2 to 12"
    return Finding(text + (f", {percent_text(shares[1])} on 1" if 1 in shares else ""), state)


def _same_cost(suites: Suites, name: str) -> Finding:
    runs = suites["s0-preemption"][name]
    found = {
        n: above(paired(runs, f"{R}+static:{n}", f"edf_ss+static:{n}", cost)) for n in range(1, 13)
    }
    known = {n: f for n, f in found.items() if f is not None and f.high is not None}
    within = [str(n) for n, f in known.items() if f.high is not None and f.high <= ABOUT]
    least, most = (
        min(known.values(), key=lambda f: f.mean),
        max(known.values(), key=lambda f: f.mean),
    )
    text = (
        f"{percent(least.mean)} to {percent(most.mean, 0)} % more; within it on {', '.join(within)}"
    )
    return Finding(text, YES if len(within) == len(known) else NO)


def _best_partition(suites: Suites, name: str) -> Finding:
    runs = suites["s0-table3"][name]
    best, third = best_static(runs), f"{R}+static:3"
    free = suites["s0-table2"][name]
    others = "/".join(best_static(free, rule).rpartition(":")[2] for rule in RULES)
    if best == third:
        return Finding(f"3; EDF-FS/EDF-SS/LLF/LALF: {others}", YES)
    far = above(paired(runs, third, best, cost))
    text = f"{best.rpartition(':')[2]}, 3 is {percent_text(far)} above it"
    state = NO if far is not None and far.low is not None and far.low > 0 else OPEN
    return Finding(f"{text}; EDF-FS/EDF-SS/LLF/LALF: {others}", state)


def _no_mig(suites: Suites, name: str) -> Finding:
    runs = suites["s0-table3"][name]
    found = above(paired(runs, f"{R}+no_mig", best_static(runs), cost))
    if found is None or found.low is None or found.high is None:
        return Finding("–", ABSENT)
    text = f"{1 + found.mean:.1f} times ({1 + found.low:.1f} to {1 + found.high:.1f})"
    return Finding(text, YES if found.low > 0 else NO if found.high < 0 else OPEN)


def _day_night(suites: Suites, name: str) -> Finding:
    runs = suites["s0-table3"][name]
    return judged(ratio(paired(runs, f"{R}+day_night", best_static(runs), cost)))


def _dynamic(base: str, policy: str | None) -> Judge:
    def judge(suites: Suites, name: str) -> Finding:
        runs = suites["s0-table3"][name]
        bases = {"no_mig": f"{R}+no_mig", "static": best_static(runs)}
        against = bases.get(base, f"{R}+{base}")
        chosen = policy or best_online(runs)
        found = ratio(paired(runs, chosen, against, cost))
        share = 1 - float(PUBLISHED["dynamic"]) / float(PUBLISHED[base])
        more = "" if policy else f", `{chosen}`"
        if found is not None and found.low is not None and found.high is not None:
            more += (
                "; at least as much"
                if found.low >= share
                else "; less"
                if found.high < share
                else "; about as much"
            )
        return judged(found, more)

    return judge


def best_online(runs: Runs) -> str:
    """Return the policy that changes partitions and gains most over the best Static on the days of both."""
    fixed = ("static", "no_mig", "day_night")
    gains = {
        entry: found.mean
        for entry in runs
        if "+" in entry and not any(word in entry for word in fixed)
        if (found := ratio(paired(runs, entry, best_static(runs), cost))) is not None
    }
    return max(gains, key=lambda entry: gains[entry])


def _number(key: str) -> Judge:
    def judge(suites: Suites, name: str) -> Finding:
        if key in RULES:
            runs = suites["s0-table2"][name]
            groups = {rule: [f"{rule}+static:{n}" for n in range(1, 13)] for rule in RULES}
            values = recalibrated(runs, [e for entries in groups.values() for e in entries])
            entries = groups[key]
        else:
            runs = suites["s0-table3"][name]
            four = {
                "no_mig": f"{R}+no_mig",
                "static": best_static(runs),
                "day_night": f"{R}+day_night",
                "dynamic": f"{R}+dqn",
            }
            values, entries = recalibrated(runs, list(four.values())), [four[key]]
        if any(entry not in values for entry in entries):
            return Finding("–", ABSENT)
        seeds = set.intersection(*(set(values[entry]) for entry in entries))
        found = mean_interval([fmean(values[e][s] for e in entries) for s in sorted(seeds)])
        if found.low is None or found.high is None:
            return Finding(f"{found.mean:.2f}", OPEN)
        theirs = float(PUBLISHED[key])
        inside = found.low <= theirs <= found.high
        text = f"{found.mean:.2f} ({found.low:.2f} to {found.high:.2f})"
        return Finding(text, YES if inside else NO)

    return judge
