"""The explorer's script, which `ui/server.py` serves. Navigation only."""

from __future__ import annotations

import sys
from pathlib import Path

import streamlit as st

# Streamlit puts this file's folder on the path, not the one that holds `engine` and `ui`.
_ROOT = str(Path(__file__).resolve().parent.parent)
if _ROOT not in sys.path:
    sys.path.insert(0, _ROOT)

from ui.challenges import page as challenges  # noqa: E402
from ui.compare import page as compare  # noqa: E402
from ui.compiler import page as compiler  # noqa: E402
from ui.debug import page as debug  # noqa: E402
from ui.learn import page as learn  # noqa: E402
from ui.play import page as play  # noqa: E402
from ui.programs import page as programs  # noqa: E402
from ui.search import page as search  # noqa: E402
from ui.session.pages import PAGES  # noqa: E402
from ui.session.state import current_session  # noqa: E402
from ui.start import page as start  # noqa: E402
from ui.words import page as words  # noqa: E402

rooms = (start, learn, challenges, programs, play, search, debug, compare, compiler, words)
pages = {
    name: st.Page(
        room.render,
        title=title,
        icon=icon,
        url_path="" if name == "start" else name,
        default=name == "start",
    )
    for room, (name, (title, icon)) in zip(rooms, PAGES.items(), strict=True)
}
current_session().pages = pages
page = st.navigation(list(pages.values()), position="top")
st.set_page_config(
    page_title=f"{page.title} · mallocMuZero Explorer", page_icon="🧩", layout="wide"
)
st.logo(Path(__file__).with_name("logo.svg"))
st.html(Path(__file__).with_name("style.css"))
page.run()
