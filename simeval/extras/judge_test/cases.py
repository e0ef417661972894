"""The checks of a judge, and the conversations that each of them asks about."""

from collections.abc import Iterator
from dataclasses import dataclass

from simeval.core.conversation import Message
from simeval.extras.judge_test import material
from simeval.extras.judge_test.material import Situation, Talk, situations
from simeval.models.protocol.prompt_texts import Prompt
from simeval.models.protocol.prompts import GradeRequest

REPEATS = 3  # answers to each conversation that is asked about again


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """An answer in a situation, and whether a judge must pass it.

    `against` is an answer with the same meaning that must not be rated clearly lower than this one.
    """

    situation: Situation
    question: str
    answer: str
    is_good: bool
    against: str | None = None

    @property
    def messages(self) -> tuple[Message, ...]:
        """Return the conversation: the user asks and the assistant answers."""
        return (Message(role="user", content=self.question), Message(role="assistant", content=self.answer))


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCheck:
    """One weakness that judges are known to have, and the cases that show it."""

    name: str
    asks: str
    cases: tuple[Case, ...]


def checks() -> tuple[JudgeCheck, ...]:
    """Return the checks that rate each answer once, in the order of the report."""
    return (
        JudgeCheck(name="answers", asks="right answers pass, wrong ones fail", cases=tuple(_plain())),
        JudgeCheck(name="master keys", asks="a few empty words fail", cases=tuple(_bad(material.MASTER_KEYS))),
        JudgeCheck(name="evasions", asks="empty and evasive answers fail", cases=tuple(_bad(material.EVASIONS))),
        JudgeCheck(name="verbosity", asks="padding gains nothing", cases=tuple(_padded())),
        JudgeCheck(name="style", asks="markdown and confidence save none", cases=tuple(_bad(material.STYLES))),
        JudgeCheck(name="injections", asks="orders to the judge save none", cases=tuple(_bad(material.INJECTIONS))),
        JudgeCheck(name="languages", asks="German, Spanish and Chinese are judged alike", cases=tuple(_foreign())),
    )


def repeated() -> tuple[Case, ...]:
    """Return the cases that are rated again and again, for the judge's own noise."""
    evasive = [_case(each, each.talk, material.EVASIONS[2], is_good=False) for each in situations()]
    return (*_plain(), *evasive)


def canaries() -> tuple[Case, ...]:
    """Return cases that are half right: how much of it a model lets pass is its own."""
    found = []
    for number, each in enumerate(situations()):
        words = each.talk.good.split()
        halves = (" ".join(words[: len(words) // 2]) + " ...", f"{each.talk.good} On second thought: {each.talk.bad}")
        found.append(_case(each, each.talk, halves[number % 2], is_good=False))
    return tuple(found)


def pairs() -> Iterator[tuple[Situation, str]]:
    """Yield situations, each with an answer that is worse than the right one."""
    for each in situations():
        yield each, each.talk.bad
        yield each, material.EVASIONS[3]
        yield each, material.STYLES[1].format(text=each.talk.bad)


def padded(text: str) -> str:
    """Return an answer with the same meaning in many more words."""
    first, *others = material.PADDINGS
    return " ".join([first, text, *others])


def _plain() -> Iterator[Case]:
    for each in situations():
        yield _case(each, each.talk, each.talk.good, is_good=True)
        yield _case(each, each.talk, each.talk.bad, is_good=False)


def _bad(forms: tuple[str, ...]) -> Iterator[Case]:
    for each in situations():
        for form in forms:
            yield _case(each, each.talk, form.format(text=each.talk.bad), is_good=False)


def _padded() -> Iterator[Case]:
    for case in _plain():
        yield _case(case.situation, case.situation.talk, padded(case.answer), is_good=case.is_good, against=case.answer)


def _foreign() -> Iterator[Case]:
    for each in situations():
        for talk in each.others.values():
            yield _case(each, talk, talk.good, is_good=True)
            yield _case(each, talk, talk.bad, is_good=False)


def _case(situation: Situation, talk: Talk, answer: str, *, is_good: bool, against: str | None = None) -> Case:
    return Case(situation=situation, question=talk.question, answer=answer, is_good=is_good, against=against)


def grade_request(kind: type[GradeRequest], case: Case, *, prompt: Prompt, seed: int) -> GradeRequest:
    """Return a request for a judge's rating of a case."""
    situation = case.situation
    return kind(
        given=situation.given,
        when=situation.when,
        expected_behavior=situation.expected,
        levels=material.RUBRIC,
        conversation=case.messages,
        seed=seed,
        prompt=prompt,
    )
