"""Place: where things stand when a text is changed, and when it is translated. It does not know what the things are."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final, final

from regard.serve.said import Joined, Span

Change = tuple[int, int, str]  # of a text: from, to, what stands there instead


@final
class Edit:
    """A text before and after some changes, which stand in order and share no character."""

    def __init__(self, text: str, changes: Sequence[Change]) -> None:
        parts: list[str] = []
        self._before: list[Span] = []
        self._after: list[Span] = []
        self._changed: list[bool] = []
        reached = length = 0
        for start, end, new in [*changes, (len(text), len(text), "")]:
            for old, written, changed in (
                (text[reached:start], text[reached:start], False),
                (text[start:end], new, True),
            ):
                self._before.append((reached, reached + len(old)))
                self._after.append((length, length + len(written)))
                self._changed.append(changed)
                parts.append(written)
                reached, length = reached + len(old), length + len(written)
        self.text: Final = "".join(parts)

    def forward(self, span: Span) -> Span:
        """Where it stands afterwards; what was changed, as a whole."""
        return self._moved(span, self._before, self._after)

    def back(self, span: Span) -> Span:
        """Where it stood before."""
        return self._moved(span, self._after, self._before)

    def _moved(self, span: Span, here: Sequence[Span], there: Sequence[Span]) -> Span:
        first, last = self._part(span[0], here), self._part(max(span[1] - 1, span[0]), here)
        start = there[first][0] + (0 if self._changed[first] else span[0] - here[first][0])
        end = there[last][1] if self._changed[last] else there[last][0] + span[1] - here[last][0]
        return start, max(start, end)

    def _part(self, at: int, here: Sequence[Span]) -> int:
        """The part that holds a character: the last one that begins there or before, for empty ones come first."""
        return max(0, bisect_right(here, at, key=lambda span: span[0]) - 1)


@final
class Gaps:
    """Where in a translation something goes that stood between two words of the source.

    Behind what the word before it became; at the beginning or the end where it stood there.
    """

    def __init__(self, links: Sequence[Joined], length: int) -> None:
        ends: dict[int, int] = {}
        for each in links:
            ends[each.source[0]] = max(ends.get(each.source[0], 0), each.target[1])
        self._starts = sorted(ends)
        self._ends = [ends[start] for start in self._starts]
        self._last = max((each.source[1] for each in links), default=0)
        self._length = length

    def at(self, place: int) -> int:
        """Before character `place` of the source, here."""
        before = bisect_left(self._starts, place)
        if before == len(self._starts) and place >= self._last and place > 0:
            return self._length
        return self._ends[before - 1] if before else 0
