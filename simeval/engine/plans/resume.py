"""The trials that a run still has to do: those that a stored run lacks, and those of a shard.

Trials in progress at an interruption are no fair sample: slow ones are interrupted more often, and they tend to be bad.
To run them again would give each another chance: if failures take eight times as long and 5% wrong passes are promised,
`benchmarks/statistics/cuts.py` measured 54% after one cut and 100% after ten. So the trials dealt before a scenario's
first trial in progress stay, that one is missing, and later ones are dealt again, whatever their results. Whether a
trial is that first one depends on it and those before it alone, so later trials may be replaced.

A shard has whole scenarios, so that each is concluded on by itself as in one process. Their assignment follows from the
suite and its models alone: the dearest by the forecast first, each to the shard that has the least so far. Levels and
seeds are those of the whole suite.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from simeval.core.run_records import ResumableRun, Start, TrialKey, total
from simeval.core.serialization import Json
from simeval.core.setting_field import OnAppError, Shard
from simeval.core.settings import Settings
from simeval.core.terminal import counted_of
from simeval.core.trial import Score, Trial, TrialConversation, cut_off
from simeval.engine.plans.definition_changes import changes, is_of_suite, numbered
from simeval.engine.plans.scenario_plan import Measure, RunPlan, ScenarioPlan
from simeval.errors import DefinitionError
from simeval.evaluators.not_worse import NotWorseEvaluator
from simeval.results.guarantee import conditions_of, not_kept

if TYPE_CHECKING:
    from simeval.engine.plans.cost_forecast import CostForecast

NO_SUITE = "it is an experiment's (as of `simeval score`), and this is a suite"
SIDE_OF = "side of"  # in the definition of the other side of a run: that run
MOST_CHANGES = 5  # named in an error or a note

MOST_NAMED = 3  # changes in a warning
_OF_JUDGING = ("escalate", "judge examples", "criteria calls")  # another one is another measurement

WHAT = "shard"  # the entry of a definition that identifies it
SHARED = (
    "max_cost_usd",
    "max_calls",
    "max_tokens",
    "requests_per_minute",
    "tokens_per_minute",
    "app_requests_per_minute",
)
DIGITS = 3  # of a weight: machines may differ in the last ones


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredTrials:
    """The results that need not be paid for again: finished conversations, and scores by their expectation's position.

    `begun` are conversations that can continue. `cuts` are the trials of each scenario at which the run was
    interrupted, in the order dealt; the last is `new` if the store does not know of it yet. `set_aside` counts finished
    trials that do not count because of cuts that are not new, `superseded` by scenario because of new ones.

    `notes` describe its origin; `from_another` is set if it was made by a run that is not continued but taken over,
    because something has changed. One that `is_finished` leaves nothing to do. `doubt` is why no error rate is known of
    conclusions on it, if so.
    """

    held: Mapping[TrialKey, TrialConversation] = field(default_factory=dict)
    scores: Mapping[TrialKey, Mapping[int, Score]] = field(default_factory=dict)
    begun: Mapping[TrialKey, Start] = field(default_factory=dict)
    cuts: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    new: frozenset[int] = frozenset()
    set_aside: int = 0
    superseded: Mapping[int, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    from_another: bool = False
    is_finished: bool = False
    doubt: str = ""

    def conversation(self, trial: Trial) -> TrialConversation | None:
        """Return the conversation of a trial, if it is known; an empty one if the run was interrupted in it."""
        if trial.index in self.cuts.get(trial.scenario, ()):
            return cut_off(trial)
        return self.held.get((trial.scenario, trial.index))

    def times_dealt(self, scenario: int, index: int) -> int:
        """Count how often a trial was dealt before and set aside: its draws depend on that."""
        return sum(cut < index for cut in self.cuts.get(scenario, ()))

    def seed_of(self, plan: RunPlan, index: int) -> int:
        """Return the seed of a trial of a plan: known trials were held with their own."""
        at = plan.position, index
        held = self.held.get(at)
        return (held.trial if held else plan.trial(index, self.times_dealt(*at))).seed

    def is_new_cut(self, trial: Trial) -> bool:
        """Return whether the store that is written to does not know yet that the run was cut off in a trial."""
        cuts = self.cuts.get(trial.scenario, ())
        if self.from_another:
            return trial.index in cuts
        return trial.scenario in self.new and trial.index == cuts[-1]

    def cut_note(self, reached: Collection[int]) -> list[str]:
        """Describe the cost of the cuts, the new ones of the scenarios whose trials have `reached` them."""
        missing = sum(len(cuts) - (place in self.new - set(reached)) for place, cuts in self.cuts.items())
        aside = self.set_aside + sum(self.superseded[scenario] for scenario in self.new & set(reached))
        if not missing:
            return []
        were = "trial that was under way, which counts" if missing == 1 else "trials that were under way, which count"
        were_aside = "later trial that had finished was" if aside == 1 else "later trials that had finished were"
        later = f"; {aside} {were_aside} set aside and repeated" if aside else ""
        return [f"the run was cut off in {missing} {were} as missing{later}"]

    def is_whole(self, trial: Trial, measures: int) -> bool:
        """Return whether all that a trial of so many measures can come to is known."""
        held = self.conversation(trial)
        return held is not None and (held.failure is not None or len(self.scores_of(trial)) == measures)

    def first_whole(self, plan: RunPlan) -> int:
        """Count the first trials of a plan with complete results: they cost nothing."""
        measures = len(plan.measures)
        indices = range(plan.sample_size)
        return next((index for index in indices if not self.is_whole(plan.trial(index), measures)), plan.sample_size)

    def scores_of(self, trial: Trial) -> Mapping[int, Score]:
        """Return the scores of a trial that are known."""
        return self.scores.get((trial.scenario, trial.index), {})


def restore(
    past: ResumableRun,
    plans: Sequence[RunPlan],
    definition: Mapping[str, Any],
    *,
    on_app_error: OnAppError,
    accept_changes: bool,
    recorded: bool = False,
) -> RestoredTrials:
    """Return the data of a stored run for these plans. `recorded` answers are the same whenever they are read.

    Raises DefinitionError if the run is still going on elsewhere, or something that its results depend on has changed
    and `accept_changes` is not set.
    """
    where = f"resume {past.run_id}"
    if past.owner:
        raise DefinitionError(where, found=f"it is being run by {past.owner}", do="wait for it, or stop it")
    if is_of_suite(past.definition) != is_of_suite(definition):
        found = "it is a suite's, and this is an experiment" if is_of_suite(past.definition) else NO_SUITE
        raise DefinitionError(where, found=found, do="name the run to go on with (`simeval runs` lists them)")
    changed = changes(past.definition, definition)
    beside = past.definition.get(SIDE_OF)
    if beside is not None and SIDE_OF not in definition and not accept_changes:
        found = f"it is the other side of run {beside}, and was asked in the trials of that one"
        raise DefinitionError(where, found=found, do=f"go on with both: --resume {beside}, with its --against")
    if changed and not accept_changes:
        raise DefinitionError(
            where,
            found="; ".join([*changed[:MOST_CHANGES], *_more(changed)]),
            do="give what it was started with, or add --accept-changes (in Python accept_changes=True): a new run then "
            "takes over what there is",
        )
    broken = {
        key: Start(each.trial) for key, each in past.held.items() if on_app_error == "stop" and each.has_app_failed
    }
    known = RestoredTrials(
        held={key: each for key, each in past.held.items() if key not in broken},
        scores=past.scores,
        begun=broken if past.has_finished else {**past.begun, **broken},
        cuts=past.cuts,
        set_aside=past.set_aside,
    )
    if changed:
        known = _moved(known, past.definition, plans)
    if not recorded and not past.has_finished:  # trials in progress when a run concluded were not needed
        known = _cut(known)
    if not changed:
        if past.has_finished:
            return replace(known, notes=("resumed: the run had finished, so nothing was left to do",), is_finished=True)
        return replace(known, notes=(f"resumed: {_count(known)} were there",), doubt=_doubt_of(broken))
    said = "; ".join([*changed[:MOST_CHANGES], *_more(changed)])
    note = f"taken over from run {past.run_id}: {_count(known)}, as they were, although {said}"
    doubt = f"{_count(known)} were taken over from run {past.run_id}, although {said}" if known.held else ""
    return replace(known, notes=(note,), from_another=True, doubt=doubt)


def _doubt_of(broken: Collection[TrialKey]) -> str:
    """Warn that trials in which the app failed are held again, which gives it another chance."""
    if not broken:
        return ""
    trials = counted_of(len(broken), "trial")
    return f"{trials} in which the app failed {'was' if len(broken) == 1 else 'were'} held again (--on-app-error stop)"


def _more(changed: Sequence[str]) -> list[str]:
    return [f"{len(changed) - MOST_CHANGES} more changes"] if len(changed) > MOST_CHANGES else []


def _count(known: RestoredTrials) -> str:
    conversations = counted_of(len(known.held), "conversation")
    return f"{conversations} and {counted_of(sum(map(len, known.scores.values())), 'score')}"


def _cut(known: RestoredTrials) -> RestoredTrials:
    """Return the results that still count if trials of a scenario are not finished and cannot continue.

    Runs of older versions do not record which trials were begun: those are the ones without a conversation, before one
    that has one. Failed conversations have ended: whether one fails for want of a model may depend on how long the app
    took, so it is not tried again.
    """
    first = _first_unfinished(known)
    stands = {key: each for key, each in known.held.items() if key[1] < first.get(key[0], key[1] + 1)}
    superseded = Counter(scenario for scenario, _ in known.held.keys() - stands.keys())
    return replace(
        known,
        held=stands,
        scores={key: found for key, found in known.scores.items() if key in stands},
        begun={key: each for key, each in known.begun.items() if key[1] < first.get(key[0], key[1] + 1)},
        cuts={**known.cuts, **{place: (*known.cuts.get(place, ()), index) for place, index in first.items()}},
        new=frozenset(first),
        superseded=superseded,
    )


def _first_unfinished(known: RestoredTrials) -> dict[int, int]:
    """Return, of each scenario that has one, the first trial that is not finished and cannot go on."""
    ended, can_go_on, dealt = defaultdict[int, set[int]](set), defaultdict[int, set[int]](set), Counter[int]()
    for scenario, index in known.held:
        ended[scenario].add(index)
    for (scenario, index), start in known.begun.items():
        if start.messages is not None:
            can_go_on[scenario].add(index)
    for scenario, index in (*known.held, *known.begun):
        dealt[scenario] = max(dealt[scenario], index + 1)
    found = {}
    for scenario, trials in dealt.items():
        unfinished = set(range(trials)) - ended[scenario] - can_go_on[scenario] - set(known.cuts.get(scenario, ()))
        if unfinished:
            found[scenario] = min(unfinished)
    return found


def _begins_anew(plan: RunPlan) -> bool:
    """Return whether no conversation of a plan can go on in the middle: its script has, or its world, a beginning."""
    return isinstance(plan, ScenarioPlan) and (plan.scenario.world is not None or any(plan.scenario.scripts.values()))


def _moved(known: RestoredTrials, definition: Mapping[str, Any], plans: Sequence[RunPlan]) -> RestoredTrials:
    """Return the known results under the present places of scenarios and expectations, found by title and label."""
    then = numbered(scenario["title"] for scenario in definition["scenarios"])
    before = {key: position for position, key in enumerate(then)}
    titles = numbered(plan.key for plan in plans)
    held: dict[TrialKey, TrialConversation] = {}
    scores: dict[TrialKey, Mapping[int, Score]] = {}
    begun: dict[TrialKey, Start] = {}
    cuts: dict[int, tuple[int, ...]] = {}
    for plan, key in zip(plans, titles, strict=True):
        if key not in before:
            continue
        old = before[key]
        labels = numbered(each["title"] for each in definition["scenarios"][old]["then"])
        now = numbered(measure.label for measure in plan.measures)
        slots = {labels.index(label): place for place, label in enumerate(now) if label in labels}
        for (position, index), each in known.held.items():
            if position == old:
                held[plan.position, index] = replace(each, trial=replace(each.trial, scenario=plan.position))
        for (position, index), found in known.scores.items():
            if position == old:
                kept = {slots[place]: score for place, score in found.items() if place in slots}
                scores[plan.position, index] = kept
        begun |= {
            (plan.position, index): Start(start.trial) if _begins_anew(plan) else start
            for (position, index), start in known.begun.items()
            if position == old
        }
        if old in known.cuts:
            cuts[plan.position] = known.cuts[old]
    return replace(known, held=held, scores=scores, begun=begun, cuts=cuts)


def pairing_warnings(
    plans: Sequence[RunPlan], *, seed: int, judge: str, user: str, definition: Mapping[str, Any]
) -> list[str]:
    """Describe the changes since the run that plans are compared with, apart from the app.

    Raises DefinitionError if trials are no pairs, because the seed is another, or if another judge, rubric or scorer
    measured that run: its outcomes are of something else.
    """
    said: dict[str, None] = {}
    for each in comparisons(plans):
        if each.other is not None:
            continue
        where = f"against run {each.run_id}"
        if each.seed != seed:
            do = f"give the engine that seed (seed={each.seed})"
            raise DefinitionError(where, found=f"its seed is {each.seed}, not {seed}", do=do)
        measured, others = _changed(each.conditions, definition)
        measured = [*([f"judge was {each.judge!r} and is {judge!r}"] if each.judge != judge else []), *measured]
        if measured:
            do = "measure that run by this judge first (`simeval run` again, or --rerun), or this one by that"
            raise DefinitionError(where, found=f"it was measured otherwise: {'; '.join(measured[:MOST_NAMED])}", do=do)
        if each.conditions is None:
            said[not_kept(each.run_id)] = None
        others = [*([f"user was {each.user!r} and is {user!r}"] if each.user != user else []), *others]
        if others:
            more = f"; and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
            named = "; ".join(others[:MOST_NAMED])
            said[f"since run {each.run_id} not the app alone has changed: {named}{more}"] = None
    return [*said]


def pairs_of(plans: Sequence[ScenarioPlan], known: RestoredTrials) -> tuple[ScenarioPlan, ...]:
    """Return plans whose comparisons lack the pairs whose sides have different seeds.

    Such trials were dealt again, because a run was interrupted before them.
    """
    return tuple(replace(plan, measures=tuple(_paired(plan, each, known) for each in plan.measures)) for plan in plans)


def _paired(plan: ScenarioPlan, measure: Measure, known: RestoredTrials) -> Measure:
    if not any(isinstance(each, NotWorseEvaluator) for each in measure.evaluators):
        return measure
    seeds = [known.seed_of(plan, index) for index in range(plan.sample_size)]
    evaluators = [
        each.with_seeds(seeds) if isinstance(each, NotWorseEvaluator) else each for each in measure.evaluators
    ]
    return replace(measure, evaluators=tuple(evaluators))


def lost_pairs(plans: Sequence[ScenarioPlan], paired: Sequence[ScenarioPlan]) -> list[str]:
    """Say how many pairs the plans of `pairs_of` have lost."""
    was, now = ([_missing(plan) for plan in side] for side in (plans, paired))
    if not (lost := sum(now) - sum(was)):
        return []
    why = "the run was cut off, and what came after was dealt anew by other seeds"
    return [f"the other side of {counted_of(lost, 'trial')} is missing, which counts against both findings: {why}"]


def _missing(plan: ScenarioPlan) -> int:
    """Count the trials that lack the other side of their pairs for all requirements."""
    found = [each.before.count("?") for each in comparisons([plan])]
    return min(found, default=0)


def _changed(before: Mapping[str, Any] | None, definition: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the changes in how trials are measured, and the other changes; empty if unknown."""
    if before is None:
        return [], []
    then, now = _in_common(dict(before), conditions_of(definition))
    measuring, others = ([part(each) for each in (then, now)] for part in (_measuring, _others))
    return changes(*measuring), changes(*others)


def _in_common(before: Json, now: Json) -> tuple[Json, Json]:
    """Return conditions of those scenarios and expectations alone that both have."""
    both = [{each["title"]: each for each in side["scenarios"]} for side in (before, now)]
    found: list[list[Json]] = [[], []]
    for title in both[1]:
        if title in both[0]:
            labels = [{one["title"]: one for one in side[title]["then"]} for side in both]
            shared = [label for label in labels[1] if label in labels[0]]
            for place, side in enumerate(both):
                found[place].append({**side[title], "then": [labels[place][label] for label in shared]})
    return {**before, "scenarios": found[0]}, {**now, "scenarios": found[1]}


def _measuring(conditions: Json) -> Json:
    """Return the part of conditions that affects measurements."""
    scenarios = [{"title": each["title"], "then": each["then"]} for each in conditions["scenarios"]]
    return {**{name: conditions.get(name) for name in _OF_JUDGING}, "scenarios": scenarios}


def _others(conditions: Json) -> Json:
    scenarios = [{name: each[name] for name in each if name != "then"} for each in conditions["scenarios"]]
    return {**{name: value for name, value in conditions.items() if name not in _OF_JUDGING}, "scenarios": scenarios}


def other_app(plans: Sequence[RunPlan]) -> object | None:
    """Return the app that plans are compared with in the same trials; None without one.

    Raises DefinitionError if it is not one and the same for all requirements.
    """
    compared = list(comparisons(plans))
    if not any(each.other for each in compared):
        return None
    found = {id(each.other and each.other.handler): each.run_id for each in compared}
    others = sum(len(measure.evaluators) for plan in plans for measure in plan.measures) > len(compared)
    if len(found) > 1 or others:
        named = ", ".join([*found.values(), *(["the bar of a requirement"] if others else [])])
        raise DefinitionError("against an app", found=f"trials are held against {named}", do="give one for all")
    return next(each.other.handler for each in compared if each.other)


def without_comparison(plans: Sequence[ScenarioPlan]) -> tuple[ScenarioPlan, ...]:
    """Return plans with the requirements themselves in the place of comparisons, tested on whole samples."""
    return tuple(replace(plan, measures=tuple(map(_by_itself, plan.measures))) for plan in plans)


def _by_itself(measure: Measure) -> Measure:
    own = tuple(
        replace(
            each.requirement,
            significance_level=each.significance_level,
            min_trials=each.min_trials,
            early_stopping=False,
        )
        if isinstance(each, NotWorseEvaluator)
        else each
        for each in measure.evaluators
    )
    return replace(measure, evaluators=own)


def comparisons(plans: Sequence[RunPlan]) -> Iterator[NotWorseEvaluator]:
    """Yield the comparisons among the requirements of plans."""
    for plan in plans:
        for measure in plan.measures:
            yield from (each for each in measure.evaluators if isinstance(each, NotWorseEvaluator))


@dataclass(frozen=True, slots=True)
class ShardPlan:
    """The part of a suite's plans that one shard has, by their places in the suite."""

    shard: Shard
    suite: tuple[ScenarioPlan, ...]
    places: tuple[int, ...]

    @property
    def plans(self) -> tuple[ScenarioPlan, ...]:
        """Its own plans, in their order."""
        return tuple(self.suite[place].at(position) for position, place in enumerate(self.places))

    @property
    def note(self) -> str:
        """Return its note in a report."""
        scenarios = f"{len(self.places)} of the suite's {len(self.suite)} scenarios"
        return f"shard {self.shard}: {scenarios}; `simeval merge` makes one run of all shards' runs"

    def definition(self, suite: Json) -> Json:
        """Return its definition, made from the suite's, with the identity that its shards share."""
        own = {
            "number": self.shard.number,
            "of": self.shard.of,
            "places": list(self.places),
            "all scenarios": digest(suite),
            "titles": [plan.title for plan in self.suite],
            "sizes": [plan.sample_size for plan in self.suite],
            "evaluators": self._own_evaluators(),
        }
        return {**suite, "scenarios": [suite["scenarios"][place] for place in self.places], WHAT: own}

    def _own_evaluators(self) -> Mapping[str, str]:
        """Return the modules of evaluator classes that are not simeval's, by their names."""
        all_of_them = [each for plan in self.plans for measure in plan.measures for each in measure.evaluators]
        compared = [each.requirement for each in all_of_them if isinstance(each, NotWorseEvaluator)]
        used = {type(each) for each in (*all_of_them, *compared)}
        return {
            each.__qualname__: f"{each.__module__}:{each.__qualname__}"
            for each in sorted(used, key=lambda each: each.__qualname__)
            if not each.__module__.startswith("simeval.")
        }


def digest(definition: Mapping[str, object]) -> str:
    """Return the identity of a definition."""
    return sha256(json.dumps(definition, sort_keys=True, default=str).encode()).hexdigest()[:16]


def plan_shard(
    plans: Sequence[ScenarioPlan], shard: Shard, forecast: "Callable[[Sequence[ScenarioPlan]], CostForecast]"
) -> ShardPlan:
    """Return the part of a suite that a shard has. Raises DefinitionError if some shard gets nothing."""
    if shard.of > len(plans):
        raise DefinitionError(
            "shard",
            found=f"found {shard.of} shards for {len(plans)} scenario{'s'[: len(plans) - 1]}",
            do="use no more shards than there are scenarios: a scenario is not divided",
        )
    weights = [_weight(forecast([plan])) for plan in plans]
    return ShardPlan(shard, tuple(plans), tuple(dealt_out(weights, shard.of)[shard.number - 1]))


def dealt_out(weights: Sequence[float], shards: int) -> list[list[int]]:
    """Return the places of each shard's items: the heaviest goes first, to the shard that has the least so far."""
    loads, places = [0.0] * shards, [[] for _ in range(shards)]  # type: tuple[list[float], list[list[int]]]
    for place in sorted(range(len(weights)), key=lambda place: (-weights[place], place)):
        lightest = min(range(shards), key=lambda number: (loads[number], len(places[number])))
        loads[lightest] += weights[place]
        places[lightest].append(place)
    return [sorted(each) for each in places]


def _weight(foreseen: "CostForecast") -> float:
    """Return the tokens a scenario will take: its time and its cost follow them, and no table of prices is asked."""
    usage = total(foreseen.typical)
    return float(f"{usage.prompt_tokens + usage.completion_tokens:.{DIGITS}g}")


def shared_out(settings: Settings) -> Settings:
    """Return the settings with a shard's part of each limit that holds for all shards together.

    Raises DefinitionError for a limit that is too small to be shared.
    """
    if settings.shard is None:
        return settings
    shard = Shard.read(settings.shard)
    parts: dict[str, float] = {}
    for name in SHARED:
        whole = getattr(settings, name)
        if whole is None:
            continue
        parts[name] = whole / shard.of if name == "max_cost_usd" else shard.part_of(whole)
        if not parts[name]:
            do = "raise it, or use fewer shards"
            raise DefinitionError(name, found=f"{whole} cannot be shared out among {shard.of} shards", do=do)
    return settings.overridden(parts)
