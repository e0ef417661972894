"""The styles that simulated users write in, one drawn for each trial."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

from simeval.core.validation import require

PERSONA = "persona"  # the key in a conversation's style of the persona of its user, if there is a mix of users


@dataclass(frozen=True, slots=True, kw_only=True)
class WritingStyleAxes:
    """The values from which a simulated user's writing style is drawn, one from each axis."""

    proficiency: Sequence[str] = (
        "Writes at a primary-school level.",
        "Makes frequent spelling and grammar mistakes.",
        "Writes clearly, with a few small mistakes.",
        "Writes correct, everyday language.",
        "Writes flawlessly, with a rich vocabulary.",
    )
    tone: Sequence[str] = (
        "Warm and enthusiastic.",
        "Polite.",
        "Curious.",
        "Neutral and direct.",
        "Sceptical.",
        "A little confused.",
        "Impatient.",
        "Annoyed.",
    )
    verbosity: Sequence[str] = (
        "Very terse (1-5 words).",
        "Short (5-15 words).",
        "Medium (15-40 words).",
        "Detailed (40-100 words).",
        "Rambling (more than 100 words).",
    )
    formality: Sequence[str] = (
        "Very formal.",
        "Formal.",
        "Neutral.",
        "Casual.",
        "Very casual, with slang, abbreviations or emojis.",
    )

    def __post_init__(self) -> None:
        for axis in fields(self):
            values = getattr(self, axis.name)
            require(
                not isinstance(values, str) and len(values) > 0 and all(isinstance(v, str) and v for v in values),
                f"WritingStyleAxes.{axis.name}",
                found=values,
                do="give a list of one or more texts",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class WritingStyleConfig:
    """Whether simulated users write in varied styles, and which."""

    enabled: bool = True
    axes: WritingStyleAxes = field(default_factory=WritingStyleAxes)

    def draw(self, seed: int) -> Mapping[str, str] | None:
        """Draw the style of the trial that has this seed; None where styles are off."""
        if not self.enabled:
            return None
        from simeval.core import seeds  # loads hashlib, which a command that only shows its help does not need

        random = seeds.generator(seed, "writing style")
        return {axis.name: random.choice(list(getattr(self.axes, axis.name))) for axis in fields(self.axes)}


DEFAULT_STYLE = WritingStyleConfig()
