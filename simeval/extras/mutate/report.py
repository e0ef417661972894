"""The report of a suite that was tested by mutants: those it notices, those it misses, and toothless requirements."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Literal

from simeval.core.conversation import Conversation
from simeval.core.run_records import total
from simeval.core.serialization import Json
from simeval.core.setting_field import OnAppError
from simeval.core.terminal import counted_of, indent, line_of, one_line, printed_room, render_table
from simeval.core.trial import TrialResult
from simeval.evaluators.base import Evaluator
from simeval.extras.mutate.mutants import MARK, Mutant
from simeval.extras.mutate.noticing import is_altered, is_met, p_value, signs
from simeval.results.suite import ScenarioResult, SuiteResult
from simeval.results.text import Printable
from simeval.stats.binomial import clopper_pearson
from simeval.stats.multiple import holm
from simeval.suites.scenario import shorten

Status = Literal["noticed", "open", "missed", "not applied", "not measured"]
SHOWN = 70  # characters of an answer
LABEL = 50  # characters of a requirement in the table
LISTED: Mapping[Status, str] = {
    "missed": "missed",
    "open": "open (more trials would tell)",
    "not measured": "not measured",
    "not applied": "not applied (no conversation to alter)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Noticing:
    """A mutant in the eyes of one requirement: pairs of trials, how many only the mutant or only the other fails.

    `p_value` is corrected for all mutants and requirements.
    """

    scenario: str
    requirement: str
    trials: int
    worse: int
    better: int
    p_value: float
    noticed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MutantResult:
    """One mutant: the conversations it altered, and those of them that fail by it, by any requirement.

    `measured` are those of the altered ones with the score of a requirement that the unchanged app meets, and `at_most`
    is the upper bound of the chance that one of them fails. It `was_cut` if the run stopped. `problem` is why scores
    are missing. `was` and `became` are an answer of the app and the mutant's in its place.
    """

    name: str
    about: str
    trials: int
    altered: int
    measured: int
    failed: int
    at_most: float
    noticings: tuple[Noticing, ...]
    was_cut: bool = False
    problem: str = ""
    was: str = ""
    became: str = ""

    @property
    def noticed_by(self) -> tuple[Noticing, ...]:
        """The requirements that notice it, the surest first."""
        found = [each for each in self.noticings if each.noticed]
        return tuple(sorted(found, key=lambda each: each.p_value))

    @property
    def status(self) -> Status:
        """Whether the suite notices it; "open" if more conversations fail by it, and too few to prove that."""
        if self.noticed_by:
            return "noticed"
        if self.was_cut and not self.measured:
            return "open"
        if not self.measured:
            is_unknown = bool(self.trials) and not any(each.trials for each in self.noticings)
            return "not measured" if self.altered or is_unknown else "not applied"
        return "open" if self.was_cut or any(each.worse > each.better for each in self.noticings) else "missed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequirementResult:
    """One requirement: the trials of the unchanged app that miss it, and the mutants by which more do."""

    scenario: str
    requirement: str
    trials: int
    missed: int
    seen: tuple[str, ...]
    noticed: tuple[str, ...]

    @property
    def is_toothless(self) -> bool:
        """Whether no mutant makes it fail, although the unchanged app mostly meets it."""
        return self.trials > 0 and not self.seen and not self.is_blunt

    @property
    def is_blunt(self) -> bool:
        """Whether the unchanged app misses it in half of the trials or more."""
        return 2 * self.missed >= self.trials > 0

    def __str__(self) -> str:
        return f"{self.requirement} ({self.scenario})"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MutationReport(Printable):
    """Whether a suite notices deliberately worse apps, and the `calls` of models it took.

    As many are `foretold` after the first conversation with each mutant; if there is no second one, before it, and
    then it may take fewer. The chance that any mutant is wrongly called noticed is at most `alpha`. `run` has all
    conversations.
    """

    mutants: tuple[MutantResult, ...]
    requirements: tuple[RequirementResult, ...]
    alpha: float
    conversations: int
    calls: int
    foretold: float | None
    run: SuiteResult

    @property
    def problem(self) -> str:
        """Why nothing can be concluded: the unchanged app could be measured nowhere; empty if it could."""
        size = len(self.run) // (len(self.mutants) + 1)
        verdicts = [each for scenario in self.run[:size] for each in scenario.verdicts]
        lost = [each.explanation for each in verdicts if each.outcome == "error"]
        return lost[0] if len(lost) == len(verdicts) else ""

    @property
    def passed(self) -> bool:
        """Whether every mutant is noticed that alters a conversation, and there is one."""
        found = {each.status for each in self.mutants} - {"not applied"}
        return found == {"noticed"} and not self.run.run.stopped

    @property
    def missed(self) -> tuple[MutantResult, ...]:
        """The mutants by which no requirement fails more often."""
        return self.of("missed")

    @property
    def toothless(self) -> tuple[RequirementResult, ...]:
        """The requirements that no mutant makes fail."""
        return tuple(each for each in self.requirements if each.is_toothless)

    def of(self, status: Status) -> tuple[MutantResult, ...]:
        """Return the mutants of a status."""
        return tuple(each for each in self.mutants if each.status == status)

    def __str__(self) -> str:
        return self.text(printed_room())

    def text(self, room: int | None = None) -> str:
        """Return the report; a table if lines have `room` for it."""
        if self.problem:
            return indent(f"nothing can be concluded: {self.problem}", 0, width=line_of(room))
        rows = [(each.name, _status(each), _count(each), _by(each)) for each in self.mutants]
        width = line_of(room)
        missed = [line for each in self.missed for line in _at_length(each, width)]
        why = "the unchanged app misses each requirement that measures it"
        unmeasured = [f"{each.name}: {one_line(each.problem) or why}" for each in self.of("not measured")]
        unmeasured += [f"{each}" for each in self.requirements if not each.trials]
        blunt = [f"{each.missed} of {each.trials}: {each}" for each in self.requirements if each.is_blunt]
        return "\n".join(
            [
                indent(self._head, 0, width=width),
                "",
                render_table(("mutant", "", "failed of altered", "noticed by"), rows, widths=(20, 12, 18), room=room),
                *_block(f"missed, with how often it fails at most ({1 - self.alpha:.0%} certain):", missed),
                *_block("not measured:", _indented(unmeasured, width)),
                *_block("no mutant makes these requirements fail:", _indented(map(str, self.toothless), width)),
                *_block(
                    "the unchanged app misses these, so a mutant can hardly be noticed by them:",
                    _indented(blunt, width),
                ),
                "",
                indent(self._foot, 0, width=width),
            ]
        )

    @property
    def _head(self) -> str:
        applied = [each for each in self.mutants if each.status != "not applied"]
        said = [f"{len(self.of('noticed'))} of {counted_of(len(applied), 'mutant')} noticed"]
        named = [(LISTED[status], [each.name for each in self.of(status)]) for status in LISTED]
        said += [f"{name}: {', '.join(found)}" for name, found in named if found]
        return "; ".join([*said, *([f"the run stopped: {self.run.run.stopped}"] if self.run.run.stopped else [])])

    @property
    def _foot(self) -> str:
        most = "" if any(each.sample_size > 1 for each in self.run) else "up to "
        foretold = "" if self.foretold is None else f" (foretold: {most}about {self.foretold:,.0f})"
        return (
            f"{self.conversations:,} conversations, {self.calls:,} model calls{foretold}; a mutant is wrongly called "
            f"noticed with a chance of at most {self.alpha:g}, over all mutants and requirements together"
        )

    def encoded(self) -> Json:
        """Return it in the form JSON has."""
        return {
            "passed": self.passed,
            "stopped": self.run.run.stopped,
            "problem": self.problem,
            "significance_level": self.alpha,
            "conversations": self.conversations,
            "calls": self.calls,
            "foretold_calls": self.foretold,
            "mutants": [{**asdict(each), "status": each.status} for each in self.mutants],
            "requirements": [{**asdict(each), "toothless": each.is_toothless} for each in self.requirements],
        }


def _status(each: MutantResult) -> str:
    return each.status.upper() if each.status == "missed" else each.status


def _count(each: MutantResult) -> str:
    return f"{each.failed} of {each.measured}" if each.measured else ""


def _by(each: MutantResult) -> str:
    found = each.noticed_by
    if not found:
        return ""
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    return f"{shorten(found[0].requirement, LABEL)}{more}"


def _at_length(each: MutantResult, width: int) -> list[str]:
    """Return the lines of a missed mutant: how rarely it may fail, and an answer before and after the change."""
    lines = [indent(f"{each.name}: an app that {each.about} (at most {each.at_most:.0%})", 2, width=width)]
    if each.became:
        pairs = enumerate(zip(each.was, each.became, strict=False))
        begin = max(0, next((at for at, (old, new) in pairs if old != new), len(each.was)) - SHOWN // 2)
        for name, text in (("was", each.was), ("now", each.became)):
            shown = f"{'…' if begin else ''}{one_line(text)[begin:]}"
            lines.append(indent(f"{name}: {shorten(shown, SHOWN)}", 4, width=width))
    return lines


def _indented(texts: Iterable[str], width: int) -> list[str]:
    return [indent(each, 2, width=width) for each in texts]


def _block(head: str, lines: Sequence[str]) -> list[str]:
    return ["", head, *lines] if lines else []


# --- the report of a run -----------------------------------------------------------------------------------------


def report_of(
    run: SuiteResult,
    mutants: Sequence[Mutant],
    titles: Sequence[str],
    *,
    alpha: float,
    on_app_error: OnAppError,
    foretold: float | None,
) -> MutationReport:
    """Return the report of a run with the scenarios of each app side by side, those of the unchanged one first."""
    arms = [run[place * len(titles) : (place + 1) * len(titles)] for place in range(len(mutants) + 1)]
    seen = [
        (title, f"{each.label}: {rule.show_bar()}")
        for title, base in zip(titles, arms[0], strict=True)
        for each in base.expectations
        for rule in each.evaluators
    ]
    found = [_signs(arms[0], arm, on_app_error) for arm in arms[1:]]
    p_values = iter(holm([p_value([sign or 0 for sign in each]) for arm in found for each in arm]))
    results = [
        _mutant(
            mutant, arms[0], arm, _noticings(seen, each, list(islice(p_values, len(each))), alpha), on_app_error, alpha
        )
        for mutant, arm, each in zip(mutants, arms[1:], found, strict=True)
    ]
    return MutationReport(
        mutants=tuple(results),
        requirements=tuple(_requirements(arms[0], results, on_app_error)),
        alpha=alpha,
        conversations=sum(each.trials + each.finished_extras for each in run),
        calls=total(run.run.usage).calls,
        foretold=foretold,
        run=run,
    )


def _signs(base: Sequence[ScenarioResult], arm: Sequence[ScenarioResult], on: OnAppError) -> list[list[int | None]]:
    """Return the signs of each requirement of all scenarios."""
    return [
        each
        for old, new in zip(base, arm, strict=True)
        for each in signs(old.judgements, new.judgements, _rules(old), on)
    ]


def _rules(scenario: ScenarioResult) -> Sequence[Sequence[Evaluator]]:
    return [each.evaluators for each in scenario.expectations]


def _noticings(
    seen: Sequence[tuple[str, str]], found: Sequence[Sequence[int | None]], p_values: Sequence[float], alpha: float
) -> tuple[Noticing, ...]:
    return tuple(
        Noticing(
            scenario=scenario,
            requirement=requirement,
            trials=sum(sign is not None for sign in each),
            worse=each.count(1),
            better=each.count(-1),
            p_value=p,
            noticed=p <= alpha,
        )
        for (scenario, requirement), each, p in zip(seen, found, p_values, strict=True)
    )


def _mutant(
    mutant: Mutant,
    base: Sequence[ScenarioResult],
    arm: Sequence[ScenarioResult],
    noticings: tuple[Noticing, ...],
    on_app_error: OnAppError,
    alpha: float,
) -> MutantResult:
    altered, measured, failed, example = 0, 0, 0, ("", "")
    for old, new in zip(base, arm, strict=True):
        found = zip(*signs(old.judgements, new.judgements, _rules(old), on_app_error), strict=True)
        for before, after, each in zip(old.judgements, new.judgements, found, strict=False):
            if is_altered(before.conversation, after.conversation):
                known = zip(_met(before, _rules(old), on_app_error), each, strict=True)
                is_measured = any(is_met and sign is not None for is_met, sign in known)
                altered, measured = altered + 1, measured + is_measured
                failed += 1 in each
                example = example if any(example) else _example(after.conversation)
    return MutantResult(
        name=mutant.name,
        about=mutant.about,
        trials=sum(each.trials for each in arm),
        altered=altered,
        measured=measured,
        failed=failed,
        at_most=clopper_pearson(failed, measured, alpha)[1] if measured else 1.0,
        noticings=noticings,
        was_cut=bool(base[0].run.stopped),
        problem=next((each.error for scenario in arm for trial in scenario.judgements for each in trial.failures), ""),
        was=example[0],
        became=example[1],
    )


def _met(trial: TrialResult, rules: Sequence[Sequence[Evaluator]], on_app_error: OnAppError) -> Iterator[bool]:
    """Yield of each requirement whether a trial meets it; one that is missing does not."""
    for result, each in zip(trial.results, rules, strict=True):
        yield from (is_met(result, rule, on_app_error) is True for rule in each)


def _example(conversation: Conversation) -> tuple[str, str]:
    """Return the first answer that was altered, as it was and as it became."""
    marked = ((each.metadata[MARK]["was"], each.content) for each in conversation.responses if MARK in each.metadata)
    return next(((was, now) for was, now in marked if was != now), ("", ""))


def _requirements(
    base: Sequence[ScenarioResult], mutants: Sequence[MutantResult], on_app_error: OnAppError
) -> Iterator[RequirementResult]:
    place = 0
    for scenario in base:
        for at, each in enumerate(scenario.expectations):
            for rule in each.evaluators:
                cells = [(mutant.name, mutant.noticings[place]) for mutant in mutants]
                results = [judgement.results[at] for judgement in scenario.judgements]
                known = [is_met(each, rule, on_app_error) for each in results]
                yield RequirementResult(
                    scenario=cells[0][1].scenario,
                    requirement=cells[0][1].requirement,
                    trials=len(known) - known.count(None),
                    missed=known.count(False),
                    seen=tuple(name for name, cell in cells if cell.worse > cell.better),
                    noticed=tuple(name for name, cell in cells if cell.noticed),
                )
                place += 1
