"""The copy server against the upstream vectors, and against a slot-by-slot simulation."""

from __future__ import annotations

import random

from engine.solvers.xla_msa.memory import CopyServer, OutstandingCopies

SECONDS = [2, 3, 1, 6, 7, 1, 7, 2, 2, 4]


def upstream_server() -> CopyServer:
    server = CopyServer(SECONDS)
    for job in [(-1, 3, 5), (1, 4, 4), (5, 9, 10)]:
        assert server.has_room(*job)
        server.book(*job)
    return server


def test_upstream_vectors() -> None:
    server = upstream_server()
    assert not server.has_room(4, 9, 3)
    assert server.has_room(4, 8, 2)


def test_an_earlier_job_delays_a_later_one_but_never_makes_it_late() -> None:
    server = CopyServer([1, 1, 1, 1])
    server.book(1, 4, 1)
    assert server.has_room(-1, 4, 3)
    server.book(-1, 4, 3)
    assert not server.has_room(-1, 4, 0.5), "slots 0 to 3 are taken by four seconds of work"
    assert server.has_room(-1, 4, 0.0), "copies without work are exempt"


def test_restore_forgets_what_was_booked_since() -> None:
    server = upstream_server()
    state = server.snapshot()
    server.book(4, 8, 2)
    assert not server.has_room(4, 8, 2)
    server.restore(state)
    assert server.has_room(4, 8, 2)


def served_in_time(jobs: list[tuple[int, int, float]]) -> bool:
    """First in, first out, one unit at a time; jobs in order of start, then of arrival."""
    left = [float(s) for s in SECONDS]
    position = 0
    for start, end, work in sorted(jobs, key=lambda j: j[0]):
        position = max(position, start + 1)
        while work > 0:
            if position >= end or position >= len(left):
                return False
            taken = min(work, left[position])
            work -= taken
            left[position] -= taken
            if work > 0:
                position += 1
    return True


def test_agrees_with_a_slot_by_slot_simulation() -> None:
    chance = random.Random(7)
    answers = set()
    for _ in range(300):
        server, jobs = CopyServer(SECONDS), []
        for _ in range(6):
            start = chance.randint(-1, 8)
            job = (start, chance.randint(start + 1, 10), chance.randint(1, 6))
            expected = served_in_time([*jobs, job])
            assert server.has_room(*job) == expected
            answers.add(expected)
            if expected:
                server.book(*job)
                jobs.append(job)
    assert answers == {True, False}


def test_outstanding_copies_count_by_overlap() -> None:
    copies = OutstandingCopies(2)
    copies.add(0, 5)
    copies.add(4, 9)
    assert not copies.has_room(5, 6)
    assert copies.has_room(6, 8), "the first has ended"
    state = copies.snapshot()
    copies.add(7, 8)
    assert not copies.has_room(6, 8)
    copies.restore(state)
    assert copies.has_room(6, 8)
    assert OutstandingCopies(-1, [0] * 99, [9] * 99).has_room(3, 4), "-1 means no limit"
