"""Sections about programs, plans and the two games; `make bench` measures them all.

Each section prints a table and keeps its rows. Timings are medians; what is compared runs side by
side.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import shlex
import statistics
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from benchmarks.bounds import captured as every_captured
from benchmarks.reading import reading
from benchmarks.rows import RESULTS, dependencies, keep, keep_of, program_of
from benchmarks.settings import Settings
from benchmarks.stopwatch import median_seconds
from engine.plan.bounds import lower_bound
from engine.plan.check import check
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.model import Program
from engine.program.proof import CONTESTED
from engine.program.provenance import has_compiled_plan
from engine.solvers import Budget, solve
from engine.solvers.baselines import play_randomly

PROCESSES = 2
Rows = list[dict[str, Any]]


def captured(settings: Settings) -> list[Program]:
    """The programs asked for, else all samples that came from the real compiler."""
    names = settings.programs or library.sample_names()
    programs = [library.load_sample(name) for name in names]
    return [p for p in programs if has_compiled_plan(p)]


def calibration(settings: Settings) -> Rows:
    """Predicted against the compiler's own cycles, on placements held out of the fit; all sets."""
    rows = []
    for name in settings.programs or every_captured():
        program = library.load_sample(name)
        fit = program.provenance["fit"]
        rows += [
            {"program": program.name, "placement": name, "error": error}
            for name, error in zip(fit["held_out"], fit["held_out_errors"], strict=True)
        ]
    errors = [abs(row["error"]) for row in rows]
    print(f"calibration: {len(errors)} placements held out of the fit,")
    print(f"  median |error| {statistics.median(errors):.4%}, worst {max(errors):.4%}")
    return rows


def plans(settings: Settings) -> Rows:
    """XLA's real plan: valid, against xla_like, and against the bound."""
    rows: Rows = []
    print(f"{'program':28} {'XLA us':>10} {'bound us':>10} {'above':>7} {'xla_like':>8}")
    for program in captured(settings):
        plan = solve("xla_compiled", program)
        real = simulate(program, plan)
        like = simulate(program, solve("xla_like", program))
        bound = lower_bound(program)
        row = {
            "program": program.name,
            "xla_s": real.latency_s,
            "xla_stall_s": real.stall_s,
            "all_slow_s": real.all_slow_s,
            "all_fast_s": real.all_fast_s,
            "bound_s": bound.bound_s,
            "bound_seconds": bound.seconds,
            "above_bound": real.latency_s / bound.bound_s - 1,
            "xla_like_ratio": like.latency_s / real.latency_s,
            "left_out_saving_share": plan.notes.get("left_out_saving_share", 0.0),
        }
        rows.append(row)
        print(
            f"{program.name:28} {row['xla_s'] * 1e6:10.1f} {row['bound_s'] * 1e6:10.1f}"
            f" {row['above_bound']:7.2%} {row['xla_like_ratio']:8.4f}",
            flush=True,
        )
    contested = sum(r["above_bound"] >= CONTESTED for r in rows)
    close = sum(abs(r["xla_like_ratio"] - 1) <= 0.03 for r in rows)
    print(f"contested (XLA's plan >= 3 % above the bound): {contested} of {len(rows)}")
    print(f"xla_like within 3 % of xla_compiled: {close} of {len(rows)}")
    return rows


def baselines(settings: Settings) -> Rows:
    """Every solver on every program, side by side."""
    rows = []
    for program in captured(settings):
        times = {}
        for name in ("xla_compiled", "xla_like", "greedy", "random", "all_slow"):
            plan = solve(name, program, Budget(seconds=5.0))
            times[name] = simulate(program, plan).latency_s
        rows.append({"program": program.name, **times})
        shown = "  ".join(f"{n} {t / times['xla_compiled']:.3f}" for n, t in times.items())
        print(f"{program.name:28} {shown}", flush=True)
    return rows


def identity(settings: Settings) -> Rows:
    """Return of random games against the simulator, over all programs."""
    names = settings.programs or library.sample_names()
    each = -(-settings.num_games() // len(names))
    rows = []
    # Fresh processes; every program has random numbers of its own, so that order means nothing.
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        for row in pool.imap(_judge_random_games, [(name, each) for name in names]):
            rows.append(row)
            print(
                f"{row['program']:28} {each} games, worst difference {row['worst']:.2e},"
                f" {row['invalid']} invalid",
                flush=True,
            )
    worst = max(row["worst"] for row in rows)
    print(f"{each * len(names)} random games: worst |return - relative saving| = {worst:.2e}")
    return rows


def _judge_random_games(job: tuple[str, int]) -> dict[str, Any]:
    name, count = job
    program, rng = library.load_sample(name), random.Random(name)
    largest, violations = 0.0, 0
    for _ in range(count):
        game = play_randomly(program, rng)
        plan = game.plan("random")
        violations += check(program, plan) is not None
        result = simulate(program, plan)
        saved = (result.all_slow_s - result.latency_s) / result.all_slow_s
        largest = max(largest, abs(game.total_reward - saved))
    return {"program": name, "games": count, "worst": largest, "invalid": violations}


def agreement(settings: Settings) -> Rows:
    """Random games of the JAX rules, replayed in the plain-Python game move by move."""
    names = settings.programs or library.sample_names()
    command = [sys.executable, "-m", "benchmarks.agreement", str(settings.num_games()), *names]
    rows: Rows = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            rows.append(json.loads(line))
            print("{program:28} {games} games, {moves} moves".format(**rows[-1]), end="")
            print(f", {rows[-1]['difference'] or 'all equal'}", flush=True)
    if process.returncode:
        raise RuntimeError(f"{shlex.join(command)} ended with {process.returncode}")
    different = sum(bool(row["difference"]) for row in rows)
    games, moves = (sum(row[key] for row in rows) for key in ("games", "moves"))
    print(f"{games} random games, {moves} moves: the rules differ on {different} programs")
    return rows


def speed(settings: Settings) -> Rows:
    """Simulating, and moves per second of the two implementations of the game."""
    program = max(captured(settings), key=lambda p: p.num_slots)
    plan = solve("xla_compiled", program)
    seconds = median_seconds(lambda: simulate(program, plan), 21)
    per_thousand = seconds / program.num_slots * 1000
    print(
        f"simulate {program.name}: {program.num_slots} instructions, {len(plan.copies)} copies:"
        f" {seconds * 1e3:.2f} ms ({per_thousand * 1e3:.2f} ms per 1,000 instructions)"
    )
    command = [sys.executable, "-m", "benchmarks.game_speed", *settings.programs]
    games = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    for row in games:
        print(
            f"one core, {row['program']}: plain {row['reference_moves_per_s']:,.0f} moves/s,"
            f" {row['vmapped_moves_per_s']:,.0f} with 128 in step ({row['ratio']:.1f} times)"
        )
    return [{"program": program.name, "simulate_ms_per_1000": per_thousand * 1e3}, *games]


SECTIONS: dict[str, Callable[[Settings], Rows]] = {
    "calibration": calibration,
    "reading": reading,
    "plans": plans,
    "baselines": baselines,
    "identity": identity,
    "agreement": agreement,
    "speed": speed,
}


def run(section: str, settings: Settings) -> None:
    """Measure one section and write its JSON file; rows of other programs stay in it.

    But for `speed`: its times are of one machine in one hour.
    """
    rows = [
        {**row, **dependencies(section, program_of(row))} for row in SECTIONS[section](settings)
    ]
    path = RESULTS / f"{section}.json"
    if section == "speed":
        keep(path, rows)
    else:
        keep_of(path, settings.programs, rows)
