"""Writes tables with PyIceberg, and tells what PyIceberg says of them.

Reads one JSON command a line and answers each with one line: {"result": ...} or
{"error": ...}. One process serves a whole test run, because importing PyArrow
takes seconds.
"""

import json
import sys
import time
import traceback

import pyarrow as pa
from pyiceberg.catalog import load_catalog
from pyiceberg.partitioning import PartitionField, PartitionSpec, UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.table import StaticTable
from pyiceberg.table.snapshots import ancestors_of
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "category", StringType(), required=False),
)
BY_CATEGORY = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "category"))
MIB = 1 << 20
SMALL = 128 * MIB
SIZE_BOUNDS = [2**i * MIB for i in (0, 2, 3, 4, 5, 6, 7, 8, 9, 10)]

catalogs = {}


def catalog(command):
    properties = dict(command["catalog"])
    key = json.dumps(properties, sort_keys=True)
    if key not in catalogs:
        catalogs[key] = load_catalog(properties.pop("name"), **properties)
    return catalogs[key]


def load(command):
    if "metadata" in command:
        properties = command.get("properties", {})
        return StaticTable.from_metadata(command["metadata"], properties)
    return catalog(command).load_table(command["table"])


def rows(count, categories=("a", "b", "c")):
    return pa.table({
        "id": pa.array(range(count), pa.int64()),
        "category": pa.array([categories[i % len(categories)] for i in range(count)]),
    })


def create(command):
    """Creates a table, the namespaces above it first."""
    into, name = catalog(command), command["table"]
    levels = name.split(".")[:-1]
    for depth in range(1, len(levels) + 1):
        into.create_namespace_if_not_exists(tuple(levels[:depth]))
    spec = BY_CATEGORY if command.get("partitioned") else UNPARTITIONED_PARTITION_SPEC
    properties, location = command.get("properties", {}), command.get("location")
    into.create_table(name, SCHEMA, location=location, partition_spec=spec, properties=properties)


def namespace(command):
    catalog(command).create_namespace_if_not_exists(tuple(command["namespace"].split(".")))


def append(command):
    """Appends a number of times, and tells the snapshot of each."""
    table, written = load(command), []
    for _ in range(command.get("times", 1)):
        table.append(rows(command.get("rows", 10)))
        time.sleep(command.get("pause", 0))
        written.append(snapshot(table.current_snapshot()))
    return written


def snapshot(s):
    return {
        "id": s.snapshot_id,
        "timestamp": s.timestamp_ms / 1000,
        "data_files": int(s.summary["total-data-files"]),
        "records": int(s.summary["total-records"]),
        "manifest_list": s.manifest_list,
    }


def current(command):
    return snapshot(load(command).current_snapshot())


def overwrite(command):
    load(command).overwrite(rows(command.get("rows", 10)))


def delete(command):
    load(command).delete(command["where"])


def drop(command):
    catalog(command).drop_table(command["table"])


def tag(command):
    table = load(command)
    table.manage_snapshots().create_tag(table.current_snapshot().snapshot_id, command["tag"]).commit()


def expire(command):
    """Expires every snapshot but the current one, and deletes what only they needed."""
    table = load(command)
    before = {s.snapshot_id: s for s in table.snapshots()}
    del before[table.current_snapshot().snapshot_id]
    kept = {m.manifest_path for m in table.current_snapshot().manifests(table.io)}
    gone = {s.manifest_list for s in before.values()}
    for s in before.values():
        gone |= {m.manifest_path for m in s.manifests(table.io)} - kept
    table.maintenance.expire_snapshots().by_ids(list(before)).commit()
    for path in gone:
        table.io.delete(path)
    return sorted(gone)


def metadata(command):
    table = load(command)
    return {"file": table.metadata_location, "location": table.location()}


def document(command):
    """The text of the metadata file."""
    return json.loads(load(command).metadata.model_dump_json())


def references(command):
    """Every file that a table refers to, by why it does."""
    table = load(command)
    live = set(table.inspect.files()["file_path"].to_pylist())
    content, metadata = set(), {table.metadata_location, *(e.metadata_file for e in table.metadata.metadata_log)}
    for s in table.snapshots():
        metadata.add(s.manifest_list)
        for m in s.manifests(table.io):
            metadata.add(m.manifest_path)
            content |= {e.data_file.file_path for e in m.fetch_manifest_entry(table.io)}
    return {"live": sorted(live), "historical": sorted(content - live), "metadata": sorted(metadata)}


def label(name, **labels):
    """A series without the labels that name its table."""
    inside = ",".join(f'{k}="{v}"' for k, v in sorted(labels.items()))
    return f"{name}{{{inside}}}" if inside else name


def figures(command):
    """What PyIceberg's metadata tables say of a table, under the exporter's names."""
    table = load(command)
    inspect = table.inspect
    f = {}
    files = inspect.files().to_pylist() if table.current_snapshot() else []
    data_files(f, [x for x in files if x["content"] == 0], inspect if files else None)
    for content, name in ((1, "position_deletes"), (2, "equality_deletes")):
        deletes = [x for x in files if x["content"] == content]
        f[label("iceberg_table_delete_files", content=name)] = len(deletes)
        f[label("iceberg_table_delete_bytes", content=name)] = sum(x["file_size_in_bytes"] for x in deletes)
        f[label("iceberg_table_delete_records", content=name)] = sum(x["record_count"] for x in deletes)
    metadata_files(f, table)
    history(f, table)
    return f


def data_files(f, files, inspect):
    sizes = [x["file_size_in_bytes"] for x in files]
    f["iceberg_table_data_files"] = len(sizes)
    f["iceberg_table_data_bytes"] = sum(sizes)
    f["iceberg_table_records"] = sum(x["record_count"] for x in files)
    f["iceberg_table_small_data_files"] = sum(s < SMALL for s in sizes)
    if sizes:
        f["iceberg_table_data_file_min_bytes"] = min(sizes)
        f["iceberg_table_data_file_max_bytes"] = max(sizes)
        f["iceberg_table_data_file_average_bytes"] = sum(sizes) / len(sizes)
        f["iceberg_table_small_data_file_ratio"] = sum(s < SMALL for s in sizes) / len(sizes)
    for bound in SIZE_BOUNDS:
        f[label("iceberg_table_data_file_size_bytes_bucket", le=bound)] = sum(s <= bound for s in sizes)
    f["iceberg_table_data_file_size_bytes_count"] = len(sizes)
    f["iceberg_table_data_file_size_bytes_sum"] = sum(sizes)
    partitions = inspect.partitions().to_pylist() if inspect else []
    f["iceberg_table_partitions"] = sum(p["file_count"] > 0 for p in partitions)


def metadata_files(f, table):
    manifests = table.inspect.manifests().to_pylist() if table.current_snapshot() else []
    for content, name in ((0, "data"), (1, "deletes")):
        lengths = [m["length"] for m in manifests if m["content"] == content]
        f[label("iceberg_table_manifests", content=name)] = len(lengths)
        f[label("iceberg_table_manifest_bytes", content=name)] = sum(lengths)
    f["iceberg_table_metadata_bytes"] = len(table.io.new_input(table.metadata_location))
    # The current file is the last entry of this table.
    f["iceberg_table_metadata_log_entries"] = table.inspect.metadata_log_entries().num_rows - 1
    f["iceberg_table_partition_specs"] = len(table.specs())
    f["iceberg_table_schemas"] = len(table.schemas())


def history(f, table):
    snapshots = table.inspect.snapshots().to_pylist()
    f["iceberg_table_snapshots"] = len(snapshots)
    for operation in ("append", "overwrite", "replace", "delete"):
        f[label("iceberg_table_snapshot_operations", operation=operation)] = sum(
            s["operation"] == operation for s in snapshots
        )
    refs = table.inspect.refs().to_pylist()
    for kind in ("branch", "tag"):
        f[label("iceberg_table_refs", ref_type=kind)] = sum(r["type"] == kind.upper() for r in refs)
    now = table.current_snapshot()
    if now:
        f["iceberg_table_current_snapshot_timestamp_seconds"] = now.timestamp_ms / 1000
        f["iceberg_table_oldest_snapshot_timestamp_seconds"] = min(s.timestamp_ms for s in table.snapshots()) / 1000
    # Not by inspect.history(): a commit of several snapshots may log the last alone.
    ancestors = {s.snapshot_id for s in ancestors_of(now, table.metadata)}
    on_main = [s for s in snapshots if s["snapshot_id"] in ancestors]
    f["iceberg_table_appends_since_compaction"] = sum(s["operation"] == "append" for s in on_main)
    f["iceberg_table_recent_commits"] = sum(s["operation"] != "replace" for s in on_main)
    for metric, key in (("data_files", "added-data-files"), ("bytes", "added-files-size")):
        f[f"iceberg_table_recent_added_{metric}"] = sum(int(dict(s["summary"]).get(key, 0)) for s in on_main)


COMMANDS = {
    f.__name__: f
    for f in (
        create, namespace, append, current, overwrite, delete, drop, tag, expire, metadata, document, references, figures,
    )
}


def main():
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = {"result": COMMANDS[command["do"]](command)}
        except Exception:
            answer = {"error": traceback.format_exc()}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
