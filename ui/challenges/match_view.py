"""Challenges, beat an opponent: the programs as cards, one on its board, the score sheet."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st
from htpy import Node, Renderable, b, code, div, h4, i, p, table, td, th, tr

from engine.errors import EngineError
from engine.game.moves import ACTION_NAMES
from engine.game.reference.explain import group_name
from engine.lessons.score import PHASES, Row, Sheet, score
from engine.program.library import SampleEntry
from engine.program.proof import gap
from ui.components.markdown import plain
from ui.components.units import column_texts, count_text, share_text, time_text
from ui.learn import board_view
from ui.model.challenges.match import CHOICES, EVERY, Match, MatchScene, inviting, leads_of
from ui.model.challenges.practice import MINE, PRACTICE
from ui.model.challenges.review import mistakes_of, review_html
from ui.model.challenges.state import ChallengeState, GameKey
from ui.model.learn.state import Learning, Seat
from ui.session import caching

_MOST = 12
_COLUMNS = 4


def show_programs(learning: Learning) -> str | None:
    """Show a card per program; returns the name of the chosen one, or None."""
    try:
        mined = caching.mined_positions()
    except EngineError as error:
        st.warning(plain(error), icon=":material/error:")
        mined = ()
    played = {name.partition("/")[0] for name in learning.progress.won}
    entries = inviting(caching.sample_index(), mined, _MOST, played)
    if not entries:
        entries = [e for e in caching.sample_index() if e.xla_latency_s is not None]
        entries = sorted(entries, key=lambda e: e.touches)[:_MOST]
    if not entries:
        st.info("There are no real programs here: `sample_programs/` is empty.")
        return None
    st.markdown(
        "You decide the moves with the most at stake, and those at which greed goes wrong; greedy,"
        " who takes what earns most at once, plays the rest. Beat chance, greedy, the compiler, and"
        " come ever nearer to the bound."
    )
    leads, chosen = leads_of(mined), None
    for first in range(0, len(entries), _COLUMNS):
        for place, entry in zip(
            st.columns(_COLUMNS, gap="small"), entries[first : first + _COLUMNS], strict=False
        ):
            with place.container(border=True, height="stretch", gap="small"):
                if _card(entry, learning, leads.get(entry.name), is_first=entry is entries[0]):
                    chosen = entry.name
    return chosen


def _card(entry: SampleEntry, learning: Learning, lead: float | None, is_first: bool) -> bool:
    over = gap(entry.xla_latency_s, entry.bound_s)
    far = f"the compiler is {share_text(over)} above the bound" if over is not None else ""
    if lead:
        far += f"; a game {share_text(lead)} faster than greedy's is known"
    won = sum(name.startswith(f"{entry.name}/") for name in learning.progress.won)
    beaten = f"{won} beaten" if won else ("start here" if is_first else "nobody beaten yet")
    st.markdown(f"**{entry.title}**")
    st.caption(f"{entry.touches:,} uses of tensors; {far}")
    return st.button(
        f"Play · {beaten}",
        key=f"match_{entry.name}",
        type="primary" if is_first and not won else "secondary",
        width="stretch",
    )


def show_match(name: str, learning: Learning, state: ChallengeState) -> None:
    """Show a program's board, and the score sheet once it is asked for. Raises EngineError."""
    match = caching.match_on(name)
    _take_up(name, learning, state)
    left, right = st.columns([2.6, 1], gap="medium")
    with left:
        _head(name, learning, state)
        # Above the board, so that it is in sight when it comes.
        sheet = st.container()
    key = f"match {name} {state.decisions}"
    seat = learning.seat(key, match.attempt(state.decisions))

    def review(seat: Seat) -> Node:
        found = state.sheets.get(_game_key(match, seat))
        return None if found is None else review_html(match, seat, found)

    scene = MatchScene(match, learning, state, key, review=review)
    board_view.show(scene, seat, left, right)
    with sheet:
        _sheet(match, seat, learning, state)


def _game_key(match: Match, seat: Seat) -> GameKey:
    """What a score sheet is of."""
    attempt = seat.attempt
    return match.program.name, tuple(attempt.tip.game.actions), attempt.decided


def _take_up(name: str, learning: Learning, state: ChallengeState) -> None:
    """Go on with as many decisions as in the game that was under way before a reload."""
    begun = f"match {name} "
    kept = [
        board for board, game in learning.progress.games.items() if game and board.startswith(begun)
    ]
    if kept and name not in state.taken_up:
        number = kept[-1].removeprefix(begun)
        if number.isdecimal() and int(number) in CHOICES:
            state.decisions = int(number)
        state.taken_up.add(name)


def _head(name: str, learning: Learning, state: ChallengeState) -> None:
    back, title, moves, teach = st.columns([1.1, 2.2, 1.6, 1.3], vertical_alignment="center")
    if back.button("All challenges", key="all_challenges", icon=":material/arrow_back:"):
        learning.wanted = "all"
        st.rerun()
    title.subheader(name, anchor=False)
    chosen = moves.selectbox(
        "You decide",
        CHOICES,
        index=CHOICES.index(state.decisions),
        format_func=lambda n: "you decide every move" if n == EVERY else f"you decide {n} moves",
        # A widget keeps what was chosen on it: another number from elsewhere takes another widget.
        key=f"decisions_{state.decisions}",
        label_visibility="collapsed",
    )
    if chosen != state.decisions:
        state.decisions = chosen
        st.rerun()
    state.is_teaching = teach.toggle(
        "Teach me",
        value=state.is_teaching,
        key="teaching",
        help="A move that costs much is taken back, and you are told what it costs",
    )


def _sheet(match: Match, seat: Seat, learning: Learning, state: ChallengeState) -> None:
    attempt, is_wanted = seat.attempt, learning.wanted == "score"
    if is_wanted:
        learning.wanted = ""
    if not attempt.is_over:
        return
    key = _game_key(match, seat)
    if key not in state.sheets:
        if not is_wanted:
            return
        bar = st.progress(0.0, text="Judging your decisions …")

        def tell(share: float) -> None:
            bar.progress(share)

        first = attempt.points[0].game
        rest = attempt.tip.game.actions[first.move_index :]
        state.sheets[key] = score(
            first, rest, attempt.decided, match.games, match.best_saved_s, progress=tell
        )
        # The panel beside the board shows the decisions now, too.
        st.rerun()
    sheet = state.sheets[key]
    st.html(sheet_html(seat, sheet))
    mistakes = mistakes_of(match, seat, sheet)
    if mistakes and st.button(
        f"Learn from your {count_text(len(mistakes), 'mistake')}",
        key="learn_mistakes",
        icon=":material/school:",
        type="primary",
        help="Each becomes a position of yours, to be found again until you know it",
    ):
        learning.keep(learning.progress.with_mistakes(mistakes[::-1]))
        state.mode, state.theme, state.question, state.run = PRACTICE, MINE, "", None
        st.query_params.from_dict({"tab": "find"})
        st.rerun()


def sheet_html(seat: Seat, sheet: Sheet) -> str:
    """The score sheet as HTML: where the distance to the best plan known was lost, and by what."""
    names = [f"your decisions in the {phase}" for phase in PHASES]
    counts: list[int | None] = [
        sum(sheet.phase_of(r.move) == n for r in sheet.rows) for n in range(len(PHASES))
    ]
    parts_s = [sheet.lost_in(number) for number in range(len(PHASES))]
    names += ["the moves between them", "what no single move explains: the best plan plays another"]
    parts_s += [sheet.between_s, sheet.unexplained_s]
    counts += [None, None]
    *texts, total = column_texts(parts_s)
    rows = (
        tr[td[name], td[count], td[text], td[i(style=f"width:{_percent(lost_s, sheet):.0f}%")]]
        for name, count, lost_s, text in zip(names, counts, parts_s, texts, strict=True)
    )
    is_level = sheet.distance_s < sheet.noise_s
    how = "level with" if is_level else f"{time_text(sheet.distance_s)} behind"
    lost = table[
        tr[th["lost by"], th["number"], th["time"], th],
        rows,
        tr(".sum")[td["in all"], td, td[total], td],
    ]
    return str(
        div(".sheet")[
            h4["Score sheet"],
            p[b[f"You are {how} the best plan known."], _looked(sheet)],
            None if is_level else lost,
            _moves_html(seat, sheet),
        ]
    )


def _percent(lost_s: float, sheet: Sheet) -> float:
    return 100 * lost_s / sheet.distance_s if sheet.distance_s else 0.0


def _looked(sheet: Sheet) -> str:
    if len(sheet.rows) >= sheet.num_decisions:
        return ""
    return (
        f" Judged are the {len(sheet.rows)} weightiest of your {sheet.num_decisions:,} decisions;"
        " the others count among the moves between them."
    )


def _moves_html(seat: Seat, sheet: Sheet) -> Iterator[Renderable]:
    """The best and the worst decision, where one stands out."""
    best, worst = sheet.best, sheet.worst
    if best is not None:
        won = f"{ACTION_NAMES[best.action]} won {time_text(best.won_s)}"
        yield p[b["Best move:"], _where(seat, best), f"{won} over what earns most at once."]
    if worst is not None:
        lost = f"{ACTION_NAMES[worst.action]} lost {time_text(worst.lost_s)}"
        better = f"{lost}; {ACTION_NAMES[worst.better]} was better."
        yield p[b["Worst move:"], _where(seat, worst), better]
    elif sheet.distance_s >= sheet.noise_s:
        lost = time_text(sheet.noise_s)
        yield p[b["No single decision"], f" is known to have lost {lost} or more."]


def _where(seat: Seat, row: Row) -> Node:
    game = seat.attempt.points[0].game
    name = group_name(game, game.moves[row.move].group)
    return [f" move {row.move + 1:,}, ", code[name], ": "]
