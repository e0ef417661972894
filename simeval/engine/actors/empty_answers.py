"""An app whose answers have no text: most often its handler returns the wrong thing, and people look at the verdict."""

from dataclasses import dataclass, field

from simeval.core.logs import warn_all
from simeval.core.trial import Judgement

FIRST_FEW = 5  # conversations before the warning
EMPTY = (
    "your app's answers are empty; look at what its handler returns, or, of an app at a URL, at what `simeval probe` "
    "understands"
)


@dataclass(slots=True)
class EmptyAnswers:
    """Checks whether an app has sent any text, and warns once if it has not in the first few conversations."""

    has_spoken: bool = field(default=False, init=False)
    _answered: int = field(default=0, init=False)

    def take(self, judgement: Judgement) -> None:
        """Look at one more trial that counts."""
        answers = judgement.conversation.responses
        self.has_spoken |= any(answer.content.strip() or answer.tool_calls for answer in answers)
        self._answered += bool(answers)
        if self._answered == FIRST_FEW and answers and self.said:
            warn_all(EMPTY)

    @property
    def said(self) -> str:
        """Return a note if the app has answered without any text; else ""."""
        return EMPTY if self._answered and not self.has_spoken else ""
