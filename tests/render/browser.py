"""A headless Chromium, spoken to over its DevTools pipe: no package is needed but the browser itself."""

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
AXE_PLACES = (
    os.environ.get("AXE_CORE", ""),
    str(Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"),
)
AXE = next((path for path in AXE_PLACES if path and Path(path).is_file()), None)
"""axe-core's script: `npm install --no-save axe-core` in the checkout, or its path in AXE_CORE."""


class Page:
    """One tab."""

    def __init__(self, connection: "Connection", session: str) -> None:
        self.connection, self.session = connection, session
        self.events: list[dict[str, Any]] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        answer, events = self.connection.call(method, parameters, self.session)
        self.events += events
        return answer

    def show(self, address: str, *, width: int, height: int = 900, scheme: str = "light", scripts: bool = True) -> None:
        """Opens the address and waits until it is loaded."""
        self.events.clear()
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.send("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.send("Page.navigate", url=address)
        deadline = time.monotonic() + 30
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            assert time.monotonic() < deadline, "the page did not load"
            self.send("Runtime.evaluate", expression="1")

    def evaluate(self, expression: str) -> Any:
        """The value of the expression, a promise awaited."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        for kind in ("rawKeyDown", "keyUp"):
            self.send(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=9 if key == "Tab" else 13
            )

    def problems(self) -> list[str]:
        """Console messages, uncaught errors and violations of the page's policy."""
        return [
            json.dumps(event["params"])[:500]
            for event in self.events
            if event["method"] in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        ]

    def requests(self) -> list[str]:
        """Addresses that were asked for."""
        return [
            event["params"]["request"]["url"] for event in self.events if event["method"] == "Network.requestWillBeSent"
        ]


class Connection:
    """Messages to and from the browser, each ended by a zero byte."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self.to_browser, self.from_browser = to_browser, from_browser
        self.number, self.rest = 0, b""

    def call(
        self, method: str, parameters: dict[str, Any], session: str | None = None
    ) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """The answer to one command and the events that came before it."""
        self.number += 1
        message = {
            "id": self.number,
            "method": method,
            "params": parameters,
            **({"sessionId": session} if session else {}),
        }
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        events = []
        while True:
            received = self.receive()
            if received.get("id") == self.number:
                assert "error" not in received, received["error"]
                return received.get("result", {}), events
            if "method" in received:
                events.append(received)

    def receive(self) -> dict[str, Any]:
        while b"\0" not in self.rest:
            data = os.read(self.from_browser, 1 << 20)
            assert data, "the browser ended"
            self.rest += data
        message, _, self.rest = self.rest.partition(b"\0")
        result: dict[str, Any] = json.loads(message)
        return result


@contextmanager
def browser() -> Iterator[Page]:
    """A fresh browser with one empty tab, ended afterwards."""
    assert CHROMIUM
    browser_reads, to_browser = os.pipe()
    from_browser, browser_writes = os.pipe()
    with tempfile.TemporaryDirectory() as profile:
        switches = [
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-extensions",
            "--disable-component-update", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
            "--remote-debugging-pipe", f"--user-data-dir={profile}",
        ]  # fmt: skip
        # The browser reads from 3 and writes to 4; a shell puts the pipes there.
        script = f'exec "$0" "$@" 3<&{browser_reads} 4>&{browser_writes}'
        process = subprocess.Popen(
            ["bash", "-c", script, CHROMIUM, *switches],
            pass_fds=(browser_reads, browser_writes),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(browser_reads)
        os.close(browser_writes)
        try:
            connection = Connection(to_browser, from_browser)
            target, _ = connection.call("Target.createTarget", {"url": "about:blank"})
            session, _ = connection.call("Target.attachToTarget", {"targetId": target["targetId"], "flatten": True})
            yield Page(connection, session["sessionId"])
            connection.call("Browser.close", {})
        finally:
            os.close(to_browser)
            os.close(from_browser)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
