"""Names and messages inside Markdown: shown as they are, never obeyed.

They may come from a visitor's file or link, and a name such as `![](https://…)` would load a
picture from elsewhere, or `www.…` lead there.
"""

from __future__ import annotations

import re

_OBEYED = re.compile(r"[\\`*_\[\]<>~$&#]|:(?=[\w/])|^[-+]")
"""What begins markup in CommonMark, or in what Streamlit adds to it (`$x$`, `:red[x]`)."""
_LINKED = re.compile(r"(?<=www)(?=\.)|(?<=:)(?=//)|(?<=[\w.+-])(?=@[\w-]+\.)", re.I)
"""Where what becomes a link by itself is parted: addresses are found when escapes are undone."""
_PARTED = "\N{WORD JOINER}"
"""Is not seen, and no line ends there."""


def plain(text: object) -> str:
    r"""Markdown that shows a text, or the message of an error, on one line.

    >>> plain("a_b [here](x) www.x.y")
    'a\\_b \\[here\\](x) www\u2060.x.y'
    """
    return _OBEYED.sub(r"\\\g<0>", _LINKED.sub(_PARTED, " ".join(str(text).split())))


def code(text: str) -> str:
    """Markdown that shows a text, which is not empty, as code on one line.

    >>> code("a`b")
    '`` a`b ``'
    """
    shown = " ".join(text.split())
    runs = [len(run) for run in re.findall("`+", shown)]
    if not runs:
        return f"`{shown}`"
    fence = "`" * (max(runs) + 1)
    return f"{fence} {shown} {fence}"
