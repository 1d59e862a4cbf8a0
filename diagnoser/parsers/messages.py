"""What a block says that is no traceback and no native death: its text, and the failure that a log message reports."""

from __future__ import annotations

from diagnoser.fingerprints import fingerprint
from diagnoser.model import Failure
from diagnoser.parsers.blocks import Block

MAX_TEXT = 16 * 1024
"""Characters of a record that log conditions see."""
_MAX_LINES = 200


def text_of(block: Block) -> str:
    """The text of the block, as log conditions see it."""
    first = block.records[0]
    if len(block.records) == 1:
        named = f"{first.site} {first.body}" if first.format == "nccl" and first.site else first.body
        return named[:MAX_TEXT]
    return "\n".join(record.body for record in block.records[:_MAX_LINES])[:MAX_TEXT]


def message_of(block: Block, text: str) -> Failure:
    """The failure that the message reports."""
    first, last = block.records[0], block.records[-1]
    return Failure(
        "message",
        first.process,
        first.source,
        first.line,
        last.line,
        block.order,
        first.time,
        first.level,
        first.site,
        "",
        (),
        -1,
        text,
        None,
        (),
        first.outer,
        fingerprint("message", first.site and first.site.split(":")[0], text, ()),
        first.repeated,
    )
