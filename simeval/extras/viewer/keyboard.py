"""The keys of a terminal, one by one: none is lost that is typed while something else goes on, and none is shown."""

import codecs
import os
import re
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from simeval.errors import DefinitionError

_KEY = re.compile("\x1b\\[[0-9;]*[A-Za-z~]|.", re.DOTALL)  # an arrow is a sequence


class Keyboard:
    """Hands out keys as they are typed. Ctrl-C is none: it raises KeyboardInterrupt."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._typed: deque[str] = deque()

    def key(self) -> str:
        """Wait for the next key. Raises EOFError if the terminal has gone."""
        while not self._typed:
            found = os.read(self._descriptor, 1024)
            if not found:
                raise EOFError
            self._typed += _KEY.findall(self._decoder.decode(found))
        return self._typed.popleft()


@contextmanager
def keyboard() -> Iterator[Keyboard]:
    """Take the keys of standard input, until this is left. Raises DefinitionError if that is impossible."""
    try:
        import termios
        import tty
    except ImportError as error:
        do = "write a file of labels with `simeval people agree RESULT --sample N --out FILE`"
        raise DefinitionError("label", found="keys cannot be read on this system", do=do) from error
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor, termios.TCSADRAIN)
    try:
        yield Keyboard(descriptor)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
