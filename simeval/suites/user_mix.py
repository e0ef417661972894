"""Users who are not all alike: personas with their shares, one drawn for each trial."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isclose

from simeval.core.redaction import clean_values
from simeval.core.user_measures import MEASURES
from simeval.core.validation import require
from simeval.errors import DefinitionError
from simeval.suites.script import Step

SHARES_OFF = 0.005  # the tolerance of the sum of shares: they are often rounded
LONGEST_NAME = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class UserPersona:
    """One kind of user: a description, in a sentence or more, and its share of all users, from 0 to 1.

    `style` is how it writes, by the names of the writing styles' axes or of others, such as language: a text, or texts
    with their shares, one drawn for each trial. Axes it leaves out are drawn as always. Reports call it by its `name`,
    by default the beginning of the sentence. If it has `scripts`, each a list of steps as a scenario's `script` is, one
    of them is drawn for a trial and takes its place.
    """

    persona: str
    share: float
    name: str = ""
    style: Mapping[str, str | Mapping[str, float]] = field(default_factory=dict)
    scripts: Sequence[Sequence[Step]] = ()

    def __post_init__(self) -> None:
        is_text = isinstance(self.persona, str) and bool(self.persona.strip())
        require(is_text, "UserPersona.persona", found=self.persona, do="say who the user is, in a sentence")
        do = "give a text, or leave it out"
        require(isinstance(self.name, str), "UserPersona.name", found=self.name, do=do)
        is_share = isinstance(self.share, int | float) and not isinstance(self.share, bool) and 0 < self.share <= 1
        where = f"UserPersona {self.title!r}"
        require(is_share, f"{where}: share", found=self.share, do="give a number above 0, up to 1")
        usable = isinstance(self.style, Mapping) and all(
            isinstance(name, str) and name and _is_drawable(value) for name, value in self.style.items()
        )
        do = "give texts by names, such as {tone: Impatient.}, or texts with shares that add up to 1"
        require(usable, f"{where}: style", found=self.style, do=do)
        is_list = not isinstance(self.scripts, str) and isinstance(self.scripts, Sequence)
        require(is_list, f"{where}: scripts", found=self.scripts, do="give a list of scripts, each a list of Steps")

    @property
    def title(self) -> str:
        """The name in reports."""
        flat = " ".join(self.persona.split()).rstrip(".")
        return self.name or (flat if len(flat) <= LONGEST_NAME else f"{flat[: LONGEST_NAME - 1].rstrip()}…")

    def drawn_style(self, seed: int) -> dict[str, str]:
        """Return how this persona writes in the trial that has this seed."""
        from simeval.core import seeds  # loads hashlib, which a command that only shows its help does not need

        def drawn(name: str, value: str | Mapping[str, float]) -> str:
            if isinstance(value, str):
                return value
            return seeds.generator(seed, "persona", name).choices([*value], [*value.values()])[0]

        return {name: drawn(name, value) for name, value in self.style.items()}

    def script(self, seed: int) -> Sequence[Step]:
        """Return its script in the trial that has this seed; empty if it has no scripts."""
        from simeval.core import seeds  # loads hashlib, which a command that only shows its help does not need

        return seeds.generator(seed, "script").choice(self.scripts) if self.scripts else ()


def _is_drawable(value: object) -> bool:
    """Return whether a value of a style is a text, or texts with shares that add up to 1."""
    if not isinstance(value, Mapping):
        return isinstance(value, str) and bool(value)
    texts = all(isinstance(text, str) and text for text in value)
    shares = all(isinstance(share, int | float) and share > 0 for share in value.values())
    return texts and shares and isclose(sum(value.values()), 1, abs_tol=SHARES_OFF)


@dataclass(frozen=True, slots=True)
class UserMix:
    """Personas whose shares add up to 1: every trial has one of them, drawn by its seed.

    The verdict is on the mix: the rate for users who are distributed so. `logs` are the figures that a run compares its
    users with: the mean, standard deviation and number of conversations of each measure (`fit_users` has them).
    """

    mix: Sequence[UserPersona]
    logs: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        do = "give personas, each with its share"
        usable = isinstance(self.mix, Sequence) and len(self.mix) > 0
        require(usable and all(isinstance(each, UserPersona) for each in self.mix), "UserMix", found=self.mix, do=do)
        titles = [each.title for each in self.mix]
        twins = sorted({title for title in titles if titles.count(title) > 1})
        if twins:
            raise DefinitionError("UserMix", found=f"two personas are called {twins}", do="give each its own name")
        total = sum(each.share for each in self.mix)
        fits = isclose(total, 1, abs_tol=SHARES_OFF)
        if not fits:
            raise DefinitionError("UserMix", found=f"the shares add up to {total:g}", do="let them add up to 1")
        is_measured = isinstance(self.logs, Mapping) and all(
            name in MEASURES and _is_spread(value) for name, value in self.logs.items()
        )
        do = f"give mean, standard deviation and number of conversations of {', '.join(MEASURES)}, as fit_users does"
        require(is_measured, "UserMix.logs", found=self.logs, do=do)

    def draw(self, seed: int) -> UserPersona:
        """Return the persona of the trial that has this seed."""
        from simeval.core import seeds  # loads hashlib, which a command that only shows its help does not need

        [drawn] = seeds.generator(seed, "persona").choices(self.mix, [each.share for each in self.mix])
        return drawn

    def cleaned(self, clean: Callable[[str], str]) -> "UserMix":
        """Return the mix with `clean`, which takes secrets out, applied to every text."""
        cleaned = [
            replace(
                each,
                persona=clean(each.persona),
                name=clean(each.name),
                style=clean_values(each.style, clean),
                scripts=each.scripts and [[step.cleaned(clean) for step in script] for script in each.scripts],
            )
            for each in self.mix
        ]
        return self if cleaned == [*self.mix] else UserMix(cleaned, self.logs)


def _is_spread(value: object) -> bool:
    """Return whether a value is a mean, a standard deviation and a number of conversations."""
    if not isinstance(value, Sequence) or not all(isinstance(each, int | float) for each in value):
        return False
    return len(value) == 3 and value[1] >= 0 and value[2] >= 1
