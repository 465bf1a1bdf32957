"""A word on a phone about a page that is made for a wider screen."""

from __future__ import annotations

import streamlit as st


def narrow_note() -> None:
    """Say on a narrow screen, and there alone (`ui/style.css`), that a wider one shows more."""
    st.html(
        '<p class="narrow">This page wants a wider screen: here you see its picture, and little of'
        " what can be done with it. Start, Learn, Challenges and Words fit a phone.</p>"
    )
