"""Mining on a small program: strong games, margins that hold, files that are read again."""

from __future__ import annotations

import gzip
import json
import os
import random
from dataclasses import replace
from pathlib import Path

import pytest

from engine.cli import main
from engine.errors import LessonError
from engine.game.moves import KINDS, RULES_VERSION
from engine.game.reference.game import ReferenceGame
from engine.game.replay import best_action
from engine.lessons import mining
from engine.lessons.catalogue import load_catalogue
from engine.lessons.judge import best_from
from engine.lessons.mining import MARGIN, mine
from engine.lessons.opponents import Polish, judged, known_games, recorded
from engine.lessons.positions import Mined, read_positions, write_positions
from engine.lessons.score import PHASES, Row, Sheet, score
from engine.program import library
from engine.program.io import save
from engine.program.model import Program

SHELF = load_catalogue()
NAMES = ["out-and-back", "what-a-search-sees", "what-fast-memory-is-worth"]


def board(name: str) -> Program:
    return SHELF.find(name).program


def mined(name: str, tries: int = 300) -> tuple[Mined, ...]:
    return mine(board(name), [], tries, 0, lambda text: None)


@pytest.mark.parametrize("name", NAMES)
def test_the_strong_game_is_the_best_one_on_a_small_board(name: str) -> None:
    program = board(name)
    best = best_from(ReferenceGame(program))
    assert best is not None
    strong = mined(name)[0].strong(program)
    assert strong.total == pytest.approx(best.total_reward, abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_every_position_leads_by_the_margin_whatever_follows(name: str) -> None:
    program, num_traps = board(name), 0
    for found in mined(name):
        whole = tuple(map(int, found.game))
        total = recorded(program, found.rules, whole).total
        for move in found.moves:
            game = found.at(program, move)
            for action in game.legal_actions():
                if action != whole[move]:
                    after = game.clone()
                    after.step(action)
                    rival = best_from(after)
                    assert rival is not None
                    # The same answer at the other end may be as good, not better.
                    least = MARGIN if KINDS[action] != KINDS[whole[move]] else -1e-9
                    assert total - rival.total_reward >= least
            num_traps += KINDS[best_action(game)] != KINDS[whole[move]]
    assert num_traps > 0


def test_the_same_seed_finds_the_same() -> None:
    assert mined(NAMES[0], 60) == mined(NAMES[0], 60)


def test_polishing_never_makes_worse_and_leaves_the_beginning_alone() -> None:
    program = board(NAMES[0])
    start = ReferenceGame(program)
    start.step(start.legal_actions()[0])
    begun = list(start.actions)
    end = start.clone()
    while not end.is_over:
        end.step(best_action(end))
    found = Polish(start, end.actions[1:], random.Random(1)).run(200)
    assert found.total_reward >= end.total_reward
    assert found.actions[:1] == begun and start.actions == begun
    assert recorded(program, start.rules, found.actions).total == pytest.approx(found.total_reward)


@pytest.mark.nightly
def test_a_rival_that_is_better_becomes_the_strong_game(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Polish, "run", lambda polish, tries: polish.game)
    names = [lesson.name for lesson in SHELF.lessons if not lesson.rules.strict]
    first = {name: known_games(board(name), [])[1][0].total for name in names}
    betters = [n for n in names if mined(n)[0].strong(board(n)).total > first[n] + 1e-9]
    assert betters, "without any search of its own"
    monkeypatch.setattr(mining, "_MOST_ROUNDS", 1)
    for name in betters:
        assert mined(name)[0].strong(board(name)).total == first[name]


def test_judging_never_values_an_action_above_the_best_that_can_follow() -> None:
    program = board(NAMES[1])
    game = ReferenceGame(program)
    _, games = known_games(program, [])
    values = judged(game, games)
    assert sorted(values) == game.legal_actions()
    for action, found in values.items():
        after = game.clone()
        after.step(action)
        best = best_from(after)
        assert best is not None
        assert found.saved_s <= best.total_reward * program.all_slow_s + 1e-12
        assert found.actions[0] == action
        total = recorded(program, game.rules, found.actions).total
        assert total * program.all_slow_s == pytest.approx(found.saved_s)


def test_the_score_sheet_of_greed_and_of_the_optimum() -> None:
    program = board(NAMES[0])
    start = ReferenceGame(program)
    best = best_from(start)
    assert best is not None
    strong = recorded(program, start.rules, best.actions)
    decided = list(range(start.num_moves))
    best_s = best.total_reward * program.all_slow_s
    perfect = score(start, best.actions, decided, [strong], best_s)
    assert perfect.worst is None and perfect.best is not None
    assert all(row.lost_s <= 1e-12 for row in perfect.rows)
    assert perfect.distance_s == pytest.approx(0.0, abs=1e-12)
    greedy = start.clone()
    while not greedy.is_over:
        greedy.step(best_action(greedy))
    gap_s = best_s - greedy.total_reward * program.all_slow_s
    sheet = score(start, greedy.actions, decided, [strong], best_s)
    assert sheet.worst is not None and sheet.worst is not sheet.best
    assert sheet.distance_s == pytest.approx(gap_s) == pytest.approx(_explained(sheet))
    few = score(start, greedy.actions, decided, [strong], best_s, most=3)
    assert len(few.rows) == 3 and few.num_decisions == len(decided)
    assert few.distance_s == pytest.approx(gap_s) == pytest.approx(_explained(few))


@pytest.mark.parametrize("name", NAMES)
def test_the_line_of_a_decision_saves_what_its_row_says(name: str) -> None:
    """Also where the best game with what was played was found at a later decision."""
    program, dice = board(name), random.Random(1)
    start = ReferenceGame(program)
    for _ in range(4):
        own = start.clone()
        while not own.is_over:
            own.step(dice.choice(own.legal_actions()))
        sheet = score(start, own.actions, range(start.num_moves), [], most=12)
        assert sheet.rows
        known_s = own.total_reward * program.all_slow_s
        for row in reversed(sheet.rows):
            known_s += row.after_s + row.lost_s
            end = start.clone()
            for action in (*own.actions[: row.move], *row.line):
                end.step(action)
            assert end.is_over and row.line[0] == row.better
            assert end.total_reward * program.all_slow_s == pytest.approx(known_s, abs=1e-12)


def _explained(sheet: Sheet) -> float:
    lost = sum(sheet.lost_in(phase) for phase in range(len(PHASES)))
    assert all(row.lost_s >= 0 and row.after_s >= 0 for row in sheet.rows)
    return lost + sheet.between_s + sheet.unexplained_s


def test_without_a_strong_game_the_distance_is_what_no_single_move_explains() -> None:
    """Greed lost nothing to greed, and yet is behind a plan that plays another game."""
    program = board(NAMES[0])
    start = ReferenceGame(program)
    greedy = start.clone()
    while not greedy.is_over:
        greedy.step(best_action(greedy))
    own_s = greedy.total_reward * program.all_slow_s
    sheet = score(start, greedy.actions, range(start.num_moves), [], own_s + 1.58e-3)
    assert sheet.distance_s == pytest.approx(1.58e-3) == pytest.approx(_explained(sheet))
    assert sheet.unexplained_s > 0


def test_noise_is_no_best_and_no_worst_move() -> None:
    def sheet(*lost_and_won: tuple[float, float], distance_s: float = 1.58e-3) -> Sheet:
        rows = [Row(n, 0, 1, lost_s, won_s) for n, (lost_s, won_s) in enumerate(lost_and_won)]
        return Sheet(tuple(rows), 9, 9, distance_s, 0.0)

    noisy = sheet((3.3e-11, 0.9e-6), (0.0, -2e-6))
    assert noisy.best is None and noisy.worst is None
    # One move is not both: it won much over greed, and lost more against the best.
    both = sheet((2e-6, 5e-6))
    assert both.worst is not None and both.best is None
    # Beside a gap of a second, ten microseconds are noise too.
    assert sheet((1e-5, 0.0), distance_s=1.0).worst is None
    assert sheet((1e-5, 0.0), distance_s=1e-2).worst is not None


def test_a_file_read_again_is_the_same(tmp_path: Path) -> None:
    found = mined(NAMES[0], 60)
    write_positions(found, tmp_path / "p.json")
    assert read_positions(tmp_path / "p.json") == found
    write_positions(found, tmp_path / "p.json.gz")
    assert read_positions(tmp_path / "p.json.gz") == found
    (tmp_path / "empty.json").touch()
    for nothing in (tmp_path / "none.json", tmp_path / "empty.json", Path(os.devnull)):
        assert read_positions(nothing) == ()


def test_a_file_is_read_up_to_a_size_packed_or_not(tmp_path: Path) -> None:
    for data in (bytes(2**24 + 1), gzip.compress(bytes(2**24 + 1))):
        (tmp_path / "p.json").write_bytes(data)
        with pytest.raises(LessonError, match="larger than 16 MiB"):
            read_positions(tmp_path / "p.json")


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"rules_version": RULES_VERSION + 1}, "mine them anew"),
        ({"version": 99}, "of version 99 of the format, now 2; mine them anew"),
        ({"format": "else"}, "not a file of positions"),
        ({"programs": 3}, "malformed"),
        ({"programs": [{"program": "x"}]}, "malformed"),
    ],
)
def test_another_file_is_one_line(
    tmp_path: Path, changes: dict[str, object], complaint: str
) -> None:
    path = tmp_path / "p.json"
    write_positions(mined(NAMES[0], 20), path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    with pytest.raises(LessonError, match=complaint) as caught:
        read_positions(path)
    assert str(caught.value).startswith("p.json") and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes"),
    [{"moves": [10**6]}, {"game": "9"}, {"place": "nowhere"}, {"seed": None}, {"program": 3}],
)
def test_a_row_that_is_broken_is_one_line(tmp_path: Path, changes: dict[str, object]) -> None:
    path = tmp_path / "p.json"
    write_positions(mined(NAMES[0], 20), path)
    body = json.loads(path.read_text())
    body["programs"][0].update(changes)
    path.write_text(json.dumps(body))
    with pytest.raises(LessonError, match="malformed"):
        read_positions(path)


def test_a_game_of_another_program_is_refused() -> None:
    found = mined(NAMES[0], 20)[0]
    with pytest.raises(LessonError, match="mine them anew"):
        found.strong(board(NAMES[1]))
    stale = replace(found, game="0" * len(found.game))
    with pytest.raises(LessonError, match="mine them anew"):
        stale.strong(board(NAMES[0]))


@pytest.mark.nightly
def test_the_command_goes_on_where_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.json"
    arguments = ["mine", "-o", str(path), "--tries", "25", "--programs"]
    assert main([*arguments, "lstm-v5e-b128"]) == 0
    first = read_positions(path)
    assert {m.program for m in first} == {"lstm-v5e-b128"}
    assert main([*arguments, "lstm-v5e-b128,teach-keep-or-drop"]) == 0
    assert "lstm-v5e-b128: is there already" in capsys.readouterr().err
    again = read_positions(path)
    assert {m.program for m in again} == {"lstm-v5e-b128", "teach-keep-or-drop"}
    assert [m for m in again if m.program == "lstm-v5e-b128"] == list(first)
    entry = library.find_sample("lstm-v5e-b128")
    assert first[0].content_hash == entry.content_hash
    assert main([*arguments, "teach-keep-or-drop", "--again"]) == 0
    assert read_positions(path) == again, "what was not asked for stays"


def test_another_file_is_not_overwritten_and_positions_of_other_rules_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "program.json"
    save(library.load_sample("teach-keep-or-drop"), path)
    before = path.read_bytes()
    arguments = ["mine", "-o", str(path), "--tries", "25", "--programs", "teach-keep-or-drop"]
    assert main(arguments) == 2
    assert "program.json: not a file of positions" in capsys.readouterr().err
    assert path.read_bytes() == before
    for changes in ({"rules_version": RULES_VERSION - 1}, {"version": 1}):
        write_positions((), path)
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
        assert main(arguments) == 0
        assert "begun anew" in capsys.readouterr().err
        assert [game.program for game in read_positions(path)] == ["teach-keep-or-drop"]


def test_programs_that_have_changed_are_mined_anew_and_those_gone_are_dropped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "index", lambda: ())
    path, name = tmp_path / "p.json", "mlpae-v5p-b4096"
    old = Mined(name, "of old", "long_high", 0, 20, "012", (1,))
    write_positions([old, replace(old, program="gone")], path)
    assert main(["mine", "-o", str(path), "--tries", "25"]) == 0
    assert "gone: is no sample any more" in capsys.readouterr().err
    found = read_positions(path)
    assert {m.program for m in found} == {name}
    assert {m.content_hash for m in found} == {library.find_sample(name).content_hash}
