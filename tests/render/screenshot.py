"""Writes docs/samples/report.png, the picture of the sample page: `python tests/render/screenshot.py`. Needs Chromium."""

import base64
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from browser import browser

SAMPLES = Path(__file__).parents[2] / "docs" / "samples"

if __name__ == "__main__":
    with browser() as page:
        page.show((SAMPLES / "report.html").as_uri(), width=1000, height=1250)
        data = page.send("Page.captureScreenshot", format="png")["data"]
    (SAMPLES / "report.png").write_bytes(base64.b64decode(data))
