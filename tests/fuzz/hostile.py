"""Texts, names and damaged files that nobody sends by mistake."""

from __future__ import annotations

from hypothesis import strategies as st

MARKUP = (
    '<img src=x onerror="document.title=1">',
    "<script>document.title=1</script>",
    '"><svg onload=document.title=1>',
    "javascript:document.title=1",
    "]]>&lt;&amp;'\"`</text></svg></title></style>",
)
PATHS = (
    "../../etc/passwd",
    "..\\..\\windows\\win.ini",
    "/etc/passwd",
    "%2e%2e%2fetc%2fpasswd",
    "file:///etc/passwd",
    "....//....//etc/passwd",
    "~/.ssh/id_rsa",
    "C:\\boot.ini",
    ".",
    "..",
    "/",
    "a\0b",
    "a" * 5000,
    "é" * 300,
    "CON",
    "a\nb\r\nc",
)
NUMBERS = (
    "NaN",
    "inf",
    "-inf",
    "1e999",
    "-1",
    "0",
    "9" * 400,
    "9" * 5000,
    "0x10",
    "1e3",
    "٣",
    "²",
    " 7 ",
    "+7",
    "1_000",
    "-0",
    "3.5",
    "2147483648",
    "18446744073709551616",
)
TEXTS = st.one_of(
    st.sampled_from([*MARKUP, *PATHS, *NUMBERS, ""]),
    st.text(max_size=40),
    st.integers().map(str),
    st.floats().map(str),
)


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """A file with a few places changed, cut off, or doubled."""
    data = bytearray(whole)
    for _ in range(draw(st.integers(1, 4))):
        if not data:
            break
        at = draw(st.integers(0, len(data) - 1))
        kind = draw(st.sampled_from(["byte", "cut", "drop", "double", "digits", "sign"]))
        if kind == "byte":
            data[at] = draw(st.integers(0, 255))
        elif kind == "cut":
            del data[at:]
        elif kind == "drop":
            del data[at : at + draw(st.integers(1, 20))]
        elif kind == "double":
            data[at:at] = data[at : at + draw(st.integers(1, 50))]
        else:
            told = draw(st.sampled_from(NUMBERS)).encode() if kind == "digits" else b"[{-"
            data[at : at + 1] = told
    return bytes(data)
