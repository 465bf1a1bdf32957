"""The section `mutants`: what no test notices of the changes that `make mutants` made to the code.

`mutmut` (settings in `pyproject.toml`) breaks one place at a time and runs the tests that pass
there. A mutant that survives is a hole in the tests, or changes nothing that can be seen:
`HARMLESS` says which do, and why. Writes `docs/results/mutants.md`.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.rows import RESULTS, ROOT
from benchmarks.settings import Settings
from engine.errors import UsageError
from engine.files import write_bytes

KILLED, SURVIVED = 1, 0
TIMED_OUT = (24, 36, 152, 255, -24)
"""Exit codes of mutmut: a test failed, all passed, or the tests took far too long (a loop)."""
TABLE = RESULTS / "mutants.md"
HARMLESS = {
    r"\+.*dtype=None": "numpy infers the same type from these values",
    r"\+.*\], \)": "numpy infers the same type from these values",
    r"\+.*strict=(None|False)": "both have equally many entries: one was made for the other",
    r"\+.*zip\(.*, \)": "both have equally many entries: one was made for the other",
    r"\+.*range\(last \+ 2\)": "one more empty list, which no slot asks for",
    r"\+.*else 1\.0": "without idle time nothing is served, so the pace is not read",
    r"\+.*is_prefetch != direction": "both heads are served for equally long, in either order",
    r"\+.*stays\.get\(copy\.group, (None)?\)": "the checker refuses copies without a stay",
    r"\+.*\] = \"\"": "a dictionary that stands for an ordered set: its values are not read",
    r"\+.*asarray\(batch\.view, (None)?\)": "float16 views times float32 weights are float32",
    r"\+.*is_prefetch=None": "only whether it is true is read",
    r"\+.*self\._made": "the order among boxes of equal bounds",
    r"\+.*\"run_crossover\", \"OFF\"": "HiGHS takes both",
    r"\+.*np\.clip\(finite": "what the solver returns is out of its box by tolerances alone",
    r"\+.*(_refused\(None|action=None)": "`effect_of` says which action it was",
    r"\+.*asarray\(self\.(entries|columns), (None)?\)": "numpy and HiGHS take the same of a list",
    r"\+.*free_since >= run\.start": "what begins there already begins there anew",
    r"\+.*early\.start <= run\.start": "an equal start is the same run",
    r"\+.*num_ample > 1\)": "with one ample slot, the oldest, no slot is before the first",
    r"\+.*if place else -2": "no group is born before slot -1",
    r"\+.*enumerate\(begins, 1\)\), default=1\)": "one is few, as none is",
}
"""Changes that nobody can see, by a pattern of the changed line, and why."""

HEAD = """# Mutants

`make mutants` breaks the judges of plans, the rules of the game and the losses in one place after
another (`mutmut`) and runs tests that pass there; the section `mutants` of the benchmarks makes
this page. *Killed*: a test failed, or ran for ever. *Harmless*: the change cannot be seen, for the
reason stated in `benchmarks/mutants.py`. Where not all of a module's mutants were tried, those that
were are a random sample, by the tests that `pyproject.toml` names. All tests kill at least as many.
*Version*: the module's content (SHA-256) when it was broken; *earlier*: it was changed since, or
its version is not known.

| module | mutants | tried | killed | harmless | left | killed or harmless of tried | version |
|---|--:|--:|--:|--:|--:|--:|---|
"""
LEFT = "\n## Left\n"
EARLIER = "earlier"


@dataclass(frozen=True)
class Mutant:
    """A change of one place; `reason`: why a survivor is harmless, if that is known.

    `is_killed`: None if it has not been tried.
    """

    name: str
    module: str
    is_killed: bool | None
    change: str = ""
    reason: str = ""


def run(section: str, settings: Settings) -> None:
    """Read what the last `mutmut run` left, and write the page."""
    del section, settings
    all_mutants = list(mutants(ROOT))
    if not all_mutants:
        raise UsageError("no mutants were tried; run `make mutants`")
    text = page(all_mutants, TABLE.read_text() if TABLE.exists() else "", ROOT)
    write_bytes(TABLE, text.encode())
    print(text)


def mutants(folder: Path) -> Iterator[Mutant]:
    """All mutants below `folder`, which holds mutmut's `mutants`."""
    for path in sorted((folder / "mutants").rglob("*.meta")):
        module = path.relative_to(folder / "mutants").as_posix().removesuffix(".meta")
        for name, code in json.loads(path.read_text())["exit_code_by_key"].items():
            if code == KILLED or code in TIMED_OUT:
                yield Mutant(name, module, is_killed=True)
            elif code == SURVIVED:
                change = _change(folder, name)
                yield Mutant(name, module, is_killed=False, change=change, reason=_reason(change))
            else:
                yield Mutant(name, module, is_killed=None)


def page(all_mutants: list[Mutant], before: str, root: Path) -> str:
    """The page: a row per module, then the survivors that are not harmless.

    `before`: the page as it was; of modules that were not tried now it keeps what it said, if they
    are still there. `root`: the folder that they are in.
    """
    tried = {one.module for one in all_mutants if one.is_killed is not None}
    rows = {
        module: _carried(row, _version(root / module))
        for module, row in _rows(before)
        if module not in tried and (root / module).exists()
    }
    lines = before.partition(LEFT)[2].splitlines(keepends=True)
    kept = [line for line in lines if line.startswith("- ") and _is_of(line, set(rows))]
    for name in tried:
        own = [one for one in all_mutants if one.module == name]
        rows[name] = f"{_row(own)} {_version(root / name)} |\n"
    left = [one for one in all_mutants if one.is_killed is False and not one.reason]
    listed = [f"- `{one.name}`: {_in_a_line(one.change)}\n" for one in left]
    left_over = "".join([LEFT, "\n", *kept, *listed]) if kept or listed else ""
    return HEAD + "".join(rows[module] for module in sorted(rows)) + left_over


def _rows(text: str) -> list[tuple[str, str]]:
    """Each row of a page's table, after the name of its module."""
    return re.findall(r"^(?=\| `([^`]+)`)(.*\n)", text, re.MULTILINE)


def _version(path: Path) -> str:
    """The version of a module: what it holds, in eight hex digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:8]


def _carried(row: str, version: str) -> str:
    """A row of the page as it was, of a module that has this version now."""
    *counts, of = [cell.strip() for cell in row.strip().strip("|").split("|")]
    if of.endswith("%"):  # as pages were that told no versions
        counts, of = [*counts, of], EARLIER
    known = of.partition(",")[0]
    told = known if known in (version, EARLIER) else f"{known}, {EARLIER}"
    return f"| {' | '.join([*counts, told])} |\n"


def _row(own: list[Mutant]) -> str:
    killed, harmless = sum(m.is_killed is True for m in own), sum(bool(m.reason) for m in own)
    tried = sum(m.is_killed is not None for m in own)
    share = (killed + harmless) / max(1, tried)
    counts = (len(own), tried, killed, harmless, tried - killed - harmless)
    return f"| `{own[0].module}` | {' | '.join(map(str, counts))} | {share:.1%} |"


def _is_of(line: str, modules: set[str]) -> bool:
    """Whether a line of a page, which begins with a survivor's name, is of one of the modules."""
    names = (module.removesuffix(".py").replace("/", ".") for module in modules)
    return any(line.startswith(f"- `{name}.") for name in names)


def _in_a_line(change: str) -> str:
    """A diff in one line: what was taken away, then what stands in its place."""
    lines = change.splitlines()
    gone, new = (" ".join(one[1:].strip() for one in lines if one[0] == mark) for mark in "-+")
    return f"`{gone}` → `{new}`" if new else f"`{gone}` is gone"


def _change(folder: Path, name: str) -> str:
    """The lines that a mutant takes away and adds, as in a diff."""
    command = [sys.executable, "-m", "mutmut", "show", name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    lines = (line for line in done.stdout.splitlines() if line.startswith(("-", "+")))
    return "\n".join(line for line in lines if not line.startswith(("---", "+++")))


def _reason(change: str) -> str:
    return next((why for pattern, why in HARMLESS.items() if re.search(pattern, change)), "")
