"""What Debug begins by itself for a game: what its moves cost, and searches to stand beside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from engine.debugging.findings import Finding
from engine.debugging.move_notes import game_key
from ui.jobs.protocol import FINDINGS, GAP, RETRACE
from ui.jobs.weights import FRESH, PRACTISED, shipped
from ui.model.search.orders import gap_order, other_search
from ui.model.search.state import Study, Thought
from ui.search import jobs_view
from ui.session import caching
from ui.session.best_plan import best_beside, files_of, identity_of
from ui.session.state import OpenPlan, Session

STUDY_SECONDS = 60.0
_GAP_SECONDS = 30.0


def begin(session: Session, thought: Thought) -> None:
    """Order the costs of a game's moves and a second search, once for each game.

    What the gap is made of is ordered for each plan that becomes the best one known.
    """
    debug, state = session.open.debug, session.open.searches
    begun = debug.begun
    best = best_beside(session.open, thought.plan)
    gap = (thought.identity, identity_of(best))
    if gap not in debug.gaps and gap not in state.gaps:
        order_gap(session, thought, best)
    debug.gaps.add(gap)
    if thought.identity in begun:
        return
    begun.add(thought.identity)
    if thought.identity not in state.studies:
        jobs_view.order_findings(session, thought, STUDY_SECONDS)
    if not _has_second(session, thought):
        _order_second(session, thought)


def ended(session: Session, thought: Thought) -> dict[str, tuple[str, Callable[[], None]]]:
    """What was begun for the game, failed or was stopped, and so left nothing to show.

    By its kind: what begins it anew, in words, and as a function.
    """
    state, best = session.open.searches, best_beside(session.open, thought.plan)
    gap = (thought.identity, identity_of(best))
    ways: dict[str, tuple[bool, str, Callable[[], None]]] = {
        GAP: (
            gap in state.gaps or is_gap_ordered(session, thought, best),
            "Look for single decisions",
            lambda: order_gap(session, thought, best),
        ),
        FINDINGS: (
            thought.identity in state.studies or _is_ordered(session, thought, FINDINGS),
            "Measure the moves",
            lambda: jobs_view.order_findings(session, thought, STUDY_SECONDS),
        ),
        RETRACE: (
            _has_second(session, thought) or _is_ordered(session, thought, RETRACE),
            "Search the game otherwise",
            lambda: _order_second(session, thought),
        ),
    }
    return {kind: (words, start) for kind, (is_there, words, start) in ways.items() if not is_there}


def is_gap_ordered(session: Session, thought: Thought, best: OpenPlan | None) -> bool:
    """Whether what the gap to that plan is made of is being looked for."""
    return _is_ordered(session, thought, GAP, ("best", identity_of(best)))


def _is_ordered(
    session: Session, thought: Thought, kind: str, *details: tuple[str, int | str]
) -> bool:
    """Whether such work on the game is waiting or under way."""
    return any(
        (job.order.kind, job.order.basis) == (kind, thought.identity)
        and set(details) <= set(job.order.details)
        and not job.is_over
        for job in session.open.searches.jobs
    )


def _has_second(session: Session, thought: Thought) -> bool:
    return any(second.thought == thought.identity for second in session.open.searches.seconds)


def _order_second(session: Session, thought: Thought) -> None:
    weights = weights_of(thought)
    order = other_search(thought, weights)
    jobs_view.start(session, thought, order, given_for(session, thought, weights))


def order_gap(session: Session, thought: Thought, best: OpenPlan | None) -> None:
    """Order what the gap of a game is made of; what was ordered for another best plan ends.

    It is ordered again where that plan becomes the best one again.
    """
    for job in session.open.searches.jobs:
        if (job.order.kind, job.order.basis) == (GAP, thought.identity) and not job.is_over:
            job.stop()
            former = str(dict(job.order.details)["best"])
            session.open.debug.gaps.discard((thought.identity, former))
    order = gap_order(thought, identity_of(best), _GAP_SECONDS)
    jobs_view.start(session, thought, order, files_of(best))


def given_for(session: Session, thought: Thought, *names: str) -> dict[str, bytes]:
    """The files that a worker needs for weights that are neither shipped nor fresh."""
    files: dict[str, bytes] = {}
    for name in names:
        if name == PRACTISED:
            files |= thought.weights
        for file, content in session.open.debug.weights.get(name, {}).items():
            files[f"{name}/{file}"] = content
    return files


def known_weights(session: Session, thought: Thought) -> list[str]:
    """Names of all weights at hand: of the practice, brought along, shipped, fresh."""
    own = [PRACTISED] if thought.weights else []
    return [*own, *session.open.debug.weights, *shipped(), FRESH]


def weights_of(thought: Thought) -> str:
    """The weights that are known to be nearest to those that played the game."""
    if thought.weights:
        return PRACTISED
    name = str(thought.facts.get("weights", ""))
    return name if name in (*shipped(), FRESH) else next(iter(shipped()), FRESH)


def study_of(session: Session, thought: Thought) -> Study:
    """The measured study of a game, or until there is one, its study without playing out."""
    known = session.open.searches.studies.get(thought.identity)
    return known or caching.first_study(thought.identity, session.open.program, thought)


def all_findings(session: Session) -> list[Finding]:
    """Findings on the game that is shown, or on all games of the program, with each game's name."""
    state, rows = session.open.searches, list[Finding]()
    for name, thought in state.thoughts.items():
        if name == state.current or session.open.debug.is_of_all:
            rows += [replace(f, game=name) for f in study_of(session, thought).findings]
    return rows


def key_of(thought: Thought) -> str:
    """The key of the thought's game, for its notes."""
    return game_key(thought.trace.action.tolist())
