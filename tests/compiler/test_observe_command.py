"""`observe` on the command line, with a compiler that knows all or refuses."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from engine.cli import main
from engine.compiler.capture import study
from engine.compiler.capture.study import Study
from engine.compiler.costs.observations import Observations, load_observations, observations_path
from engine.compiler.toolchain.results import Answers
from engine.errors import CompilerError
from engine.program import library
from engine.program.hlo.build import Imported
from engine.program.model import Program

NAME, REFUSED = "lstm-v5e-b128", "alexnet-v4-b24"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The limits that studies ran under; one program is refused, of the others all is known."""

    def begun(program: Program, answers: Answers) -> tuple[Imported, Observations]:
        if program.name == REFUSED:
            raise CompilerError(f"{program.name}: it makes another program of it")
        imported: Imported = SimpleNamespace(program=program)  # type: ignore[assignment]
        return imported, load_observations(observations_path(program.name), program)

    def run(self: Study, compiles: int) -> Observations:
        limits.append(compiles)
        return self.observations

    limits: list[int] = []
    monkeypatch.setattr(study, "begun", begun)
    monkeypatch.setattr(Study, "run", run)
    return limits


def test_the_number_of_known_compiles_is_told(
    asked: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    known = load_observations(observations_path(NAME), library.load_sample(NAME))
    assert main(["observe", NAME, NAME, "--compiles", "20", "--json"]) == 0
    assert asked == [20, 20]
    body = json.loads(capsys.readouterr().out)
    assert body == {"programs": [{"program": NAME, "compiles": len(known.compiles)}] * 2}


def test_of_several_one_that_cannot_be_compiled_is_passed_over(
    asked: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["observe", REFUSED, NAME]) == 0
    said = capsys.readouterr()
    assert len(asked) == 1
    assert f"{REFUSED}: it makes another program of it" in said.err
    assert said.out.startswith(f"{NAME}: ")
    assert main(["observe", REFUSED]) == 2
    capsys.readouterr()
    assert main(["observe", REFUSED, REFUSED, "--json"]) == 2
    said = capsys.readouterr()
    assert json.loads(said.out) == {"programs": []}
    assert said.err.splitlines()[-1] == "error: observe: none of 2 programs could be compiled"
