"""Names too long for their place are told apart by their ends."""

from ui.components.names import short_name


def test_a_long_name_keeps_both_ends() -> None:
    assert short_name("fusion.12", 9) == "fusion.12"
    assert short_name("bitcast_multiply_fusion.12", 17) == "bitcast_…usion.12"
    names = {short_name(f"bitcast_multiply_fusion.{n}", 17) for n in range(100)}
    assert len(names) == 100 and all(len(name) <= 17 for name in names)
