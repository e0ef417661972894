"""A.L.I.C.E., the rule-based chatterbot, as an app under test, through the package python-aiml.

Her AIML files are under the GNU General Public License. They come with python-aiml, a dependency of the
tests alone; nothing of them is copied here. She picks among her answers at random, from a state of her own
that no run's seed reaches, so two runs of one seed can differ in what she says.
"""

import importlib
import uuid
import warnings
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from simeval import AppResponse

State = dict[str, object]

# What her templates say of herself; they leave a gap for whatever is not set.
PROFILE = {
    "name": "Alice",
    "kingdom": "machine",
    "phylum": "computer",
    "class": "program",
    "order": "robot",
    "family": "chatterbot",
    "genus": "AIML interpreter",
    "species": "robot",
    "gender": "female",
    "botmaster": "botmaster",
    "master": "whoever started me",
}
MISSING = "A.L.I.C.E. needs the package python-aiml: pip install python-aiml"


async def handle(message: str, state: State) -> AppResponse:
    """Answer one message in the conversation's own session.

    The first call loads her 98,000 patterns, which takes some seconds; the event loop stands still for it, so that
    other conversations' clocks do not start meanwhile.
    """
    session = str(state.get("session") or uuid.uuid4())
    answer = _kernel().respond(message, session)
    return AppResponse(str(answer), {**state, "session": session})


@cache
def _kernel() -> Any:
    """Load A.L.I.C.E. once, in silence. Raises ImportError where python-aiml is not installed."""
    aiml = _import_aiml()
    kernel = aiml.Kernel()
    kernel.verbose(False)
    for name, value in PROFILE.items():
        kernel.setBotPredicate(name, value)
    brain = Path(str(aiml.__file__)).parent / "botdata" / "alice"
    for file in sorted(brain.glob("*.aiml")):
        kernel.learn(str(file))
    return kernel


def _import_aiml() -> ModuleType:
    """Import python-aiml, whose old syntax newer Pythons warn about."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module("aiml")
    except ImportError as error:
        raise ImportError(MISSING) from error
