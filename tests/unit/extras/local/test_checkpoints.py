"""What can be said of a local model before anything is loaded."""

import pytest

from simeval.errors import DefinitionError
from simeval.extras.local import checkpoints
from simeval.scorers import SentimentScorer, ToxicityScorer


@pytest.mark.parametrize("made", [SentimentScorer, ToxicityScorer])
def test_without_torch_it_is_said_before_a_run_what_does_without_it(
    made: type[SentimentScorer] | type[ToxicityScorer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "find_spec", lambda _: None)

    with pytest.raises(DefinitionError, match=r"torch and transformers are not installed.*'lexicon'.*'hashed'"):
        made()
