"""Damaged files: a valid program or one line that says why not, never anything else.

A short version of `tests/program/hlo/fuzz.py`, which runs the same campaign with thousands of
files.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chosen import seeds
from tests.program.hlo.fuzz import Campaign

SEED = 7


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    return Campaign(SEED, tmp_path)


def finish(campaign: Campaign, count: int) -> None:
    assert campaign.findings == []
    assert campaign.outcomes.total() == count
    # Some files survive and some do not: the damage is neither too weak nor too strong.
    assert {o.rsplit(" ", 1)[1] for o in campaign.outcomes} == {"read", "refused"}


@pytest.mark.parametrize("part", seeds(3, 1))
def test_hlo_text_through_the_child(campaign: Campaign, part: int) -> None:
    """Twenty texts, a process for each; nightly sixty."""
    for number in range(20 * part, 20 * (part + 1)):
        campaign.text(number)
    finish(campaign, 20)


def test_decoded_modules(campaign: Campaign) -> None:
    for number in range(200):
        campaign.message(number)
    finish(campaign, 200)


def test_the_compilers_plan_out_of_damaged_sources(campaign: Campaign) -> None:
    for number in range(100):
        campaign.pair(number)
    finish(campaign, 100)


def test_program_files(campaign: Campaign) -> None:
    for number in range(200):
        campaign.program(number)
    finish(campaign, 200)


def test_plan_files(campaign: Campaign) -> None:
    for number in range(200):
        campaign.plan(number)
    finish(campaign, 200)


def test_tables_of_buffers(campaign: Campaign) -> None:
    for number in range(200):
        campaign.table(number)
    finish(campaign, 200)
