"""The least that a Streamlit page can do for a key press: a fragment that shows a number."""

from __future__ import annotations

import streamlit as st


@st.fragment
def _fragment() -> None:
    st.session_state.count = st.session_state.get("count", 0) + 1
    st.button("step", key="step")
    st.html(f'<p class="turn">{st.session_state.count}</p>')


_fragment()
