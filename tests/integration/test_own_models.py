"""Models that are objects of the user's own: what they do wrong is told as theirs, and takes nothing away."""

import logging
import re
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pytest

from simeval import Expectation
from simeval.errors import DefinitionError, ModelUnusable
from simeval.models import Completion
from simeval.models.protocol.model import Request
from simeval.models.providers.offline import OfflineModel
from tests.support.suites import SUCCESS, Engine, good_app, scenario

pytestmark = pytest.mark.anyio


@dataclass
class Mine:
    """A judge of the user's own, which asks the embedded one; `closing` is what its close raises."""

    name: str = "mine/judge"
    closing: Exception | None = None

    async def complete(self, request: Request) -> Any:
        return await OfflineModel("offline/judge").complete(request)

    async def close(self) -> None:
        if self.closing:
            raise self.closing


class Plain:
    """One without a word of async, as people write it."""

    name = "mine/plain"

    def complete(self, request: Request) -> Any:
        return Completion(text='{"reasoning": "fine", "score": 9}')

    def close(self) -> None:
        return None


class Texts(Mine):
    async def complete(self, request: Request) -> Any:
        return '{"reasoning": "fine", "score": 9}'


class Raises(Mine):
    async def complete(self, request: Request) -> Any:
        return {"model": "x"}["message"]


async def test_one_that_cannot_be_closed_is_told_and_keeps_the_result(caplog: pytest.LogCaptureFixture) -> None:
    judge: Any = Mine(closing=ValueError("no such file"))

    with caplog.at_level(logging.WARNING, logger="simeval"):
        result = await Engine(judge, "offline/user").evaluate(scenario(sample_size=3), good_app)

    assert result.trials == 3
    said = r"mine/judge could not be closed: ValueError: no such file \(test_own_models\.py:\d+ in close\)"
    assert re.search(said, caplog.text)


async def test_methods_need_not_be_async() -> None:
    plain: Any = Plain()
    rated = {level: f"fits {level} parts in 10" for level in range(1, 11)}
    then = Expectation(expected_behavior="Bot tracks orders", evaluator=SUCCESS, rubric=rated)

    result = await Engine(plain, "offline/user", on_failed_control="off").evaluate(
        scenario(sample_size=3, then=then), good_app
    )

    assert result.expectations[0].scores == (9.0, 9.0, 9.0)


async def test_tokens_may_be_any_numbers_or_not_counted() -> None:
    class Counting(Mine):
        async def complete(self, request: Request) -> Any:
            found = await super().complete(request)
            return replace(found, prompt_tokens=None, completion_tokens=np.int64(7))

    result = await Engine(Counting(), "offline/user").evaluate(scenario(sample_size=3), good_app)

    assert result.trials == 3
    assert result.run.usage["judge"].completion_tokens == 21


@pytest.mark.parametrize("role", [0, 1])
async def test_what_is_no_completion_is_told_with_its_place(role: int) -> None:
    models: list[Any] = ["offline/judge", "offline/user"]
    models[role] = Texts()

    told = r"mine/judge cannot be used \(code\): its complete \(test_own_models\.py, line \d+\) returned str; return a "
    with pytest.raises(ModelUnusable, match=f"^{told}simeval.models.Completion with a text$"):
        await Engine(*models).evaluate(scenario(sample_size=3), good_app)


async def test_what_a_user_raises_is_its_own_and_not_the_engines() -> None:
    user: Any = Raises()
    result = await Engine("offline/judge", user).evaluate(scenario(sample_size=3), good_app)

    [failure, *_] = [failure for _, failure in result.failures]
    assert failure.stage == "simulator"
    said = r"mine/judge failed \(code\): KeyError: 'message' \(test_own_models\.py:\d+ in complete\)"
    assert re.fullmatch(said, failure.error)


@pytest.mark.parametrize("models", [(Mine,), ("offline/judge", Mine), ([Mine()], Mine)])
async def test_a_class_is_no_model(models: Any) -> None:
    with pytest.raises(DefinitionError, match=r"model: found the class Mine; make an object of it, such as Mine\(\)"):
        await Engine(*models).evaluate(scenario(sample_size=3), good_app)


@pytest.mark.parametrize(
    ("completion", "wrong"),
    [
        (Completion(text=cast("Any", None)), "text is NoneType"),
        (Completion(text=cast("Any", {"score": 9})), "text is dict"),
        (Completion(text="{}", prompt_tokens=cast("Any", "3")), "prompt_tokens is str"),
    ],
)
async def test_a_completion_of_other_things_is_told(completion: Completion, wrong: str) -> None:
    class Odd(Mine):
        async def complete(self, request: Request) -> Any:
            return completion

    with pytest.raises(ModelUnusable, match=f"returned a Completion of which {wrong}; return a simeval"):
        await Engine(Odd(), "offline/user").evaluate(scenario(sample_size=3), good_app)


def test_a_name_is_a_text() -> None:
    class Nameless(Texts):
        name = cast("Any", None)

    with pytest.raises(DefinitionError, match="model Nameless: name: found None; give it a name that is a text; of a"):
        Engine(Nameless(name=cast("Any", None)))
