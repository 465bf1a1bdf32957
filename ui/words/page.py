"""Words: the glossary as a page, with a search."""

from __future__ import annotations

import streamlit as st

from ui.components.glossary import Term, terms
from ui.session.jobs_view import with_jobs

_COLUMNS = 3


@with_jobs
def render() -> None:
    """The page."""
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
                _card(term)


def _matches(term: Term, wanted: str) -> bool:
    text = " ".join((term.name, *term.also, term.text)).lower()
    return all(word in text for word in wanted.lower().split())


def _card(term: Term) -> None:
    st.markdown(f"**{term.name}**")
    if term.also:
        st.caption(f"also: {', '.join(term.also)}")
    st.markdown(term.text)
    st.caption(f"More: `{term.see}`")
