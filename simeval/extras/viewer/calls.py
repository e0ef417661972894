"""The model calls of a conversation, made again from its stored messages and the prompts of its run.

A store keeps the versions of prompts, and not each text that was sent. The code that made a prompt makes it again, as
it was at the first try; if an input of it is not stored, the reason takes its place.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import isfinite
from typing import Any

from simeval.core.conversation import ATTACK, GIVEN, STATUS, Ending
from simeval.core.filling import filled
from simeval.core.serialization import Json
from simeval.core.setting_field import PERSONA
from simeval.core.trial import Failure, Score, TrialResult
from simeval.engine.plans.definition_changes import OF_EXPECTATIONS, OF_SCENARIOS
from simeval.engine.plans.fingerprint import CRITERIA_PROMPTS, JUDGE_PROMPTS
from simeval.engine.users.state import Progress, read_state
from simeval.models.protocol.model import ModelRequest, Reply, is_embedded
from simeval.models.protocol.prompt_texts import Prompt, built_in, tokens_in
from simeval.models.protocol.prompts import (
    CriteriaRequest,
    GradeRequest,
    LabelGradeRequest,
    LabelRulingRequest,
    UserTurn,
)
from simeval.scorers.llm.judge import level_label

Rubric = Mapping[str, str]  # the texts of levels by their ratings

LEFT_SILENTLY: tuple[Ending, ...] = ("goal_satisfied", "handed_off", "not_in_scenario")


class _NotStored(Exception):  # no error: it says which calls are not shown, and why
    """An input of a prompt is not in the store."""


@dataclass(frozen=True, slots=True)
class _Situation:
    given: str
    when: str


@dataclass(slots=True)
class CallsOf:
    """Makes the calls of one trial again.

    `definition` is that of its run, `scenario` the part of its scenario, with the places of its case filled.
    """

    trial: TrialResult
    definition: Mapping[str, Any]
    scenario: Json
    rubrics: Mapping[str, Rubric]
    _unknown: list[str] = field(default_factory=list)

    def shown(self) -> Json:
        """Return the calls of the user, then of the judges, and a sentence on those that cannot be made again."""
        found = [*self._known(self._of_user), *self._known(self._of_judges)]
        return {"calls": found, "unknown": list(dict.fromkeys(self._unknown))}

    def _known(self, calls: Callable[[], Iterator[Json]]) -> Iterator[Json]:
        try:
            yield from calls()
        except _NotStored as reason:
            self._unknown.append(str(reason))

    def _prompt(self, name: str) -> Prompt:
        used, known = self.definition.get("prompts"), built_in(name)
        if not isinstance(used, Mapping) or used.get(name) != known.identity:
            raise _NotStored(f"The prompt {name!r} was of another version, or your own: its text is not stored.")
        return known

    def _of_user(self) -> Iterator[Json]:
        talk, model = self.trial.conversation, str(self.definition["user"])
        if is_embedded(model):
            return
        messages, users = talk.messages, [each for each in talk.messages if each.role == "user"]
        wrote = [each for each in users if not each.metadata.keys() & {GIVEN, ATTACK}]
        if any(each.tool_calls for each in users):
            raise _NotStored("The simulated user has tools: their results were in its prompts, and are not stored.")
        places = [place for place, each in enumerate(messages) if any(each is one for one in wrote)]
        if wrote and talk.ended in LEFT_SILENTLY and messages[-1].role == "assistant":
            places.append(len(messages))
        situation, progress = self._situation(), Progress()
        for place in places:
            state = read_state(situation, messages[:place], patience=0, progress=progress)
            request = UserTurn(
                prompt=self._prompt("user"),
                given=situation.given,
                when=situation.when,
                writing_style=self._style(),
                history=messages[:place],
                seed=self.trial.trial.seed,
                is_held=state.is_held,
                untold=state.untold,
                format=self.definition["settings"]["user_format"],
            )
            if place == len(messages):
                yield _shown(request, model, "(left without a word)", place=place)
            else:
                said, status = messages[place].content, messages[place].metadata.get(STATUS)
                seconds = messages[place].seconds if isfinite(messages[place].seconds) else None
                reply = f"{said}\n({status.replace('_', ' ')})" if status else said
                yield _shown(request, model, reply, place=place, seconds=seconds)

    def _situation(self) -> _Situation:
        """Return the texts that the user knew: with its persona's, if there is a mix of users."""
        title = (self.trial.conversation.writing_style or {}).get(PERSONA)
        personas = [text for name, text, *_ in self.scenario.get("users", ()) if name == title]
        return _Situation("\n".join([self.scenario["given"], *personas[:1]]), self.scenario["when"])

    def _style(self) -> Mapping[str, str] | None:
        style = self.trial.conversation.writing_style or {}
        return {axis: text for axis, text in style.items() if axis != PERSONA} or None

    def _of_judges(self) -> Iterator[Json]:
        judges = [each for each in self.definition["judge"] if not is_embedded(each)]
        for result, then, label in zip(self.trial.results, self.scenario[OF_EXPECTATIONS], self.rubrics, strict=True):
            was_asked = isinstance(result, Score) or result.stage == "judge"
            if judges and was_asked and then["expected_behavior"] is not None:
                reply = result.error if isinstance(result, Failure) else f"{result.value:g}: {result.reasoning}"
                for request in self._asked(then, then.get("rubric") or self.rubrics[label]):
                    yield _shown(request, ", ".join(judges), reply, label=label)

    def _asked(self, then: Json, levels: Rubric) -> Iterator[ModelRequest]:
        """Return the requests to judges for one expectation; each judge reads the same, and at each repeat."""
        if self.definition.get("judge examples"):
            raise _NotStored("Labelled conversations were shown to the judge: they are not stored.")
        criteria, names = then.get("criteria"), CRITERIA_PROMPTS if then.get("criteria") else JUDGE_PROMPTS
        is_label = names["label"] in self.definition["prompts"]
        asked: Mapping[str, Any] = {
            "given": self.scenario["given"],
            "when": self.scenario["when"],
            "facts": self.scenario.get("facts") or "",
            "reference": then.get("reference") or "",
            "conversation": self.trial.conversation.messages,
            "most_tokens": self.definition.get("judge context tokens"),
            "held_on": self.definition.get("date"),
            "seed": self.trial.trial.seed,
            "prompt": self._prompt(names["label" if is_label else "json"]),
        }
        if criteria:
            if is_label:
                yield from (LabelRulingRequest(criterion=text, **asked) for text in criteria)
                return
            numbered = [(str(number), text) for number, text in enumerate(criteria, 1)]
            each = self.definition.get("criteria calls") == "each"
            for some in [[one] for one in numbered] if each else [numbered]:
                yield CriteriaRequest(criteria=dict(some), reply=Reply, **asked)
            return
        if not levels:
            raise _NotStored(
                "The rubric is not stored with this run: it has not ended, or is one side of a comparison."
            )
        rate = partial(LabelGradeRequest if is_label else GradeRequest, expected_behavior=then["expected_behavior"])
        yield rate(levels={level_label(each): text for each, text in levels.items()} if is_label else levels, **asked)


def calls_of(trial: TrialResult, definition: Mapping[str, Any], title: str, rubrics: Mapping[str, Rubric]) -> Json:
    """Return the calls of a trial, in JSON; none of an experiment, which has no simulated user.

    `rubrics` are the levels that each of its results is rated by, if any, by its label.
    """
    scenarios: Sequence[Json] = definition.get(OF_SCENARIOS, ())
    defined = next((each for each in scenarios if each["title"] == title), {})
    if "given" not in defined:
        return {"calls": [], "unknown": []}
    case = trial.columns.get("inputs")
    known = case if isinstance(case, Mapping) else {}
    levels = {label: filled(each, known) for label, each in rubrics.items()}
    return CallsOf(trial, definition, filled(defined, known), levels).shown()


def _shown(request: Any, model: str, reply: str, **where: Any) -> Json:
    """Return a call as a page shows it, with about how many tokens it took."""
    prompt = request.messages()
    tokens = [round(sum(tokens_in(each["content"]) for each in prompt)), round(tokens_in(reply))]
    version = f"{request.prompt.name} {request.prompt.version}"
    return {"model": model, "prompt": prompt, "version": version, "reply": reply, "tokens": tokens, **where}
