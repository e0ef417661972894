"""What is waited for: calls under way, in line, refused."""

import anyio
import pytest

from simeval.core.settings import RetryConfig
from simeval.core.waits import Waits, in_words
from simeval.models.caller import Caller
from simeval.models.limits.governor import Governed
from simeval.models.limits.traffic import Traffic
from simeval.testing import ScriptedModel
from tests.support.doubles import any_request, failure, never
from tests.support.fake_clock import anyio_backend  # noqa: F401

RETRY = RetryConfig(max_attempts=2, backoff_multiplier=0.0)


def seen(waits: Waits) -> list[tuple[str, str, str]]:
    return [(wait.who, wait.role, wait.stage) for wait in waits]


@pytest.mark.anyio
async def test_calls_are_under_way_and_in_line_the_oldest_first() -> None:
    waits = Waits()
    model = Governed(ScriptedModel(never), Traffic(1), outage_seconds=60, clean=str, waits=waits)

    async with anyio.create_task_group() as calls:
        for seed in range(2):
            calls.start_soon(model.complete, any_request(seed))
        await anyio.wait_all_tasks_blocked()
        found = seen(waits)
        calls.cancel_scope.cancel()

    assert found == [("scripted/model", "rubric", "answer"), ("scripted/model", "rubric", "line")]
    assert not seen(waits)


@pytest.mark.anyio
@pytest.mark.parametrize(("kind", "stage"), [("rate_limit", "refused"), ("server", "retry")])
async def test_a_call_that_will_be_made_again_says_when(kind: str, stage: str) -> None:
    waits = Waits()
    refused = failure(kind, retry_after=30.0)  # type: ignore[arg-type]
    caller = Caller(ScriptedModel([refused, refused]), RETRY, waits=waits)

    async with anyio.create_task_group() as calls:
        calls.start_soon(caller.text, any_request())
        await anyio.wait_all_tasks_blocked()
        [wait] = waits
        calls.cancel_scope.cancel()

    assert (wait.stage, wait.role) == (stage, "rubric")
    assert wait.until == pytest.approx(wait.since + 30.0)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.05, "0.05 seconds"), (1.0, "1 second"), (0.9999, "1 second"), (59.5, "59.5 seconds"), (3600, "3,600 seconds")],
)
def test_seconds_are_said_with_their_noun(seconds: float, said: str) -> None:
    assert in_words(seconds) == said
