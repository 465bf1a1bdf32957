"""A lesson file that is wrong gets one clear line with file, line and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import LessonError
from engine.game.moves import ACTION_NAMES
from engine.lessons.catalogue import FOLDER, load_catalogue
from engine.lessons.reading import RIVALS, action_named, read_lesson
from engine.solvers import SOLVERS

GOOD = '''title = "A title"
order = 1
concepts = ["slot"]
text = """
Text with a line that looks like a key:
hints = 3
"""
hints = ["one", "two"]

[goal]
reach = "optimum"

[program]
inputs = {w = 64}
steps = [
  {name = "first", us = 10, reads = ["w"], makes = {x = 32}},
  {name = "second", us = 10, reads = ["x"]},
]
'''


def read(folder: Path, text: str, name: str = "some-lesson.toml") -> None:
    path = folder / name
    path.write_text(text)
    read_lesson(path)


def test_the_good_one_is_good(tmp_path: Path) -> None:
    read(tmp_path, GOOD)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('title = "A title"', "", r"line 1, title: 'title' is missing; give it a text in quotes"),
        ("order = 1", 'order = "1"', r"line 2, order: must be a whole number, not '1'"),
        ("order = 1", "order = 1\nlevel = 3", r"line 3, level: 'level' is no key that is known"),
        ("order = 1", "order = [", r"not TOML: .*\(at line 3"),
        ("order = 1", f"order = 1{5000 * '0'}", "not TOML: Exceeds the limit"),
        ("order = 1", f"order = {5000 * '['}", "not TOML: maximum recursion depth"),
        ('hints = ["one", "two"]', "hints = [1]", r"line 8, hints: must be a list of texts"),
        ('hints = ["one", "two"]', "hints = []", r"line 8, hints: needs at least one entry"),
        ('concepts = ["slot"]', "", r"concepts: 'concepts' is missing"),
        ('reach = "optimum"', 'reach = "top"', r"line 11, goal.reach: 'top' is not 'optimum'"),
        ('reach = "optimum"', "", r"line 10, goal: needs reach, within_percent, save_us or beat"),
        ('reach = "optimum"', "within_percent = -1", r"line 11, .*: must be a finite number"),
        ('reach = "optimum"', "within_percent = nan", r"line 11, .*: must be a finite number"),
        ('reach = "optimum"', f"within_percent = 1{400 * '0'}", "line 11, .*: must be a finite"),
        ('reach = "optimum"', 'beat = "magic"', r"line 11, goal.beat: 'magic' is none of greedy"),
        ('reach = "optimum"', 'reach = "optimum"\ndead_ends = 0', r"line 12, .*without strict"),
        ("us = 10, reads", "reads", r"line 16, program.steps.1.us: 'us' is missing"),
        ('reads = ["x"]', 'reads = ["y"]', r"line 17, .*: there is no tensor 'y' before this"),
        ("{x = 32}", "{x = 0}", r"line 16, .*makes: x must be a number above 0"),
        ("{x = 32}", "{x = 0.5}", r"line 16, .*: sizes are whole KiB"),
        (
            'reads = ["x"]}',
            'reads = ["x"], saves = {w = 1}}',
            r"line 17, .*saves: this step does not touch the tensor 'w'",
        ),
        ("{x = 32}", "{w = 32}", r"line 16, .*makes: the tensor 'w' is there already"),
        ('name = "second"', 'name = "first"', r"line 17, .*'first' is there twice"),
        ("inputs =", 'sample = "nobody"\ninputs =', r"line 14, program.sample: no sample program"),
        ("inputs =", "fast_kib = 0\ninputs =", r"line 14, program.fast_kib: must be 1 to"),
        (
            "us = 10, reads",
            "us = 10, scratch = 40000, reads",
            "fast_kib: the scratch of 'first' needs",
        ),
        ("order = 1", 'order = 1\nstart = ["Jump"]', r"line 3, start: 'Jump' is none of Copy"),
        ("order = 1", 'order = 1\nstart = ["NoCopy"]', r"line 3, start: move 1, NoCopy, is not"),
        ("order = 1", "order = true", r"line 2, order: must be a whole number, not True"),
    ],
)
def test_a_broken_file_names_file_line_and_key(
    tmp_path: Path, old: str, new: str, complaint: str
) -> None:
    assert old in GOOD
    with pytest.raises(LessonError, match=complaint) as caught:
        read(tmp_path, GOOD.replace(old, new, 1))
    text = str(caught.value)
    assert text.startswith("some-lesson.toml") and "\n" not in text


def test_what_is_no_text_or_too_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "binary.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(LessonError, match=r"binary.toml: not a UTF-8 text"):
        read_lesson(path)
    path.write_text("# " + "x" * 300_000)
    for endless in (path, Path("/dev/zero")):
        with pytest.raises(LessonError, match="larger than 256 KiB"):
            read_lesson(endless)
    with pytest.raises(LessonError, match=r"gone\.toml: cannot be read \(No such file"):
        read_lesson(tmp_path / "gone.toml")
    with pytest.raises(LessonError, match="other characters"):
        read(tmp_path, GOOD, "Bad Name.toml")


def test_a_loop_that_is_wrong_has_the_line_of_its_table(tmp_path: Path) -> None:
    text = f'{GOOD}\n[[program.loops]]\nfirst = "first"\nlast = "third"\ntimes = 8\n'
    with pytest.raises(LessonError, match=r"line 22, program.loops.1.last: no step is called"):
        read(tmp_path, text)
    text = text.replace("third", "second")
    with pytest.raises(LessonError, match=r"line 20, program.loops.1: .*at least twice"):
        read(tmp_path, text.replace("times = 8", "times = 1"))
    for times in (10**9 + 1, 10**400):
        with pytest.raises(LessonError, match=r"line 23, program.loops.1.times: must be 2 to"):
            read(tmp_path, text.replace("times = 8", f"times = {times}"))
    read(tmp_path, text.replace("times = 8", f"times = {10**9}"))


def test_the_memory_that_a_model_believes_in_leaves_the_game_its_moves(tmp_path: Path) -> None:
    """Else it plays another game: what it expects of a move would be of other tensors."""

    def given(wide: int, mind: int) -> str:
        view = f'[agent_view]\nkind = "model"\nfast_kib = {mind}\n\n[program]\nfast_kib = {wide}'
        return GOOD.replace("[program]", view).replace("x = 32", "x = 700")

    for wide, mind in ((1024, 2048), (512, 600), (1024, 700)):
        read(tmp_path, given(wide, mind))
    for wide, mind in ((1024, 512), (512, 1024), (1024, 0), (1024, 10**30)):
        with pytest.raises(LessonError, match=r"line 15, agent_view.fast_kib: must"):
            read(tmp_path, given(wide, mind))


def test_a_broken_file_does_not_hide_the_others(tmp_path: Path) -> None:
    read(tmp_path, GOOD, "good.toml")
    (tmp_path / "bad.toml").write_text("title = 3")
    (tmp_path / "lost.toml").write_text(GOOD.replace("order = 1", 'order = 2\nneeds = ["gone"]'))
    found = load_catalogue(tmp_path)
    assert [lesson.name for lesson in found.lessons] == ["good"]
    assert len(found.broken) == 2
    assert any("bad.toml" in b for b in found.broken) and any("gone" in b for b in found.broken)


def test_searching_finds_titles_first() -> None:
    found = load_catalogue().search("stall")
    assert found and "stall" in f"{found[0].title} {found[0].concepts}".lower()
    assert not load_catalogue().search("no-such-word")
    assert len(load_catalogue().search("")) == len(list(FOLDER.glob("*.toml")))


def test_actions_go_by_their_names() -> None:
    for action, name in enumerate(ACTION_NAMES):
        assert action_named(name.lower()) == action
    assert action_named("Drop") == action_named("dr")
    assert action_named("jump") is None


def test_every_rival_is_a_solver() -> None:
    assert set(RIVALS) <= set(SOLVERS)
