"""Comparison with the expected outputs kept in files.

`UPDATE_GOLDEN=1 pytest tests/render` writes them anew; look at the difference before it is committed.
"""

import os
import re
from pathlib import Path


def check(path: Path, text: str) -> None:
    """Fails unless the file holds that text; writes it when UPDATE_GOLDEN is set."""
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8"))
    assert text == path.read_bytes().decode("utf-8"), f"{path.name} is not as expected; see tests/render/golden.py"


def without_assets(page: str) -> str:
    """The page without its style, script and their hashes, which have files of their own."""
    page = re.sub(r"(?s)<style>.*?</style>", "<style></style>", page)
    page = re.sub(r"(?s)<script>.*?</script>", "<script></script>", page)
    return re.sub(r"'sha256-[^']+'", "'sha256-'", page)
