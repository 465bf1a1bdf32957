"""The section `crowd`: one, ten and fifty visitors who step through a game, and two searches.

Visitors are connections that send what a browser sends, learned from one that steps once; they draw
nothing, for visitors have machines of their own. Each takes a step, waits for the whole answer,
looks at it for one and a half to four and a half seconds, and takes the next. *Answer* is from the
key press as the visitor feels it, but for the drawing: the map first waits `REST_MS` whether the
hand rests. The rows say what the server itself took, too.

Writes `docs/results/crowd.json` after each row.
"""

from __future__ import annotations

import asyncio
import json
import random
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import websockets
from playwright.sync_api import Browser, WebSocket
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from benchmarks.explorer_steps import PATIENCE_MS, percentile, searches, settle
from benchmarks.rows import RESULTS, Row, commit, keep
from benchmarks.settings import Settings
from ui.screenshots import SIZE, chromium, serve

PROGRAM = "gpt-v5e-b8-train"
CROWDS = ((1, False), (10, False), (10, True), (50, False), (50, True))
"""Visitors, and whether two searches run beside them."""
PAUSE_S = 3.0
REST_MS = 140
"""`COMMIT_MS` of the map (`ui/components/memory_map/commands.js`)."""
QUIET_S = 2.5
"""Without a message for so long a page is at rest."""
PATIENCE_S = 60.0


@dataclass(frozen=True)
class Script:
    """What a browser sends: to open the page, and for one step, which is changed for others."""

    opening: bytes
    step: bytes

    def step_to(self, move: int) -> bytes:
        """The message for a step to another move."""
        message = BackMsg()
        message.ParseFromString(self.step)
        state = message.rerun_script.widget_states.widgets[-1]
        body = json.loads(state.json_value)
        # A number that no message before had, else it counts as one of them.
        body["cursor"].update(move=move, nonce=1000 + move)
        state.json_value = json.dumps(body)
        return bytes(message.SerializeToString())


def run(section: str, settings: Settings) -> None:
    """Measure, print a line per row, and keep the rows."""
    del section
    rows: list[Row] = []
    # In a thread: the browser keeps a running loop in this one.
    with serve() as address, chromium() as browser, ThreadPoolExecutor(1) as thread:
        script = _learned(browser, address)
        for visitors, is_searching in CROWDS:
            page = f"{address}/compare?program={PROGRAM}"
            beside: AbstractContextManager[None] = (
                searches(browser, page) if is_searching else nullcontext()
            )
            with beside:
                stepping = _crowd(address, script, visitors, settings.steps_among // 2)
                answers = thread.submit(asyncio.run, stepping).result()
            rows.append(_row(address, visitors, is_searching, answers, rows))
            keep(RESULTS / "crowd.json", rows)


def _learned(browser: Browser, address: str) -> Script:
    """What a browser sends that opens Play and presses the key for the next move."""
    page = browser.new_page(viewport=SIZE)
    sent: list[bytes] = []

    def keep_it(data: bytes | str) -> None:
        assert isinstance(data, bytes), "Streamlit sends no text"
        sent.append(data)

    def listen(socket: WebSocket) -> None:
        socket.on("framesent", keep_it)

    page.on("websocket", listen)
    page.goto(f"{address}/?program={PROGRAM}&move=1", timeout=PATIENCE_MS)
    settle(page, ".map[data-move]")
    before = len(sent)
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(2000)
    page.close()
    assert len(sent) == before + 1, "a step is one message"
    return Script(sent[0], sent[-1])


async def _crowd(
    address: str, script: Script, visitors: int, steps: int
) -> list[list[float | None]]:
    """The answers to each visitor's steps, in milliseconds; None where there was none."""
    ready, go = asyncio.Semaphore(0), asyncio.Event()
    tasks = []
    for seed in range(visitors):
        tasks.append(asyncio.create_task(_visitor(address, script, steps, seed, ready, go)))
        # One opens the page after another, as people come.
        await ready.acquire()
    go.set()
    return await asyncio.gather(*tasks)


async def _visitor(
    address: str, script: Script, steps: int, seed: int, ready: asyncio.Semaphore, go: asyncio.Event
) -> list[float | None]:
    drawn, clock = random.Random(seed), asyncio.get_running_loop().time
    with urllib.request.urlopen(f"{address}/play") as response:
        cookie = str(response.headers["set-cookie"]).partition(";")[0]
    url = f"{address.replace('http', 'ws', 1)}/_stcore/stream"
    answers: list[float | None] = []
    async with websockets.connect(
        url,
        additional_headers={"Cookie": cookie},
        subprotocols=[websockets.Subprotocol("streamlit")],
        max_size=None,
    ) as socket:
        await socket.send(script.opening)
        await asyncio.wait_for(socket.recv(), PATIENCE_S)
        with suppress(TimeoutError):
            while True:
                await asyncio.wait_for(socket.recv(), QUIET_S)
        ready.release()
        await go.wait()
        await asyncio.sleep(drawn.uniform(0, PAUSE_S))
        for step in range(steps):
            begun = clock()
            await socket.send(script.step_to(2 + step))
            try:
                await asyncio.wait_for(_answered(socket), PATIENCE_S)
                answers.append(1e3 * (clock() - begun))
            except TimeoutError:
                answers.append(None)
            await asyncio.sleep(drawn.uniform(0.5, 1.5) * PAUSE_S)
    return answers


async def _answered(socket: websockets.ClientConnection) -> None:
    """Until the server has said all that a step changes."""
    while True:
        message = ForwardMsg()
        message.ParseFromString(await socket.recv())
        if message.WhichOneof("type") == "script_finished":
            return


def _row(
    address: str,
    visitors: int,
    is_searching: bool,
    answers: list[list[float | None]],
    rows: list[Row],
) -> Row:
    known = [[ms for ms in one if ms is not None] for one in answers]
    every = [ms for one in known for ms in one]
    worst = max(percentile(one, 0.95) for one in known if one)
    row: Row = {
        "commit": commit(),
        "visitors": visitors,
        "searches": 2 * is_searching,
        "steps": sum(map(len, answers)),
        "unanswered": sum(ms is None for one in answers for ms in one),
        "server_median_ms": round(median(every)),
        "server_p95_ms": round(percentile(every, 0.95)),
        "server_worst_p95_ms": round(worst),
        "memory_mib": _memory_mib(address),
    }
    lone = rows[0] if rows else row
    alone = REST_MS + lone["server_p95_ms"]
    for what in ("p95", "worst_p95"):
        row[f"{what}_over_lone"] = round((REST_MS + row[f"server_{what}_ms"]) / alone, 2)
    print(
        f"{visitors:3} visitors, {row['searches']} searches: the server answers a step after"
        f" {row['server_median_ms']} ms, p95 {row['server_p95_ms']}, worst visitor's"
        f" {row['server_worst_p95_ms']}; as felt, {row['p95_over_lone']} and"
        f" {row['worst_p95_over_lone']} times a lone visitor's p95;"
        f" {row['unanswered']} of {row['steps']} unanswered; {row['memory_mib']} MiB",
        flush=True,
    )
    return row


def _memory_mib(address: str) -> int:
    """What the server of that address has in memory."""
    port = address.rsplit(":", 1)[1].encode()
    for folder in Path("/proc").glob("[0-9]*"):
        # Others may end meanwhile.
        with suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if b"streamlit" in words and port in words:
                lines = (folder / "status").read_text().splitlines()
                kib = next(line.split()[1] for line in lines if line.startswith("VmRSS"))
                return int(kib) // 1024
    raise LookupError(f"no server of {address} runs here")
