"""The sample programs that ship with the project, by name.

`sample_programs/index.json` lists the captured programs, `sample_programs/teaching/index.json` the
hand-made ones (`docs/formats.md`). Each program is one file beside its index. Programs of
`sample_programs/held_out/`, on which nothing is tuned, of `sample_programs/large/`, models at their
published depth, and of `sample_programs/real/`, programs with what teams use beside dense layers on
one chip, have a name too, but are no samples.
"""

from __future__ import annotations

import difflib
import functools
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from engine.errors import ProgramFormatError, UnknownNameError
from engine.files import State, is_file, read_json, require_header, state_of, typed, write_bytes
from engine.program import proof
from engine.program.io import content_hash, load
from engine.program.model import Program

FORMAT = "mallocmuzero-index"
VERSION = 1
SAMPLES_FOLDER = Path(__file__).resolve().parents[2] / "sample_programs"
TEACHING = "teaching"
HELD_OUT = "held_out"
LARGE = "large"
REAL = "real"
INDEX_NAME = "index.json"


@dataclass(frozen=True)
class SampleEntry:
    """What the index says of one sample program.

    `xla_latency_s`: simulated latency of XLA's own plan. `bound_s`: no plan is faster;
    `bound_method`, `bound_seconds`: how that was proven (`engine.plan.bounds`), and in what time.
    `best_s`, `best_solver`: the best checked plan known. `best_plan`: its file, if no quick solver
    makes it.
    `feature`: what a real program is there for (`engine.compiler.capture.samples.FEATURES`);
    `is_held_out`: nothing was tuned on it.
    `placements`: how many different ones were compiled. `fit_error`: worst relative error of the
    fitted costs on those held out of the fit.
    `unestimated_share`: of the time, what is no estimate of the compiler's. None: not known, or
    does not apply.
    """

    name: str
    file: str
    title: str
    hardware: str
    instructions: int
    values: int
    touches: int
    content_hash: str
    model: str = ""
    batch: int = 0
    train: bool = False
    feature: str = ""
    is_held_out: bool = False
    xla_latency_s: float | None = None
    bound_s: float | None = None
    bound_method: str | None = None
    bound_seconds: float | None = None
    best_s: float | None = None
    best_solver: str | None = None
    best_plan: str | None = None
    placements: int | None = None
    fit_error: float | None = None
    unestimated_share: float | None = None
    folder: Path = field(default=SAMPLES_FOLDER, compare=False)

    @property
    def path(self) -> Path:
        """The path of the program file."""
        return self.folder / self.file

    @property
    def is_best_optimal(self) -> bool:
        """Whether the best plan known is proven to be optimal."""
        return proof.is_optimal(self.best_s, self.bound_s)

    @property
    def is_contested(self) -> bool:
        """Whether XLA's own plan leaves something to win."""
        return proof.is_contested(self.xla_latency_s, self.bound_s)

    @property
    def best_plan_path(self) -> Path | None:
        """The plan file of the best plan known, if there is one."""
        return self.folder / self.best_plan if self.best_plan else None


def index_files() -> tuple[Path, ...]:
    """The files that list programs: samples, teaching, held-out, large and real ones."""
    folders = ("", TEACHING, HELD_OUT, LARGE, REAL)
    return tuple(SAMPLES_FOLDER / folder / INDEX_NAME for folder in folders)


def index(folder: Path | None = None) -> tuple[SampleEntry, ...]:
    """All samples: captured ones in the order of their index, then the teaching programs.

    `folder`: default `SAMPLES_FOLDER`. Raises ProgramFormatError if there is no index, or one is
    malformed.
    """
    folder = SAMPLES_FOLDER if folder is None else folder
    paths = [p for p in (folder / INDEX_NAME, folder / TEACHING / INDEX_NAME) if p.exists()]
    if not paths:
        raise ProgramFormatError(f"{folder / INDEX_NAME}: not found; the samples are not installed")
    return tuple(entry for path in paths for entry in _read_index(path))


def held_out(folder: Path | None = None) -> tuple[SampleEntry, ...]:
    """The captured programs that development left alone, in the order of their index.

    What was looked at on some of them all the same stands in the folder's README.

    `folder`: default `SAMPLES_FOLDER`. Raises ProgramFormatError if their index is malformed.
    """
    return _apart(HELD_OUT, folder)


def large(folder: Path | None = None) -> tuple[SampleEntry, ...]:
    """The captured programs of models at their published depth; else as `held_out`."""
    return _apart(LARGE, folder)


def real(folder: Path | None = None) -> tuple[SampleEntry, ...]:
    """The captured programs with loops of unknown length, branches, meshes, …; as `held_out`."""
    return _apart(REAL, folder)


def _apart(kind: str, folder: Path | None) -> tuple[SampleEntry, ...]:
    path = (SAMPLES_FOLDER if folder is None else folder) / kind / INDEX_NAME
    return tuple(_read_index(path)) if path.exists() else ()


def write_index(entries: Sequence[SampleEntry], path: Path) -> None:
    """Write an index file, whole or not at all."""
    rows = [{k: v for k, v in asdict(entry).items() if k != "folder"} for entry in entries]
    body = {"format": FORMAT, "version": VERSION, "programs": rows}
    write_bytes(path, (json.dumps(body, indent=1) + "\n").encode())


def describe(program: Program, file: str, title: str, **known: Any) -> SampleEntry:
    """The entry of a program in `file`; `known` fills the optional fields."""
    return SampleEntry(
        name=program.name,
        file=file,
        title=title,
        hardware=program.hardware.name,
        instructions=program.num_slots,
        values=len(program.values),
        touches=len(program.touches),
        content_hash=content_hash(program),
        **known,
    )


def sample_names() -> list[str]:
    """Names of the samples, in the order of the index: no held-out, large or real program.

    >>> "resnet50-v5e-b64" in sample_names()
    True
    """
    return [entry.name for entry in index()]


def entry_of(program: Program) -> SampleEntry | None:
    """The entry of a program of any set, or of a file of the same content; else None."""
    if not is_sample(program.name):
        return None
    entry = find_sample(program.name)
    return entry if entry.content_hash == content_hash(program) else None


def proven_bound_s(program: Program) -> float | None:
    """The bound that is proven for a sample, or for a file of the same content; else None."""
    entry = entry_of(program)
    return None if entry is None else entry.bound_s


def find_sample(name: str) -> SampleEntry:
    """The entry of a program of any set. Raises UnknownNameError, names near it."""
    entries = {entry.name: entry for entry in (*index(), *held_out(), *large(), *real())}
    if name not in entries:
        raise UnknownNameError(f"no sample program is called {name!r}; {_hint(name, entries)}")
    return entries[name]


def is_sample(name: str) -> bool:
    """Whether a program of any set has the name; False where no index can be read."""
    try:
        return any(entry.name == name for entry in (*index(), *held_out(), *large(), *real()))
    except ProgramFormatError:
        return False


def load_sample(name: str) -> Program:
    """A sample program. Raises UnknownNameError; ProgramFormatError if its file was changed."""
    return load_entry(find_sample(name))


def load_entry(entry: SampleEntry) -> Program:
    """The program of an entry. Raises ProgramFormatError if its file was changed."""
    program = load(entry.path)
    if content_hash(program) != entry.content_hash:
        raise ProgramFormatError(
            f"{entry.path}: is not the program of the index; restore it, or write the index again"
        )
    return program


def looks_like_file(path: Path) -> bool:
    """Whether a path, rather than the name of a sample, is meant."""
    return path.name.endswith((".json", ".json.gz")) or len(path.parts) > 1 or is_file(path)


def resolve(name_or_path: str) -> Program:
    """The program of a sample's name or of a file. Raises UnknownNameError, ProgramFormatError."""
    path = Path(name_or_path)
    if looks_like_file(path):
        return load(path)
    try:
        return load_sample(name_or_path)
    except UnknownNameError as error:
        raise UnknownNameError(f"{error}, and there is no such file") from error


def _hint(name: str, known: dict[str, SampleEntry]) -> str:
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    return f"near it: {', '.join(near)}" if near else f"there are {', '.join(known)}"


def _read_index(path: Path) -> Sequence[SampleEntry]:
    """The entries of an index file, read again when the file has changed."""
    return _index_as_it_is(path, state_of(path))


@functools.lru_cache(maxsize=16)
def _index_as_it_is(path: Path, state: State) -> Sequence[SampleEntry]:
    del state
    body = read_json(path)
    require_header(body, FORMAT, VERSION, str(path))
    rows = body.get("programs")
    if not isinstance(rows, list):
        raise ProgramFormatError(f"{path}: 'programs' is not a list")
    entries = [_read_entry(row, f"{path}, program {n}", path) for n, row in enumerate(rows)]
    names = [entry.name for entry in entries]
    if len(set(names)) < len(names):
        raise ProgramFormatError(f"{path}: two programs have one name")
    return tuple(entries)


def _read_entry(row: Any, where: str, path: Path) -> SampleEntry:
    try:
        entry = typed(row, SampleEntry)
    except ValueError as error:
        raise ProgramFormatError(f"{where}: {error}") from error
    for key in ("file", "best_plan"):
        file = Path(getattr(entry, key) or "")
        if file.is_absolute() or ".." in file.parts:
            raise ProgramFormatError(f"{where}: {key} is not inside the folder of the index")
    return replace(entry, folder=path.parent)
