"""Ask the world without ever waiting for it endlessly."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")


class LateError(Exception):
    """There was no answer in time."""


class Inquiry(Generic[T]):
    """One question, asked in a thread of its own. `ask` gets an event that is set when its time is up.

    The thread may hang in a call that nothing ends (a name that is looked up, a process that the kernel does not
    let go): it is left behind, and does not keep this process from ending.
    """

    def __init__(self, ask: Callable[[threading.Event], T], *, patience: float) -> None:
        self._ask = ask
        self._cancel = threading.Event()
        self._done = threading.Event()
        self._answer: T | None = None
        self._error: BaseException | None = None
        self._deadline = time.monotonic() + patience
        threading.Thread(target=self._run, name="inquiry", daemon=True).start()

    def answer(self) -> T:
        """Return the answer, or raise what asking raised.

        Raises:
            LateError: the time was up before there was one.
        """
        if not self._done.wait(max(0.0, self._deadline - time.monotonic())):
            self.cancel()
            raise LateError
        if self._error is not None:
            raise self._error
        return self._answer  # type: ignore[return-value] # where there is no error there is an answer

    @property
    def done(self) -> bool:
        """Tell whether the thread has ended."""
        return self._done.is_set()

    def cancel(self) -> None:
        """Tell the thread that nobody waits any more."""
        self._cancel.set()

    def settle(self, deadline: float) -> None:
        """Let the thread put away what it has started, until a moment of the monotonic clock."""
        self._done.wait(max(0.0, deadline - time.monotonic()))

    def _run(self) -> None:
        try:
            self._answer = self._ask(self._cancel)
        except BaseException as error:  # noqa: BLE001 - raised again where the answer is wanted
            self._error = error
        finally:
            self._done.set()


def end(inquiries: Iterable[Inquiry[object]], *, grace: float) -> None:
    """Cancel all, and give them together so many seconds to put away what they have started."""
    pending = list(inquiries)
    for inquiry in pending:
        inquiry.cancel()
    deadline = time.monotonic() + grace
    for inquiry in pending:
        inquiry.settle(deadline)
