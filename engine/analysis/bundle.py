"""A reproducible bundle as one zip file.

It holds the program, plans, the figures to expect, versions, and the commands that check it all
without the explorer.
"""

from __future__ import annotations

import gzip
import io
import json
import platform
import re
import zipfile
import zlib
from collections.abc import Mapping
from importlib import metadata
from types import MappingProxyType
from typing import Any

from engine.errors import UsageError
from engine.plan.check import check
from engine.plan.io import plan_to_json
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program.io import content_hash, to_json
from engine.program.model import Program

PROGRAM_FILE = "program.json.gz"
TRACE_FILE, NOTES_FILE = "trace.npz", "notes.json"
MOST_BYTES = 64 * 2**20
"""Most bytes of one file, unpacked."""
PACKAGES = ("numpy", "highspy", "jax", "mctx")
_LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""Time stamp of all members: the same content gives the same file."""

_FAILURES = (
    zipfile.BadZipFile,
    zlib.error,
    ValueError,
    OSError,
    NotImplementedError,
    RuntimeError,
    EOFError,
)
"""What a damaged zip file may raise."""
_NOTHING: Mapping[str, bytes] = MappingProxyType({})

_README = """# {name}

Program `{program_hash}` on {hardware}, with {count} plan(s). In a checkout of the mallocMuZero
Explorer, with this folder as `B`:

```
{commands}
```

`check` prints `valid`; `simulate` prints the latencies of `expected.json`. `versions.json` says
what made the bundle. {link}
"""


def bundle(
    program: Program,
    plans: Mapping[str, Plan],
    link: str = "",
    more: Mapping[str, bytes] = _NOTHING,
) -> bytes:
    """The zip file's bytes. `plans`: by the names that they are shown by; `link` opens them again.

    `more`: further files by name, such as a trace, notes, a report.
    """
    files = {PROGRAM_FILE: gzip.compress(_text(to_json(program)), mtime=0)}
    expected: dict[str, Any] = {}
    commands = []
    for name, plan in plans.items():
        path, number = f"plans/{file_name(name)}.json", 1
        while path in files:
            number += 1
            path = f"plans/{file_name(name)}-{number}.json"
        files[path] = _text(plan_to_json(plan))
        violation = check(program, plan)
        expected[path] = {
            "name": name,
            "latency_s": simulate(program, plan).latency_s,
            "violation": violation.rule if violation else None,
            "solver": plan.solver,
            "seed": plan.notes.get("seed"),
        }
        commands += [
            f"python -m engine check B/{PROGRAM_FILE} B/{path}",
            f"python -m engine simulate B/{PROGRAM_FILE} B/{path} --json",
        ]
    files["expected.json"] = _text(expected)
    files["versions.json"] = _text(versions())
    files["README.md"] = _README.format(
        name=program.name,
        program_hash=content_hash(program),
        hardware=program.hardware.name,
        count=len(plans),
        commands="\n".join(commands),
        link=f"It was made at `{link}`." if link else "",
    ).encode()
    return _zipped({**files, **more})


def versions() -> dict[str, str]:
    """Versions of Python and of those installed packages that can change a figure, by name."""
    installed = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            installed[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return installed


def file_name(name: str) -> str:
    """A plan's name as a file name of letters, digits, `.`, `-` and `_`."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "plan"


def _text(body: Any) -> bytes:
    return (json.dumps(body, separators=(",", ":")) + "\n").encode()


def _zipped(files: Mapping[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            member = zipfile.ZipInfo(path, _LONG_AGO)
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, data)
    return target.getvalue()


def member(data: bytes, name: str) -> bytes | None:
    """The bytes of a bundle's file, None if it has none of that name.

    Raises UsageError if `data` is no bundle, or the file too large.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if name not in archive.namelist():
                return None
            entry = archive.getinfo(name)
            # The others unpack all at once, however little is asked for.
            if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise UsageError(f"{name}: is compressed in a way not read here; export it again")
            if entry.file_size > MOST_BYTES:
                raise UsageError(f"{name}: is larger than {MOST_BYTES} bytes")
            with archive.open(entry) as file:
                return file.read(MOST_BYTES)
    except _FAILURES as error:
        raise UsageError("the bundle cannot be read; export it again") from error
