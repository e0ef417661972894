"""A model's thoughts before its answer, if its server leaves them in the reply: they are no part of the answer.

    <think> … </think> the answer
             … </think> the answer      the opening tag was in the template of the prompt
    <think> …                           no answer: it was cut, or never came

A tag within a JSON object, or in quotes, is only mentioned.
"""

import re

from simeval.errors import MalformedReply
from simeval.models.protocol.lenient_json import objects_in

MOST_TAGS = 50  # looked at in one reply

_NAMES = ("think", "thinking", "thought", "thoughts", "reason", "reasoning", "reflection", "scratchpad", "analysis")
_TAGS = (  # that begin a thought, and that end it
    *((rf"<(?:\w+[:_])?{name}(?:\s[^<>]*)?>", rf"</(?:\w+[:_])?{name}\s*>") for name in _NAMES),  # DeepSeek, Qwen, GLM
    (r"\[think\]", r"\[/think\]"),  # Magistral
    (r"◁think▷", r"◁/think▷"),  # Kimi-VL
    (r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),  # Sky-T1
    (r"<\|start_thinking\|>", r"<\|end_thinking\|>"),  # Command A
    (r"<\|channel\|>(?:analysis|commentary)[^<>]*<\|message\|>", r"<\|channel\|>final[^<>]*<\|message\|>"),  # gpt-oss
    (r"<unused94>", r"<unused95>"),  # MedGemma
)
_TAG = re.compile("|".join(f"(?P<b{n}>{b})|(?P<e{n}>{e})" for n, (b, e) in enumerate(_TAGS)), re.IGNORECASE)
_MENTIONED = "`'\"“‘"  # before a tag
_ANSWER = re.compile(r"\A\s*<(answer|response|final_answer)>(.*?)(?:</\1>\s*)?\Z", re.DOTALL | re.IGNORECASE)
_TOKENS = re.compile(r"\A\s*(?:<\|\w+\|>\s*)+|(?:<\|\w+\|>\s*)+\Z")


def answer_in(text: str, model: str, *, is_prose: bool = False) -> str:
    """Return a reply without the thoughts before the answer.

    In `prose`, such as an app's answer, an opening tag counts only at the beginning of a line. Raises MalformedReply if
    there are only thoughts.
    """
    may_have_tags = "<" in text or "[" in text or "◁" in text  # quicker than the search alone
    if not may_have_tags or _TAG.search(text) is None:
        return text
    begins = 0  # of the answer, as far as is known
    for _ in range(MOST_TAGS):
        tag = _next_tag(text, begins, is_prose=is_prose)
        if tag is None:
            return text if begins == 0 else _unwrapped(text[begins:])
        end = tag if _ends(tag) else _end_of(text, tag)
        if end is None:
            break
        begins = end.end()
    raise MalformedReply(model, problem="it has only thoughts, and no answer after them", reply=text)


def _next_tag(text: str, start: int, *, is_prose: bool) -> re.Match[str] | None:
    """Return the first tag from a place on that isn't only mentioned."""
    objects_end, mentioned = start, set[str]()
    for tag in _TAG.finditer(text, start):
        if tag.start() < objects_end:
            continue
        around = [each for each in objects_in(text, objects_end) if each.value and each.start < tag.start() < each.end]
        if around:
            objects_end = around[0].end
            continue
        line = text[: tag.start()].rpartition("\n")[2]
        is_within = is_prose and not _ends(tag) and line.strip()
        if is_within or line.endswith(tuple(_MENTIONED)) or (_ends(tag) and _kind(tag) in mentioned):
            mentioned.add(_kind(tag))
            continue
        return tag
    return None


def _end_of(text: str, opening: re.Match[str]) -> re.Match[str] | None:
    """Return the tag that ends a thought."""
    later = _TAG.finditer(text, opening.end())
    return next((tag for tag in later if _ends(tag) and _kind(tag) == _kind(opening)), None)


def _ends(tag: re.Match[str]) -> bool:
    return str(tag.lastgroup).startswith("e")


def _kind(tag: re.Match[str]) -> str:
    return str(tag.lastgroup)[1:]


def _unwrapped(answer: str) -> str:
    """Return an answer without the tokens or the tag around it."""
    answer = _TOKENS.sub("", answer)
    found = _ANSWER.match(answer)
    return (found[2] if found else answer).strip()
