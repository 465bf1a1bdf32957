"""The best plan known of an open program, by which its other plans are measured."""

from __future__ import annotations

import json

from engine.plan.io import plan_to_json
from engine.plan.model import Plan
from ui.jobs.protocol import BEST
from ui.model.compare.ranking import VALID
from ui.session import caching
from ui.session.state import OpenPlan, OpenProgram


def best_beside(opened: OpenProgram, plan: Plan) -> OpenPlan | None:
    """The fastest valid plan at hand, other than this one; None if there is no other."""
    own = opened.identity_of(plan)
    others = [p for p in opened.plans.values() if p.identity != own]
    rows = [(caching.row_of(p.identity, opened.program, p.plan, p.name), p) for p in others]
    valid = [(row.latency_s, p.name, p) for row, p in rows if row.verdict == VALID]
    return min(valid, key=lambda entry: entry[:2])[2] if valid else None


def identity_of(best: OpenPlan | None) -> str:
    """The identity of a best plan known; empty for none."""
    return "" if best is None else best.identity


def files_of(best: OpenPlan | None) -> dict[str, bytes]:
    """The file by which a worker knows the best plan."""
    return {} if best is None else {BEST: json.dumps(plan_to_json(best.plan)).encode()}
