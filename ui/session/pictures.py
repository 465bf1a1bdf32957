"""The small memory map of each sample, drawn beforehand and kept beside the samples.

A page shows it before the program itself is read. `python -m ui.session.record_films` writes the
file; the picture of a program that is not in it is drawn when somebody asks for it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import streamlit as st

from engine.errors import EngineError
from engine.files import State, read_json, require_header, state_of, write_bytes
from engine.plan.io import plan_from_json
from engine.program import library
from engine.program.library import SAMPLES_FOLDER, SampleEntry
from ui.components.map_svg import thumbnail

FILE = SAMPLES_FOLDER / "pictures.json.gz"
KIND, VERSION = "mallocmuzero-pictures", 1


def draw(name: str) -> str:
    """The picture of a sample: of the compiler's own plan, or else of the greedy one."""
    program = library.load_sample(name)
    compiled = program.provenance.get("xla_plan")
    if compiled is not None:
        return thumbnail(program, plan_from_json(compiled, f"{name}: provenance.xla_plan"))
    from engine.solvers import solve

    return thumbnail(program, solve("greedy", program))


def write(
    entries: Sequence[SampleEntry], path: Path = FILE, anew: Collection[str] | None = None
) -> None:
    """Write the pictures of these samples.

    Drawn are those of the names `anew` (None: all) and those that the file does not have.
    """
    known = {} if anew is None else shipped(path)
    pictures = {
        entry.content_hash: draw(entry.name)
        if entry.content_hash not in known or entry.name in (anew or ())
        else known[entry.content_hash]
        for entry in entries
    }
    body = {"format": KIND, "version": VERSION, "pictures": pictures}
    write_bytes(path, json.dumps(body, separators=(",", ":")).encode())


def shipped(path: Path = FILE) -> Mapping[str, str]:
    """The pictures of the file by the program's content hash; empty if it cannot be read."""
    return _shipped(state_of(path), path)


@st.cache_resource(max_entries=2, show_spinner=False)
def _shipped(state: State, _path: Path) -> Mapping[str, str]:
    try:
        body = read_json(_path)
        require_header(body, KIND, VERSION, str(_path))
        return {str(identity): str(svg) for identity, svg in body["pictures"].items()}
    except (EngineError, OSError, KeyError, TypeError, AttributeError):
        return {}
