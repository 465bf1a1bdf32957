"""Checkpoints: exact round trips, and one clear line for each way in which one can be wrong."""

from __future__ import annotations

import hashlib
import io
import json
import math
import threading
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from engine.agent import checkpoint as checkpoints
from engine.agent.arrays import unpack
from engine.agent.checkpoint import (
    ARRAYS,
    MANIFEST,
    NEXT,
    Checkpoint,
    load_checkpoint,
    save_checkpoint,
)
from engine.agent.config import AgentConfig, changed, from_json, to_json
from engine.agent.network import Params, init_params
from engine.errors import CheckpointError, ConfigError
from engine.files import write_bytes
from engine.folders import locked, temporary_folder
from engine.solvers.practice import GENERALIST
from tests.agent.small import CONFIG


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    params = init_params(jax.random.key(3), CONFIG.network)
    save_checkpoint(Checkpoint(params, CONFIG, {"rounds": 5}), tmp_path)
    return tmp_path


def edit(folder: Path, **changes: Any) -> None:
    manifest = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps(manifest | changes))


def test_round_trip(folder: Path) -> None:
    found = load_checkpoint(folder)
    assert found.config == CONFIG
    assert found.training == {"rounds": 5}
    wanted = init_params(jax.random.key(3), CONFIG.network)
    for layer, parts in wanted.items():
        for part, array in parts.items():
            assert np.array_equal(found.params[layer][part], array)


class Killed(Exception):
    """Raised where the process would be killed."""


def killed(path: Path, data: bytes) -> None:
    raise Killed


def save_killed(params: Params, folder: Path, done: int) -> None:
    """A save that is killed after so many of its writes."""
    steps = iter([write_bytes] * done)

    def write(path: Path, data: bytes) -> None:
        next(steps, killed)(path, data)

    with pytest.MonkeyPatch.context() as killing, pytest.raises(Killed):
        killing.setattr(checkpoints, "write_bytes", write)
        save_checkpoint(Checkpoint(params, CONFIG), folder)


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("done", range(3))
def test_a_killed_save_leaves_the_earlier_weights_or_the_new(
    tmp_path: Path, is_first: bool, done: int
) -> None:
    """Killed after so many of its three steps: weights beside the earlier, manifest, weights."""
    earlier, later = (init_params(jax.random.key(seed), CONFIG.network) for seed in (1, 2))
    if not is_first:
        save_checkpoint(Checkpoint(earlier, CONFIG), tmp_path)
    save_killed(later, tmp_path, done)
    if done < 2 and is_first:
        with pytest.raises(CheckpointError, match=MANIFEST):
            load_checkpoint(tmp_path)
        return
    found = load_checkpoint(tmp_path).params
    jax.tree.map(np.testing.assert_array_equal, found, later if done == 2 else earlier)
    save_checkpoint(Checkpoint(later, CONFIG), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [ARRAYS, MANIFEST]
    jax.tree.map(np.testing.assert_array_equal, load_checkpoint(tmp_path).params, later)


@pytest.mark.parametrize("done", range(3))
def test_a_second_killed_save_leaves_the_weights_that_the_first_one_left(
    tmp_path: Path, done: int
) -> None:
    first, second, third = (init_params(jax.random.key(n), CONFIG.network) for n in (1, 2, 3))
    save_checkpoint(Checkpoint(first, CONFIG), tmp_path)
    save_killed(second, tmp_path, 2)
    save_killed(third, tmp_path, done)
    jax.tree.map(np.testing.assert_array_equal, load_checkpoint(tmp_path).params, second)


def test_a_save_does_not_mind_what_is_no_checkpoint(folder: Path) -> None:
    """Parts of a checkpoint that cannot be finished any more."""
    (folder / NEXT).write_bytes(b"half a file")
    for manifest in (b"half a fi", b"{}", b"[]"):
        (folder / MANIFEST).write_bytes(manifest)
        params = init_params(jax.random.key(2), CONFIG.network)
        save_checkpoint(Checkpoint(params, CONFIG), folder)
        jax.tree.map(np.testing.assert_array_equal, load_checkpoint(folder).params, params)


def test_two_saves_at_once_follow_each_other(folder: Path) -> None:
    params = init_params(jax.random.key(2), CONFIG.network)
    before = names_and_bytes(folder)
    save = threading.Thread(target=save_checkpoint, args=(Checkpoint(params, CONFIG), folder))
    with locked(folder.parent):
        save.start()
        save.join(0.5)
        assert save.is_alive() and names_and_bytes(folder) == before
    save.join()
    jax.tree.map(np.testing.assert_array_equal, load_checkpoint(folder).params, params)


def test_a_save_does_not_wait_for_who_holds_its_folder_for_as_long_as_that_lives() -> None:
    params = init_params(jax.random.key(2), CONFIG.network)
    with temporary_folder("explorer") as folder:
        save_checkpoint(Checkpoint(params, CONFIG), folder)
        jax.tree.map(np.testing.assert_array_equal, load_checkpoint(folder).params, params)


def names_and_bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_settings_survive_json() -> None:
    config = AgentConfig(hidden=("prices", "ahead"))
    assert from_json(json.loads(json.dumps(to_json(config)))) == config


def test_one_setting_is_changed_by_its_name() -> None:
    found = changed(CONFIG, "self_play.sweeps", True)
    assert found == replace(CONFIG, self_play=replace(CONFIG.self_play, sweeps=True))
    assert changed(CONFIG, "hidden", ["prices"]).hidden == ("prices",)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("replay.luck", 1, "no setting"),
        ("luck.replay", 1, "no setting"),
        ("self_play.games", "many", "self_play.games: expected int, got str"),
        ("replay", 3, "replay: expected object, got int"),
        ("self_play.games", 0, "games is 0: choose 1 to 10000"),
        ("self_play.games", 10**5, "games is 100000: choose 1 to 10000"),
        ("network.width", 0, "width is 0: choose 1 to 4096"),
        ("network.latent", 10**9, "latent"),
        ("network.num_blocks", 10**9, "num_blocks is 1000000000: choose 0 to 64"),
        ("search.num_simulations", 10**9, "choose 1 to 10,000"),
        ("self_play.restart_share", 7, "restart_share is 7.*: choose 0 to 1"),
        ("self_play.search_share", -0.1, "search_share"),
        ("self_play.top_temperature", math.nan, "top_temperature is nan: choose 0 or more"),
        ("search.value_scale", math.inf, "value_scale is inf"),
        ("search.maxvisit_init", -1.0, "maxvisit_init"),
        ("replay.capacity", 0, "capacity is 0: choose 1 to 10000"),
        ("replay.capacity", 10**9, "capacity"),
        ("replay.num_best", 0, "num_best"),
        ("replay.td_steps", -3, "td_steps"),
        ("replay.td_steps", 2**70, "td_steps"),
        ("replay.best_share", 1.5, "best_share"),
        ("replay.demonstration_share", math.nan, "demonstration_share"),
        ("replay.demonstration_decay", -1.0, "demonstration_decay"),
        ("learner.batch_size", 0, "batch_size is 0: choose 1 to 10000"),
        ("learner.batch_size", 10**9, "batch_size"),
        ("learner.unroll", -1, "unroll is -1: choose 0 to 64"),
        ("learner.unroll", 10**9, "unroll"),
        ("learner.learning_rate", math.nan, "learning_rate"),
        ("learner.clip", math.inf, "clip"),
    ],
)
def test_settings_that_mean_nothing_are_refused(name: str, value: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        changed(CONFIG, name, value)


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        (None, "hidden", ["horoscope"]),
        ("search", "model", "crystal ball"),
        ("search", "num_simulations", 0),
        ("network", "width", -1),
        ("network", "num_blocks", 10**9),
        ("self_play", "games", 0),
        ("replay", "td_steps", "many"),
    ],
)
def test_settings_that_mean_nothing_are_refused_by_file(
    folder: Path, part: str | None, name: str, value: Any
) -> None:
    body = json.loads(json.dumps(to_json(CONFIG)))
    (body if part is None else body[part])[name] = value
    edit(folder, config=body)
    with pytest.raises(CheckpointError, match=MANIFEST):
        load_checkpoint(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "something"}, "is not the manifest"),
        ({"version": 99}, "version is 99, needed is"),
        ({"observation_version": 0}, "observation_version is 0"),
        ({"observation_size": 1}, "observation_size is 1"),
        ({"config": {"network": {}}}, "settings of another version"),
        ({"arrays_sha256": "0"}, "not the file that the manifest names"),
        ({"training": [1]}, "training must be an object"),
        ({"training": None}, "training must be an object"),
    ],
)
def test_a_wrong_manifest_says_what_is_wrong(
    folder: Path, changes: dict[str, Any], message: str
) -> None:
    edit(folder, **changes)
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(folder)


def test_weights_of_another_shape_are_refused(folder: Path) -> None:
    body = to_json(CONFIG)
    body["network"]["width"] = 64
    edit(folder, config=body)
    with pytest.raises(CheckpointError, match="must be float32 of shape"):
        load_checkpoint(folder)


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_weights_that_are_not_finite_are_neither_saved_nor_loaded(
    folder: Path, monkeypatch: pytest.MonkeyPatch, odd: float
) -> None:
    params = init_params(jax.random.key(3), CONFIG.network)
    params["predict_in"]["w"] = params["predict_in"]["w"].at[0, 0].set(odd)
    before = names_and_bytes(folder)
    for where in (folder, folder / "new"):
        with pytest.raises(CheckpointError, match=r"predict_in.w is not finite; not saved"):
            save_checkpoint(Checkpoint(params, CONFIG), where)
    assert names_and_bytes(folder) == before
    monkeypatch.setattr(checkpoints, "_refuse_not_finite", lambda *_: None)
    save_checkpoint(Checkpoint(params, CONFIG), folder)
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match=r"predict_in.w is not finite; train it again"):
        load_checkpoint(folder)


def test_the_shipped_generalist_is_of_this_version_and_small() -> None:
    found = load_checkpoint(GENERALIST)
    assert found.training["rounds"] > 0
    assert sum(path.stat().st_size for path in GENERALIST.iterdir()) <= 20e6


def test_missing_and_broken_files_are_one_line(folder: Path, tmp_path: Path) -> None:
    (folder / ARRAYS).write_bytes(b"PK not a zip")
    with pytest.raises(CheckpointError, match="copy it again"):
        load_checkpoint(folder)
    (folder / MANIFEST).write_text("{")
    with pytest.raises(CheckpointError, match="is not JSON"):
        load_checkpoint(folder)
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_checkpoint(tmp_path / "nowhere")


@pytest.mark.parametrize("way", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_only_what_numpy_compresses_is_unpacked(way: int) -> None:
    """Damaged data of other kinds raise errors of other kinds."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", way) as entries:
        entries.writestr("a.npy", bytes(1000))
    with pytest.raises(ValueError, match="compressed in a way"):
        unpack(data.getvalue())


def test_a_manifest_nested_too_deep_is_one_line(folder: Path) -> None:
    (folder / MANIFEST).write_text("[" * 200_000)
    with pytest.raises(CheckpointError, match="is not JSON"):
        load_checkpoint(folder)


def test_pickles_are_never_opened(folder: Path) -> None:
    np.savez(folder / ARRAYS, **{"predict_in.w": np.array([{"a": 1}], dtype=object)})
    digest = hashlib.sha256((folder / ARRAYS).read_bytes()).hexdigest()
    edit(folder, arrays_sha256=digest)
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_checkpoint(folder)
