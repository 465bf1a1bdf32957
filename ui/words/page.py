"""Words: the glossary as a page, with a search."""

from __future__ import annotations

import re
from pathlib import Path

import streamlit as st

from ui.components.glossary import Term, terms
from ui.components.markdown import plain
from ui.session.jobs_view import with_jobs
from ui.session.link_query import unknown

_COLUMNS = 3
_MORE = "more"
_ROOT = Path(__file__).resolve().parents[2]


@with_jobs
def render() -> None:
    """The page; `?more=NAME` opens what the documentation says of a word."""
    query = st.query_params.to_dict()
    read = next((term for term in terms() if term.name == query.get(_MORE)), None)
    if odd := unknown(query, () if read is None else (_MORE,)):
        st.warning(plain(odd), icon=":material/link_off:")
    st.header("Words", anchor=False)
    st.markdown(
        "What the explorer's words mean. Wherever one is underlined with dots, point at it or step"
        " to it with the Tab key."
    )
    wanted = st.text_input(
        "Search", key="term", placeholder="slot, prefetch, bound …", icon=":material/search:"
    )
    hits = [term for term in terms() if _matches(term, wanted)]
    if not hits:
        st.info("No word like this. Try a shorter one.", icon=":material/search_off:")
    for first in range(0, len(hits), _COLUMNS):
        row = st.columns(_COLUMNS, gap="small")
        for place, term in zip(row, hits[first : first + _COLUMNS], strict=False):
            with place.container(border=True, height="stretch", gap="small"):
                if _card(term):
                    read = term
    if read is not None:
        # In the address, so that it stays open when the page runs anew.
        st.query_params[_MORE] = read.name
        _read(read.see)


def _matches(term: Term, wanted: str) -> bool:
    text = " ".join((term.name, *term.also, term.text)).lower()
    return all(word in text for word in wanted.lower().split())


def _card(term: Term) -> bool:
    """Show a word; whether more of it is to be read."""
    st.markdown(f"**{term.name}**")
    if term.also:
        st.caption(f"also: {', '.join(term.also)}")
    st.markdown(term.text)
    title, text = section(term.see)
    return st.button(
        f"More: {title}",
        key=f"more_{term.name}",
        type="tertiary",
        icon=":material/menu_book:",
        disabled=not text,
    )


def _close() -> None:
    st.query_params.pop(_MORE, None)


@st.dialog("From the documentation", width="large", on_dismiss=_close)
def _read(see: str) -> None:
    st.caption(f"`{see}`")
    st.markdown(readable(section(see)[1]))


def readable(markdown: str) -> str:
    """Markdown of a file without what leads to other files: they are not served."""
    without_pictures = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", markdown)
    return re.sub(r"\[([^\]]*)\]\((?!https?:)[^)]*\)", r"\1", without_pictures)


def section(see: str) -> tuple[str, str]:
    """Heading and Markdown of the section that `path#anchor` names; no text without the file."""
    path, _, anchor = see.partition("#")
    file = _ROOT / path
    if not file.is_file():
        return see, ""
    lines = file.read_text(encoding="utf-8").splitlines()
    heads = [n for n, line in enumerate(lines) if re.match(r"#+ ", line)]
    begin = next((n for n in heads if not anchor or anchor_of(lines[n]) == anchor), 0)
    level = lines[begin].split(" ")[0]
    ends = [n for n in heads if n > begin and len(lines[n].split(" ")[0]) <= len(level)]
    title = lines[begin].lstrip("# ")
    return title, "\n".join(lines[begin : min(ends, default=len(lines))])


def anchor_of(heading: str) -> str:
    """The name by which links point to a heading."""
    return re.sub(r"[^\w -]", "", heading.lstrip("# ").lower()).replace(" ", "-")
