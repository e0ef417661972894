"""Requirements on the rate that people would find: which trials people label, and the conclusion from their labels.

judge's verdicts of a run ──► dealt_trials ──► people label, until a look decides ──► people_verdicts
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from simeval.analysis.labels import Label
from simeval.analysis.saved_run import Key, RequirementOutcomes, requirements_of, scenarios_of
from simeval.core import seeds
from simeval.core.terminal import indent, line_of, printed_room, say_p, show_share
from simeval.core.trial import Outcome
from simeval.errors import DefinitionError
from simeval.evaluators.verdicts import POWER, decide
from simeval.results.document import PeopleStandard, RunDocument
from simeval.results.text import MARKS
from simeval.stats.binomial import n_for_power
from simeval.stats.people import Judge, Labelled, as_exact_as
from simeval.stats.people_looks import PeopleLooks, labels_for

PeopleLabels = Mapping[tuple[str, str], Mapping[int, bool | None]]
"""People's labels by title and expectation, then by trial: whether it is good, None if they cannot tell."""
ENOUGH = 10  # labels of a kind from which on they show how good the judge is
WORTH = 0.25  # the share of labels that a judge saves, below which it is hardly worth it


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleVerdict:
    """The verdict on the rate that people would find good, at least `share`, for one requirement.

    Of `judged` trials the judge calls `judged_good` good; `wanted` of them were dealt for labels, and `given` have one.
    `dealt` and `good` count labels, and those that say good, by the judge's verdict. The interval has the level on each
    side. `why` says why it is open.
    """

    scenario: str
    expectation: str
    evaluator: str
    share: float
    outcome: Outcome
    judged: int
    judged_good: int
    wanted: int
    given: int
    dealt: Labelled
    good: Labelled
    p_value: float | None = None
    p_value_fail: float | None = None
    interval: tuple[float, float] | None = None
    why: str = ""

    def __str__(self) -> str:
        head = f"{MARKS[self.outcome]}  {self.scenario}: {self.expectation}: people would find at least "
        head += f"{show_share(self.share)} good"
        labelled = f"people label {self.wanted} of them"
        if self.dealt.total < self.wanted:
            labelled = f"at most {self.wanted} of them are labelled, {self.dealt.total} up to this look"
        judged = f"the judge calls {self.judged_good} of {self.judged} good; {labelled}: "
        counts = (
            f"{good} of {dealt} that the judge calls {word} are good"
            for good, dealt, word in ((self.good.good, self.dealt.good, "good"), (self.good.bad, self.dealt.bad, "bad"))
            if dealt
        )
        lines = [head, f"  {judged}{', '.join(counts)}"]
        if self.interval and self.p_value is not None and self.p_value_fail is not None:
            low, high = (show_share(round(end, 3)) for end in self.interval)
            p = self.p_value_fail if self.outcome == "fail" else self.p_value
            lines.append(f"  people would find {low} to {high} good; {say_p(p)} (exact test)")
        return _wrapped([*lines, *([f"  {self.why}"] if self.why else [])])


@dataclass(frozen=True, slots=True)
class _Asked:
    """A requirement on the rate of people: its trials by the judge's verdict, and the order in which they are dealt."""

    key: Key
    requirement: RequirementOutcomes
    standard: PeopleStandard
    seed: int
    ended: bool

    @property
    def plan(self) -> PeopleLooks:
        judged = len(self.counted)
        labels = min(self.standard.labels, judged)
        return PeopleLooks(judged, labels, self.standard.share, min(self.standard.looks, max(1, labels)))

    @property
    def deals(self) -> Sequence[Labelled]:
        """The labels of each look."""
        return self.plan.deals(self.judged_good)

    @property
    def counted(self) -> Mapping[int, bool]:
        """Each trial with the judge's verdict: one that it could not judge is called bad."""
        met, left_out = self.requirement.met or {}, self.requirement.left_out
        return {index: is_met is True for index, is_met in met.items() if index not in left_out}

    @property
    def judged_good(self) -> int:
        return sum(self.counted.values())

    @property
    def telling(self) -> Labelled:
        """How many labels of each kind show how good the judge is: all that are dealt, if these are few."""
        dealt = self.deals[-1]
        return Labelled(min(ENOUGH, dealt.good), min(ENOUGH, dealt.bad))

    def seen(self, labels: Mapping[int, bool | None]) -> tuple[float, float] | None:
        """Return the chances that people call a trial good where the judge does, and where not, by enough labels.

        A kind that no label is dealt of has the usual chance.
        """
        found, usual = [], Judge().chances(self.judged_good / max(1, self.plan.judged))
        for kind, least, chance in ((True, self.telling.good, usual[0]), (False, self.telling.bad, usual[1])):
            said = [labels[index] is True for index in self.order() if index in labels and self.counted[index] is kind]
            if len(said) < least:
                return None
            found.append((sum(said) + 0.5) / (len(said) + 1) if said else chance)
        return found[0], found[1]

    def order(self) -> Sequence[int]:
        """Return the trials that people label: of each kind a random subset, next the kind that is behind its share."""
        chance = seeds.generator(self.seed, "people", *self.key[:2])
        deals = self.deals
        drawn = [
            chance.sample([index for index, is_good in sorted(self.counted.items()) if is_good is kind], size)
            for kind, size in ((True, deals[-1].good), (False, deals[-1].bad))
        ]
        found, before = list[int](), (0, 0)
        for dealt in deals:
            until = (dealt.good, dealt.bad)
            parts = [trials[start:end] for trials, start, end in zip(drawn, before, until, strict=True)]
            places = [((place + 0.5) / len(part), index) for part in parts for place, index in enumerate(part)]
            found += [index for _, index in sorted(places)]
            before = until
        return found


def dealt_trials(run: RunDocument, expectation: str) -> dict[tuple[str, int], float]:
    """Return the trials that people label for an expectation, in order, with their chances of being dealt.

    Empty where no requirement of the expectation is on the rate of people.
    """
    found: dict[tuple[str, int], float] = {}
    for asked in _asked(run):
        if asked.key[1] == expectation:
            dealt, good = asked.deals[-1], asked.judged_good
            chance = {True: dealt.good / max(1, good), False: dealt.bad / max(1, asked.plan.judged - good)}
            found |= {(asked.key[0], index): chance[asked.counted[index]] for index in asked.order()}
    return found


def has_looks(run: RunDocument) -> bool:
    """Return whether labels of a run are tested before all are given."""
    return any(each.plan.looks > 1 for each in _asked(run))


def wanted_trials(run: RunDocument, expectation: str, labels: PeopleLabels) -> set[tuple[str, int]] | None:
    """Return the dealt trials that people have labelled or are to label now: up to the look that decides, or the next.

    None where no requirement of the expectation is on the rate of people.
    """
    asked = [each for each in _asked(run) if each.key[1] == expectation]
    found: set[tuple[str, int]] = set()
    for each in asked:
        reached = _verdict(each, labels.get(each.key[:2], {})).dealt.total if each.counted else 0
        found |= {(each.key[0], index) for index in each.order()[:reached]}
    return found if asked else None


def people_verdicts(run: RunDocument, labels: PeopleLabels) -> tuple[PeopleVerdict, ...]:
    """Return the verdicts on requirements whose standard is people.

    Labels of other trials than those dealt do not count. The level is that of the requirement.
    """
    return tuple(_measured(asked, labels.get(asked.key[:2], {})) for asked in _asked(run))


def label_plan(run: RunDocument, labels: PeopleLabels | None = None) -> str:
    """Say how many labels each requirement on the rate of people takes, by the verdict of the judge.

    The judge is taken to be as good as most, until enough labels show how good it is. Raises DefinitionError where the
    run has no such requirement.
    """
    found = _asked(run)
    if not found:
        do = "write `standard: people` beside min_proportion, and run the suite again"
        raise DefinitionError("run", found="no requirement of it is on the rate that people would find", do=do)
    return "\n\n".join(_planned(each, (labels or {}).get(each.key[:2], {})) for each in found)


def _planned(asked: _Asked, labels: Mapping[int, bool | None]) -> str:
    test, good, dealt = asked.plan, asked.judged_good, asked.deals[-1]
    head = f"{asked.key[0]}: {asked.key[1]}: people would find at least {show_share(test.bar)} good"
    if why := _open(asked, 0):
        return _wrapped([head, f"  {why}"])
    most = "at most " if test.looks > 1 else ""
    lines = [
        f"the judge calls {good} of {test.judged} good; people label {most}{dealt.total}: {_kinds(dealt)}",
        *_progress(asked, labels),
    ]
    share, seen = good / test.judged, asked.seen(labels)
    chances = seen or Judge().chances(share)
    judge = Judge.found(share, chances) if seen else Judge()
    right = f"{show_share(round(judge.sensitivity, 3))} of what is good and {show_share(round(judge.specificity, 3))}"
    so_far = "by these labels it" if seen else "if it"
    lines.append(f"{so_far} is right in {right} of what is bad (AUC {judge.auc:.2f}), {_worth(asked, chances)}")
    if not seen:
        lines.append(f"these errors are a guess, until there are labels for {_kinds(asked.telling)}")
    return _wrapped([head, *(f"  {line}" for line in [*lines, *_chances(asked, chances)])])


def _progress(asked: _Asked, labels: Mapping[int, bool | None]) -> Sequence[str]:
    """Return lines on the labels of each kind that are needed until a verdict can be reached."""
    lines = []
    if asked.plan.looks > 1:
        sizes = ", ".join(map(str, asked.plan.sizes))
        lines.append(f"they are tested after {sizes} labels; the first of these that proves a side ends it")
    given = [index for index in asked.order() if index in labels]
    if not given:
        return lines
    found = _verdict(asked, labels)
    if found.outcome != "inconclusive" or found.given == found.dealt.total:
        return [*lines, f"{found.given} have a label: `simeval people agree` concludes"]
    now = [index for index in asked.order()[: found.dealt.total] if index in labels]
    done = sum(asked.counted[index] for index in now)
    left = Labelled(found.dealt.good - done, found.dealt.bad - len(now) + done)
    return [*lines, f"{len(given)} have a label, {left.total} more are needed: {_kinds(left)}"]


def _kinds(labels: Labelled) -> str:
    return f"{labels.good} of those it calls good and {labels.bad} of those it calls bad"


def _worth(asked: _Asked, chances: tuple[float, float]) -> str:
    """Return how many labels the judge saves, if the rate is to be estimated with the same error."""
    test = asked.plan.last
    as_many = as_exact_as(test, asked.judged_good, chances)
    saved = 1 - test.labels / as_many if as_many else 0.0
    if saved <= 0:
        return "it saves no labels: they are no more exact than those of a random sample"
    hardly = "hardly worth it: it saves" if saved < WORTH else "it saves"
    return (
        f"{hardly} {show_share(round(saved, 2))} of the labels: {test.labels} are as exact as {as_many:.0f} at random"
    )


def _chances(asked: _Asked, chances: tuple[float, float]) -> Sequence[str]:
    """Return lines on the power of the labels, if people call a trial good with these chances."""
    test, good, alpha = asked.plan, asked.judged_good, asked.requirement.significance_level
    share = good / test.judged
    rate = share * chances[0] + (1 - share) * chances[1]
    found = f"people would then find {show_share(round(rate, 3))} good"
    if rate <= test.bar:
        return [f"{found}: that is not above the bar, and no number of labels is likely to prove it"]
    chance = test.chance_to_pass(good, chances, alpha=alpha)
    enough = labels_for(test, good, chances, alpha=alpha, power=POWER)
    alone = n_for_power(test.bar, rate, alpha=alpha, power=POWER)
    words = "no number of labels is enough"
    if enough is not None:
        words = f"{enough} labels are enough: {_kinds(replace(test, labels=enough).deals(good)[-1])}"
    lines = [f"{found}, and {test.labels} labels prove it with a chance of {show_share(round(chance, 2))}"]
    lines.append(f"for a chance of {show_share(POWER)}, {words}")
    if alone is not None and (enough is None or alone <= enough):
        lines.append(f"{alone} labels of a random sample would do, without the judge")
    return lines


def _wrapped(lines: Sequence[str]) -> str:
    """Join a head and lines below it, wrapped at the width of the terminal."""
    width = line_of(printed_room())
    return "\n".join(indent(line.lstrip(), len(line) - len(line.lstrip()), width=width) for line in lines)


def require_of_run(labels: Sequence[Label], run: RunDocument) -> None:
    """Raise DefinitionError for labels that do not say that they are of this run, where a verdict rests on them."""
    unknown = next((each for each in labels if each.run != run.run_id), None)
    if unknown is not None and _asked(run):
        do = f"label its trials with `simeval people label {run.run_id}`, or name the run in a column run"
        raise DefinitionError(unknown.where or "labels", found="the label does not say of which run it is", do=do)


def _asked(run: RunDocument) -> list[_Asked]:
    ended = {title: len(each.judgements) >= each.sample_size for title, each in scenarios_of(run).items()}
    return [
        _Asked(key, requirement, requirement.by_people, run.seed, ended[key[0]])
        for key, requirement in requirements_of(run).items()
        if requirement.by_people is not None
    ]


def _measured(asked: _Asked, labels: Mapping[int, bool | None]) -> PeopleVerdict:
    """Return the verdict with its interval, by the looks up to the one that it is from."""
    found, level = _verdict(asked, labels), asked.requirement.significance_level
    if found.p_value is None:
        return found
    looks = 1 + [each.total for each in asked.deals].index(found.dealt.total)
    good, most = _good(asked, labels, looks)
    plan, judged_good = asked.plan, asked.judged_good
    return replace(
        found,
        interval=(plan.low(judged_good, good, alpha=level), plan.high(judged_good, most, alpha=level)),
    )


def _verdict(asked: _Asked, labels: Mapping[int, bool | None]) -> PeopleVerdict:
    """Return the verdict of the first look that decides, or of the first that lacks labels."""
    level = asked.requirement.significance_level
    for look in range(1, asked.plan.looks + 1):
        found = _at_look(asked, look, labels)
        if found.why or found.outcome != "inconclusive" or look == asked.plan.looks:
            return found
        good, most = (each[-1] for each in _good(asked, labels, look))
        if not asked.plan.may_decide(asked.judged_good, good, most, after=look, alpha=level):
            return replace(found, why="no number of labels up to the last look can decide it any more")
    raise AssertionError("a plan has a look")


def _at_look(asked: _Asked, look: int, labels: Mapping[int, bool | None]) -> PeopleVerdict:
    level, dealt, plan = asked.requirement.significance_level, asked.deals[look - 1], asked.plan
    good, most = _good(asked, labels, look)
    given = sum(index in labels for index in asked.order()[: dealt.total])
    found = PeopleVerdict(
        scenario=asked.key[0],
        expectation=asked.key[1],
        evaluator=asked.key[2],
        share=plan.bar,
        outcome="inconclusive",
        judged=plan.judged,
        judged_good=asked.judged_good,
        wanted=plan.labels,
        given=given,
        dealt=dealt,
        good=good[-1],
        why=_open(asked, dealt.total - given),
    )
    if found.why:
        return found
    p, p_fail = plan.p_above(asked.judged_good, good), plan.p_below(asked.judged_good, most)
    return replace(found, outcome=decide(p, p_fail, level), p_value=p, p_value_fail=p_fail)


def _good(
    asked: _Asked, labels: Mapping[int, bool | None], looks: int
) -> tuple[Sequence[Labelled], Sequence[Labelled]]:
    """Return the numbers of good labels at each of the first looks, without and with the trials nobody can judge."""
    counted, order = asked.counted, asked.order()
    found: tuple[list[Labelled], list[Labelled]] = ([], [])
    for dealt in asked.deals[:looks]:
        said = [(labels[index], counted[index]) for index in order[: dealt.total] if index in labels]
        for counts, values in zip(found, ((True,), (True, None)), strict=True):
            kinds = [kind for value, kind in said if value in values]
            counts.append(Labelled(sum(kinds), len(kinds) - sum(kinds)))
    return found


def _open(asked: _Asked, missing: int) -> str:
    """Say why nothing is concluded yet; empty where it is."""
    if not asked.ended:
        return "the run ended before all of its conversations: resume it, then label"
    if not asked.counted:
        return "none of its conversations counts: the app failed on all of them"
    return f"{missing} labels are missing: `simeval people label` goes on" if missing else ""
