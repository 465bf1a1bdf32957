"""What a bar says while a game is played."""

from ui.jobs.protocol import MoveCounter


def test_moves_and_their_pace_are_reported() -> None:
    said: list[tuple[float | None, str]] = []
    times = iter([1.0, 10.0, 12.0, 16.0])

    def progress(share: float | None, message: str) -> bool:
        said.append((share, message))
        return len(said) < 4

    counter = MoveCounter(20, progress, lambda: next(times))
    assert [counter.reached(move) for move in (0, 8, 16, 24)] == [True, True, True, False]
    assert said == [
        (0.0, "move 0 of 20"),
        (0.4, "move 8 of 20"),
        (0.8, "move 16 of 20, 4 per second"),
        (1.0, "move 20 of 20, 2 per second"),
    ]


def test_a_fast_game_has_no_powers_of_ten() -> None:
    said: list[str] = []
    times = iter([1.0, 1.01])
    counter = MoveCounter(80, lambda _, message: bool(said.append(message)), lambda: next(times))
    assert [counter.reached(move) for move in (4, 76)] == [False, False]
    assert said[-1] == "move 76 of 80, 7,200 per second"
