"""A headless Chromium, by the WebDriver protocol of chromedriver: JSON over HTTP. Only what tests/site asks for."""

import json
import re
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from typing import Any

PROGRAM = "chromedriver"
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_LIMIT = 60.0
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
"""The key of an element's id, as the protocol defines it."""


class Browser:
    """One window. Without chromedriver in the path: ``FileNotFoundError``."""

    def __init__(self) -> None:
        program = shutil.which(PROGRAM)
        if program is None:
            raise FileNotFoundError(PROGRAM)
        self._profile = tempfile.TemporaryDirectory(prefix="kcli-site-")
        self._driver = subprocess.Popen(
            [program, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            self._address = f"http://127.0.0.1:{self._port()}"
            flags = [*_FLAGS, f"--user-data-dir={self._profile.name}"]
            wanted = {"goog:chromeOptions": {"args": flags}, "goog:loggingPrefs": {"browser": "ALL"}}
            answer = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
            self._session = f"/session/{answer['sessionId']}"
        except BaseException:
            self._end()
            raise

    def open(self, address: str) -> None:
        """Returns when the page and its pictures are loaded."""
        self._call("POST", f"{self._session}/url", {"url": address})

    def resize(self, width: int, height: int) -> None:
        """What the page sees as its screen; a narrow one is that of a telephone."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.command("Emulation.setDeviceMetricsOverride", metrics)

    def colours(self, scheme: str) -> None:
        """``light`` or ``dark``: what the system prefers."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.command("Emulation.setEmulatedMedia", {"features": [feature]})

    def command(self, name: str, parameters: dict[str, Any]) -> Any:
        """A command of the DevTools protocol."""
        body = {"cmd": name, "params": parameters}
        return self._call("POST", f"{self._session}/goog/cdp/execute", body)

    def value_of(self, script: str) -> Any:
        """What an expression of JavaScript is."""
        body = {"script": f"return {script}", "args": []}
        return self._call("POST", f"{self._session}/execute/sync", body)

    def type(self, selector: str, text: str) -> None:
        """Clicks on an element and types."""
        found = self._call("POST", f"{self._session}/element", {"using": "css selector", "value": selector})
        element = f"{self._session}/element/{found[_ELEMENT]}"
        self._call("POST", f"{element}/click", {})
        self._call("POST", f"{element}/value", {"text": text})

    def errors(self) -> list[str]:
        """Errors and warnings on the console since the last call."""
        entries = self._call("POST", f"{self._session}/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] in ("SEVERE", "WARNING")]

    def picture(self) -> str:
        """The window as PNG, in base64."""
        taken: str = self._call("GET", f"{self._session}/screenshot")
        return taken

    def close(self) -> None:
        """Ends browser and driver."""
        try:
            self._call("DELETE", self._session)
        finally:
            self._end()

    def _end(self) -> None:
        self._driver.terminate()
        self._driver.wait(10)
        self._profile.cleanup()

    def _port(self) -> int:
        assert self._driver.stdout is not None
        for line in self._driver.stdout:
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                return int(found[1])
        raise RuntimeError(f"{PROGRAM} ended: {self._driver.wait()}")

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._address + path, data, method=method)
        request.add_header("Content-Type", "application/json")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=_LIMIT) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{method} {path}: {json.load(error)['value']['message']}") from None
