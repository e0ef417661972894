"""Pages for screens: the demo as it is run, and one in many scripts."""

from dataclasses import replace
from typing import Any

from simeval import AppResponse, Engine
from simeval.analysis import Comparison, compare
from simeval.core.conversation import Conversation, Message
from simeval.core.run_records import Usage
from simeval.core.trial import Score, TrialResult
from simeval.evaluators.scores import RatingAverageEvaluator, SuccessRateEvaluator
from simeval.results.document import RunDocument
from simeval.results.suite import ScenarioResult, SuiteResult
from simeval.suites.files import load_suite
from tests.support.command_line import ROOT
from tests.support.records import NOON, RUN, result

RULE = SuccessRateEvaluator(min_proportion=0.9)


async def demo() -> RunDocument:
    """Run the example suite, and take out of its page what differs from run to run."""
    from scenarios.support_bot import handle

    suite = load_suite(str(ROOT / "scenarios" / "support.yaml"))
    found = await Engine(settings=suite.settings, seed=7, store=None, display="none").evaluate(suite, handle)
    judged = Usage(calls=280, prompt_tokens=9876, completion_tokens=1234, cost_usd=0.0123)
    usage = {"judge": judged, "user": Usage(calls=9)}
    run = replace(found.run, run_id="20260102-030405-abcdef", seconds=0.8, usage=usage)
    timeless = [replace(each, judgements=[*map(_answered_at_once, each.judgements)]) for each in found]
    page = SuiteResult(tuple(timeless), run).document("worst")
    return replace(page, app="scenarios.support_bot:handle")


def _answered_at_once(judgement: TrialResult) -> TrialResult:
    """Return a trial without its seconds, which a busy machine makes long enough to be shown."""
    messages = tuple(replace(each, seconds=0.0) for each in judgement.conversation.messages)
    return replace(judgement, conversation=replace(judgement.conversation, messages=messages))


async def compared() -> Comparison:
    """Compare the app of the example suite with one that refuses some returns, over the same seeds."""
    from scenarios.support_bot import handle

    async def refuses(message: str, state: dict[str, Any]) -> AppResponse:
        found = await handle(message, state)
        refused = "return" in message.lower() and len(message) % 3 == 0
        return AppResponse("I cannot help with that.", state) if refused else found

    suite = load_suite(str(ROOT / "scenarios" / "support.yaml"))
    scenarios = [replace(each, sample_size=40) for each in suite]
    engine = Engine(settings=replace(suite.settings, early_stopping=False), seed=7, store=None, display="none")
    good, worse = [await engine.evaluate(scenarios, app) for app in (handle, refuses)]
    return compare(
        *(replace(each, run=replace(each.run, run_id=name)) for each, name in ((good, "old"), (worse, "new")))
    )


def in_many_scripts() -> RunDocument:
    """Return a run whose texts are Chinese, Japanese, Arabic, Hebrew, Thai and emoji."""
    chinese = _spoken(
        "机器人在开始退货之前会先请顾客确认订单号码是否正确",
        "请求确认订单号码",
        "我想退回订单 F1002，鞋子太小了。",
        "好的，我已经为您开始退货。退货标签马上会发到您的邮箱。",
        "没有请求确认就开始退货了",
    )
    arabic = _spoken(
        "يطلب الروبوت رقم الطلب قبل البدء في الإرجاع",
        "يطلب رقم الطلب",
        "أريد إرجاع الطلب F1002 من فضلك",
        "لقد بدأت عملية الإرجاع، وستصلك رسالة بالبريد",
        "لم يطلب التأكيد",
    )
    hebrew = _spoken(
        "הבוט מבקש אישור", "מבקש אישור", "שלום, איפה ההזמנה שלי?", "ההזמנה בדרך", "הכול תקין", rating=9, n=45
    )
    emoji = _spoken("👩‍👩‍👧 A family 🏕️ buys tents 🔥🔥", "答える 👍🏽", "🙂?", "Yes ✅", "fine", rating=9, n=20)
    suite = (chinese, arabic, hebrew, emoji)
    notes = ("ภาษาไทย: a note", "control characters do nothing: \x1b[2J\x07")
    return SuiteResult(suite, replace(RUN, notes=notes, app="商店:回答")).document("worst")


def _spoken(
    title: str, label: str, asked: str, answered: str, why: str, *, rating: int = 1, n: int = 12
) -> ScenarioResult:
    scores = [Score(value=float(rating), reasoning=why)] * n
    found = result(
        (label, [RULE], scores), (f"{label} ★", [RatingAverageEvaluator(min_median_rating=8)], scores), title=title
    )
    call = {"name": "查询订单", "arguments": {"order": "F1002"}, "result": "تم"}
    said = Conversation(
        messages=(
            Message(role="user", content=asked, started=NOON, seconds=0.1),
            Message(role="assistant", content=answered, started=NOON, seconds=1.25, tool_calls=(call,)),
        )
    )
    judgements = tuple(replace(each, conversation=said) for each in found.judgements)
    return replace(found, judgements=judgements)
