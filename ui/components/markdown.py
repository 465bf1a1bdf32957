"""Names and messages inside Markdown: shown as they are, never obeyed.

They may come from a visitor's file or link, and a name such as `![](https://…)` would load a
picture from elsewhere.
"""

from __future__ import annotations

import re

_OBEYED = re.compile(r"[\\`*_\[\]<>~$&#]|:(?=[\w/])|^[-+]")
"""What begins markup in CommonMark, or in what Streamlit adds to it (`$x$`, `:red[x]`)."""


def plain(text: object) -> str:
    r"""Markdown that shows a text, or the message of an error, on one line.

    >>> plain("a_b [here](http://x)")
    'a\\_b \\[here\\](http\\://x)'
    """
    return _OBEYED.sub(r"\\\g<0>", " ".join(str(text).split()))


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
