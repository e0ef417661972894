"""The work of `simeval persona init` and `check`: a persona to start from, and the list of its measures."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from simeval.cli.output import show, status_of, write_text
from simeval.core.terminal import counted_of
from simeval.errors import DefinitionError
from simeval.extras.brand.persona import TONES, Persona, load_persona

FEW_EXAMPLES = 10
PERSONA = """\
# A persona: how a brand speaks. Check it with
#   simeval persona check persona.yaml
# and measure recorded conversations by it with
#   simeval score log.jsonl --scorers alignment --persona persona.yaml

id: mybrand
name: My brand
examples:    # texts as the brand writes them, some ten or more: style is the likeness to the nearest
  - Happy to take a look. What does the screen say?
  - That's on us. A new one ships today.
lexicon:     # words and phrases, found as whole words, whatever their case
  preferred: [on us, happy to, take a look]
  avoided: [per our policy, valued customer]
traits:
  formality: business_casual        # formal, business_casual or casual
  tone: [friendly, professional]    # professional, friendly, technical, conversational
  verbosity: concise                # concise, balanced or detailed
safety:      # what must not be said, beside what nobody should ever say
  policies:
    - {name: rivals, severity: medium, phrases: [Acme]}    # critical, high, medium or low
  topics: [politics]                # a judge is told them
"""


def write_persona(path: Path) -> int:
    """Write a commented persona; return 0, or 2 if there is such a file already."""
    return status_of(partial(_write, path))


def check_persona(path: Path) -> int:
    """Report the measures of a persona; return 0, or 2 for a mistake in it."""
    return status_of(partial(_check, path))


def _write(path: Path) -> None:
    if path.exists():
        raise DefinitionError(f"{str(path)!r}", found="there is such a file already", do="name another one")
    write_text(str(path), PERSONA)
    show(f"wrote {path}\nnow edit it, and run: simeval persona check {path}", None)


def _check(path: Path) -> None:
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
