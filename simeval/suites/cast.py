"""The roles of a suite, and where each is set: an error about one of them names its place."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from simeval.errors import DefinitionError, SuiteFileError

if TYPE_CHECKING:
    from simeval.suites.apps.http_app import HttpApp
    from simeval.suites.apps.socket_app import SocketApp

MODELS = ("judge_model", "user_model")
ROLES = ("app", *MODELS)
ESCALATE = "escalate"  # a setting about the judges: it has a place as roles have


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a file: the file, its line from 1, and the path of the field."""

    file: str
    line: int
    field: str


@dataclass(frozen=True, slots=True)
class Cast:
    """The roles of a suite: the app, the judges, the simulated user; each by its name, as on the command line.

    A file may also describe the app: a URL with the request to send and the place of the answer. `places` holds the
    place of each role that is set in a file, and of each part of a described app ("app.headers").
    """

    app: "str | HttpApp | SocketApp | None" = None
    judge_model: Sequence[str] = ()
    user_model: str | None = None
    places: Mapping[str, Place] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, found: Mapping[str, Any], places: Mapping[str, Place]) -> Self:
        """Return the cast in a mapping with other entries, which are at these places."""
        return cls(**{name: found[name] for name in ROLES if name in found}, places=places)

    def over(self, other: "Cast") -> "Cast":
        """Return this cast, with another's roles for those it leaves open."""
        taken = [name for name in ROLES if not getattr(self, name)]
        places = {name: place for name, place in other.places.items() if name.partition(".")[0] in (*taken, ESCALATE)}
        found: dict[str, Any] = {name: getattr(other, name) for name in taken}
        return replace(self, **found, places={**self.places, **places})

    @contextmanager
    def placed(self, *roles: str) -> Iterator[None]:
        """Add the place of the role to an error about one of these roles."""
        try:
            yield
        except DefinitionError as error:
            place = next((self.places.get(role) for role in roles if self._is_about(role, error.where)), None)
            if place is None:
                raise
            place, part = self.places.get(error.where, place), error.where.removeprefix("app ").removeprefix("handler")
            is_told = part in ("", *ROLES, ESCALATE, *self.places) or part.startswith("app: ")  # a part of its address
            at = place.field if is_told else f"{place.field}: {part}"
            raise SuiteFileError(place.file, line=place.line, field=at, found=error.found, do=error.do) from error

    def _is_about(self, role: str, what: str) -> bool:
        """Return whether an error names a role as `what`: "app 'shop:handle'", "app handler", "model 'openai/gpt'"."""
        if role == "app":
            return what == "app" or what.startswith(("app ", "app.", "app: ")) or what == f"model {self.app!r}"
        named = self.judge_model if role == "judge_model" else [self.user_model]
        return what == role or what in [f"model {name!r}" for name in named]
