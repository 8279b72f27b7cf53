"""The interval MILP solver: rounds of relaxation, integer model and refinement until the gap is closed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from migopt.bounds.split.covers import why_not as split_why_not
from migopt.errors import InfeasiblePartitionError
from migopt.exact._highs import engine_name
from migopt.exact.event_order import EventOrder, OrderPlan
from migopt.exact.interval_milp.cuts import Cut, Separator
from migopt.exact.interval_milp.decode import to_ticks
from migopt.exact.interval_milp.engine import Model, NoBetter
from migopt.exact.interval_milp.grid import Windows, grid, options
from migopt.exact.interval_milp.orders import (
    Improver,
    follow,
    order_of,
    order_of_schedule,
    useful_classes,
)
from migopt.exact.interval_milp.refine import (
    changing_times,
    close_windows,
    order_from,
    solution_points,
    split_points,
)
from migopt.exact.interval_milp.variables import Layout, Mode
from migopt.exact.one_gpu import Floats, OneGpu, one_gpu
from migopt.exact.partition_classes import why_no_partition
from migopt.exact.priced_tree.tree import Tree
from migopt.interrupt import CtrlC, ctrl_c
from migopt.metrics import measure
from migopt.model import Instance, Schedule
from migopt.results import Budget, Outcome, SolveResult, StopReason, TrajectoryPoint

#: Relative active gap below which two values count as equal.
EQUAL = 1e-7
#: Classes of partitions among which the first search moves.
USEFUL_CLASSES = 6
#: Relative room left below every bound of the engine for its tolerances.
SAFETY = 1e-8
#: Part of the time limit after which the tree over prices takes over from the integer models.
TREE_FROM = 0.5
#: Added to the engine's name where the tree had a part in the bound; its sums are floats, too.
TREE = ", and migopt's tree over prices in floats"
#: Columns above which a grid is not refined before the integer model is tried.
MANY_COLUMNS = 12_000


@dataclass(frozen=True, slots=True)
class Progress:
    """State of a running solve: seconds, bounds as costs of the instance, active gap, grid points, phase."""

    wall_s: float
    upper: float | None
    lower: float | None
    gap: float | None
    points: int
    phase: str

    @property
    def note(self) -> str:
        """Phase and grid size in words."""
        return f"{self.phase}, {self.points} grid points"


@dataclass
class IntervalMilp:
    """Exact solver for preemptive jobs on one GPU in continuous time.

    Parameters
    ----------
    partition : str or int
        ``free`` (the partition may change, each change takes tau), ``one`` (one partition for the
        whole run, chosen by the solver) or the number of a partition of the catalogue.
    max_changes : int, optional
        Most changes of partition.
    hint : Schedule, optional
        A schedule to start from, for instance the best of some policies.
    progress : callable, optional
        Called with a ``Progress`` now and then.
    should_stop : callable, optional
        Asked now and then; True ends the search with the best so far.
    tree_due : callable, optional
        Asked now and then; True lets the tree over prices take over from the integer models. Without
        it that is at half of the time limit.
    """

    partition: Literal["free", "one"] | int = "free"
    max_changes: int | None = None
    hint: Schedule | None = None
    progress: Callable[[Progress], None] | None = None
    should_stop: Callable[[], bool] | None = None
    tree_due: Callable[[], bool] | None = None

    def solve(self, instance: Instance, budget: Budget) -> SolveResult:
        """Return the best schedule and lower bound found within ``budget``.

        Raises
        ------
        InputError
            More than one GPU, or power figures that energy needs are missing.
        """
        with ctrl_c() as noted:
            return _Run(self, instance, budget, noted).solve()


@dataclass
class _Side:
    """One case (MIG on or off) with its own bound and best plan."""

    problem: OneGpu
    mode: Mode
    bound: Mode
    improver: Improver
    lower: float = 0.0
    windows: Windows | None = None
    extra: list[float] = field(default_factory=list)
    cuts: list[Cut] = field(default_factory=list)
    separator: Separator | None = None
    #: Plans whose changes take no time: where the changes of real plans come from.
    free: Improver | None = None
    free_done: bool = False
    tree_done: bool = False
    rounds: int = 0
    stuck: bool = False


class _Run:
    def __init__(
        self, solver: IntervalMilp, instance: Instance, budget: Budget, noted: CtrlC
    ) -> None:
        self.solver, self.instance, self.budget = solver, instance, budget
        self.noted = noted
        self.start = time.perf_counter()
        limit = budget.time_limit_s
        self.deadline = self.start + (limit if limit is not None else 1e9)
        self.constant = float(instance.constant_cost)
        self.trajectory: list[TrajectoryPoint] = []
        self.hint_cost: float | None = None
        self.stop = StopReason.FINISHED
        #: Whether the tree over prices, which is no engine's work, raised the bound.
        self.by_tree = False
        #: Why a case was left out.
        self.refused = "no partition runs every job"
        self.counts = {"rounds": 0, "integer_models": 0, "columns": 0, "rows": 0, "points": 0}
        free = instance.preemption.mode == "free" or (
            instance.preemption.mode == "cost" and instance.preemption.resume_overhead_ms == 0
        )
        #: Whether the model's schedules are schedules of the instance.
        self.own = free and all(instance.is_preemptible(job) for job in instance.jobs)

    # ------------------------------------------------------------------ frame

    def solve(self) -> SolveResult:
        instance = self.instance
        if not instance.jobs:
            return self._empty()
        sides = self._sides()
        if not sides:
            told = None
            if not isinstance(self.solver.partition, int):
                told = why_no_partition(instance)
            return SolveResult(
                Outcome.INFEASIBLE_PARTITION, StopReason.FINISHED, message=told or self.refused
            )
        self.sides = sides
        self._start_from_hint()
        for side in sides:
            self._first_orders(side)
        self._rounds()
        return self._result()

    def _sides(self) -> list[_Side]:
        instance, partition = self.instance, self.solver.partition
        sides = []
        scope = instance.repartition.scope
        fixed = partition if isinstance(partition, int) else None
        cases: list[Literal["mig", "off"]] = ["mig"]
        if instance.mig_off and fixed is None:
            cases.append("off")
        for case in cases:
            try:
                problem = one_gpu(instance, case, partition=fixed if case == "mig" else None)
            except InfeasiblePartitionError as error:
                self.refused = str(error)
                continue
            single = len(problem.classes) == 1
            mode: Mode = "ignore"
            if not single and (
                partition == "one" or scope == "never" or self.solver.max_changes == 0
            ):
                mode = "one"
            elif not single and (problem.tau > 0 or self.solver.max_changes is not None):
                mode = "change"
            if mode == "one" and not problem.holds_all:
                continue
            order = EventOrder(problem)
            changes = 0 if mode == "one" else self.solver.max_changes
            sides.append(
                _Side(
                    problem,
                    mode,
                    # With scope slices a change may cost less than tau on the whole GPU.
                    "ignore" if mode == "change" and scope == "slices" else mode,
                    Improver(
                        order,
                        max_changes=changes,
                        seed=self.budget.seed,
                        should_stop=self._stopped,
                    ),
                    windows=Windows.open(problem),
                )
            )
        return sides

    def _start_from_hint(self) -> None:
        hint = self.solver.hint
        if hint is None:
            return
        self.hint_cost = float(
            measure(self.instance, hint).cost_exact - self.instance.constant_cost
        )
        for side in self.sides:
            most = 0 if side.mode == "one" else self.solver.max_changes
            if most is not None and len(hint.reconfigurations) > most:
                continue  # of another class of schedules
            order = order_of_schedule(side.problem, hint, classes=side.mode != "ignore")
            side.improver.offer(self._fit(side, order))

    def _fit(self, side: _Side, order: Any) -> Any:
        """Return an order in the form of the side: with classes where changes take time."""
        if order is None or side.mode != "ignore":
            return order
        events = tuple(event for event in order[0] if event.kind in ("release", "done"))
        return events, (0 if len(side.problem.classes) == 1 else None)

    def _first_orders(self, side: _Side) -> None:
        p = side.problem
        orders = [p.due, p.release + p.quickest, p.due - p.quickest, np.maximum(p.due, p.end / 2)]
        firsts: list[int | None] = [None]
        if side.mode != "ignore":
            firsts = list(range(len(p.classes)))
        elif len(p.classes) == 1:
            firsts = [0]
        for first in firsts:
            for key in orders:
                side.improver.offer(order_of(p, [float(t) for t in key], (), first))
        if side.mode == "change":
            for key in orders:
                self._try(side, order_of(p, [float(t) for t in key]), 0.2)
            plan = self._free(side).best
            if plan is not None:
                side.improver.classes = useful_classes(p, plan, USEFUL_CLASSES)
        now = time.perf_counter()
        share = min(self.deadline, now + 0.2 * (self.deadline - now), now + 1.2 * p.jobs)
        side.improver.improve(share)
        side.improver.shake(share)
        self._tell("start", 0)

    # ------------------------------------------------------------------ bounds

    @property
    def upper(self) -> float | None:
        """Least cost above the constant, of plans and of the hint."""
        found = [side.improver.best.cost for side in self.sides if side.improver.best is not None]
        if not self.own:
            found = []
        if self.hint_cost is not None:
            found.append(self.hint_cost)
        return min(found) if found else None

    @property
    def lower(self) -> float:
        """Greatest proven bound above the constant."""
        return min(side.lower for side in self.sides)

    def _gap(self) -> float | None:
        upper = self.upper
        if upper is None:
            return None
        return 0.0 if upper <= 0 else max(0.0, (upper - self.lower) / upper)

    def _side_closed(self, side: _Side) -> bool:
        upper = self.upper
        target = max(self.budget.gap, EQUAL)
        return upper is not None and side.lower >= upper * (1 - target) - 1e-13

    def _stopped(self) -> bool:
        """Return whether Ctrl-C was pressed or the caller wants the search to end."""
        return self.noted.pressed or (
            self.solver.should_stop is not None and self.solver.should_stop()
        )

    def _over(self) -> bool:
        if time.perf_counter() >= self.deadline:
            self.stop = StopReason.TIME_LIMIT
            return True
        if self._stopped():
            self.stop = StopReason.INTERRUPTED
            return True
        return False

    def _tell(self, phase: str, points: int) -> None:
        upper, wall = self.upper, time.perf_counter() - self.start
        point = TrajectoryPoint(
            wall,
            None if upper is None else upper + self.constant,
            self.lower + self.constant,
        )
        last = self.trajectory[-1] if self.trajectory else None
        if last is None or (last.upper, last.lower) != (point.upper, point.lower):
            self.trajectory.append(point)
        if self.solver.progress is not None:
            self.solver.progress(
                Progress(wall, point.upper, point.lower, self._gap(), points, phase)
            )

    def _raise(self, side: _Side, value: float) -> None:
        upper = self.upper
        side.lower = max(side.lower, value if upper is None else min(value, upper))

    # ------------------------------------------------------------------ rounds

    def _rounds(self) -> None:
        """Rounds on the side of the lowest bound until every bound meets the best plan of all sides."""
        for side in self.sides:
            side.separator = Separator(side.problem)
            side.cuts = side.separator.first(
                float(side.problem.release.min()), side.problem.end + 1
            )
        while not self._over():
            left = [side for side in self.sides if not side.stuck and not self._side_closed(side)]
            if not left:
                break
            side = min(left, key=lambda item: item.lower)
            if self._tree_due(side):
                self._tree(side)
                continue
            self.counts["rounds"] += 1
            try:
                side.stuck = not self._round(side)
            except NoBetter:
                upper = self.upper
                assert upper is not None
                side.lower = max(side.lower, upper)
        self._tell("end", self.counts["points"])

    def _tree_due(self, side: _Side) -> bool:
        """Return whether the tree over prices is next: it needs an upper value, tau, and a time limit."""
        limit, due = self.budget.time_limit_s, self.solver.tree_due
        if side.bound != "change" or side.tree_done or not side.rounds or self.upper is None:
            return False
        late = due() if due is not None else False
        if due is None and limit is not None:
            late = time.perf_counter() > self.start + TREE_FROM * limit
        free = self.solver.partition == "free" and self.solver.max_changes is None
        return free and late and split_why_not(self.instance) is None

    def _tree(self, side: _Side) -> None:
        """Raise the bound by branch and bound over the splitting bound; its nodes suggest orders."""
        side.tree_done = True

        def upper() -> float:
            found = self.upper
            assert found is not None
            return found

        def tell(value: float) -> None:
            before = self.lower
            self._raise(side, value - SAFETY * abs(value))
            self.by_tree |= self.lower > before
            self._tell("tree", self.counts["points"])

        def offer(completion: list[float]) -> None:
            self._try(side, order_of(side.problem, completion), 0.5)

        tree = Tree(
            self.instance,
            upper,
            max(self.budget.gap, EQUAL),
            self._late_points(side),
            lambda: self._over() or self._side_closed(side),
            offer,
            tell,
        )
        result = tree.run()
        tell(result.lower)
        self.counts["tree_nodes"] = self.counts.get("tree_nodes", 0) + result.nodes

    def _end(self, side: _Side) -> float:
        """A moment by which every schedule better than the best plan has ended."""
        p, upper = side.problem, self.upper
        if upper is None:
            return p.end
        least = np.maximum(0.0, p.release + p.quickest - p.due)
        base = float(p.late_cost @ least)
        with np.errstate(divide="ignore"):
            room = np.where(p.late_cost > 0, (upper - base) / p.late_cost, np.inf) + least
        latest = np.maximum(p.due, p.release) + np.maximum(room, 0.0)
        return float(min(p.end, latest.max() + 1e-6))

    def _round(self, side: _Side) -> bool:
        """One grid: relaxation with cuts, then points or the integer model; False when nothing new came."""
        separator = side.separator
        assert side.windows is not None
        assert separator is not None
        side.rounds += 1
        p = side.problem
        points = grid(p, [*side.extra, *self._late_points(side)], self._end(side))
        relaxed: Mode = "ignore" if side.bound == "change" else side.bound
        layout = Layout(p, points, options(p, points, side.windows), relaxed)
        model = Model(layout, None, side.cuts, self.upper)
        self._note(model)
        before = side.lower
        x = self._relax(side, model, separator)
        if x is None:
            return False
        upper = self.upper
        if self._side_closed(side):
            return True
        gain = side.lower - before
        missing = (upper if upper is not None else np.inf) - side.lower
        new = [t for t in split_points(layout, x, 0.02) if self._is_new(points, t)]
        new += [t for t in self._late_points(side) if self._is_new(points, t)]
        if side.rounds == 1 or (
            new and gain > 0.1 * missing and layout.columns < MANY_COLUMNS and not side.free_done
        ):
            side.extra += new
            return True
        return self._integer(side, model, separator, new)

    @staticmethod
    def _late_points(side: _Side) -> list[float]:
        """Late completions and changes of the best plans: where the bound has to be exact."""
        plans = [side.improver.best, side.free.best if side.free is not None else None]
        found = []
        for plan in plans:
            if plan is not None:
                done = plan.completion()
                found += [t for j, t in done.items() if t > side.problem.due[j]]
                found += changing_times(plan)
        return found

    def _note(self, model: Model) -> None:
        self.counts["columns"] = max(self.counts["columns"], model.layout.columns)
        self.counts["rows"] = max(self.counts["rows"], len(model.rows))
        self.counts["points"] = max(self.counts["points"], len(model.layout.points))

    @staticmethod
    def _is_new(points: Floats, t: float) -> bool:
        return bool(np.abs(points - t).min() > 1e-6)

    def _relax(self, side: _Side, model: Model, separator: Separator) -> Floats | None:
        """Solve the relaxation with cuts; raise the bound, close windows, try the order it suggests."""
        x = None
        for _ in range(30):
            found = model.relax(self.deadline)
            if found is None:
                return x
            value, x, reduced = found
            self._raise(side, value - SAFETY * abs(value))
            upper = self.upper
            if upper is not None and side.windows is not None:
                close_windows(model.layout, side.windows, value, reduced, upper * (1 + 1e-9))
            self._tell("relaxation", len(model.layout.points))
            if self._side_closed(side) or self._over():
                return x
            cuts = model.separate(separator, x)
            if not cuts:
                break
            side.cuts += cuts
            model.add_cuts(cuts)
        if x is not None:
            self._try(side, order_from(model.layout, x), 0.5)
        return x

    def _try(self, side: _Side, order: Any, seconds: float) -> OrderPlan | None:
        """Price an order; the best plan so far is improved, for a while, when it is new."""
        if side.mode in ("change", "one") and order[1] is None:
            for candidate in self._with_changes(side, order):
                self._try(side, candidate, seconds / 4)
            return None
        plan = side.improver.offer(self._fit(side, order))
        if plan is not None:
            until = min(self.deadline, time.perf_counter() + seconds)
            side.improver.improve(until, plan)
        return plan

    def _with_changes(self, side: _Side, order: Any) -> list[Any]:
        """Give an order that knows no changes the partitions that its free plan asks for."""
        plan = self._free(side).offer(order)
        return [] if plan is None else self._followers(side, plan)

    def _free(self, side: _Side) -> Improver:
        if side.free is None:
            order = EventOrder(side.problem, tau=0.0)
            side.free = Improver(
                order,
                max_changes=None,
                seed=self.budget.seed,
                should_stop=self._stopped,
            )
        return side.free

    @staticmethod
    def _followers(side: _Side, plan: OrderPlan) -> list[Any]:
        toll = max(side.problem.tau, 1e-3)
        factors = (0.3, 1.0, 3.0, 20.0) if side.mode == "change" else (1e9,)
        return list(dict.fromkeys(follow(side.problem, plan, f * toll) for f in factors))

    def _free_enough(self, side: _Side) -> bool:
        """Return whether what is left of the gap is mostly the time that changes take."""
        best, upper = side.free.best if side.free is not None else None, self.upper
        if best is None:
            return False
        rest = 0.2 * max(0.0, upper - best.cost) if upper is not None else 0.0
        return side.lower >= best.cost - max(1e-4 * best.cost, rest)

    def _free_first(self, side: _Side) -> bool:
        """Return whether the problem with free changes is to be solved before that with tau.

        It is smaller, its value is a lower bound too, and its plans show which changes matter.
        """
        if side.bound != "change" or side.free_done:
            return False
        best = self._free(side).best
        share = self.start + 0.3 * (self.deadline - self.start)
        if time.perf_counter() > share or self._free_enough(side):
            side.free_done = True
            side.extra = []  # the larger model starts from the events of the best plans
            if best is not None:
                for order in self._followers(side, best):
                    self._try(side, order, 0.5)
            return False
        return True

    def _integer(self, side: _Side, relaxed: Model, separator: Separator, new: list[float]) -> bool:
        """Solve the integer model on this grid; add points where its claims are too good."""
        assert side.windows is not None
        p = side.problem
        layout, model = relaxed.layout, relaxed
        narrowed = options(p, layout.points, side.windows)
        before = side.free_done
        free = self._free_first(side)
        if side.free_done != before or self._side_closed(side) or self._over():
            return True  # the next grid holds the events of the plans found
        mode: Mode = "ignore" if free else side.bound
        if mode == "change" or len(narrowed) < 0.9 * len(layout.options):
            layout = Layout(p, layout.points, narrowed, mode)
            cap = None if free else self.solver.max_changes
            model = Model(layout, cap, side.cuts, self.upper)
        self._note(model)
        self.counts["integer_models"] += 1

        def goal() -> float:
            found = [self.upper]
            if free and side.free is not None and side.free.best is not None:
                found.append(side.free.best.cost)
            return min((cost for cost in found if cost is not None), default=np.inf)

        def watch(lower: float, primal: float, solution: Floats | None) -> bool:
            if np.isfinite(lower):
                self._raise(side, lower - SAFETY * abs(lower))
            if solution is not None:
                self._try_solution(side, layout, solution, 0.3, free)
            self._tell("free changes" if free else "integer", len(layout.points))
            best = goal()
            if self._side_closed(side) or self._over() or self._tree_due(side):
                return True
            if free and self._free_enough(side):
                return True
            return np.isfinite(primal) and primal - lower < 0.2 * (best - primal)

        deadline = self.deadline
        if free:
            deadline = min(deadline, self.start + 0.35 * (self.deadline - self.start))
        bound, x = model.branch(
            deadline, goal(), watch, threads=self.budget.threads, seed=self.budget.seed
        )
        self._raise(side, bound - SAFETY * abs(bound))
        self._tell("integer", len(layout.points))
        if self._side_closed(side) or self._over() or self._tree_due(side):
            return True
        if x is None:
            # The bound has met the goal, or time for free changes is over.
            side.extra += new
            return free or bool(new)
        plan = self._try_solution(side, layout, x, 1.0, free)
        cuts = model.separate(separator, x)
        side.cuts += cuts
        found = solution_points(layout, x, plan) + split_points(layout, x, 0.5)
        fresh = [t for t in [*found, *new] if self._is_new(layout.points, t)]
        side.extra += fresh
        return bool(fresh) or bool(cuts) or free

    def _try_solution(
        self, side: _Side, layout: Layout, x: Floats, seconds: float, free: bool
    ) -> OrderPlan | None:
        """Try the order of an integer solution; with free changes improve it as such first."""
        order = order_from(layout, x)
        if not free:
            return self._try(side, order, seconds)
        plan = self._free(side).offer(order)
        if plan is not None:
            until = min(self.deadline, time.perf_counter() + seconds)
            self._free(side).improve(until, plan)
            best = self._free(side).best
            for candidate in self._followers(side, best or plan):
                self._try(side, candidate, seconds / 2)
        return plan

    # ------------------------------------------------------------------ answer

    def _empty(self) -> SolveResult:
        instance = self.instance
        schedule = Schedule((instance.catalogue(0)[1],), ())
        cost = float(instance.constant_cost)
        return SolveResult(
            Outcome.OPTIMAL,
            StopReason.FINISHED,
            schedule,
            lower=cost,
            proof="engine",
            claimed_upper=cost,
            engine=engine_name(),
        )

    def _result(self) -> SolveResult:
        gap = self._gap()
        if self.stop is StopReason.FINISHED and gap is not None and gap > EQUAL:
            self.stop = StopReason.GAP_REACHED if gap <= self.budget.gap else StopReason.FINISHED
        best = min(
            (side for side in self.sides if side.improver.best is not None and self.own),
            key=lambda side: side.improver.best.cost if side.improver.best else np.inf,
            default=None,
        )
        schedule, claimed = self.solver.hint, None
        detail: dict[str, Any] = dict(self.counts)
        if best is not None and best.improver.best is not None:
            plan = best.improver.best
            ticks = to_ticks(best.problem, plan)
            claimed = self.constant + plan.cost
            detail |= {
                "tick_allowance": ticks.allowance,
                "moved_ms": dict(ticks.moved_ms),
                "orders_priced": best.improver.solver.solved,
            }
            if schedule is None or (
                measure(self.instance, ticks.schedule).cost_exact
                <= measure(self.instance, schedule).cost_exact
            ):
                schedule = ticks.schedule
        detail |= {"grid_points": self.counts["points"], "case": len(self.sides)}
        lower = self.constant + self.lower
        narrow = self._narrow()
        outcome = Outcome.BOUND_ONLY
        if schedule is not None:
            outcome = Outcome.FEASIBLE
            if self.own and gap is not None and gap <= EQUAL and not narrow:
                outcome = Outcome.OPTIMAL
        return SolveResult(
            outcome,
            self.stop,
            schedule,
            lower=None if narrow else lower,
            class_lower=lower if narrow else None,
            class_name=narrow,
            proof="engine",
            claimed_upper=claimed,
            wall_s=time.perf_counter() - self.start,
            trajectory=tuple(self.trajectory),
            engine=engine_name() + (TREE if self.by_tree else ""),
            detail=detail,
            message=self._coverage(),
        )

    def _narrow(self) -> str:
        """Name the narrower class that the bound holds for; empty when it holds for the instance."""
        if isinstance(self.solver.partition, int):
            return f"partition {self.solver.partition} throughout"
        if self.solver.partition == "one" and self.instance.repartition.scope != "never":
            return "one partition throughout"
        if self.solver.max_changes is not None:
            return f"at most {self.solver.max_changes} changes of partition"
        return ""

    def _coverage(self) -> str:
        """Say what of the instance the model does not cover, if anything."""
        notes = []
        if not self.own:
            what = (
                "resume overheads" if self.instance.preemption.mode == "cost" else "no preemption"
            )
            notes.append(f"not covered: {what}; the lower bound holds, it ignores them")
        if any(side.bound != side.mode for side in self.sides):
            notes.append(
                "not covered: repartition of single slices; the lower bound ignores tau, the "
                "schedule stops the whole GPU for every change"
            )
        return "; ".join(notes)
