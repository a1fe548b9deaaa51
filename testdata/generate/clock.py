"""Spreads the tables' history over days, though the engines write it in minutes.

Engines stamp commits with the machine's clock. The script notes, before each step, when the story says that the step
happens; afterwards every timestamp in the metadata files is moved by the same rule: the story's time of the step, plus
what the engine took since. Nothing else in those files changes, so the order of commits and all that hangs together stays.
"""

import bisect
import gzip
import pathlib
import re
import time
from datetime import datetime, timezone

TIMESTAMP = re.compile(rb'("(?:timestamp-ms|last-updated-ms)"\s*:\s*)(\d+)')


class Clock:
    def __init__(self):
        self.real = []
        self.story = []

    def at(self, when: datetime) -> None:
        """What is committed from now on happens at `when` in the story."""
        # Commits are stamped in whole milliseconds: let the last step's own millisecond pass.
        time.sleep(0.002)
        self.real.append(time.time_ns() // 1_000_000)
        self.story.append(int(when.replace(tzinfo=timezone.utc).timestamp() * 1000))

    def move(self, stamp: int) -> int:
        step = bisect.bisect_right(self.real, stamp) - 1
        if step < 0:
            raise ValueError(f"{stamp} is before the first step")
        return self.story[step] + stamp - self.real[step]

    def rewrite(self, warehouse: pathlib.Path) -> None:
        for path in warehouse.glob("*/*/metadata/*.metadata.json"):
            content = path.read_bytes()
            zipped = content.startswith(b"\x1f\x8b")
            if zipped:
                content = gzip.decompress(content)
            content = TIMESTAMP.sub(lambda m: m[1] + str(self.move(int(m[2]))).encode(), content)
            path.write_bytes(gzip.compress(content, mtime=0) if zipped else content)
