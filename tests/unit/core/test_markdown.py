"""Texts in Markdown: shown as they are, by a parser of GitHub's kind."""

import re
from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from simeval.core.markdown import BREAK, Part, escaped, fenced, fitted, folded, table_head, table_row
from simeval.core.terminal import one_line

TAG = re.compile(r"<[^>]*>")
HOSTILE = [
    "@octocat and @org/team",
    "<img src=x onerror=alert(1)> </details></summary>",
    "| a | b |",
    "# no heading",
    "- no item",
    "1. no item",
    "= no heading",
    "> no quote",
    "`code` **bold** _em_ ~~gone~~ ![i](http://x.y) [l](//x.y)",
    "https://example.com www.example.com a@b.com #12 o/r#3 GH-12",
    "$5 and $10",
    "&amp; &#64;octocat",
    "\x1b[2J\u202egnp.exe\u2028two\r\nlines",
    "\\| \\` \\@octocat",
]
texts = st.text(alphabet=st.characters(codec="utf-8"), max_size=60) | st.lists(
    st.sampled_from([*"@#|`*_[]<>&~$!-+=.)(\\ 1a\n\t:/", "www.", "://", "GH-", "```"]), max_size=25
).map("".join)


def rendered(source: str) -> str:
    return str(MarkdownIt("gfm-like", {"linkify": False}).render(source))


def shown(html: str) -> str:
    """Return what a reader sees of a page without tags."""
    return unescape(TAG.sub("", html)).replace(BREAK, "").replace("\u2068", "").replace("\u2069", "").strip()


@settings(max_examples=200)
@given(text=st.sampled_from(HOSTILE), more=texts)
def test_a_text_in_a_cell_is_shown_as_it_is(text: str, more: str) -> None:
    said = text + more

    html = rendered(f"{table_head(['a', 'b'])}\n{table_row([escaped(said), 'next'])}")
    cells = re.findall(r"<td>(.*?)</td>", html, re.DOTALL)

    assert shown(cells[0]) == one_line(said).replace(BREAK, "")
    assert cells[1:] == ["next"]
    assert not TAG.search(cells[0])


@pytest.mark.parametrize("text", HOSTILE)
def test_a_text_is_shown_as_it_is_where_a_paragraph_begins(text: str) -> None:
    html = rendered(f"said before\n{escaped(text)}")

    assert shown(html) == f"said before\n{one_line(text)}"
    assert TAG.findall(html) == ["<p>", "</p>"]


@given(text=texts)
def test_nobody_is_mentioned_and_no_issue_referred_to(text: str) -> None:
    seen = unescape(escaped(f"{text}@octocat #12 GH-3 www.x.y http://x.y"))

    assert not re.search(r"@\w|#\w|GH-\w|www\.\w|://", seen)


@given(text=texts)
def test_what_is_fenced_and_folded_cannot_get_out(text: str) -> None:
    html = rendered(f"{folded(escaped(text), fenced(text))}\n\nafter")

    assert html.startswith("<details><summary>")
    assert re.fullmatch(
        r"<details><summary>[^<]*</summary>\n<pre><code[^>]*>[^<]*</code></pre>\n</details>\n<p>after</p>\n", html
    )


def test_a_long_block_names_what_was_left_out_of_its_middle() -> None:
    block = fenced("a" * 5_000 + "b" * 5_000, 1_000)

    assert "9,000 characters are left out here" in block
    assert "aaa" in block
    assert "bbb" in block


def test_a_page_names_what_did_not_fit_and_keeps_its_first_blocks() -> None:
    rows = Part(noun="row", blocks=[table_row([f"{n}" * 50]) for n in range(9)], head=table_head(["n"]), is_table=True)
    blocks = Part(noun="conversation", blocks=["c" * 300, "d" * 300, "e" * 300])

    page = fitted("# head", [rows, blocks], "foot", whole="`simeval show` shows it.", most=1_600)

    assert len(page.encode()) <= 1_600
    assert "Left out, to stay within 1 kB: 2 of 3 conversations. `simeval show` shows it." in page
    assert "c" * 300 in page
    assert page.endswith("foot\n")


def test_a_page_on_which_all_fits_speaks_of_no_cut() -> None:
    page = fitted("# head", [Part(noun="row", blocks=["a", "b"])], whole="elsewhere")

    assert page == "# head\n\na\n\nb\n"


def test_a_block_keeps_what_is_written_from_right_to_left() -> None:
    line = "user  \u2068إلغاء\u2069 now"

    assert fenced(line) == f"```text\n{line}\n```"
    assert fenced("\u2068\u2068now") == "```text\nnow\n```"
