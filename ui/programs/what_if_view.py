"""What if the chip were another one: a derived program, for which the solvers run again."""

from __future__ import annotations

import streamlit as st

from engine.errors import EngineError
from engine.hardware.presets import PRESETS
from engine.hardware.what_if import KIND, WhatIf, wish_of
from engine.program.model import Program
from ui.components.markdown import plain
from ui.model.programs import uploads
from ui.session import opening
from ui.session.state import Session

_MIB = 2**20
_SOLVERS = ("xla_like", "greedy")
_AS_IT_IS = "as captured"
_RULE = (
    "Arithmetic, not a compilation: schedule, fusions and padding stay. Another bandwidth changes"
    " what an instruction's slow accesses cost by the change of *bytes ÷ bandwidth*; transfers that"
    " were hidden behind compute stay hidden as long. Another chip also scales compute by the ratio"
    " of the peak rates. The new program has its own hash and says where it comes from."
)


def what_if_form(session: Session) -> None:
    """Show controls that derive a program; a derived one is derived anew from its original."""
    with st.expander("What if the hardware were another?", icon=":material/tune:"):
        original, wish = _origin(session)
        with st.form(f"what_if_{session.program_name}", border=False):
            changes = _fields(original, wish)
            st.caption(_RULE)
            is_sent = st.form_submit_button("Derive and solve again", width="stretch")
        if is_sent:
            _derive(session, original, changes)


def _origin(session: Session) -> tuple[Program, WhatIf]:
    """The captured or brought program behind the one in use, and what is changed of it so far."""
    is_derived = session.open.program.provenance.get("kind") == KIND
    derived = wish_of(session.program_name) if is_derived else None
    if derived is None:
        return session.open.program, WhatIf()
    name, wish = derived
    try:
        return opening.original_of(session, name), wish
    except EngineError:
        return session.open.program, WhatIf()


def _fields(original: Program, wish: WhatIf) -> WhatIf:
    names = [_AS_IT_IS, *uploads.hardware_names()]
    chip = wish.hardware if wish.hardware in names else _AS_IT_IS
    chosen = st.selectbox("Chip", names, names.index(chip))
    hardware = original.hardware if chosen == _AS_IT_IS else PRESETS[chosen]
    size, speed = st.columns(2)
    with size:
        mib = _number(
            "Fast memory, MiB",
            (original.hardware.alignment / _MIB, float(2**16)),
            None if wish.fast_bytes is None else wish.fast_bytes / _MIB,
            hardware.fast_bytes / _MIB,
        )
    with speed:
        gigabytes = _number(
            "Bandwidth, GB/s",
            (0.001, 1e6),
            None if wish.bandwidth is None else wish.bandwidth / 1e9,
            hardware.bandwidth / 1e9,
        )
    return WhatIf(
        hardware=None if chosen == _AS_IT_IS else chosen,
        fast_bytes=None if mib is None else round(mib * _MIB),
        bandwidth=None if gigabytes is None else gigabytes * 1e9,
    )


def _number(
    label: str, limits: tuple[float, float], value: float | None, usual: float
) -> float | None:
    """A field for a number within `limits`, or as far beyond as the `value` of a link already is.

    `usual`: what holds where it is left empty.
    """
    known = limits if value is None else (*limits, value)
    return st.number_input(
        label,
        min_value=min(known),
        max_value=max(known),
        value=value,
        placeholder=f"{usual:,.6g}",
        format="%.6g",
    )


def _derive(session: Session, original: Program, wish: WhatIf) -> None:
    if wish == WhatIf():
        st.info("Choose a chip, a size or a bandwidth first.")
        return
    try:
        opening.open_what_if(session, original, wish)
    except EngineError as error:
        st.error(plain(error), icon=":material/error:")
        return
    session.open.comparison.expected = list(_SOLVERS)
    st.switch_page(session.pages["compare"])
