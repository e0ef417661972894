"""The queue of trials that people label, blind: the next one, and each one's label; it is shown elsewhere.

run ──► label_items ──► LabelQueue ◄── label, skip, undo ── a person
└──► LabelBook: each label is kept before the next trial is shown
"""

import getpass
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Protocol

from simeval.analysis.labels import drawable_in, first_outcomes
from simeval.analysis.people_standard import PeopleLabels, dealt_trials, wanted_trials
from simeval.analysis.saved_run import scenarios_of
from simeval.core import seeds
from simeval.core.conversation import Conversation
from simeval.core.feedback import PERSON, Feedback
from simeval.core.validation import nearest, require
from simeval.errors import DefinitionError
from simeval.results.document import RunDocument, ScenarioDocument

ItemKey = tuple[str, int]  # of a trial: its scenario's title, and its index


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelItem:
    """A trial to be labelled, and its guideline: no score and no reasoning of a judge is among it.

    `guideline` holds the levels of the rubric by their ratings, `inclusion` the probability that it was drawn.
    """

    run_id: str
    scenario: str
    index: int
    expectation: str
    expected_behavior: str
    given: str
    when: str
    guideline: Mapping[str, str]
    conversation: Conversation
    inclusion: float

    @property
    def key(self) -> ItemKey:
        """Identifies it among trials."""
        return self.scenario, self.index


class LabelBook(Protocol):
    """Where labels are kept: at once, so that none is lost."""

    def add(self, feedback: Feedback) -> None:
        """Keep a label; another of the same id is replaced."""

    def remove(self, feedback_id: str) -> None:
        """Remove a label."""


def label_items(
    run: RunDocument,
    rubrics: Mapping[str, Mapping[str, str]],
    *,
    label: str | None,
    size: int,
    stratified: bool = False,
    seed: int | None = None,
) -> list[LabelItem]:
    """Return random trials of a run for one expectation, in random order; a larger sample begins with a smaller.

    `rubrics` are levels by their keys, `label` names the expectation,
    optional if there is one. A sample that is `stratified` has as many failures of the judge as other trials, as far as
    there are so many. Where the requirement is on the rate that people would find, its own trials are dealt in place of
    such a sample. Raises DefinitionError.
    """
    drawable = drawable_in(run)
    if not drawable:
        raise DefinitionError("run", found="it has no judged trial", do="give a run with judged trials")
    names = list(dict.fromkeys(name for labels in drawable.values() for name in labels))
    wanted = _chosen(label, names)
    keys = [key for key, labels in drawable.items() if wanted in labels]
    chance = seeds.generator(run.seed if seed is None else seed, "labels", wanted)
    order = chance.sample(keys, len(keys))
    dealt = dealt_trials(run, wanted)
    drawn = dealt or (_stratified(order, first_outcomes(run), wanted, size) if stratified else _first(order, size))
    mixes = stratified and not dealt  # the order must not reveal what the judge found
    shown = chance.sample(list(drawn), len(drawn)) if mixes else list(drawn)
    found = scenarios_of(run)
    return [_item(found[key[0]], *key, wanted, run.run_id, rubrics, drawn[key]) for key in shown]


def until_look(items: Sequence[LabelItem], run: RunDocument, labels: PeopleLabels) -> Sequence[LabelItem]:
    """Return the items up to the next look at the labels, or up to the one that has decided."""
    wanted = wanted_trials(run, items[0].expectation, labels) if items else None
    return items if wanted is None else [item for item in items if item.key in wanted]


def require_yes_or_no(*, ratings: bool, stratified: bool) -> None:
    """Raise DefinitionError for ratings of a stratified sample, which allow no conclusion."""
    do = "label it with yes and no, or draw a random one"
    require(not (ratings and stratified), "--stratified", found="ratings", do=do)


def _first(order: Sequence[ItemKey], size: int) -> Mapping[ItemKey, float]:
    """Return the first trials of a random order, with the probability that each is among them."""
    return dict.fromkeys(order[:size], min(1.0, size / len(order)))


def _stratified(
    order: Sequence[ItemKey], outcomes: Mapping[tuple[str, str], Mapping[int, bool | None]], label: str, size: int
) -> Mapping[ItemKey, float]:
    """Return the first trials that the judge fails and the first that it passes, half of the size each."""
    failed = [key for key in order if not outcomes[key[0], label][key[1]]]
    passed = [key for key in order if outcomes[key[0], label][key[1]]]
    of_passed = min(len(passed), max(size - size // 2, size - len(failed)))
    parts = ((passed, of_passed), (failed, min(len(failed), size - of_passed)))
    return {key: chance for part, n in parts if n for key, chance in _first(part, n).items()}


def _chosen(label: str | None, names: Sequence[str]) -> str:
    if label is None and len(names) == 1:
        return names[0]
    if label is None:
        found = f"the run has {len(names)} judged expectations"
        raise DefinitionError("--label", found=found, do=f"name one of {', '.join(map(repr, names))}")
    if label not in names:
        raise DefinitionError("--label", found=f"there is no expectation {label!r}", do=nearest(label, names))
    return label


def _item(
    scenario: ScenarioDocument,
    title: str,
    index: int,
    label: str,
    run_id: str,
    rubrics: Mapping[str, Mapping[str, str]],
    inclusion: float,
) -> LabelItem:
    expectation = next(each for each in scenario.expectations if each.label == label)
    return LabelItem(
        run_id=run_id,
        scenario=title,
        index=index,
        expectation=label,
        expected_behavior=expectation.expected_behavior or label,
        given=scenario.given or "",
        when=scenario.when or "",
        guideline=rubrics.get((expectation.rubric or {}).get("key", ""), {}),
        conversation=scenario.by_index()[index].conversation,
        inclusion=inclusion,
    )


class LabelQueue:
    """Hands out trials one after another to one rater, and stores each label.

    `expectation` is the one to label by, `given` all feedback on the run by now: trials this rater labelled or skipped
    before do not come again, so that an interrupted queue continues. With an `overlap` a trial that so many others have
    labelled does not come either.
    """

    def __init__(
        self,
        items: Sequence[LabelItem],
        book: LabelBook,
        *,
        rater: str,
        given: Sequence[Feedback] = (),
        overlap: int | None = None,
    ) -> None:
        require(bool(rater), "--by", found=rater, do="say who labels")
        self._items, self._book, self._rater = items, book, rater
        keys = {item.key for item in items}
        self.expectation = mine = items[0].expectation if items else ""
        labels = [
            each
            for each in given
            if each.key == mine and each.labeller == PERSON and (each.scenario, each.trial) in keys
        ]
        self._said = {(each.scenario, each.trial or 0): each for each in labels if each.source == rater}
        theirs = [each for each in labels if each.source != rater and each.score is not None]
        others = Counter((each.scenario, each.trial) for each in theirs)
        self._enough = {key for key in keys if overlap is not None and others[key] >= overlap}

    @property
    def current(self) -> LabelItem | None:
        """The trial that is to be labelled now; None where all are."""
        return next((item for item in self._items if self._is_open(item)), None)

    @property
    def labelled(self) -> int:
        """How many trials this rater has labelled."""
        return sum(each.score is not None for each in self._said.values())

    @property
    def skipped(self) -> int:
        """How many trials this rater has skipped."""
        return len(self._said) - self.labelled

    @property
    def left(self) -> int:
        """How many trials are still to come."""
        return sum(map(self._is_open, self._items))

    def label(self, value: bool | float) -> None:
        """Keep a label of the current trial: whether it meets the expectation, or a rating from 1 to 10."""
        self._keep(value, "")

    def skip(self, reason: str) -> None:
        """Pass the current trial over, for a reason."""
        require(bool(reason.strip()), "skip", found=reason, do="say why")
        self._keep(None, reason.strip())

    def undo(self) -> LabelItem | None:
        """Take the last label or skip back, so that its trial comes again; return it, or None without one."""
        if not self._said:
            return None
        key = list(self._said)[-1]
        self._book.remove(self._said.pop(key).feedback_id)
        return next(item for item in self._items if item.key == key)

    def _is_open(self, item: LabelItem) -> bool:
        return item.key not in self._said and item.key not in self._enough

    def _keep(self, value: bool | float | None, comment: str) -> None:
        item = self.current
        if item is None:
            raise DefinitionError("label", found="all trials are labelled", do="take one back first")
        label = Feedback(
            key=item.expectation,
            score=value,
            comment=comment,
            source=self._rater,
            run_id=item.run_id,
            scenario=item.scenario,
            trial=item.index,
            labeller=PERSON,
            inclusion=item.inclusion,
        )
        label = replace(label, feedback_id=_id_of(label))
        self._book.add(label)
        self._said[item.key] = label


def _id_of(label: Feedback) -> str:
    """Return an id of the trial and the person: a person has one label of a trial."""
    said = [label.run_id, label.scenario, str(label.trial), label.key, label.source, label.labeller]
    return sha256("\0".join(said).encode("utf-8", errors="backslashreplace")).hexdigest()[:32]


def user_of_machine() -> str:
    """Return the default name of the labeller; empty in a container that has no table of users."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
