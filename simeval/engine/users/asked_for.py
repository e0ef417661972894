"""What a scenario asks of its user that would be a fault elsewhere: to repeat itself, say nothing, contradict itself.

Told by the words of `given` and `when`, English and a few German ones; a scenario says the rest itself, as its
`allowed_user_faults`.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

from simeval.core.conversation import UserFaultKind
from simeval.suites.scenario import ScenarioTest

_STAFF = r"(?:\w+\s+){0,3}?(?:assistant|bot|chatbot|agent|ai|model|developer|admin\w*|employee|staff|colleague|support)"
_TOLD = r"(?:numbers?|codes?|ids?|e-?mails?|address\w*|details|data|names?|identifiers?|facts?)"
_RULES = r"(?:\w+\s+){0,3}?(?:polic\w+|rules?|terms|instructions?|prompt|guidelines?|expect\w+)"

_WORDS: Mapping[UserFaultKind, str] = {
    "repeats_itself": r"""repeat\w*|repetit\w*|verbatim|word\s+for\s+word|(?:over\s+and\s+over|again\s+and\s+again)
        |same\s+(?:\w+\s+)?(?:questions?|messages?|sentences?|words?|thing|requests?|complaints?|demands?|phrases?)
        |keeps?\s+(?:on\s+)?(?:asking|saying|sending|insisting|demanding|writing)|spam\w*
        |(?:three|four|five|several|many|\d+)\s+times|nothing\s+but|wiederhol\w*|immer\s+wieder|(?:die|das|den)selben?""",
    "speaks_as_assistant": rf"""pretend\w*|impersonat\w*|pos(?:es?|ing)\s+as|role-?play\w*|inject\w*|jailbreak\w*
        |(?:claim\w*\s+to\s+be|act\w*\s+(?:as|like)|speak\w*\s+(?:as|like)|plays?)\s+{_STAFF}
        |(?:swap|switch|revers)\w*\s+(?:the\s+)?roles|offer\w*\s+(?:\w+\s+){{0,2}}help|as\s+if\s+(?:he|she|it|they)\s+(?:was|were)|gibt\s+sich""",
    "empty_message": r"""empty|blank|gibberish|silen\w*|nonsens\w*|says?\s+nothing|punctuation|white\s?space|dots|spaces
        |random\s+(?:\w+\s+)?(?:characters|letters|keys|signs|symbols)|key-?smash\w*|emojis?
        |without\s+(?:any\s+)?(?:text|words)|leere\w*|schweig\w*""",
    "left_while_asked": r"""leav\w+\s+(?:the\s+(?:chat|conversation)|abruptly|suddenly|without|in\s+the\s+middle|mid)
        |hangs?\s+up|hanging\s+up|abandon\w*|walks?\s+away|disappear\w*|ghosts\s+(?:it|them|the)|logs?\s+off
        |(?:stop\w*|without)\s+(?:answering|replying|responding)|bricht\b[^.]*\bab""",
    "never_states_goal": r"""insult\w*|swear\w*|curs(?:es?|ing)|abus\w*|small\s?-?talk|chit-?chat|chats?\s+about
        |off-?topic|unrelated|irrelevant|vague\w*|hint(?:s|ing)?|impl(?:y|ies|ying)|indirect\w*|beat\w*\s+around
        |(?:never|not|without)\s+(?:\w+\s+)?(?:say(?:s|ing)?|stat(?:es?|ing)|nam(?:es?|ing))\s+(?:what|why|its|his|her|their)
        |gibberish|nonsens\w*|empty|silen\w*|inject\w*|jailbreak\w*|prompts?|contradict\w*|repeat\w*|pretend\w*
        |(?:chang|switch)\w*\s+(?:the\s+)?(?:subject|topic)|evad\w*|tests?\s+(?:whether|if|how)|provok\w*|manipulat\w*|trick\w*|threat\w*
        |suicid\w*|self-?harm\w*|beleidig\w*|deutet""",
    "leaks_expectation": rf"(?:quot|recit|cit|past|copi|read)(?:e|es|s|ing)\s+(?:out\s+)?{_RULES}|zitier\w*",
    "changes_fact": rf"""contradict\w*|inconsisten\w*|ma(?:kes?|king)\s+up|invent\w*|guess\w*|mistyp\w*|typos?
        |misspel\w*|mis-?remember\w*|chang\w*\s+(?:his|her|their)\s+(?:\w+\s+)?(?:story|stories|statements?|answers?|claims?|{_TOLD})
        |(?:wrong|false|fake|invalid|incorrect|made[-\s]up|fictitious|different|another|non-?existent)\s+
            (?:\w+\s+){{0,2}}{_TOLD}
        |correct(?:s|ing)\s+(?:\w+\s+){{0,3}}(?:\w+sel\w+|{_TOLD})|mix(?:es|ing)\s+up|widerspr\w*|falsche\w*""",
    "switches_language": r"""code-?switch\w*|hinglish|spanglish|denglis\w*|franglais
        |(?:bi|multi)lingual\w*|languages?|sprachen?|foreign\s+words?|\w+\s+tongue""",
}
_ASKED = {kind: re.compile(rf"\b(?:{words})\b", re.IGNORECASE | re.VERBOSE) for kind, words in _WORDS.items()}


def asked_for(scenario: ScenarioTest) -> frozenset[UserFaultKind]:
    """Return the faults that are none in a scenario: those it allows, and what its `given` and `when` ask for."""
    return frozenset(scenario.allowed_user_faults) | _in_words(f"{scenario.given}\n{scenario.when}")


@lru_cache(maxsize=1_000)
def _in_words(script: str) -> frozenset[UserFaultKind]:
    return frozenset(kind for kind, words in _ASKED.items() if words.search(script))
