"""Local encoders: loaded once, averaged over a text's own tokens, and said clearly where they cannot be used."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from simeval.errors import DefinitionError, ModelUnusable
from simeval.models.encoder import TransformersEncoder
from simeval.scorers.embeddings import EmbeddingSimilarity

pytestmark = pytest.mark.anyio

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "cat", "dog", "sat", "on", "the", "mat", "a")
LONGEST = 16


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of a tiny encoder with random weights."""
    torch = pytest.importorskip("torch", reason="torch is not installed: the extra 'local' was not tried")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    made = tmp_path_factory.mktemp("encoder")
    (made / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=LONGEST,
    )
    transformers.BertModel(config).save_pretrained(made)
    transformers.BertTokenizer(str(made / "vocab.txt")).save_pretrained(made)
    return made


def test_a_text_has_the_same_vector_alone_and_beside_a_longer_one(folder: Path) -> None:
    encoder = TransformersEncoder(str(folder))

    (alone,) = encoder.encode(["the cat"])
    beside, _ = encoder.encode(["the cat", "the dog sat on the mat"])

    assert len(alone) == 16
    assert beside == pytest.approx(alone, abs=1e-5)


def test_a_text_longer_than_the_model_takes_is_cut(folder: Path) -> None:
    encoder = TransformersEncoder(str(folder))

    long, longer = encoder.encode(["cat " * LONGEST, "cat " * LONGEST * 100])

    assert longer == pytest.approx(long, abs=1e-5)


async def test_a_folder_is_an_embedding_model(folder: Path) -> None:
    by_path = EmbeddingSimilarity(model=folder)
    by_name = EmbeddingSimilarity(model=f"local/{folder}")

    found = [await scorer.score(output="the cat", reference="the cat") for scorer in (by_path, by_name)]
    other = await by_path.score(output="the cat", reference="dog sat on")

    assert found == [{"similarity_score": pytest.approx(1), "is_similar": True}] * 2
    assert other["similarity_score"] < 0.99  # type: ignore[operator]


def test_a_folder_without_a_model_cannot_be_used(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelUnusable, match="unknown_model"):
        TransformersEncoder(str(tmp_path)).encode(["a cat"])


@pytest.mark.skipif(find_spec("torch") is not None, reason="torch is installed")
async def test_without_torch_it_is_said_what_to_install() -> None:
    with pytest.raises(DefinitionError, match=r"local/models/e5.*pip install 'simeval\[local\]'"):
        await EmbeddingSimilarity(model=Path("models/e5")).score(output="a", reference="b")
