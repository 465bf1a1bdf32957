"""What tests of the compiler's answers share."""

from __future__ import annotations

from functools import cache

import pytest
from jaxlib import _hlo

from engine.program.hlo import parse
from engine.program.hlo.child import TEXT


@cache
def _parsed(text: bytes) -> bytes:
    return bytes(_hlo.hlo_module_from_text(text.decode()).as_serialized_hlo_module_proto())


@pytest.fixture
def parsed_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """HLO text is parsed once, in this process: for tests that parse good text dozens of times.

    tests/program/hlo and tests/compiler/test_importer.py have the child parse it.
    """
    apart = parse._parsed

    def here(data: bytes, where: str, form: str) -> bytes:
        return _parsed(data) if form == TEXT else apart(data, where, form)

    monkeypatch.setattr(parse, "_parsed", here)
