"""What Debug begins by itself for a game: what its moves cost, and searches to stand beside."""

from __future__ import annotations

from dataclasses import replace

from engine.debugging.findings import Finding
from engine.debugging.move_notes import game_key
from ui.jobs.protocol import GAP
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
    if not any(second.thought == thought.identity for second in state.seconds):
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
