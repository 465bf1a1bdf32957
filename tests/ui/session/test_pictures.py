"""The pictures that ship: there is one of every sample, and it is that of the sample."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from engine.program import library
from ui.session import pictures
from ui.session.first_picture_view import opening_html


def test_every_sample_has_a_picture() -> None:
    entries = (*library.index(), *library.large(), *library.real())
    assert set(pictures.shipped()) == {entry.content_hash for entry in entries}


@pytest.mark.parametrize("name", ["teach-prefetch", "alexnet-v4-b24", "llama-v6e-b2"])
def test_a_picture_is_what_is_drawn_of_the_sample(name: str) -> None:
    entry = library.find_sample(name)
    assert pictures.shipped()[entry.content_hash] == pictures.draw(name)


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", gzip.compress(b'{"format":"mallocmuzero-pictures","version":9}', mtime=0)],
    ids=["empty", "list", "another version"],
)
def test_a_damaged_file_has_no_pictures(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "pictures.json.gz"
    assert pictures.shipped(path) == {}
    path.write_bytes(content)
    assert pictures.shipped(path) == {}


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "pictures.json.gz"
    entry = library.find_sample("teach-prefetch")
    pictures.write([entry], path)
    assert pictures.shipped(path) == {entry.content_hash: pictures.draw(entry.name)}


def test_only_the_pictures_asked_for_and_missing_ones_are_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "pictures.json.gz"
    kept, asked, missing = (
        library.find_sample(name)
        for name in ("teach-prefetch", "teach-loop-carry", "teach-keep-or-drop")
    )
    pictures.write([kept, asked], path)
    monkeypatch.setattr(pictures, "draw", lambda name: f"another {name}")
    before = dict(pictures.shipped(path))
    pictures.write([kept, asked, missing], path, anew=[asked.name])
    assert pictures.shipped(path) == {
        kept.content_hash: before[kept.content_hash],
        asked.content_hash: f"another {asked.name}",
        missing.content_hash: f"another {missing.name}",
    }


def test_what_is_opened_is_named_and_shown() -> None:
    html = str(opening_html(library.find_sample("bertlarge-v5e-b4-train")))
    assert "Opening bertlarge-v5e-b4-train" in html and "data:image/svg+xml" in html
