"""Who plays whom in a suite, and where that is said: what is wrong with one of them is told with its place."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Self

from simeval.errors import DefinitionError, SuiteFileError
from simeval.suites.apps.http_app import HttpApp
from simeval.suites.apps.socket_app import SocketApp

MODELS = ("judge_model", "user_model")
ROLES = ("app", *MODELS)
ESCALATE = "escalate"  # a setting that is about who judges: it has a place as roles have


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands: a file, a line of it from 1, and the path of the field."""

    file: str
    line: int
    field: str


@dataclass(frozen=True, slots=True)
class Cast:
    """Who plays whom: the app, the judges, the simulated user; each by its name, as the command line takes it.

    A file may also describe the app: a URL with what is sent to it and where its answer is. `places` says for each
    role that stands in a file where that is, and for each part of an app that is described ("app.headers").
    """

    app: str | HttpApp | SocketApp | None = None
    judge_model: Sequence[str] = ()
    user_model: str | None = None
    places: Mapping[str, Place] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, found: Mapping[str, Any], places: Mapping[str, Place]) -> Self:
        """Return the cast that a mapping has among other things, which stand at these places."""
        return cls(**{name: found[name] for name in ROLES if name in found}, places=places)

    def over(self, other: "Cast") -> "Cast":
        """Return this cast, with another's where it names nobody."""
        taken = [name for name in ROLES if not getattr(self, name)]
        places = {name: place for name, place in other.places.items() if name.partition(".")[0] in (*taken, ESCALATE)}
        found: dict[str, Any] = {name: getattr(other, name) for name in taken}
        return replace(self, **found, places={**self.places, **places})

    @contextmanager
    def placed(self, *roles: str) -> Iterator[None]:
        """Let an error about one of these roles say where that one stands."""
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
