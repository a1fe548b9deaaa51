"""Writes pyarrow.parquet: a file of a report of all versions, as another writer writes it.

    python3 report.py

Row i is about the key "t/k=<i>/å +%41<i>.parquet" of 10 i bytes, modified i minutes after
2026-11-01. Every 7th is not current and every 11th is a delete marker, which has no size.
"""

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 2500
START = datetime(2026, 11, 1, tzinfo=timezone.utc)

SCHEMA = pa.schema(
    [
        pa.field("bucket", pa.string(), nullable=False),
        pa.field("key", pa.string(), nullable=False),
        pa.field("version_id", pa.string()),
        pa.field("is_latest", pa.bool_()),
        pa.field("is_delete_marker", pa.bool_()),
        pa.field("size", pa.int64()),
        pa.field("last_modified_date", pa.timestamp("ms", tz="UTC")),
        pa.field("storage_class", pa.string()),
    ]
)


def row(i):
    return {
        "bucket": "lake",
        "key": f"t/k={i}/å +%41{i}.parquet",
        "version_id": f"v{i}",
        "is_latest": i % 7 != 0,
        "is_delete_marker": i % 11 == 0,
        "size": None if i % 11 == 0 else 10 * i,
        "last_modified_date": START + timedelta(minutes=i),
        "storage_class": "STANDARD",
    }


pq.write_table(
    pa.Table.from_pylist([row(i) for i in range(ROWS)], SCHEMA),
    Path(__file__).with_name("pyarrow.parquet"),
    row_group_size=2000,
    data_page_size=4096,
    write_batch_size=128,
    data_page_version="2.0",
    version="2.6",
    compression="snappy",
)
