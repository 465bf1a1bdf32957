"""What a browser draws of a page before the explorer's script has run.

Streamlit's front end has 3 MB of script: on a page without anything else the first second or two
are blank. So the page that the server sends has the bar at the top, and the picture of the program
that the link asks for, or the outline of a page; `first_paint.js` takes it away when the page
itself stands there. The scripts that a page is known to need later are asked for at once.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from urllib.parse import parse_qs

import streamlit
from htpy import Node, div, header, img, link, main, nav, script, span, style
from markupsafe import Markup

from ui.components.html import svg_source
from ui.session import caching, pictures
from ui.session.first_picture_view import opening_html
from ui.session.pages import PAGES

_HERE = Path(__file__).parent
_SCRIPTS = Path(streamlit.__file__).parent / "static" / "static" / "js"
_TABLES = ("DataFrame", "arrowFormatUtils")
_LATER = {
    "compare": ("PlotlyChart", *_TABLES),
    "debug": _TABLES,
    "search": _TABLES,
}
"""Scripts of Streamlit's that a page asks for only when its first chart or table has come."""
_WITH_PICTURE = ("play", "search", "debug", "compare", "compiler")
_FIRST_SAMPLE = ("play", "compare", "compiler")
"""Pages that open the first sample where the link asks for none."""


def head(page: str) -> str:
    """Links to the scripts that a page needs later, to stand in its head."""
    return "".join(
        str(link(rel="modulepreload", crossorigin=True, href=f"./static/js/{name}"))
        for stem in _LATER.get(page, ())
        for name in _script_files(stem)
    )


def body(page: str, query: str) -> str:
    """The first paint of a page, to stand at the beginning of its body; with `history.js`.

    `query`: what stands in the address behind the question mark; it may say anything.
    """
    if page == "start" and "program" in parse_qs(query):
        page = "play"
    names = [span[title] for title, _ in PAGES.values()]
    return str(
        div("#first-paint", data_nosnippet=True)[
            style[Markup(_text("first_paint.css"))],
            header(aria_hidden="true")[img(alt="", src=_logo()), nav[names]],
            main[_picture(page, query) or _outline(PAGES[page][0])],
            script[Markup(_text("first_paint.js"))],
            script[Markup(_text("history.js"))],
        ]
    )


def _picture(page: str, query: str) -> Node:
    """The picture of the program that a page is about to open; None where there is none."""
    if page not in _WITH_PICTURE:
        return None
    wanted = parse_qs(query).get("program", [""])[0]
    if not wanted and page not in _FIRST_SAMPLE:
        return None
    entry = next((e for e in caching.sample_index() if wanted in ("", e.name)), None)
    # One that has to be drawn first would make everybody wait.
    is_drawn = entry is not None and entry.content_hash in pictures.shipped()
    return opening_html(entry) if entry is not None and is_drawn else None


def _outline(title: str) -> Node:
    return div(".outline", role="status", aria_label=f"{title} is being loaded")[
        div(".title"), div(".line"), div(".cards")[[div for _ in range(6)]]
    ]


@cache
def _script_files(stem: str) -> tuple[str, ...]:
    """The files of a script; their names change with Streamlit's version."""
    return tuple(sorted(path.name for path in _SCRIPTS.glob(f"{stem}.*.js")))


@cache
def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


@cache
def _logo() -> str:
    return svg_source((_HERE.parent / "logo.svg").read_text(encoding="utf-8"))
