"""The way back to where a visitor was."""

from ui.session.last_view import LastViews, View


def test_only_the_latest_visitors_are_kept() -> None:
    views = LastViews(most=2)
    for visitor in ("a", "b", "a", "c"):
        views.put(visitor, View("play", {"program": visitor}))
    assert views.of("b") is None
    assert views.of("a") == View("play", {"program": "a"})
    assert views.of("c") is not None


def test_a_view_in_words() -> None:
    view = View("play", {"program": "resnet50", "plan": "greedy", "move": "7", "select": "3"})
    assert view.words == "resnet50, plan greedy, move 7"
    assert View("compare", {"program": "bert", "plans": "a,b"}).words == "bert"
    assert View("programs", {}).words == ""
    assert View("learn", {"lesson": "one-road"}).words == "one road"
