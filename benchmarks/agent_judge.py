"""The section `judge`: how well the networks tell which variations are better.

After `ROUNDS` rounds of practice on a program, children of the best games so far are drawn by
chance and all played to the end; nothing is learned from them. How well a word on them beforehand
ranks them is told by the area under the curve (0.5: not at all, 1: perfectly): whether a child that
gets better than its parent is put above one that does not, among all children and among siblings
alone, for weak parents are easily beaten; and whether one better than the best game is. The words
are those of `WORDS`. A row per program is kept in `docs/results/agent_judge.json`; programs that
have rows are not played again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np
from jax import Array
from numpy.typing import NDArray
from scipy.stats import rankdata

from benchmarks.agent_games import LONGEST_S, fill
from benchmarks.agent_run import practise_rounds
from benchmarks.rows import RESULTS, Row
from benchmarks.settings import Settings
from engine.agent.arena import Arena
from engine.agent.breeding import children_of, drawn, drawn_start
from engine.agent.comparison import LEAST_GAIN
from engine.agent.judge import Changes, Judge, Verdicts
from engine.agent.leaning import NONE, meant
from engine.agent.learner import worth
from engine.agent.network import Params, represent
from engine.agent.scout import Scout, scout_of
from engine.agent.scouting import Band
from engine.agent.self_play import wildness
from engine.agent.workload import Workload
from engine.program import library
from engine.solvers import Budget

PATH = RESULTS / "agent_judge.json"
ROUNDS, GENERATIONS = 30, 64
FEWEST = 10
"""Better children, below which nothing is said."""
WORDS = ("all choices", "first choice", "model")
"""The prior's odds, their mean over all choices that a child would change, or at the first of these
alone; and what the learned model says that this first choice gains."""


def area(
    words: NDArray[np.float64], is_better: NDArray[np.bool_], family: NDArray[np.int64]
) -> float | None:
    """Under the curve of true over false positives (Mann and Whitney); None if few are better.

    A better child `[B]` is only compared with those of its family that are not.
    """
    if is_better.sum() < FEWEST:
        return None
    won, pairs = 0.0, 0
    for one in np.unique(family):
        among = family == one
        good = int(is_better[among].sum())
        ranks = rankdata(words[among])[is_better[among]]
        won += float(ranks.sum()) - good * (good + 1) / 2
        pairs += good * int((~is_better[among]).sum())
    return won / pairs if pairs else None


@jax.jit
def gains(params: Params, arena: Arena, move: Array, view: Array, new: Array, old: Array) -> Array:
    """Points that the learned model sees in the actions `new` `[N]` above `old`, `[N]`."""
    latent = represent(params, arena.known.outlook[move], view)
    said = partial(worth, params, arena.known, arena.encoded.num_moves, move, latent)
    return said(new) - said(old)


def words_on(
    judge: Judge,
    params: Params,
    workload: Workload,
    parents: Sequence[Scout],
    genes: NDArray[np.int8],
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Which children `[B]` would change something, and the `WORDS` on each, `[B, 3]`."""
    old = np.stack([parent.genes for parent in parents])
    new = np.where(genes == old, NONE, genes)
    asked = _asked(judge, parents, new)
    fork = np.array([one.fork[0] for one in asked])
    at = np.maximum(fork, 0)
    rows = np.arange(len(parents))
    only = np.full_like(new, NONE)
    only[rows, at] = new[rows, at]
    first = _asked(judge, parents, only)
    told = gains(
        params,
        workload.arena,
        at,
        np.stack([p.seen.view[m] for p, m in zip(parents, at, strict=True)]).astype(np.float32),
        np.array([meant(g, p.seen)[m] for g, p, m in zip(genes, parents, at, strict=True)]),
        np.array([parent.action[m] for parent, m in zip(parents, at, strict=True)]),
    )
    odds = [[one.odds[0] for one in some] for some in (asked, first)]
    return fork >= 0, np.stack([*odds, np.asarray(told)], axis=1)


def _asked(judge: Judge, parents: Sequence[Scout], words: NDArray[np.int8]) -> list[Verdicts]:
    pairs = zip(parents, words[:, None], strict=True)
    return [judge.verdicts(parent, Changes.of(some)) for parent, some in pairs]


def rows_of(name: str) -> list[Row]:
    """Play the children of a program's best games, and rank them."""
    found = practise_rounds(library.load_sample(name), Budget(LONGEST_S), ROUNDS)
    workload, params = found.workload, found.trainer.params
    practice = replace(found.trainer.config.practice, variations=1)
    rng = np.random.default_rng(0)
    band = Band(workload, [scout_of(game) for game in workload.replay.best])
    judge = Judge(params, workload.arena.known)
    wild = wildness(practice.scouts)
    cells: list[NDArray[np.float64]] = []
    families: dict[bytes, int] = {}
    for _ in range(GENERATIONS):
        top = band.best[0].score
        parents, start = drawn(band.best, practice.scouts, rng), drawn_start(workload, rng)
        genes = children_of(workload, judge, practice, rng, parents, start, wild)
        changes, words = words_on(judge, params, workload, parents, genes)
        young = band.send(parents, start, genes)
        scores = np.array(band.scores[-len(parents) :])
        above = scores - [parent.score for parent in parents]
        family = [families.setdefault(p.action.tobytes(), len(families)) for p in parents]
        cells.append(np.column_stack([words, family, above, scores - top])[changes])
        band.keep(young)
    table = np.concatenate(cells)
    above_parent, above_best = table[:, -2] > LEAST_GAIN, table[:, -1] > LEAST_GAIN
    family = table[:, len(WORDS)].astype(np.int64)
    everyone = np.zeros_like(family)
    asked = {
        "parent": (above_parent, everyone),
        "parent, among siblings": (above_parent, family),
        "best": (above_best, everyone),
    }
    areas = {
        whom: {word: area(table[:, k], *those) for k, word in enumerate(WORDS)}
        for whom, those in asked.items()
    }
    row = {
        "key": [name],
        "program": name,
        "rounds": found.trainer.rounds,
        "children": len(table),
        "families": len(np.unique(family)),
        "better_than_parent": float(above_parent.mean()),
        "better_than_best": float(above_best.mean()),
        "areas": areas,
    }
    return [row]


def run(section: str, settings: Settings) -> None:
    """Judge what is missing."""
    del section
    for rows in fill(PATH, rows_of, settings.contested()):
        print(json.dumps(rows[0]), flush=True)
