"""The explorer's pages: what is called how, in the order of the bar at the top."""

from __future__ import annotations

PAGES: dict[str, tuple[str, str]] = {
    "start": ("Start", ":material/home:"),
    "learn": ("Learn", ":material/school:"),
    "challenges": ("Challenges", ":material/trophy:"),
    "programs": ("Programs", ":material/apps:"),
    "play": ("Play", ":material/memory:"),
    "search": ("Search", ":material/account_tree:"),
    "debug": ("Debug", ":material/troubleshoot:"),
    "compare": ("Compare", ":material/bar_chart:"),
    "compiler": ("Compiler", ":material/developer_board:"),
    "words": ("Words", ":material/dictionary:"),
}
"""Title and icon by the folder of the page, which is also its path; `start` lies at the root."""
