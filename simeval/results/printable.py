"""The common methods of every result of a run: to show itself, in a notebook too, and to be asserted."""

from abc import ABC, abstractmethod
from html import escape

from simeval.core.markdown import LONGEST_REPORT, fenced


class Printable(ABC):
    """A result's own display: its report, in a notebook too, and a line in a traceback."""

    __slots__ = ()

    def __bool__(self) -> bool:
        """Raise TypeError: an assertion on a result means whether it passed, and a failed one exists, too."""
        raise TypeError("a result is neither true nor false; use result.passed, or result.assert_passed()")

    @abstractmethod
    def text(self) -> str:
        """Return the report, as wide as a page; `print` makes it fit the terminal."""

    def assert_passed(self) -> None:
        """Raise AssertionError with the report as its text, unless every verdict is a pass."""
        if not getattr(self, "passed", False):
            raise AssertionError(self.text())

    def to_markdown(self) -> str:
        """Return the report as Markdown for a pull request or a CI job's summary, of at most 60 kB."""
        return fenced(self.text(), LONGEST_REPORT)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text())}</pre>"
