"""Personas: how a brand speaks, what it says and what it never says; read from YAML and checked.

id: atlas
examples: [texts as the brand writes them]
lexicon: {preferred: [words and phrases], avoided: [...]}
traits: {formality: casual, tone: [friendly], verbosity: concise}
safety: {policies: [{name, severity, phrases, patterns}], topics: [subjects that the brand avoids]}
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from simeval.cli.output import exit_status, show, write_text
from simeval.core.terminal import counted_of
from simeval.core.validation import require, require_one_of
from simeval.core.yaml_files import located, read_yaml
from simeval.core.yaml_records import validated
from simeval.errors import DefinitionError, SuiteFileError

Severity = Literal["critical", "high", "medium", "low"]
Formality = Literal["formal", "business_casual", "casual"]
Verbosity = Literal["concise", "balanced", "detailed"]

SEVERITIES: tuple[Severity, ...] = get_args(Severity)
FORMALITIES: tuple[Formality, ...] = get_args(Formality)
VERBOSITIES: tuple[Verbosity, ...] = get_args(Verbosity)
TONES = ("professional", "friendly", "technical", "conversational")  # the ones that are measured

OTHER_NAMES: Mapping[str, str] = {  # of Alignmenter's documents and files
    "qid": "id",
    "display_name": "name",
    "exemplars": "examples",
    "avoid": "avoided",
    "safety_rules": "safety",
    "disallowed_topics": "topics",
    "brand_notes": "notes",
}

FEW_EXAMPLES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Something that must not be said: phrases, matched as words whatever their case, and regular expressions.

    `severity` sets the cost of one occurrence: critical everything, high 0.5, medium 0.2, low 0.1.
    """

    name: str
    severity: Severity
    phrases: Sequence[str] = ()
    patterns: Sequence[str] = ()

    def __post_init__(self) -> None:
        where = f"policy {self.name!r}"
        require(bool(self.name), "policy", found=self.name, do="give it a name")
        require_one_of(self.severity, SEVERITIES, f"{where}: severity")
        for name in ("phrases", "patterns"):
            require_texts(getattr(self, name), f"{where}: {name}")
        require(bool(self.phrases or self.patterns), where, found="nothing to match", do="give phrases or patterns")
        for pattern in self.patterns:
            try:
                matches_nothing = re.compile(pattern).fullmatch("") is not None
            except (re.error, OverflowError, RecursionError) as error:
                do = f"correct the regular expression ({error})"
                raise DefinitionError(f"{where}: patterns", found=f"found {pattern!r}", do=do) from error
            require(not matches_nothing, f"{where}: patterns", found=pattern, do="give one that matches some text")


@dataclass(frozen=True, slots=True, kw_only=True)
class Persona:
    """The voice of a brand. A part it leaves out is not measured.

    `examples` are texts as it writes them. `tone` may hold words besides TONES: a judge sees them, no detector knows
    them. A judge sees `topics` too.
    """

    id: str
    name: str = ""
    description: str = ""
    examples: Sequence[str] = ()
    preferred: Sequence[str] = ()
    avoided: Sequence[str] = ()
    formality: Formality | None = None
    tone: Sequence[str] = ()
    verbosity: Verbosity | None = None
    policies: Sequence[Policy] = ()
    topics: Sequence[str] = ()

    def __post_init__(self) -> None:
        require(isinstance(self.id, str) and bool(self.id), "persona: id", found=self.id, do="give it a name")
        where = f"persona {self.id!r}"
        for name in ("examples", "preferred", "avoided", "tone", "topics"):
            require_texts(getattr(self, name), f"{where}: {name}")
        require_one_of(self.formality, (None, *FORMALITIES), f"{where}: formality")
        require_one_of(self.verbosity, (None, *VERBOSITIES), f"{where}: verbosity")
        for word in self.tone:
            _require_tone(word, f"{where}: tone")
        _require_apart(self.preferred, self.avoided, f"{where}: lexicon")
        usable = isinstance(self.policies, (list, tuple)) and all(isinstance(each, Policy) for each in self.policies)
        require(usable, f"{where}: policies", found=self.policies, do="give a list of Policy")
        _require_distinct([policy.name for policy in self.policies], f"{where}: policies")

    @property
    def unmeasured(self) -> tuple[str, ...]:
        """The words of its tone that no detector has."""
        return tuple(word for word in self.tone if word not in TONES)


def require_texts(found: object, where: str) -> None:
    """Raise a DefinitionError unless `found` is a sequence of texts, none of them blank."""
    listed = isinstance(found, (list, tuple)) and all(isinstance(each, str) and each.strip() for each in found)
    require(listed, where, found=found, do="give a list of texts, none of them empty")


def _require_tone(word: str, where: str) -> None:
    close = [] if word in TONES else get_close_matches(word, TONES, n=1, cutoff=0.8)
    require(not close, where, found=word, do=f"did you mean {', '.join(close)}?")


def _require_apart(preferred: Sequence[str], avoided: Sequence[str], where: str) -> None:
    both = sorted({word.casefold() for word in preferred} & {word.casefold() for word in avoided})
    require(not both, where, found=both, do="name each as preferred or as avoided, not as both")


def _require_distinct(names: Sequence[str], where: str) -> None:
    require(len({*names}) == len(names), where, found=names, do="give each a name of its own")


def _tone(word: str) -> str:
    _require_tone(word, "tone")
    return word


Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Texts = list[Text]
Tone = Annotated[Text, AfterValidator(_tone)]


class _Record(BaseModel):
    """A mapping in a persona's file."""

    model_config = ConfigDict(frozen=True)

    @model_validator(mode="wrap")
    @classmethod
    def _has_known_fields(cls, found: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        made: Self = validated(found, validate, names=[*cls.model_fields])
        return made


class _Lexicon(_Record):
    preferred: Texts = Field(default_factory=list)
    avoided: Texts = Field(default_factory=list)

    @field_validator("avoided")
    @classmethod
    def _is_apart(cls, avoided: Texts, read: ValidationInfo) -> Texts:
        _require_apart(read.data.get("preferred", []), avoided, "lexicon")
        return avoided


class _Traits(_Record):
    formality: Formality | None = None
    tone: Tone | list[Tone] = Field(default_factory=list)
    verbosity: Verbosity | None = None


class _Voice(_Traits):
    lexicon: _Lexicon | None = None


class _Policy(_Record):
    name: Text
    severity: Severity = "medium"
    phrases: Texts = Field(default_factory=list)
    patterns: Texts = Field(default_factory=list)

    @model_validator(mode="after")
    def _is_usable(self) -> Self:
        self.make()
        return self

    def make(self) -> Policy:
        return Policy(**self.model_dump())


class _Safety(_Record):
    policies: list[_Policy] = Field(default_factory=list)
    topics: Texts = Field(default_factory=list)

    @field_validator("policies")
    @classmethod
    def _are_distinct(cls, policies: list[_Policy]) -> list[_Policy]:
        _require_distinct([policy.name for policy in policies], "policies")
        return policies


class _Persona(_Record):
    id: Text
    name: str = ""
    description: str = ""
    notes: Any = None  # for people
    examples: Texts = Field(default_factory=list)
    lexicon: _Lexicon | None = None
    traits: _Traits | None = None
    voice: _Voice | None = None
    safety: _Safety = Field(default_factory=_Safety)

    @model_validator(mode="after")
    def _is_usable(self) -> Self:
        self.make()
        return self

    def make(self) -> Persona:
        voice = self.voice or _Voice()
        require(self.traits is None or self.voice is None, "persona", found="traits and voice", do="give one of them")
        twice = self.lexicon is not None and voice.lexicon is not None
        require(not twice, "persona", found="lexicon and voice.lexicon", do="give one of them")
        lexicon, traits = self.lexicon or voice.lexicon or _Lexicon(), self.traits or voice
        return Persona(
            id=self.id,
            name=self.name,
            description=self.description,
            examples=self.examples,
            preferred=lexicon.preferred,
            avoided=lexicon.avoided,
            formality=traits.formality,
            tone=[traits.tone] if isinstance(traits.tone, str) else traits.tone,
            verbosity=traits.verbosity,
            policies=[policy.make() for policy in self.safety.policies],
            topics=self.safety.topics,
        )


def load_persona(path: str | Path) -> Persona:
    """Read a persona from a YAML file, by simeval's names or Alignmenter's. Raises SuiteFileError."""
    path = Path(path)
    node, data = read_yaml(path, renamed=OTHER_NAMES)
    if data is None:
        raise SuiteFileError(str(path), line=1, field="", found="the file is empty", do="give the persona an id")
    try:
        return _Persona.model_validate(data).make()
    except ValidationError as error:
        raise located(path, node, error) from error


def as_persona(given: object) -> Persona:
    """Return a persona as it is, or the one in the file of this path. Raises DefinitionError."""
    if isinstance(given, Persona):
        return given
    if isinstance(given, (str, Path)):
        return load_persona(given)
    raise DefinitionError("persona", found=f"found {given!r:.80}", do="give a Persona, or the path of its YAML file")


@exit_status
def write_persona(path: Path) -> None:
    """Write a commented persona; return 0, or 2 if there is such a file already."""
    if path.exists():
        raise DefinitionError(f"{str(path)!r}", found="there is such a file already", do="name another one")
    write_text(str(path), Path(__file__).with_name("persona.yaml").read_text("utf-8"))
    show(f"wrote {path}\nnow edit it, and run: simeval persona check {path}", None)


@exit_status
def check_persona(path: Path) -> None:
    """Report the measures of a persona; return 0, or 2 for a mistake in it."""
    show("\n".join(_said(load_persona(path))), None)


def _said(persona: Persona) -> Iterator[str]:
    """Return a line for each part of authenticity, and for safety: its contents, or that it is not measured."""
    n = len(persona.examples)
    few = f"; give {FEW_EXAMPLES} or more, as style is the likeness to the nearest" if n < FEW_EXAMPLES else ""
    yield f"persona {persona.id}" + (f" ({persona.name})" if persona.name else "")
    yield f"style      {counted_of(n, 'example')}{few}" if n else "style      not measured: there are no examples"
    traits = [persona.formality, *(word for word in persona.tone if word in TONES), persona.verbosity]
    measured = ", ".join(trait for trait in traits if trait)
    yield f"traits     {measured}" if measured else "traits     not measured: there is none that a detector knows"
    if persona.unmeasured:
        yield f"           not measured, as no detector has them: {', '.join(persona.unmeasured)}"
    avoided = f"{len(persona.avoided)} avoided"
    yield (
        f"lexicon    {len(persona.preferred)} preferred, {avoided}"
        if persona.preferred
        else f"lexicon    not measured: there are no preferred words ({avoided})"
    )
    yield f"safety     the built-in rules and policies of its own: {len(persona.policies)}"
    yield "whether the number means what people call on brand: simeval persona calibrate"
