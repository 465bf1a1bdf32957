"""The report of a debugger as Markdown and as one HTML page: findings, forced actions, an A/B.

Both are made of the same blocks, so that they say the same. Names come from uploads: the HTML
escapes everything, and the Markdown has no HTML and keeps what it says in one line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from engine.debugging.findings import Finding, inbox
from engine.debugging.move_notes import Note
from engine.debugging.regret import CLASSES, LEAST_POINTS, MIN_VISITS

MOST_ROWS = 50
"""Most findings of a game that are listed."""


@dataclass(frozen=True)
class GameReport:
    """One game: its name, facts to list, its findings, notes by move, and forced actions.

    `completeness`: share of the moves with a choice that were played out. `forced`: rows with
    `move`, `action`, `continuation`, `latency_s`, `original_s` and `keeps_action`.
    """

    name: str
    facts: Mapping[str, str]
    findings: Sequence[Finding]
    completeness: float
    notes: Mapping[int, Note] = field(default_factory=dict)
    forced: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Heading:
    """A heading of a level from 1 on."""

    text: str
    level: int


@dataclass(frozen=True)
class Table:
    """Rows of texts under the names of the columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Block = Heading | Table | str | Sequence[Finding]
"""A part of the report: a plain text is a paragraph, findings are drawn as a game's strip."""


def blocks(
    program: str, games: Sequence[GameReport], duel: Mapping[str, Any] | None = None, link: str = ""
) -> list[Block]:
    """The report's blocks in order; `duel`: the fields of an A/B (`engine.debugging.ab`)."""
    parts: list[Block] = [Heading(f"Findings: {program}", 1), _legend()]
    if link:
        parts.append(f"It was made at {link}")
    for game in games:
        parts += _game(game)
    return parts + (_duel(duel) if duel else [])


def _legend() -> str:
    least = ", ".join(f"{name} from {LEAST_POINTS[name]:g}" for name in reversed(CLASSES))
    return (
        f"Classes by regret, in percent of all that can be saved: {least}. No class below"
        f" {MIN_VISITS} visits, nor where all continuations tie. Moves count from 1."
    )


def _game(game: GameReport) -> list[Block]:
    rows, counts = inbox(game.findings), Counter(f.verdict for f in game.findings)
    classes = ", ".join(f"{counts[name]} × {name}" for name in CLASSES)
    facts = "; ".join(f"{name}: {value}" for name, value in game.facts.items())
    parts: list[Block] = [
        Heading(game.name, 2),
        f"{facts}. {len(game.findings)} moves, {game.completeness:.0%} of the choices measured:"
        f" {classes}.",
        list(game.findings),
        _findings(rows[:MOST_ROWS], game.notes),
    ]
    if len(rows) > MOST_ROWS:
        parts.append(f"{len(rows) - MOST_ROWS} more rows are left out.")
    if game.forced:
        parts += [Heading("Forced actions", 3), _forced(game.forced)]
    return parts


def _findings(rows: Sequence[Finding], notes: Mapping[int, Note]) -> Table:
    columns = ("", "move", "played", "better", "regret, us", "punished", "signs", "surprise",
               "visits", "tensor", "instruction", "note")  # fmt: skip
    return Table(columns, tuple(_row(finding, notes.get(finding.move)) for finding in rows))


def _row(finding: Finding, note: Note | None) -> tuple[str, ...]:
    cost = "" if finding.regret_us is None else f"{finding.regret_us:.3f}"
    text = "" if note is None else f"{'★ ' if note.is_marked else ''}{note.text}"
    return (
        finding.verdict,
        str(finding.move + 1),
        finding.action,
        finding.better,
        cost or finding.unjudged,
        finding.punished,
        ", ".join(finding.signs),
        f"{finding.surprise:.1f}",
        str(finding.visits),
        finding.tensor,
        finding.instruction,
        text,
    )


def _forced(rows: Sequence[Mapping[str, Any]]) -> Table:
    columns = ("move", "action", "then", "runtime, us", "against the game, us", "action kept")
    return Table(
        columns,
        tuple(
            (
                str(row["move"] + 1),
                str(row["action"]),
                str(row["continuation"]),
                f"{row['latency_s'] * 1e6:.3f}",
                f"{(row['latency_s'] - row['original_s']) * 1e6:+.3f}",
                "yes" if row["keeps_action"] else "no",
            )
            for row in rows
        ),
    )


def _duel(duel: Mapping[str, Any]) -> list[Block]:
    bouts = tuple(
        (
            str(bout["program"]),
            f"{bout['first_s'] * 1e6:.3f}",
            f"{bout['second_s'] * 1e6:.3f}",
            f"{(bout['second_s'] - bout['first_s']) * 1e6:+.3f}",
            "" if bout["fork"] is None else str(bout["fork"] + 1),
        )
        for bout in duel["bouts"]
    )
    kinds = tuple(
        (str(bout["program"]), *(str(kind[n]) for n in ("change", "kind", "size", "tensors")),
         f"{kind['change_us']:+.3f}")
        for bout in duel["bouts"] for kind in bout["kinds"]
    )  # fmt: skip
    return [
        Heading(f"A/B: {duel['first']} against {duel['second']}", 2),
        "Runtimes of the simulator in us; negative differences: the second is faster.",
        Table(("program", "first", "second", "difference", "they part at move"), bouts),
        Heading("Kinds of moves", 3),
        Table(("program", "first → second", "kind", "size", "tensors", "difference, us"), kinds),
    ]


def markdown(parts: Sequence[Block]) -> str:
    """The report as Markdown, for an issue or a wiki."""
    return "\n\n".join(filter(None, map(_markdown, parts))) + "\n"


def _markdown(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{'#' * block.level} {_in_line(block.text)}"
    if isinstance(block, Table):
        if not block.rows:
            return "Nothing."
        lines = [block.columns, tuple("---" for _ in block.columns), *block.rows]
        return "\n".join("| " + " | ".join(map(_in_line, line)) + " |" for line in lines)
    return _in_line(block) if isinstance(block, str) else ""


def _in_line(text: str) -> str:
    flat = " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|")
    return escape(flat, quote=False)


def html(title: str, parts: Sequence[Block]) -> str:
    """The report as one HTML page that needs no other file; light and dark."""
    body = "\n".join(map(_html, parts))
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style><body>{body}</body></html>\n"
    )


def _html(block: Block) -> str:
    if isinstance(block, Heading):
        return f"<h{block.level}>{escape(block.text)}</h{block.level}>"
    if isinstance(block, Table):
        head = "".join(f"<th>{escape(name)}</th>" for name in block.columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
            for row in block.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f"<p>{escape(block)}</p>" if isinstance(block, str) else _strip(block)


def _strip(rows: Sequence[Finding]) -> str:
    """A picture of the game from left to right: a line at each move that has a class."""
    marks = [
        f'<line x1="{f.move + 0.5}" x2="{f.move + 0.5}" y1="0" y2="20" class="c{_rank(f)}">'
        f"<title>move {f.move + 1}: {f.verdict} {escape(f.action)}</title></line>"
        for f in rows
        if f.verdict
    ]
    return (
        f'<svg viewBox="0 0 {max(1, len(rows))} 20" preserveAspectRatio="none" role="img"'
        f' aria-label="classes along the game">{"".join(marks)}</svg>'
    )


def _rank(finding: Finding) -> int:
    return CLASSES.index(finding.verdict)


_STYLE = """
:root { color-scheme: light dark; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 1400px; }
body { padding: 0 1rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .5rem 0 1.5rem; }
th, td { text-align: left; padding: .2rem .6rem; border-bottom: 1px solid #8884; }
svg { width: 100%; height: 28px; background: #8882; }
line { stroke-width: 3px; vector-effect: non-scaling-stroke; }
.c0 { stroke: #d23b4e; } .c1 { stroke: #e08a2c; } .c2 { stroke: #c9a800; }
"""
