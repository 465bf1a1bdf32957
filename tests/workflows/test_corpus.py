"""The training corpus: networks by number, captured once, refusals remembered."""

from __future__ import annotations

from pathlib import Path

import jax
import pytest

from engine.compiler.models.random_model import random_workload
from engine.errors import CompilerError
from engine.program.library import load_sample
from engine.workflows import corpus


@pytest.mark.parametrize("number", range(12))
def test_a_network_is_the_same_for_its_number_and_has_no_weight_of_its_own(number: int) -> None:
    first, again = random_workload(number), random_workload(number)
    assert first.description == again.description
    jaxpr = jax.make_jaxpr(first.fn)(*first.args)
    assert str(jaxpr) == str(jax.make_jaxpr(again.fn)(*again.args))
    assert all(constant.size < 2**20 for constant in jaxpr.consts)


def test_what_was_made_or_refused_is_not_compiled_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = []

    def captured(number: int, raw: Path, note: corpus.Note) -> object:
        del raw, note
        asked.append(number)
        if number == 1:
            raise CompilerError("too large:\nby far")
        return load_sample("teach-keep-or-drop")

    monkeypatch.setattr(corpus, "_captured", captured)
    assert corpus.make_corpus(3, 0, tmp_path, tmp_path, lambda _: None) == 2
    assert corpus.corpus_names(tmp_path) == ("random-0000-v5e", "random-0002-v5p")
    assert [program.name for program in corpus.load_corpus(tmp_path)] == ["teach-keep-or-drop"] * 2
    assert corpus.make_corpus(4, 0, tmp_path, tmp_path, lambda _: None) == 3
    assert asked == [0, 1, 2, 3]
