"""What a visitor compares: kept with the program, so that it survives switching views."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

MOST_PLANS = 4
_LONGEST_WINDOW = 80
MODES = {
    "runtimes": "Runtimes",
    "layouts": "Layouts and differences",
    "gap": "Where the gap is",
    "time": "Where the time goes",
    "layers": "Layers",
    "roofline": "Roofline",
    "peak": "Peak advisor",
}


@dataclass
class Comparison:
    """The compared plans, and what each mode of the page shows of them.

    - `plans` by name: the first is the baseline, the second is held against it.
    - `window`: what the link wants the layouts to show, as the browser wrote it.
    - `group`, `slot`: what is selected in the layouts (-1: nothing); a new `nonce` makes the
      browser take them over. `followed`: the slot and group of the table row that was brought into
      sight last.
    - `peak_slot`: -1 for the fullest.
    - `expected`: plans that a link names, in its order, until all have been made.
    - `edition` counts changes from elsewhere than the widgets, which otherwise keep what they were
      given.
    """

    mode: str = "runtimes"
    plans: list[str] = field(default_factory=list)
    is_diff: bool = False
    window: str = ""
    group: int = -1
    slot: int = -1
    nonce: int = 0
    followed: tuple[int, int] = (-1, -1)
    peak_plan: str = ""
    peak_slot: int = -1
    wanted_mib: float = 8.0
    expected: list[str] = field(default_factory=list)
    edition: int = 0

    def settle(self, ranked_names: list[str]) -> None:
        """Make `plans` two to four existing ones, as far as there are two; best plans first."""
        # What fills the place of an expected plan until it is made goes when it comes.
        wished = self.expected or self.plans
        kept = [name for name in dict.fromkeys(wished) if name in ranked_names]
        if self.expected and all(name in ranked_names for name in self.expected):
            self.edition += self.plans != kept
            self.expected = []
        others = [name for name in ranked_names if name not in kept]
        while len(kept) < 2 and others:
            kept.append(others.pop(0))
        self.plans = kept[:MOST_PLANS]
        if self.peak_plan not in ranked_names:
            self.peak_plan = ranked_names[0] if ranked_names else ""

    def hold(self, baseline: str, against: str) -> None:
        """Show the layouts of two plans, one against the other."""
        self.mode, self.plans, self.expected = "layouts", [baseline, against], []
        self.edition += 1

    def select(self, group: int, slot: int) -> None:
        """Bring a tensor and a slot into sight in all panels."""
        self.group, self.slot, self.nonce = group, slot, self.nonce + 1

    def to_query(self) -> dict[str, str]:
        """The query parameters of a link that shows this comparison again."""
        plans = self.expected or self.plans
        query = {"mode": self.mode, "plans": ",".join(map(_in_list, plans))}
        if self.mode == "layouts":
            query |= {"diff": "1"} if self.is_diff else {}
            query |= {"group": str(self.group)} if self.group >= 0 else {}
        if self.mode == "peak":
            query |= {"peak": self.peak_plan, "free": f"{self.wanted_mib:g}"}
        if self.mode in ("layouts", "peak"):
            slot = self.peak_slot if self.mode == "peak" else self.slot
            query |= {"slot": str(slot)} if slot >= 0 else {}
        return query

    def take_query(self, query: Mapping[str, str]) -> None:
        """Take over the parameters of a link, as `to_query` writes them; nonsense is ignored."""
        if query.get("mode") in MODES:
            self.mode = query["mode"]
        wished = query.get("plans", "").split(",")
        self.expected = [unquote(name) for name in wished if name][:MOST_PLANS]
        self.is_diff = query.get("diff") == "1"
        self.window = query.get("window", "")[:_LONGEST_WINDOW]
        self.group = _number(query.get("group", ""))
        slot = _number(query.get("slot", ""))
        if self.mode == "peak":
            self.peak_slot, self.peak_plan = slot, query.get("peak", "")
            self.wanted_mib = _size(query.get("free", ""), self.wanted_mib)
        else:
            self.slot = slot
        self.nonce += 1


def _in_list(name: str) -> str:
    """A name as it stands in a list: a comma of its own does not end it; `unquote` undoes it."""
    return name.replace("%", "%25").replace(",", "%2C")


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 9 else -1


def _size(text: str, otherwise: float) -> float:
    try:
        size = float(text)
    except ValueError:
        return otherwise
    return size if 0 < size < 2**20 else otherwise
