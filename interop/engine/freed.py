"""What expire_snapshots frees: the bytes of data and delete files that it deletes, compared with what a scan expects.

Nothing is recorded: recorded tables have no data files. run.sh calls it.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

import harness

SCAN = os.environ["SCAN"]


def content(table):
    """The sizes of the data and delete files in the table's directory."""
    files = (file for file in (table.directory / "data").rglob("*") if file.is_file() and not file.name.startswith("."))
    return {file: file.stat().st_size for file in files}


def metadata_file(table):
    versions = table.directory / "metadata"
    return versions / f"v{(versions / 'version-hint.text').read_text()}.metadata.json"


def same(table):
    """Scans, expires and compares."""
    time.sleep(0.01)  # For the last snapshot but one to be too old, too.
    expected = json.loads(subprocess.run([SCAN, "-expirable", metadata_file(table)], check=True, capture_output=True).stdout)
    before = content(table)
    table.sql(f"CALL warehouse.system.expire_snapshots(table => 'interop.{table.case}')")
    left = content(table)
    freed = sum(size for file, size in before.items() if file not in left)
    print(f"{'ok' if freed == expected else 'DIFFERENT':9} {table.case:18} {expected} bytes expected, {freed} freed", flush=True)
    return freed == expected


def history(name, version, by="", tag=False, rewrite=False, empty=False):
    """A table whose snapshots can all expire but the current one."""
    table = harness.Table(name, by=by, version=version, history_expire_max__snapshot__age__ms=1, write_delete_mode="merge-on-read")
    for commit in range(4):
        table.sql(f"INSERT INTO @ SELECT id, id % 3, 'r', repeat(CAST(id AS STRING), {commit + 1}) FROM range({commit * 500}, {commit * 500 + 500})")
        if version > 1:
            table.sql(f"DELETE FROM @ WHERE id % 7 = {commit}")
        if tag and commit == 1:
            table.sql("ALTER TABLE @ CREATE TAG kept")
    if rewrite:
        table.sql(f"CALL warehouse.system.rewrite_data_files(table => 'interop.{name}', options => map('rewrite-all', 'true'))")
    if empty:
        table.sql("DELETE FROM @ WHERE id >= 0")
    return table


harness.start()
results = [
    same(history("v1", 1, rewrite=True)),
    same(history("positions", 2, rewrite=True)),
    same(history("positions_tag", 2, tag=True, rewrite=True)),
    same(history("partitions", 2, by="day", tag=True, empty=True)),
    same(history("vectors", 3)),
    same(history("vectors_rewritten", 3, rewrite=True, empty=True)),
    same(history("vectors_tag", 3, by="day", tag=True, rewrite=True)),
]
print(f"{len(results)} cases, {results.count(False)} differences")
harness.spark.stop()
sys.exit(not all(results))
