"""Updates in place, donated inputs, and when an old content forbids both."""

from __future__ import annotations

import pytest

from tests.program.hlo.modules import A_BYTES, module, program, reads, shared, value, writes

ROW = 128 * 4
DONATED = ", input_output_alias={ {0}: (0, {}, may-alias) }"

UPDATE = """  a = A parameter(0)
  u = f32[1,128] parameter(1)
  i = s32[] parameter(2)
  z = s32[] constant(0)
  b = A negate(a)
  d = A dynamic-update-slice(b, u, i, z)
"""


def test_an_update_in_place_writes_only_its_slice() -> None:
    made = program(module(UPDATE + "  ROOT e = A tanh(d)"))
    assert shared(made) == {frozenset({"b", "d"})}
    assert writes(made, "d") == {"d": ROW}
    assert reads(made, "d") == {"b": 0, "u": ROW, "i": 4, "z": 4}


PLACED = """  a = A parameter(0)
  b = A tanh(a)
  c = A negate(b)
  z = s32[] constant(0)
  i = (s32[], s32[]) tuple(z, z)
"""


def test_a_permutation_into_a_given_array_is_in_its_place() -> None:
    one = """  d = A collective-permute(b, c, i, i), source_target_pairs={{0,1}},
    slice_sizes={{64,128}}
  ROOT e = A cosine(d)"""
    made = program(module(PLACED + one))
    assert shared(made) == {frozenset({"c", "d"})}
    assert (reads(made, "d")["b"], reads(made, "d")["c"]) == (A_BYTES, 0)
    two = """  f = A cosine(b)
  s = (A, A) tuple(a, b)
  t = (A, A) tuple(c, f)
  j = ((s32[], s32[]), (s32[], s32[])) tuple(i, i)
  d = (A, A) collective-permute(s, t, j, j), source_target_pairs={{0,1}},
    slice_sizes={{64,128},{64,128}}
  g = A get-tuple-element(d), index=0
  ROOT e = A cosine(g)"""
    made = program(module(PLACED + two))
    assert shared(made) == {frozenset({"c", "d{0}"}), frozenset({"f", "d{1}"})}


@pytest.mark.parametrize("shape", ["A", "f32[]"])
def test_arrays_that_are_sent_together_are_in_no_place_of_one_another(shape: str) -> None:
    """Also four of them, as many as a permutation into a given array has operands."""
    lines = f"""  a = {shape} parameter(0)
  b = {shape} tanh(a)
  c = {shape} negate(b)
  e = {shape} exponential(c)
  f = {shape} cosine(e)
"""
    four = f"({shape}, {shape}, {shape}, {shape})"
    sent = "(b, c, e, f), source_target_pairs={{0,1}}"
    started = f"  s = ({four}, {four}) collective-permute-start{sent}\n"
    started += f"  d = {four} collective-permute-done(s)\n"
    for way in (started, f"  d = {four} collective-permute{sent}\n"):
        taken = f"  g = {shape} get-tuple-element(d), index=0\n  ROOT h = {shape} negate(g)"
        assert shared(program(module(lines + way + taken))) == set()


def test_an_operand_that_is_read_again_is_not_overwritten() -> None:
    made = program(module(UPDATE + "  ROOT e = A add(d, b)"))
    assert shared(made) == set()
    assert writes(made, "d") == {"d": A_BYTES}
    assert reads(made, "d")["b"] == A_BYTES


def test_an_input_that_the_caller_keeps_is_not_overwritten() -> None:
    text = module(UPDATE.replace("update-slice(b", "update-slice(a") + "  ROOT e = A tanh(d)")
    made = program(text)
    assert shared(made) == set()
    assert not made.groups[value(made, "a").group].is_written


def test_a_live_out_operand_is_not_overwritten() -> None:
    made = program(module(UPDATE + "  ROOT e = (A, A) tuple(d, b)"))
    assert shared(made) == set()


FUSED = """%fused
  p = A parameter(0)
  q = f32[1,128] parameter(1)
  row = s32[] parameter(2)
  zero = s32[] constant(0)
  n = f32[1,128] negate(q)
  {root}"""

FUSED_ENTRY = """  a = A parameter(0)
  u = f32[1,128] parameter(1)
  i = s32[] parameter(2)
  b = A negate(a)
  ROOT f = {shape} fusion(b, u, i), kind=kLoop, calls=%fused"""


@pytest.mark.parametrize(
    "root",
    [
        "ROOT r = A dynamic-update-slice(p, n, row, zero)",
        "o = A bitcast(p)\n  d = A dynamic-update-slice(o, n, row, zero)\n  ROOT r = A bitcast(d)",
        "ROOT r = A fusion(p, n, row), kind=kLoop, calls=%nested",
    ],
    ids=["root", "bitcast", "nested"],
)
def test_a_fusion_that_ends_in_an_update(root: str) -> None:
    nested = FUSED.replace("fused", "nested").format(
        root="ROOT r = A dynamic-update-slice(p, n, row, zero)"
    )
    made = program(module(FUSED_ENTRY.format(shape="A"), nested, FUSED.format(root=root)))
    assert shared(made) == {frozenset({"b", "f"})}
    assert writes(made, "f") == {"f": ROW}
    assert reads(made, "f") == {"b": 0, "u": ROW, "i": 4}


@pytest.mark.parametrize(
    "root",
    [
        "d = A dynamic-update-slice(p, n, row, zero)\n  ROOT r = A tanh(d)",
        "c = A copy(p)\n  ROOT r = A dynamic-update-slice(c, n, row, zero)",
        "ROOT r = A add(p, p)",
    ],
    ids=["computed on", "copied first", "no update"],
)
def test_a_fusion_that_does_not(root: str) -> None:
    made = program(module(FUSED_ENTRY.format(shape="A"), FUSED.format(root=root)))
    assert shared(made) == set()
    assert writes(made, "f") == {"f": A_BYTES}
    assert reads(made, "f")["b"] == A_BYTES


def test_a_fusion_with_an_update_among_its_results() -> None:
    root = """d = A dynamic-update-slice(p, n, row, zero)
  ROOT r = (f32[1,128], A) tuple(n, d)"""
    made = program(
        module(FUSED_ENTRY.format(shape="(f32[1,128], A)"), FUSED.format(root=root)),
    )
    assert shared(made) == {frozenset({"b", "f{1}"})}
    assert writes(made, "f") == {"f{0}": ROW, "f{1}": ROW}


def test_results_of_a_nested_fusion_are_followed() -> None:
    nested = FUSED.replace("fused", "nested").format(
        root="d = A dynamic-update-slice(p, n, row, zero)\n  ROOT r = (f32[1,128], A) tuple(n, d)"
    )
    root = """g = (f32[1,128], A) fusion(p, n, row), kind=kLoop, calls=%nested
  ROOT r = A get-tuple-element(g), index={}"""
    made = program(module(FUSED_ENTRY.format(shape="A"), nested, FUSED.format(root=root.format(1))))
    assert shared(made) == {frozenset({"b", "f"})}


def test_an_old_content_also_read_inside_the_fusion_is_drawn_whole() -> None:
    root = """s = f32[] constant(0)
  k = f32[128] reduce(p, s), dimensions={0}, to_apply=%sum
  m = f32[1,128] bitcast(k)
  ROOT r = A dynamic-update-slice(p, m, row, zero)"""
    add = "%sum\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT z = f32[] add(x, y)"
    made = program(module(FUSED_ENTRY.format(shape="A"), add, FUSED.format(root=root)))
    assert shared(made) == {frozenset({"b", "f"})}
    assert reads(made, "f")["b"] == A_BYTES


def test_a_scatter_updates_in_place() -> None:
    made = program(
        module(
            """  a = A parameter(0)
  i = s32[4,1] parameter(1)
  u = f32[4,128] parameter(2)
  b = A negate(a)
  ROOT d = A scatter(b, i, u), update_window_dims={1}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=%sum""",
            "%sum\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT z = f32[] add(x, y)",
        )
    )
    assert shared(made) == {frozenset({"b", "d"})}
    assert writes(made, "d") == {"d": 4 * ROW}
    assert reads(made, "d") == {"b": 0, "i": 16, "u": 4 * ROW}


def test_a_custom_call_says_what_it_aliases() -> None:
    made = program(
        module(
            """  a = A parameter(0)
  b = A negate(a)
  c = (A, A) custom-call(a, b), custom_call_target="x",
    output_to_operand_aliasing={{1}: (1, {})}
  x = A get-tuple-element(c), index=0
  y = A get-tuple-element(c), index=1
  ROOT d = A add(x, y)"""
        )
    )
    assert shared(made) == {frozenset({"b", "c{1}"})}


def test_a_donated_input_shares_with_its_output() -> None:
    made = program(
        module("  a = A parameter(0)\n  b = A tanh(a)\n  ROOT t = (A) tuple(b)", head=DONATED)
    )
    assert shared(made) == {frozenset({"a", "b"})}
    (group,) = made.groups
    assert group.is_input
    assert group.is_written
    assert group.is_live_out


def test_a_donated_input_read_after_its_output_was_made_keeps_its_place() -> None:
    made = program(
        module(
            """  a = A parameter(0)
  b = A tanh(a)
  c = A add(a, b)
  ROOT t = (A, A) tuple(b, c)""",
            head=DONATED,
        )
    )
    assert shared(made) == set()


def test_a_donated_input_handed_out_unchanged_is_one_value() -> None:
    made = program(
        module("  a = A parameter(0)\n  b = A tanh(a)\n  ROOT t = (A, A) tuple(a, b)", head=DONATED)
    )
    assert shared(made) == set()
    assert value(made, "a").is_live_out


CARRY = [
    """%c
  p = (s32[], A, A) parameter(0)
  ROOT k = pred[] constant(true)""",
    """%b
  q = (s32[], A, A) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  x = A get-tuple-element(q), index=1
  w = A get-tuple-element(q), index=2
{lines}""",
]

CARRY_ENTRY = """  a = A parameter(0)
  v = A parameter(1)
  b = A negate(a)
  z = s32[] constant(0)
  t = (s32[], A, A) tuple(z, b, {second})
  l = (s32[], A, A) while(t), condition=%c, body=%b
  x = A get-tuple-element(l), index=1
  {last}"""

LAST = "ROOT d = A tanh(x)"


def carried(lines: str, second: str = "v", last: str = LAST) -> set[frozenset[str]]:
    """The alias groups of a loop with these body lines."""
    computations = (CARRY[0], CARRY[1].format(lines=lines))
    return shared(program(module(CARRY_ENTRY.format(second=second, last=last), *computations)))


def test_a_carried_value_takes_the_place_of_what_enters() -> None:
    assert carried("  y = A add(x, w)\n  ROOT r = (s32[], A, A) tuple(j, y, w)") == {
        frozenset({"b", "y"})
    }


def test_a_carried_value_that_is_read_after_its_successor_was_made() -> None:
    lines = """  y = A add(x, w)
  g = A add(x, y)
  ROOT r = (s32[], A, A) tuple(j, y, w)"""
    assert carried(lines) == set()


def test_what_enters_and_is_read_after_the_loop_keeps_its_place() -> None:
    groups = carried(
        "  y = A add(x, w)\n  ROOT r = (s32[], A, A) tuple(j, y, w)", last="ROOT d = A add(x, b)"
    )
    assert not any("b" in group for group in groups)


def test_what_enters_twice_is_overwritten_in_one_place_only() -> None:
    """The second element is handed on: its content is needed in every iteration."""
    groups = carried("  y = A add(x, w)\n  ROOT r = (s32[], A, A) tuple(j, y, w)", second="b")
    assert not any("b" in group for group in groups)


def test_elements_that_change_places_share_nothing() -> None:
    assert carried("  y = A tanh(x)\n  ROOT r = (s32[], A, A) tuple(j, w, y)") == set()


def test_an_invariant_that_a_body_updates_keeps_its_content() -> None:
    lines = """  u = f32[1,128] slice(x), slice={[0:1], [0:128]}
  d = A dynamic-update-slice(w, u, j, j)
  y = A add(x, d)
  ROOT r = (s32[], A, A) tuple(j, y, w)"""
    groups = carried(lines)
    assert not any("d" in group for group in groups)
    assert frozenset({"b", "y"}) in groups


def test_a_carried_update_in_place() -> None:
    lines = """  u = f32[1,128] slice(w), slice={[0:1], [0:128]}
  d = A dynamic-update-slice(x, u, j, j)
  ROOT r = (s32[], A, A) tuple(j, d, w)"""
    assert carried(lines) == {frozenset({"b", "d"})}
