"""The page Challenges without a browser: opponents, take-backs, score sheet, positions."""

from __future__ import annotations

import re
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from engine.game.moves import ACTION_NAMES, DROP
from engine.game.reference.game import ReferenceGame
from engine.game.replay import immediate_reward
from engine.lessons import positions
from engine.lessons.opponents import CHANCE, COMPILER, GREEDY, greedy_end_s
from engine.lessons.positions import read_positions
from engine.lessons.score import Sheet
from engine.program import library
from tests.chosen import chosen
from tests.ui.apps import browser_keeps, open_view
from ui.model.challenges.match import EVERY, MatchScene, inviting, match_of
from ui.model.challenges.practice import (
    LIMIT_S,
    MINE,
    MINUTES,
    PRACTICE,
    STREAK,
    Asked,
    positions_of,
)
from ui.model.challenges.question import question_html, question_of
from ui.model.challenges.state import ChallengeState
from ui.model.learn.attempt import Attempt
from ui.model.learn.progress import Card, Mistake, Progress, progress_of
from ui.model.learn.state import Learning, Seat
from ui.session import caching

NAME = "lstm-v5e-b128"
INVITED = inviting(library.index(), read_positions(), most=3)


def _challenges() -> None:
    from ui.challenges import page

    page.render()


def html(at: AppTest) -> str:
    return " ".join(element.proto.body for element in at.get("html"))


def seat_of(at: AppTest, begin: str) -> Seat:
    seats = at.session_state["explorer"].learning.seats
    found: Seat = next(seats[name] for name in seats if name.startswith(begin))
    return found


def command(at: AppTest, key: str, seat: Seat, do: str, **given: Any) -> None:
    """What the map would send for a button or a key."""
    serial = at.session_state["explorer"].handled.get(key, 0) + 1
    order = {"do": do, "serial": serial, "move": seat.cursor.move, **given}
    told = {"plan": seat.stored, "held": 0, "move": seat.cursor.move, "selected": -1}
    at.session_state[key] = {"cursor": {**told, "nonce": seat.cursor.nonce, "command": order}}
    at.run()
    assert not at.exception


def play_match(at: AppTest, action: int) -> None:
    command(at, "match", seat_of(at, "match"), "play", action=action)


def decide(at: AppTest, moves: int) -> None:
    box = next(b for b in at.selectbox if str(b.key).startswith("decisions"))
    box.set_value(moves).run()


def match_page() -> AppTest:
    return open_view(_challenges, program=NAME)


def test_the_cards_lead_to_a_board() -> None:
    at = open_view(_challenges)
    buttons = [b for b in at.button if (b.key or "").startswith("match_")]
    assert len(buttons) >= 6 and "start here" in buttons[0].label
    buttons[0].click().run()
    assert not at.exception and "The clock" in html(at)
    names = [
        opponent.name
        for opponent in caching.match_on(str(buttons[0].key).removeprefix("match_")).opponents
    ]
    assert {"chance", "greedy", "the compiler"} <= set(names)
    for name in names:
        assert name in html(at)


def strong_action(seat: Seat) -> int:
    """What the mined game plays; without teaching the rest of the test does not hang on it."""
    match = caching.match_on(NAME)
    game = seat.attempt.tip.game
    values = match.judged(game, EVERY)
    return max(values, key=lambda a: values[a].saved_s)


def test_a_program_that_was_played_on_stays_on_the_shelf() -> None:
    entries, mined = caching.sample_index(), caching.mined_positions()
    shelf = inviting(entries, mined, most=2)
    assert len(shelf) == 2
    other = next(e for e in entries if e.touches > shelf[0].touches and e not in shelf)
    kept = inviting(entries, mined, most=2, played=[other.name, shelf[1].name, "gone"])
    assert kept == [*shelf, other]


@pytest.mark.nightly
def test_a_game_of_good_moves_beats_greedy_and_is_kept() -> None:
    at = match_page()
    decide(at, EVERY)
    seat = seat_of(at, f"match {NAME} {EVERY}")
    for _ in range(80):
        if seat.attempt.is_over:
            break
        command(at, "match", seat, "play", action=strong_action(seat))
    assert seat.attempt.is_over
    assert "You beat" in html(at)
    won = at.session_state["explorer"].learning.progress.won
    assert {f"{NAME}/greedy", f"{NAME}/the compiler"} <= set(won)
    command(at, "match", seat, "score")
    text = html(at)
    assert "Score sheet" in text and "Best move" in text
    assert "level with the best plan known" in text


def test_a_score_sheet_is_made_of_the_game_that_was_asked_about_and_of_no_later_one() -> None:
    at = match_page()
    seat, state = seat_of(at, "match"), at.session_state["explorer"].challenges
    command(at, "match", seat, "finish")
    for _ in range(2):
        command(at, "match", seat, "score")
    assert len(state.sheets) == 1
    first, other = seat.attempt.points[0].game, DROP
    if seat.attempt.chosen(0) == other:
        other = next(a for a in first.legal_actions() if a != DROP)
    at.toggle(key="teaching").set_value(False).run()
    seat.jump(first.move_index)
    command(at, "match", seat, "play", action=other)
    command(at, "match", seat, "finish")
    assert seat.attempt.is_over and seat.attempt.chosen(0) == other
    assert len(state.sheets) == 1 and "<h4>Score sheet" not in html(at)


@pytest.mark.parametrize("name", chosen(entry.name for entry in INVITED))
def test_who_goes_by_the_teacher_beats_greedy_wherever_one_is_invited(name: str) -> None:
    """What earns most at once and is not taken back. It stays worth what it was said to be, though
    greedy plays the moves up to the next decision.
    """
    match, decisions = caching.match_on(name), ChallengeState().decisions
    attempt, worth_s = match.attempt(decisions), 0.0
    while not attempt.is_over:
        game = attempt.tip.game
        found = match.judged(game, decisions)
        assert max(value.saved_s for value in found.values()) >= worth_s * (1 - 1e-9)
        kept = [action for action in found if not match.cost_s(found, action)]
        action = max(kept, key=lambda a: immediate_reward(game, a))
        worth_s = found[action].saved_s
        attempt.play(game.move_index, action)
    won = {opponent.name for opponent in match.won(greedy_end_s(attempt.tip.game))}
    assert "greedy" in won
    assert len(attempt.decided) <= decisions


def test_teaching_takes_back_a_bad_move_and_says_what_it_costs() -> None:
    at = match_page()
    seat = seat_of(at, "match")
    match = caching.match_on(NAME)
    bad = None
    for _ in range(20):
        game = seat.attempt.tip.game
        assert not game.is_over, "there is a move that costs something"
        values = match.judged(game, ChallengeState().decisions)
        bad = next((a for a in values if match.cost_s(values, a) > 0), None)
        if bad is not None:
            break
        play_match(at, strong_action(seat))
    assert bad is not None
    before = len(seat.attempt.points)
    play_match(at, bad)
    assert len(seat.attempt.points) == before
    assert f"{ACTION_NAMES[bad]} was taken back" in html(at) and "It costs" in html(at)
    command(at, "match", seat, "line", which="wrong")
    assert seat.line is not None and "The line that refutes it" in html(at)
    command(at, "match", seat, "back")
    command(at, "match", seat, "anyway")
    assert len(seat.attempt.points) == before + 1 and "taken back" not in html(at)
    command(at, "match", seat, "undo")
    play_match(at, bad)
    assert "was taken back" in html(at)
    command(at, "match", seat, "finish")
    assert "was taken back" not in html(at), "the game is over"
    command(at, "match", seat, "retry")
    while len(seat.attempt.points) < before:
        play_match(at, strong_action(seat))
    at.toggle(key="teaching").set_value(False).run()
    play_match(at, bad)
    assert len(seat.attempt.points) == before + 1, "without teaching it stands"


def test_a_move_that_was_taken_back_belongs_to_its_board_and_its_position() -> None:
    match, learning, state = caching.match_on(NAME), Learning(), ChallengeState()

    def board(decisions: int) -> tuple[MatchScene, Seat]:
        key = f"match {NAME} {decisions}"
        seat = learning.seat(key, match.attempt(decisions))
        return MatchScene(match, learning, state, key), seat

    (scene, seat), (other_scene, other) = board(state.decisions), board(15)
    bad = None
    while bad is None or not seat.attempt.is_begun:
        values = match.judged(seat.attempt.tip.game, state.decisions)
        scene.decide(seat, max(values, key=lambda a: values[a].saved_s))
        values = match.judged(seat.attempt.tip.game, state.decisions)
        bad = next((a for a in values if match.cost_s(values, a) > 0), None)
    scene.decide(seat, bad)
    assert "was taken back" in scene.panel(seat) and scene.explained(seat) is not None
    assert "was taken back" not in other_scene.panel(other)
    other_scene.carry_out(other, {"do": "anyway"})
    assert other_scene.explained(other) is None and not other.attempt.is_begun
    seat.jump(seat.attempt.undo())
    points = list(seat.attempt.points)
    assert "was taken back" not in scene.panel(seat)
    scene.carry_out(seat, {"do": "anyway"})
    assert seat.attempt.points == points, "it is of a later decision"
    seat.jump(seat.attempt.redo())
    scene.carry_out(seat, {"do": "anyway"})
    assert len(seat.attempt.points) == len(points) + 2


def test_greedy_can_finish_and_beats_who_is_weaker_but_not_itself() -> None:
    at = match_page()
    seat = seat_of(at, "match")
    command(at, "match", seat, "finish")
    assert seat.attempt.is_over and "You beat" in html(at)
    names = [opponent.name for opponent in caching.match_on(NAME).opponents]
    weaker = names[: names.index("greedy")]
    won = at.session_state["explorer"].learning.progress.won
    assert "chance" in weaker and set(won) == {f"{NAME}/{name}" for name in weaker}
    last = seat.attempt.decided[-1]
    command(at, "match", seat, "go", to=last)
    play_match(at, seat.attempt.tip.game.actions[last])
    spent = at.session_state["explorer"].learning.progress.spent
    assert not any(times.tries for times in spent.values()), "the same card again is no other try"
    command(at, "match", seat, "retry")
    assert not seat.attempt.is_begun


def test_a_reviewed_game_shows_its_losses_and_mistakes_become_positions() -> None:
    at = match_page()
    seat = seat_of(at, "match")
    command(at, "match", seat, "finish")
    command(at, "match", seat, "score")
    text = html(at)
    assert "Your decisions" in text and "Score sheet" in text
    cells = re.findall(r'class="cell (\w+)[^"]*" data-do="go" data-to="(\d+)"', text)
    learning = at.session_state["explorer"].learning
    sheet = next(iter(at.session_state["explorer"].challenges.sheets.values()))
    assert [int(move) for _, move in cells] == [row.move for row in sheet.rows]
    bad = [int(move) for kind, move in cells if kind in ("blunder", "mistake", "dubious")]
    assert bad and sheet.worst is not None and sheet.worst.move in bad
    decide(at, 15)
    other = seat_of(at, f"match {NAME} 15")
    command(at, "match", other, "finish")
    assert other.attempt.tip.game.actions == seat.attempt.tip.game.actions
    assert "Your decisions" not in html(at), "the same game, but others of its moves were decided"
    decide(at, 10)
    command(at, "match", seat, "go", to=sheet.worst.move)
    assert "lost" in html(at) and "was better" in html(at)
    at.button(key="learn_mistakes").click().run()
    assert not at.exception
    kept = learning.progress.mistakes
    assert {m.moves[0] for m in kept} == set(bad)
    assert "What would you play?" in html(at)
    question = at.session_state["explorer"].challenges.question
    asked = {m.key(m.moves[0]): m for m in kept}[question]
    assert asked == max(kept, key=lambda m: lost_at(sheet, m.moves[0]))
    better = int(asked.game[asked.moves[0]])
    ask(at, better)
    assert "is right" in html(at)


def lost_at(sheet: Sheet, move: int) -> float:
    return next(row.lost_s for row in sheet.rows if row.move == move)


def test_a_mistake_on_a_program_that_is_no_more_is_said_and_forgotten() -> None:
    at = open_view(_challenges, tab="find")
    explorer = at.session_state["explorer"]
    lost = Mistake("gone", "x", "long_high", 0, 0, "111", (1,))
    explorer.learning.keep(explorer.learning.progress.with_mistakes([lost]))
    at.run()
    at.selectbox(key="question_theme").set_value(MINE).run()
    assert not at.exception
    assert at.warning
    assert explorer.learning.progress.mistakes == ()


def test_who_wants_to_decides_every_move() -> None:
    at = match_page()
    decide(at, EVERY)
    assert not at.exception
    assert seat_of(at, f"match {NAME} {EVERY}")
    decide(at, 15)
    assert seat_of(at, f"match {NAME} 15")
    every = caching.match_on(NAME).attempt(EVERY)
    few = caching.match_on(NAME).attempt(10)
    assert every.points[0].game.move_index <= few.points[0].game.move_index


def test_the_game_under_way_is_taken_up_after_a_reload() -> None:
    at = match_page()
    kept = Progress(games={f"match {NAME} 30": "0;"})
    at.session_state["progress"] = {"stored": {"text": kept.text(), "kept": True}}
    at.run()
    assert not at.exception
    assert at.session_state["explorer"].challenges.decisions == 30
    assert seat_of(at, f"match {NAME} 30")


def test_an_unknown_program_is_said_so() -> None:
    at = open_view(_challenges, program="no<such>program")
    assert "no sample program" in at.warning[0].value
    assert any((b.key or "").startswith("match_") for b in at.button)


def test_without_positions_greedy_judges() -> None:
    entry = library.find_sample(NAME)
    match = match_of(library.load_sample(NAME), entry, None)
    game = match.attempt(EVERY).points[0].game
    assert len(match.judged(game, EVERY)) > 1


OTHER_RULES = ("mlpae-v5p-b4096-train-flags", "lstm-v5e-b64-train", "resnet50-v5e-b64")
"""Programs whose strong game has another place rule, so that greedy plays otherwise there."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(entry.name, marks=() if entry.name in OTHER_RULES else pytest.mark.nightly)
        for entry in (*library.index(), *library.large(), *library.real())
    ],
)
def test_greedy_left_alone_beats_neither_itself_nor_what_is_stronger(name: str) -> None:
    match = caching.match_on(name)
    greedy_s = greedy_end_s(ReferenceGame(match.program, match.rules))
    assert {r.name for r in match.won(greedy_s)} <= {CHANCE, COMPILER}
    (itself,) = (r for r in match.opponents if r.name == GREEDY)
    assert itself.limit_s == greedy_s
    scene = MatchScene(match, Learning(), ChallengeState(), "match")
    saved_s = match.program.all_slow_s - greedy_s
    assert scene.references.rival_s[-1] == pytest.approx(saved_s)


def ask(at: AppTest, action: int) -> None:
    command(at, "question", seat_of(at, "position"), "play", action=action)


@pytest.fixture
def questions() -> AppTest:
    return open_view(_challenges, tab="find")


def test_no_value_is_shown_before_the_answer(questions: AppTest) -> None:
    at = questions
    assert "What would you play?" in html(at)
    assert "in the end" not in html(at) and "the best known" not in html(at)
    seat = seat_of(at, "position")
    legal = seat.attempt.tip.game.legal_actions()
    ask(at, legal[0])
    text = html(at)
    assert "the best known" in text and "in the end" in text and "Next position" in text
    state = at.session_state["explorer"].challenges
    learning = at.session_state["explorer"].learning
    key = state.question
    assert learning.progress.cards[key].right + learning.progress.cards[key].wrong == 1
    ask(at, legal[-1])
    assert state.num_asked == 1, "one answer counts"
    command(at, "question", seat_of(at, "position"), "next")
    assert state.question != key and "What would you play?" in html(at)


def test_only_an_answer_that_changes_the_rating_is_said_to_change_it(questions: AppTest) -> None:
    at = questions
    explorer = at.session_state["explorer"]
    state, learning = explorer.challenges, explorer.learning
    ask(at, seat_of(at, "position").attempt.tip.game.legal_actions()[0])
    assert abs(state.gained) >= 1 and "; rating" in html(at)
    again = next(k for k in positions_of(read_positions()) if k != state.question)
    learning.keep(learning.progress.with_card(again, Card(right=1)))
    before = learning.progress.rating
    state.open_position(again)
    at.run()
    assert state.question == again and "; rating" not in html(at)
    seat = learning.seats[f"position {again}"]
    command(at, "question", seat, "play", action=seat.attempt.tip.game.legal_actions()[0])
    assert state.num_asked == 2
    assert learning.progress.rating == before and "; rating" not in html(at)


def test_right_and_wrong_answers_are_told_apart(questions: AppTest) -> None:
    at = questions
    asked = positions_of(read_positions())[at.session_state["explorer"].challenges.question]
    mined, move = asked.mined, asked.move
    question = question_of(library.load_sample(mined.program), mined, move)
    values = question.answer(question.strong.actions[move]).values
    worst = min(values, key=lambda a: values[a].saved_s)
    assert question.answer(question.strong.actions[move]).is_right
    assert not question.answer(worst).is_right
    ask(at, worst)
    card = at.session_state["explorer"].learning.progress.cards[question.key]
    assert (card.box, card.wrong) == (0, 1)
    assert f"{ACTION_NAMES[worst]} costs" in html(at)
    assert "by the end" in html(at) or "less later" in html(at)
    seat = seat_of(at, "position")
    command(at, "question", seat, "line", which="wrong")
    assert seat.line is not None
    assert seat.on_board.tip.game.actions[move] == worst
    command(at, "question", seat, "back")
    assert seat.line is None and seat.cursor.move == move


@pytest.mark.parametrize(
    ("name", "move", "told"),
    [("lstm-v5e-b64-train", 142, ["490", "24.8"]), ("mamba-v6e-b32", 120, ["6.67"])],
)
def test_a_right_answer_that_another_beats_is_told_what_it_saves_itself(
    name: str, move: int, told: list[str]
) -> None:
    """Against greedy's action, where it saves more than that, and against the best one."""
    mined = next(m for m in read_positions() if m.program == name and move in m.moves)
    question = question_of(library.load_sample(name), mined, move)
    values = question.answer(question.strong.actions[move]).values
    _, second, *_ = sorted(values, key=lambda action: -values[action].saved_s)
    answer = question.answer(second)
    assert answer.is_right
    seat, asked = Learning().seat("", Attempt.from_start(question.game)), Asked(mined, move, None)
    panel = question_html(question, asked, seat, ChallengeState(answers={question.key: answer}))
    verdict = re.sub("<[^>]*>", "", panel.partition("</span>")[0])
    assert re.findall(r"([\d.]+)\sµs", verdict) == told


def test_the_cards_of_an_answered_position_say_what_was_right_and_are_no_choice_any_more(
    questions: AppTest,
) -> None:
    at = questions
    asked = positions_of(read_positions())[at.session_state["explorer"].challenges.question]
    question = question_of(library.load_sample(asked.mined.program), asked.mined, asked.move)
    answer = question.answer(min(question.game.legal_actions()))
    assert "aria-disabled" not in html(at)
    ask(at, answer.action)
    cards = re.findall(
        r'<button class="([^"]*)" data-do="play" data-action="(.)"([^>]*)>', html(at)
    )
    assert {int(action) for _, action, _ in cards} == set(answer.values)
    for look, action, rest in cards:
        assert 'aria-disabled="true"' in rest
        assert ("right" in look.split()) == question.answer(int(action)).is_right


def test_a_record_is_kept_at_once_and_only_what_stands_below_is_announced(
    questions: AppTest,
) -> None:
    at = questions
    explorer = at.session_state["explorer"]
    at.session_state["question_mode"] = MINUTES
    at.run()
    at.button(key="begin_run").click().run()
    answer_rightly(at)
    assert progress_of(browser_keeps(at), "kept").records == {MINUTES: 1}
    run, key = explorer.challenges.run, explorer.challenges.question
    run.over_s, run.missed = LIMIT_S, ["before"]
    at.run()
    assert not at.exception
    said = next(c.value for c in at.caption if "comes back in practice" in c.value)
    assert "below" not in said and "What would you play?" not in html(at)
    run.missed = [key]
    at.run()
    assert any("the last one stands below" in c.value for c in at.caption)
    assert seat_of(at, f"position {key}")


def answer_rightly(at: AppTest) -> None:
    key = at.session_state["explorer"].challenges.question
    asked = positions_of(read_positions())[key]
    command(
        at, "question", seat_of(at, f"position {key}"), "play", action=asked.mined.game[asked.move]
    )


def test_a_streak_that_is_left_for_another_mode_counts(questions: AppTest) -> None:
    at = questions
    at.session_state["question_mode"] = STREAK
    at.run()
    at.button(key="begin_run").click().run()
    answer_rightly(at)
    for mode in (PRACTICE, STREAK):
        at.session_state["question_mode"] = mode
        at.run()
    assert at.button(key="begin_run").label == "Begin"
    assert at.session_state["explorer"].learning.progress.records == {STREAK: 1}


def test_a_record_is_called_new_until_another_run_begins(questions: AppTest) -> None:
    at = questions
    at.session_state["question_mode"] = STREAK
    at.run()
    for is_new in (True, False):
        at.button(key="begin_run").click().run()
        answer_rightly(at)
        at.session_state["explorer"].challenges.run.over_s = 1.0
        for _ in range(2):
            at.run()
            assert ("record" in at.success[0].value) == is_new


def test_stale_positions_are_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions, "RULES_VERSION", 10**6)
    caching._mined.clear()
    try:
        at = open_view(_challenges, tab="find")
        assert "mine them anew" in at.warning[0].value
    finally:
        caching._mined.clear()


def test_a_board_that_is_not_there_is_said_as_long_as_no_other_is_opened() -> None:
    at = open_view(_challenges, program="zz")
    assert "zz" in at.warning[0].value
    at.run()
    assert "zz" in at.warning[0].value, "the address is that of the overview by now"
    at = open_view(_challenges, foo="bar")
    assert "foo=bar" in at.warning[0].value


def test_what_was_left_aside_of_a_link_is_said_until_the_visitor_goes_on() -> None:
    at = open_view(_challenges, tab="find", foo="bar")
    at.run()
    assert "foo=bar" in at.warning[0].value
    command(at, "question", seat_of(at, "position"), "next")
    assert not at.warning
    at = open_view(_challenges, foo="bar")
    at.session_state["challenge_tab"] = "Find the move"
    at.run()
    assert not at.warning


def test_one_of_the_two_views_is_always_chosen() -> None:
    at = open_view(_challenges, tab="find")
    kinds = next(g for g in at.button_group if g.key == "challenge_tab")
    assert kinds.proto.required
