"""What is wrong with the numbers that a page shows: kinds of faults, found in its texts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pyarrow as pa
from streamlit.testing.v1 import AppTest

_UNIT = r"(?:ns|µs|ms|s|%|B|KiB|MiB|GiB|points?)"
_NUMBER = r"\d[\d,]*(?:\.\d+)?"
_GAP = "[ \N{NO-BREAK SPACE}]"
KINDS = {
    "a zero has a sign": re.compile(
        rf"(?<![\w.,)\]-])[-−+]0(?:\.0*)?(?={_GAP}?{_UNIT}\b|{_GAP}%|\s|$)"
    ),
    "a hyphen stands for a minus": re.compile(rf"(?<![\w.)\]-])-{_NUMBER}{_GAP}{_UNIT}\b"),
    "a time is only rounding": re.compile(rf"(?<![\d.,])0\.0\d*{_GAP}ns\b"),
    "a unit follows without a gap": re.compile(
        r"(?<![\w.\[-])\d+(?:\.\d+)?(?:ns|µs|ms|MiB|KiB|GiB)\b"
    ),
    "thousands are not separated": re.compile(
        rf"(?<![\w.,:\[-])\d{{4,}}(?:\.\d+)?{_GAP}(?:{_UNIT}|slots?|moves?|instructions?|tensors?)\b"
        rf"|\b(?:slots?|[Mm]ove) \d{{4,}}(?!\w)"
    ),
}
_TIME = re.compile(rf"(?<![\w.])({_NUMBER}){_GAP}(ns|µs|ms|s)(?![\w/])")
_SENTENCE = re.compile(r"(?<=[.;!?])\s|\n|<[^>]*>")
_INLINE = re.compile(r"</?(?:b|i|em|dfn|span|code|u|kbd)\b[^>]*>")
_CODE = re.compile(r"<code>.*?</code>|`[^`]*`", re.S)
_HIDDEN = re.compile(
    r"<svg.*?</svg>|<style.*?</style>|<img[^>]*>| (?:title|style|aria-\w+|data-\w+)=\"[^\"]*\"",
    re.S,
)


def faults(text: str) -> Iterator[str]:
    """Each fault as its kind and where it stands; names in `code` are no numbers."""
    text = _CODE.sub("`name`", _HIDDEN.sub("", text))
    for kind, pattern in KINDS.items():
        for found in pattern.finditer(_INLINE.sub("", text)):
            yield f"{kind}: …{text_around(_INLINE.sub('', text), found.start())}…"
    for sentence in _SENTENCE.split(_INLINE.sub("", text)):
        times = _TIME.findall(sentence)
        if len({unit for _, unit in times}) > 1:
            yield f"two units in one sentence: {sentence}"
        for number, unit in times:
            if sum(c.isdigit() for c in number) > 4:
                yield f"more than four digits: {number} {unit} in {sentence}"


def text_around(text: str, place: int) -> str:
    return text[max(0, place - 40) : place + 30].replace("\n", " ")


def texts(at: AppTest) -> Iterator[str]:
    """All that a page says, table cells apart."""
    for kind in ("html", "markdown", "caption", "info", "warning", "success", "error", "subheader"):
        for element in at.get(kind):
            yield str(getattr(element.proto, "body", "") or getattr(element, "value", ""))
    for metric in at.metric:
        yield f"{metric.value}"
        yield str(metric.delta or "")
    for button in at.button:
        yield str(button.label)


def table_faults(at: AppTest) -> Iterator[str]:
    """Faults of tables, as their cells are shown: by Python, or by the format of a column."""
    for table in at.dataframe:
        formats = _formats(table.proto.columns)
        shown = pa.ipc.open_stream(table.proto.arrow_data.styler.display_values).read_pandas()
        for name in shown.columns:
            pattern = formats.get(str(name), "")
            for raw, text in zip(table.value[name], shown[name], strict=True):
                cell = pattern % raw if pattern.startswith("%") and raw is not None else str(text)
                yield from (f"{name}: {fault}" for fault in faults(cell))
                if re.fullmatch(r"[-−+]0(\.0*)?( %)?", cell):
                    yield f"{name}: a zero has a sign: {cell}"
                if re.fullmatch(r"-?\d{4,}(\.\d*)?( %)?", cell):
                    yield f"{name}: thousands are not separated: {cell}"


def _formats(columns: str) -> dict[str, str]:
    """The number format of each column that has one."""
    found = json.loads(columns or "{}")
    return {
        name: str((about.get("type_config") or {}).get("format") or "")
        for name, about in found.items()
        if isinstance(about, dict)
    }
