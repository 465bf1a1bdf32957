"""What a player sees of the game: `layout` names the numbers, `static` and `dynamic` fill them.

`static` is known before the game and the same in all of them; `dynamic` depends on the position.
"""
