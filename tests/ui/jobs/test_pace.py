"""What a bar says while a game is played."""

from ui.jobs.pace import Pace


def test_moves_and_their_pace_are_reported() -> None:
    said: list[tuple[float | None, str]] = []
    times = iter([1.0, 10.0, 12.0, 16.0])

    def progress(share: float | None, message: str) -> bool:
        said.append((share, message))
        return len(said) < 4

    pace = Pace(20, progress, lambda: next(times))
    assert [pace.reached(move) for move in (0, 8, 16, 24)] == [True, True, True, False]
    assert said == [
        (0.0, "move 0 of 20"),
        (0.4, "move 8 of 20"),
        (0.8, "move 16 of 20, 4 per second"),
        (1.0, "move 20 of 20, 2 per second"),
    ]
