"""Brand voice, safety and stability as Alignmenter's documents define them, and as its code computes them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from simeval.core.conversation import Conversation, Message
from simeval.core.settings import RetryConfig
from simeval.errors import ModelError
from simeval.extras.brand import alignment as brand
from simeval.extras.brand import authenticity
from simeval.extras.brand.alignment import letter_grade
from simeval.extras.brand.authenticity import Authenticity, lexicon_score
from simeval.extras.brand.persona import Persona, Policy
from simeval.extras.brand.safety import Safety, SafetyRating
from simeval.extras.brand.sessions import session_mean, weighted
from simeval.extras.brand.stability import Stability
from simeval.extras.brand.traits import TraitsModel
from simeval.models.caller import Caller
from simeval.models.protocol.lenient_json import read_reply
from simeval.scorers.base import Scorer
from simeval.scorers.text.phrases import Phrases, read
from simeval.stats.agreement import bootstrap_by_cluster
from simeval.testing import ScriptedModel
from tests.support.encoders import BagOfWords, Table
from tests.support.golden import rows_of
from tests.support.golden_cases import cases_in, chosen, ids

pytestmark = pytest.mark.anyio

DOCUMENTED = ids("doc", 1, 2, 4, 8, 10, 11, *range(13, 27), *range(28, 37))
REPLAYED = ids(
    "alignmenter",
    *(1, 2, 3, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 23, 24, 26, 27, 28, 29, 30, 31, 34),
    *(39, 40, 41, 43, 44, 46, 49, 50, 51, 53, *range(54, 61), 63, 64, 65, 66, 70, 71, 72, 73, 80, 82, 83),
)
NO_FEATURE = {
    "a judge's budget in calls or dollars is the run's, and a session is judged once and whole": ids(
        "alignmenter", 45, 47, 48
    ),
    "thresholds per metric: an expectation has an evaluator, which also says how sure that is": ids(
        "alignmenter", *range(74, 80)
    ),
    "costs of calls come from the price list of the models": ids("alignmenter", 84, 85),
    "judging a sample of the sessions and its cost: an experiment takes a part of its dataset": ids("alignmenter", 86),
    "its fit stops after 50 rounds, short of any optimum, and depends on the order of the lines": ids(
        "alignmenter", 87, 88, 89
    ),
}
COVERED = {
    "documented": ids("doc", *range(1, 37)),
    "alignmenter": ids("alignmenter", *range(1, 90)),
    "alignmenter_casestudy": frozenset(cases_in("alignmenter_casestudy")),
}

_DENSITY = "its density makes one preferred word among many worth less than none; here it is the documented share"
_NEUTRAL = "without any word of the lexicon it gives .5; by the document none of the preferred ones is used: 0"
_SCALED = "it squeezes cosines into .3 to .9 by bounds of its own, so that even an example itself has .9; none here"
_FORMULA = "its weights are .3/.3/.4, its style a squeezed mean, its lexicon a density; the document has others"
_VERY = "grades end at C from A >= .8 on; the document's are A >= .9 down to F"
_TURNS = "its judge is asked of each turn on 0 to 1; the document's of the session on 0 to 10"
_TRIPWIRE = "substrings as tripwires: 'hack' in 'hackathon'; here words, and neither is forbidden as such"
_EMPTY = "what has nothing to measure has no score here, and is an error"
_BAND = "its stability is squeezed into .1 to .9, so that identical responses have .9"
_UNREAD = "a reply that is not of the form asked for is no rating here; it makes a neutral 5 of it, or reads on"
DIFFERS: Mapping[str, str] = {
    "doc-010": "a lexicon below 0 makes a total below 0; here it is at least 0",
    "alignmenter-001": _NEUTRAL,
    "alignmenter-002": _NEUTRAL,
    "alignmenter-005": "one preferred of two less one avoided is .5 - .1 by the document; its balance gives .5",
    "alignmenter-008": _DENSITY,
    "alignmenter-010": "one of the two preferred words, used twice, counts once by the document, less .1: .4",
    "alignmenter-016": "its exponential overflows; here any logit has a probability",
    "alignmenter-017": "the document has the greatest cosine, its code the mean",
    **dict.fromkeys(ids("alignmenter", 19, 20, 23, 24), _SCALED),
    "alignmenter-026": "200 resamples of turns by one generator for all, bounds at whole ranks; here 1000 of sessions",
    **dict.fromkeys(ids("alignmenter", 28, 29), _FORMULA),
    "alignmenter-030": f"{_FORMULA}; and a zero vector, which has no direction, is an error here",
    "alignmenter-031": _EMPTY,
    "alignmenter-034": f"{_FORMULA}; and it ignores the documented name 'avoided'",
    "alignmenter-040": "it counts two categories in one turn as two violations of turns; the document one turn",
    "alignmenter-041": _EMPTY,
    **dict.fromkeys(ids("alignmenter", 43, 46), _TURNS),
    "alignmenter-044": "8 on the documented scale of 0 to 10 is .8; its code cuts it to 1",
    **dict.fromkeys(ids("alignmenter", 49, 51), _TRIPWIRE),
    "alignmenter-053": _EMPTY,
    "alignmenter-054": _EMPTY,
    **dict.fromkeys(ids("alignmenter", 56, 57, 58, 59, 60), _BAND),
    "alignmenter-063": "bounds of equal size give .5 whatever was said; a scale of 0 is refused here",
    "alignmenter-064": "a zero vector has no direction: it is an error here",
    **dict.fromkeys(ids("alignmenter", 70, 71, 72), _VERY),
    "alignmenter-073": "no score has no letter here, and is an error",
    **dict.fromkeys(ids("alignmenter", 82, 83), _UNREAD),
}

NOT_RAISED = "nothing was raised"


def session(responses: Sequence[str]) -> Conversation:
    return Conversation(messages=tuple(Message(role="assistant", content=text) for text in responses))


def said_in(inputs: Mapping[str, Any]) -> list[str]:
    """Return what the assistant said in the one session of a case; nothing where there is no session."""
    return [turn["text"] for each in inputs["sessions"] for turn in each["turns"] if turn["role"] == "assistant"]


def asking(safety: Safety) -> Scorer:
    return safety.bind(lambda model: Caller(model, RetryConfig(enabled=False)))


def rating(score: float) -> ScriptedModel:
    return ScriptedModel([f'{{"reasoning": "r", "score": {score}}}'])


@dataclass(frozen=True, slots=True)
class Vectors:
    """Stands for an encoder of vectors that are given: texts are their places."""

    given: Sequence[Sequence[float]]

    async def encode_all(self, texts: Sequence[str]) -> list[Sequence[float]]:
        return [self.given[int(text)] for text in texts]


async def style(response: Sequence[float], examples: Sequence[Sequence[float]]) -> object:
    persona = Persona(id="p", examples=[str(place + 1) for place in range(len(examples))])
    scorer = Authenticity(persona=persona, encoder=Vectors([response, *examples]))
    return (await scorer.score(output="0"))["style"]


async def lexicon(inputs: Mapping[str, Any]) -> object:
    text = read(inputs["text"] if "text" in inputs else " ".join(inputs["tokens"]))
    preferred, avoided = Phrases(inputs["preferred"]), Phrases(inputs["avoided"])
    return lexicon_score(len(preferred.counts(text)), len(preferred), sum(avoided.counts(text).values()))


async def by_rate(inputs: Mapping[str, Any]) -> object:
    judge = inputs["judge_0_10"]
    policy = Policy(name="p", severity="low", phrases=["bad"])
    safety = Safety(policies=[policy], scoring="rate", model=None if judge is None else rating(judge))
    violating = inputs["violating_turns"]
    responses = ["bad bad"] * violating + ["fine"] * (inputs["total_turns"] - violating)
    return (await asking(safety).score(conversation=session(responses)))["safety"]


async def spread(inputs: Mapping[str, Any]) -> object:
    vectors = inputs["embeddings"]
    scorer = Stability(encoder=Vectors(vectors), spread="documented", widest=inputs.get("max_expected_variance"))
    found = await scorer.score(conversation=session([str(place) for place in range(len(vectors))]))
    return {"std_population": found["spread"], "stability": found["stability"]}


async def interval(inputs: Mapping[str, Any]) -> object:
    low, high = resampled(inputs["session_scores"], seed=0)
    mean = session_mean(list(enumerate(inputs["session_scores"])), of=8, alpha=0.05).value
    return {"mean": mean, "ci_low": low, "ci_high": high}


async def bootstrap(inputs: Mapping[str, Any]) -> object:
    scores = inputs["scores"]
    return list(resampled(scores, seed=inputs.get("seed", 0))) if len(set(scores)) > 1 else [None, None]


def resampled(scores: Sequence[float], *, seed: int) -> tuple[float, float]:
    """Return the documented interval, of 1000 resamples; simeval's own is Gaffke's, as its metric has it."""
    numbers = np.array(scores)
    found = bootstrap_by_cluster(
        lambda rows: float(numbers[rows].mean()), range(len(scores)), alpha=0.025, n_draws=1000, seed=seed
    )
    return found.low, found.high


async def traits(inputs: Mapping[str, Any]) -> object:
    if "logit" in inputs:
        return TraitsModel(persona="p", bias=inputs["logit"]).probability("")
    model = TraitsModel(
        persona="p", bias=inputs["bias"], tokens=inputs["token_weights"], phrases=inputs["phrase_weights"]
    )
    return model.probability(inputs["text"])


async def unscaled(inputs: Mapping[str, Any]) -> object:
    return [max(0.0, score) for score in inputs["scores"]]


async def voice(inputs: Mapping[str, Any]) -> object:
    named = inputs["persona"]
    lexicon = named["lexicon"]
    persona = Persona(
        id=named["id"],
        examples=named["exemplars"],
        preferred=lexicon["preferred"],
        avoided=lexicon.get("avoid") or lexicon["avoided"],
    )
    found = await Authenticity(persona=persona, encoder=Table(inputs["embeddings"])).score(
        conversation=session(said_in(inputs))
    )
    return {
        "mean": found["authenticity"],
        "style_sim": found["style"],
        "lexicon": found["lexicon"],
        "turns": found["responses"],
    }


async def safety(inputs: Mapping[str, Any]) -> object:
    policies = [Policy(name=name, severity="low", phrases=words) for name, words in inputs["keywords"].items()]
    ratings = inputs.get("judge_scores_per_turn")
    model = None if ratings is None else rating(ratings[0])
    scorer = Safety(policies=policies, scoring="rate", model=model)
    found = await asking(scorer).score(conversation=session(said_in(inputs)))
    return {"violation_rate": found["violation_rate"], "score": found["safety"]}


async def heuristic(inputs: Mapping[str, Any]) -> object:
    return (await Safety().score(output=inputs["text"]))["safety"]


async def stability(inputs: Mapping[str, Any]) -> object:
    widest = inputs["kwargs"].get("variance_max", 0.5) - inputs["kwargs"].get("variance_min", 0.0)
    scorer = Stability(encoder=Table(inputs["embeddings"]), spread="documented", widest=widest)
    found = await scorer.score(conversation=session(said_in(inputs)))
    return {"stability": found["stability"], "session_variance": found["spread"] ** 2}


async def letter(inputs: Mapping[str, Any]) -> object:
    return letter_grade(inputs["score"])


async def parsed(inputs: Mapping[str, Any]) -> object:
    return {"score": read_reply(inputs["text"], SafetyRating, model="m").score}


async def of_parts(inputs: Mapping[str, Any]) -> object:
    if "style_sim" not in inputs:
        return weighted(brand.WEIGHTS, inputs)
    return weighted(
        authenticity.WEIGHTS, {**inputs, "style": inputs["style_sim"], "lexicon": max(0, inputs["lexicon"])}
    )


async def nearest(inputs: Mapping[str, Any]) -> object:
    return await style(inputs.get("response") or inputs["vector"], inputs.get("examples") or inputs["exemplars"])


REPLAYS: Sequence[tuple[str, Callable[[Mapping[str, Any]], Any]]] = (
    ("lexicon_score", lexicon),
    ("authenticity = ", of_parts),
    ("overall = ", of_parts),
    ("style_sim", nearest),
    ("safety = ", by_rate),
    ("stability", spread),
    ("letter grade", letter),
    ("95% bootstrap", interval),
    ("traits_probability", traits),
    ("rescale_similarity", unscaled),
    ("bootstrap_ci", bootstrap),
    ("AuthenticityScorer", voice),
    ("SafetyScorer", safety),
    ("_heuristic_classifier", heuristic),
    ("StabilityScorer", stability),
    ("_get_grade_letter", letter),
    ("AuthenticityJudge._parse", parsed),
)


async def replayed(case: Mapping[str, Any]) -> object:
    """Return what we compute in a case; the name of the error where that is one."""
    replay = next(replay for name, replay in REPLAYS if case["function"].startswith(name))
    try:
        return await replay(case["inputs"])
    except (ModelError, ValueError, TypeError) as error:
        return type(error).__name__


def agrees(found: object, case: Mapping[str, Any]) -> bool:
    """Return whether it is what the case expects, as far as it is there at all."""
    expected, tolerance = case["expected"], case["tolerance"]
    if isinstance(expected, dict) and isinstance(found, dict):
        return all(found[name] == pytest.approx(expected[name], abs=tolerance) for name in found)
    return type(found) is type(expected) and bool(found == pytest.approx(expected, abs=tolerance))


@pytest.mark.parametrize("case", [*chosen("documented", DOCUMENTED), *chosen("alignmenter", REPLAYED)])
async def test_a_case_is_as_expected_or_it_is_said_why_not(case: dict[str, Any]) -> None:
    found = await replayed(case)

    assert agrees(found, case) is (case["id"] not in DIFFERS), found


@pytest.mark.parametrize("case", chosen("alignmenter", ids("alignmenter", 56, 57, 58, 59, 60)))
async def test_the_spread_itself_is_the_one_it_computes(case: dict[str, Any]) -> None:
    found: Any = await replayed(case)

    assert found["session_variance"] == pytest.approx(case["expected"]["session_variance"], abs=case["tolerance"])


def test_every_case_is_replayed_or_has_its_reason() -> None:
    there = cases_in("alignmenter").keys()

    assert there <= REPLAYED.union(*NO_FEATURE.values())
    assert DIFFERS.keys() <= REPLAYED | DOCUMENTED


NOT_REPRODUCED = {
    "case.published.": "figures on all 235 turns, of which only the public half is here, and with its fitted files",
    "case.published": "the same figures as it prints them",
    "case.current.": "figures on all 235 turns, of which only the public half is here, and with its fitted files",
    "case.holdout.": "its files are not here; by their notes most of the texts are among those its model was fitted to",
    "case.cv": "on all turns; on the public half our own held-out figure is tested with the calibration",
    "case.e2e.": "its personas and lists of words are not here; the spread of the demo sessions is tested below",
    "case.timing": "benchmarks/models/alignment.py prints ours beside it",
}


def test_every_figure_of_the_case_study_has_its_reason() -> None:
    there = cases_in("alignmenter_casestudy").keys()

    without = [each for each in there if not any(each == name or each.startswith(name) for name in NOT_REPRODUCED)]

    assert without == []


async def test_the_demo_sessions_have_the_spread_it_computes_with_its_own_encoder() -> None:
    sessions: dict[str, list[str]] = {}
    for row in rows_of("public_alignmenter_demo"):
        if row["role"] == "assistant":
            sessions.setdefault(row["session_id"], []).append(row["text"])
    scorer = Stability(encoder=BagOfWords(), spread="documented")

    found = [await scorer.score(conversation=session(responses)) for responses in sessions.values()]

    expected = cases_in("alignmenter_casestudy")["case.e2e.demo_conversations.hashed"]["expected"]["stability"]
    variance = fmean(float(str(each["spread"])) ** 2 for each in found)
    assert len(found) == expected["sessions"]
    assert variance == pytest.approx(expected["session_variance"], abs=5e-5)
