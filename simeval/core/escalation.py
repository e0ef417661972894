"""When one judge hands a conversation on to another: a rule in words, such as "rating 4..8 or cannot tell"."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from simeval.core.rubric_levels import HIGHEST, LOWEST
from simeval.core.setting_field import VERDICTS, about, require_part
from simeval.errors import DefinitionError

WHEN_UNTOLD = "cannot tell"
ESCALATION = "escalation"  # of a score's details: each judge's rating, and why the second was asked
_BAND = re.compile(r"rating (\d+(?:\.\d+)?)\.\.(\d+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class EscalationRule:
    """The ratings of the first judge, both ends among them, and the rulings, that do not settle a conversation."""

    band: tuple[float, float] | None = None
    when_untold: bool = False

    @classmethod
    def of(cls, text: object, name: str = "escalate") -> Self:
        """Return the rule in a text. Raises DefinitionError."""
        parts = text.split(" or ") if isinstance(text, str) else []
        bands = [found for part in parts if (found := _BAND.fullmatch(part.strip()))]
        untold = [part for part in parts if part.strip() == WHEN_UNTOLD]
        is_read = parts and len(bands) + len(untold) == len(parts) and len(bands) < 2 and len(untold) < 2
        band = (float(bands[0][1]), float(bands[0][2])) if bands else None
        if not is_read or (band and not LOWEST <= band[0] <= band[1] <= HIGHEST):
            do = f'write "rating 4..8", with ratings from {LOWEST} to {HIGHEST}, "{WHEN_UNTOLD}", or both with "or"'
            raise DefinitionError(name, found=f"found {text!r:.80}", do=do)
        return cls(band=band, when_untold=bool(untold))

    def takes(self, rating: float) -> bool:
        """Return whether a conversation with this rating is handed on."""
        return self.band is not None and self.band[0] <= rating <= self.band[1]


def _require_rule(value: object, name: str) -> None:
    EscalationRule.of(value, name)


def require_two(judges: Sequence[str], when: str | None) -> None:
    """Raise a DefinitionError where something is to be escalated and there are not two judges for that."""
    do = "name two: judge_model=[FIRST, SECOND], or --judge-model FIRST --judge-model SECOND"
    if when is not None and len(judges) != 2:
        raise DefinitionError("escalate", found=f"the judges are {', '.join(judges)}", do=do)


def judges_said(judges: Sequence[str], when: str | None) -> str:
    """Describe the judges in words: a panel, or one judge that escalates to another, and when."""
    return " + ".join(judges) if when is None else f"{judges[0]} (escalating to {judges[1]} at {when})"


WHEN = about(
    VERDICTS,
    'When the first of two judges passes a conversation on to the second: "rating 4..8", "cannot tell", or both.',
    flag="--escalate",
    metavar="WHEN",
    unset="several judges are a panel",
    check=_require_rule,
)
AUDIT = about(
    VERDICTS,
    "Share of what the first judge settles that the second rates too, to see whether they agree.",
    flag="--escalation-audit",
    check=require_part,
)
