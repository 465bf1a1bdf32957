"""The training corpus: random networks, compiled by the real compiler, as small program files.

Each program is made of two or three compiles: everything slow, the default, and that with the pass
options of `engine.compiler.steering.export` where it places otherwise. That is enough for costs to
learn from, not to publish. A file holds no StableHLO;
`engine.compiler.models.random_model` makes the network again from its number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from engine.errors import FAILURES, INTERRUPTED, ProgramFormatError, UsageError
from engine.files import write_bytes
from engine.program import library
from engine.program.io import load, save
from engine.program.model import Program

FOLDER = library.SAMPLES_FOLDER / "corpus"
CHIPS = ("tpu-v5e", "tpu-v6e", "tpu-v5p", "tpu-v4", "tpu-v5e")
"""Hardware by the number of a network, in turn."""
MOST_TOUCHES = 4000
REFUSED = "refused.txt"
"""A file beside the programs: networks that the compiler or the reader refused, one per line."""
LEFT_OUT = ("stablehlo_gzip_base64", "description", "versions")
"""Entries of the provenance that training does not need."""

Note = Callable[[str], None]


def corpus_names(folder: Path = FOLDER) -> tuple[str, ...]:
    """The programs of the corpus that are there, in order."""
    return tuple(sorted(path.name.removesuffix(".json.gz") for path in folder.glob("*.json.gz")))


def load_corpus(folder: Path = FOLDER) -> Iterator[Program]:
    """The programs of the corpus, one after another."""
    for name in corpus_names(folder):
        yield load(folder / f"{name}.json.gz")


def make_corpus(count: int, first: int, folder: Path, raw: Path, note: Note) -> int:
    """Capture networks `first` to `first + count - 1`; a minute or two each; resumable.

    `raw`: a folder for compile results. What was made or refused before is not compiled again; a
    compile that took too long or was killed is tried again the next time. Returns how many programs
    the folder holds of these networks. Raises UsageError for numbers below 0,
    MissingDependencyError without the compiler, ProgramFormatError where `folder` cannot be
    written.
    """
    for what, number in (("count", count), ("first", first)):
        if number < 0:
            raise UsageError(f"corpus: --{what} {number}: name a whole number from 0 on")
    folder.mkdir(parents=True, exist_ok=True)
    refused = _refused(folder)
    made = 0
    for number in range(first, first + count):
        name = name_of(number)
        path = folder / f"{name}.json.gz"
        if not path.exists() and name not in refused:
            try:
                program = _captured(number, raw, note)
            except FAILURES as error:
                note(f"{name}: {error}")
                if not isinstance(error, INTERRUPTED):
                    refused[name] = str(error)
                    _keep_refused(folder, refused)
            else:
                save(program, path)
        made += path.exists()
    return made


def name_of(number: int) -> str:
    """The name of a program of the corpus, like `random-0007-v5e`."""
    return f"random-{number:04d}-{CHIPS[number % len(CHIPS)].removeprefix('tpu-')}"


def _captured(number: int, raw: Path, note: Note) -> Program:
    from engine.compiler.capture.capture import Capturing, Source, capture_source
    from engine.compiler.capture.samples import exported_workload
    from engine.compiler.models.random_model import random_workload
    from engine.compiler.toolchain.target import Target

    workload = random_workload(number)
    hardware = CHIPS[number % len(CHIPS)]
    facts = {"model": workload.name, "hardware": hardware}
    source = Source(name_of(number), Target(hardware), exported_workload(workload), facts)
    program, _ = capture_source(source, Capturing((), raw, 1, note=note, may_double=False))
    if len(program.touches) > MOST_TOUCHES:
        raise ProgramFormatError(
            f"{len(program.touches)} touches; {MOST_TOUCHES} are the most here"
        )
    kept = {key: value for key, value in program.provenance.items() if key not in LEFT_OUT}
    return replace(program, provenance=kept)


def _refused(folder: Path) -> dict[str, str]:
    path = folder / REFUSED
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return dict(line.split(": ", maxsplit=1) for line in lines if ": " in line)


def _keep_refused(folder: Path, refused: dict[str, str]) -> None:
    text = "".join(f"{name}: {' '.join(why.split())}\n" for name, why in sorted(refused.items()))
    write_bytes(folder / REFUSED, text.encode())
