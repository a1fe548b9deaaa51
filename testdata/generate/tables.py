"""Writes the sample tables: one function a table. make.sh calls it."""

import json
import os
import pathlib
import subprocess
from datetime import datetime, timedelta

import pyarrow
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import DayTransform
from pyiceberg.types import DoubleType, NestedField, StringType, TimestampType

from clock import Clock
from spark import LOCATION, session

SCRATCH = pathlib.Path(os.environ["SCRATCH"])
clock = Clock()
spark = None

# The metadata files of a long history are the largest part of a small table.
FEW_METADATA_FILES = {
    "write_metadata_delete__after__commit_enabled": "true",
    "write_metadata_previous__versions__max": 3,
}


def november(day, hour=0, minute=0):
    return datetime(2026, 11, day, hour, minute)


def at(when, *statements):
    """Runs the statements as if it were `when`."""
    clock.at(when)
    for statement in statements:
        spark.sql(statement)


def rows(first, count, columns):
    """A query of `count` rows, in which `id` counts from `first`."""
    return f"SELECT {columns} FROM range({first}, {first + count}, 1, 1)"


def properties(**settings):
    """A TBLPROPERTIES clause: `_` stands for a dot, `__` for a hyphen."""
    pairs = ", ".join(f"'{key.replace('__', '-').replace('_', '.')}'='{value}'" for key, value in settings.items())
    return f"TBLPROPERTIES ({pairs})"


def orders():
    """Healthy: one well-sized file a day, one manifest, snapshots expired, statistics computed.

    256 MB files have no place in a repository, so the table asks for files of 24 KiB instead and gets them.
    """
    at(
        november(19, 9),
        "CREATE TABLE warehouse.sales.orders (id BIGINT, ordered_at TIMESTAMP, customer STRING, channel STRING) "
        "USING iceberg PARTITIONED BY (days(ordered_at)) "
        + properties(format__version=2, write_target__file__size__bytes=24 * 1024, **FEW_METADATA_FILES),
    )
    for day in range(20, 28):
        columns = (
            f"id, TIMESTAMP '2026-11-{day - 1} 00:00:00' + make_dt_interval(0, 0, 0, (id % 1000) * 80) AS ordered_at, "
            "substr(md5(string(id)), 1, 28) AS customer, "
            "element_at(array('app', 'shop', 'web'), 1 + cast(id % 3 AS INT)) AS channel"
        )
        at(november(day, 2, 10), f"INSERT INTO warehouse.sales.orders {rows(day * 1_000, 990, columns)}")
    at(november(27, 4), "CALL warehouse.system.rewrite_manifests('sales.orders')")
    at(
        november(27, 4, 30),
        "CALL warehouse.system.expire_snapshots(table => 'sales.orders', older_than => now(), retain_last => 3)",
    )
    at(
        november(27, 5),
        "CALL warehouse.system.compute_table_stats(table => 'sales.orders', columns => array('channel'))",
    )


def customers():
    """Position deletes: merge-on-read DELETE, UPDATE and MERGE, of both granularities, one rewrite of the deletes."""
    table = "warehouse.sales.customers"
    at(
        november(10, 8),
        f"CREATE TABLE {table} (id BIGINT, country STRING, name STRING, points INT) USING iceberg PARTITIONED BY (country) "
        + properties(
            format__version=2,
            write_delete_mode="merge-on-read",
            write_update_mode="merge-on-read",
            write_merge_mode="merge-on-read",
            write_delete_granularity="partition",
            **FEW_METADATA_FILES,
        ),
    )
    columns = (
        "id, element_at(array('DE', 'FR', 'US'), 1 + cast(id % 3 AS INT)) AS country, "
        "md5(string(id)) AS name, 0 AS points"
    )
    for number, day in enumerate((10, 13, 16)):
        at(november(day, 9), f"INSERT INTO {table} {rows(number * 300, 300, columns)}")
    at(november(18, 9), f"DELETE FROM {table} WHERE id % 10 = 0")
    at(november(19, 9), f"DELETE FROM {table} WHERE id % 10 = 1")
    at(
        november(20, 3),
        "CALL warehouse.system.rewrite_position_delete_files(table => 'sales.customers', "
        "options => map('rewrite-all', 'true'))",
    )
    at(november(21, 9), f"ALTER TABLE {table} SET TBLPROPERTIES ('write.delete.granularity'='file')")
    at(november(22, 9), f"UPDATE {table} SET points = 10 WHERE id % 50 = 3")
    at(
        november(24, 9),
        f"MERGE INTO {table} t USING ({rows(700, 400, 'id')}) s ON t.id = s.id "
        "WHEN MATCHED AND t.id % 20 = 5 THEN DELETE "
        "WHEN MATCHED AND t.id % 20 = 7 THEN UPDATE SET points = points + 1 "
        "WHEN NOT MATCHED THEN INSERT (id, country, name, points) VALUES (s.id, 'US', md5(string(s.id)), 0)",
    )
    at(november(26, 9), f"DELETE FROM {table} WHERE id % 10 = 2 AND country = 'FR'")


def returns():
    """Deletion vectors: format v3, several vectors in one Puffin file, some vectors replaced by later ones."""
    table = "warehouse.sales.returns"
    at(
        november(12, 8),
        f"CREATE TABLE {table} (id BIGINT, reason STRING, refund DECIMAL(10,2)) USING iceberg PARTITIONED BY (reason) "
        + properties(
            format__version=3,
            write_delete_mode="merge-on-read",
            write_update_mode="merge-on-read",
            **FEW_METADATA_FILES,
        ),
    )
    columns = (
        "id, element_at(array('broken', 'late', 'other'), 1 + cast(id % 3 AS INT)) AS reason, "
        "cast(id AS DECIMAL(10,2)) AS refund"
    )
    for number, day in enumerate((12, 14, 16, 18)):
        at(november(day, 9), f"INSERT INTO {table} {rows(number * 300, 300, columns)}")
    at(november(20, 9), f"DELETE FROM {table} WHERE id % 7 = 0 AND id < 600")
    at(november(22, 9), f"UPDATE {table} SET refund = 0 WHERE id % 100 = 1")
    at(november(25, 9), f"DELETE FROM {table} WHERE reason = 'late' AND id % 2 = 0")


def prices():
    """Format v1 as Iceberg writes it today."""
    table = "warehouse.sales.prices"
    at(
        november(5, 5),
        f"CREATE TABLE {table} (id BIGINT, market STRING, price DOUBLE) USING iceberg PARTITIONED BY (market) "
        + properties(format__version=1),
    )
    columns = "id, element_at(array('EU', 'UK', 'US'), 1 + cast(id % 3 AS INT)) AS market, id * 0.25 AS price"
    for number, day in enumerate((5, 8, 11, 14, 17)):
        at(november(day, 6), f"INSERT INTO {table} {rows(number * 90, 90, columns)}")
    at(november(19, 6), f"DELETE FROM {table} WHERE market = 'UK' AND id < 90")


def shipments():
    """Compacted by rewrite_data_files twice (the first time has expired since), then appended to again."""
    table = "warehouse.sales.shipments"
    at(
        november(2, 8),
        f"CREATE TABLE {table} (id BIGINT, shipped_at TIMESTAMP, carrier STRING) USING iceberg "
        "PARTITIONED BY (days(shipped_at)) " + properties(format__version=2, **FEW_METADATA_FILES),
    )

    def append(day, hour):
        columns = (
            f"id, TIMESTAMP '2026-11-{day:02} {hour:02}:00:00' + make_dt_interval(0, 0, 0, id % 3600) AS shipped_at, "
            "element_at(array('air', 'rail', 'road', 'sea'), 1 + cast(id % 4 AS INT)) AS carrier"
        )
        at(november(day, hour, 59), f"INSERT INTO {table} {rows((day * 24 + hour) * 100, 60, columns)}")

    compact = (
        "CALL warehouse.system.rewrite_data_files(table => 'sales.shipments', options => map('min-input-files', '3'))"
    )
    for day in (3, 4, 5):
        for hour in (6, 12, 18):
            append(day, hour)
    at(november(6, 1), compact)
    for day in (8, 9, 10, 11):
        for hour in (8, 14, 20):
            append(day, hour)
    at(november(12, 1), "CALL warehouse.system.rewrite_manifests('sales.shipments')")
    at(
        november(12, 2),
        "CALL warehouse.system.expire_snapshots(table => 'sales.shipments', older_than => now(), retain_last => 6)",
    )
    append(13, 9)
    at(november(14, 1), compact)
    for day in (15, 18, 21, 24):
        append(day, 9)


def stores():
    """Partition evolution: live files of four specs, a null, awkward partition values, changed columns."""
    table = "warehouse.sales.stores"
    at(
        november(3, 8),
        f"CREATE TABLE {table} (id BIGINT, region STRING, opened_at TIMESTAMP, size INT) USING iceberg "
        "PARTITIONED BY (days(opened_at)) " + properties(format__version=2, **FEW_METADATA_FILES),
    )
    # Awkward on purpose: what a path, a label and a dashboard must all survive.
    regions = r"array('plain', 'Südtirol/Alto Adige', 'a=b c', '北海道 \'1\' \"2\"', NULL)"
    columns = (
        f"id, element_at({regions}, 1 + cast(id % 5 AS INT)) AS region, "
        "TIMESTAMP '2026-11-01 10:00:00' + make_dt_interval(cast(id % 3 AS INT)) AS opened_at, cast(id AS INT) AS size"
    )
    at(november(4, 8), f"INSERT INTO {table} {rows(0, 60, columns)}")
    at(
        november(5, 8),
        f"INSERT INTO {table} {rows(100, 20, columns.replace('make_dt_interval(cast(id % 3 AS INT))', 'NULL'))}",
    )
    at(november(9, 8), f"ALTER TABLE {table} DROP PARTITION FIELD days(opened_at)")
    at(november(9, 9), f"ALTER TABLE {table} ADD PARTITION FIELD bucket(4, id)")
    at(november(10, 8), f"INSERT INTO {table} {rows(200, 60, columns)}")
    at(november(15, 8), f"ALTER TABLE {table} REPLACE PARTITION FIELD bucket(4, id) WITH region")
    at(november(16, 8), f"INSERT INTO {table} {rows(300, 60, columns)}")
    at(
        november(17, 8),
        f"ALTER TABLE {table} ADD COLUMN manager STRING",
        f"ALTER TABLE {table} RENAME COLUMN size TO floor_area",
    )
    at(november(18, 8), f"INSERT INTO {table} {rows(400, 60, columns + ', md5(string(id)) AS manager')}")
    at(november(22, 8), f"ALTER TABLE {table} ADD PARTITION FIELD truncate(3, manager) AS manager_prefix")
    at(november(23, 8), f"INSERT INTO {table} {rows(500, 3, columns + ', md5(string(id)) AS manager')}")


def clicks():
    """Many small files: Spark Structured Streaming commits one a half hour for five days, and nobody compacts.

    Snapshots are expired four times a day, so the manifests pile up but not their lists.
    """
    at(
        november(21, 22),
        "CREATE TABLE warehouse.streaming.clicks (clicked_at TIMESTAMP, page STRING, visitor INT) USING iceberg "
        "PARTITIONED BY (days(clicked_at)) " + properties(format__version=2, **FEW_METADATA_FILES),
    )
    source, waiting = SCRATCH / "clicks", SCRATCH / "clicks.waiting"
    source.mkdir()
    stream = (
        spark.readStream.schema("clicked_at TIMESTAMP, page STRING, visitor INT")
        .json(str(source))
        .writeStream.format("iceberg")
        .option("checkpointLocation", str(SCRATCH / "clicks.checkpoint"))
        .option("fanout-enabled", "true")
        .toTable("warehouse.streaming.clicks")
    )
    for number in range(250):
        end = november(22) + timedelta(minutes=30 * (number + 1))
        clicks = [
            {
                "clicked_at": (end - timedelta(seconds=1 + 37 * click)).isoformat(sep=" "),
                "page": f"/item/{(number * 31 + click * 7) % 97}",
                "visitor": number * 100 + click,
            }
            # Nights are quiet.
            for click in range(8 if end.hour < 7 else 40)
        ]
        if end.hour % 6 == 0 and end.minute == 30 and number > 1:
            at(
                end - timedelta(minutes=10),
                "CALL warehouse.system.expire_snapshots(table => 'streaming.clicks', older_than => now(), retain_last => 6)",
            )
        clock.at(end)
        waiting.write_text("\n".join(map(json.dumps, clicks)))
        waiting.rename(source / f"{number:03}.json")
        stream.processAllAvailable()
    stream.stop()


def inventory():
    """Equality deletes as Flink's upsert sink writes them, with position deletes within a checkpoint."""
    at(
        november(18, 8),
        "CREATE TABLE warehouse.streaming.inventory (depot STRING NOT NULL, item INT NOT NULL, quantity INT) USING iceberg "
        "PARTITIONED BY (depot) " + properties(format__version=2, write_upsert_enabled="true", **FEW_METADATA_FILES),
        "ALTER TABLE warehouse.streaming.inventory SET IDENTIFIER FIELDS depot, item",
    )
    jvm = spark.sparkContext._jvm
    for number in range(12):
        clock.at(november(19) + timedelta(hours=6 * number))
        # Loaded anew: each checkpoint commits on top of the last one.
        table = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(
            spark._jsparkSession, "warehouse.streaming.inventory"
        )
        depot = ("north", "south", "west")[number % 3]
        jvm.EqualityDeletes.checkpoint(table, depot, number * 5, 50, number, number >= 3, number % 4 == 3)


def payments():
    """Compressed metadata files."""
    table = "warehouse.streaming.payments"
    at(
        november(20, 8),
        f"CREATE TABLE {table} (id BIGINT, paid_at TIMESTAMP, amount DECIMAL(10,2)) USING iceberg "
        "PARTITIONED BY (hours(paid_at)) " + properties(format__version=2, write_metadata_compression__codec="gzip"),
    )
    for hour in range(6):
        columns = f"id, TIMESTAMP '2026-11-20 {9 + hour:02}:15:00' AS paid_at, cast(id AS DECIMAL(10,2)) AS amount"
        at(november(20, 9 + hour, 30), f"INSERT INTO {table} {rows(hour * 20, 20, columns)}")


def experiments():
    """Branches with commits of their own, tags, retention settings, a rollback."""
    table = "warehouse.lab.experiments"
    at(
        november(6, 8),
        f"CREATE TABLE {table} (id BIGINT, note STRING) USING iceberg "
        + properties(format__version=2, **FEW_METADATA_FILES),
    )

    def insert(when, first, count, target=table):
        at(when, f"INSERT INTO {target} {rows(first, count, 'id, md5(string(id)) AS note')}")

    insert(november(7, 8), 0, 50)
    insert(november(8, 8), 50, 50)
    at(november(8, 9), f"ALTER TABLE {table} CREATE TAG `paper-1` RETAIN 3650 DAYS")
    insert(november(9, 8), 100, 50)
    at(
        november(9, 9),
        f"ALTER TABLE {table} CREATE BRANCH audit RETAIN 30 DAYS WITH SNAPSHOT RETENTION 2 SNAPSHOTS 7 DAYS",
    )
    insert(november(10, 8), 1_000, 10, f"{table}.branch_audit")
    insert(november(11, 8), 1_010, 10, f"{table}.branch_audit")
    insert(november(12, 8), 1_020, 10, f"{table}.branch_audit")
    insert(november(13, 8), 150, 500)
    bad = spark.sql(f"SELECT snapshot_id FROM {table}.history ORDER BY made_current_at").collect()[-2][0]
    at(november(13, 9), f"CALL warehouse.system.rollback_to_snapshot('lab.experiments', {bad})")
    insert(november(14, 8), 150, 50)
    at(november(14, 9), f"ALTER TABLE {table} CREATE BRANCH idle")
    at(november(14, 10), f"ALTER TABLE {table} CREATE TAG nightly RETAIN 2 DAYS")
    insert(november(16, 8), 200, 50)


def empty():
    """Created and never written: no snapshot."""
    at(
        november(25, 12),
        "CREATE TABLE warehouse.lab.empty (id BIGINT, created_at TIMESTAMP) USING iceberg PARTITIONED BY (days(created_at)) "
        + properties(format__version=2),
    )


def legacy():
    """Format v1 whose snapshots name their manifests, with no manifest list, by an Iceberg of 2022."""
    for number, market in enumerate(("EU", "US", "EU", "UK")):
        clock.at(november(1 + number, 5))
        subprocess.run(
            [
                "java",
                "-cp",
                os.environ["LEGACY_CLASSPATH"],
                "LegacyTable",
                f"{LOCATION}/lab/legacy",
                market,
                str(number * 40),
            ],
            check=True,
        )


def codecs():
    """One manifest of each compression: deflate, snappy, none, zstd. Java writes every list in deflate."""
    table = "warehouse.lab.codecs"
    at(
        november(23, 8),
        f"CREATE TABLE {table} (id BIGINT, kind STRING) USING iceberg PARTITIONED BY (kind) "
        + properties(format__version=2),
    )
    columns = "id, element_at(array('a', 'b'), 1 + cast(id % 2 AS INT)) AS kind"
    for number, codec in enumerate(("gzip", "snappy", "uncompressed", "zstd")):
        at(
            november(24, 8 + number),
            f"ALTER TABLE {table} SET TBLPROPERTIES ('write.manifest.compression-codec'='{codec}')",
        )
        at(november(24, 8 + number, 30), f"INSERT INTO {table} {rows(number * 20, 20, columns)}")


def formats():
    """Writer properties set to other than the defaults: ORC, Avro and Parquet data, ORC position deletes, a sort order."""
    table = "warehouse.lab.formats"
    at(
        november(19, 8),
        f"CREATE TABLE {table} (id BIGINT, kind STRING, value DOUBLE) USING iceberg PARTITIONED BY (kind) "
        + properties(
            format__version=2,
            write_format_default="orc",
            write_distribution__mode="range",
            write_spark_fanout_enabled="true",
            write_target__file__size__bytes=64 * 1024 * 1024,
            write_delete_mode="merge-on-read",
            write_delete_distribution__mode="none",
            write_delete_format_default="orc",
            write_parquet_compression__codec="snappy",
            commit_manifest_min__count__to__merge=50,
            commit_manifest__merge_enabled="false",
            history_expire_max__snapshot__age__ms=172_800_000,
            history_expire_min__snapshots__to__keep=5,
        ),
        f"ALTER TABLE {table} WRITE ORDERED BY id",
    )
    columns = "id, element_at(array('a', 'b'), 1 + cast(id % 2 AS INT)) AS kind, id / 7 AS value"
    for number, file_format in enumerate(("orc", "avro", "parquet")):
        at(november(20, 8 + number), f"ALTER TABLE {table} SET TBLPROPERTIES ('write.format.default'='{file_format}')")
        at(november(20, 8 + number, 30), f"INSERT INTO {table} {rows(number * 40, 40, columns)}")
    at(november(21, 8), f"DELETE FROM {table} WHERE id % 5 = 0")


def readings():
    """Written by PyIceberg through a SQL catalog: metadata files named by UUID, no version hint."""
    catalog = SqlCatalog("readings", uri=f"sqlite:///{SCRATCH}/catalog.db", warehouse=f"file://{LOCATION}")
    catalog.create_namespace("lab")
    schema = Schema(
        NestedField(1, "sensor", StringType()),
        NestedField(2, "read_at", TimestampType()),
        NestedField(3, "value", DoubleType()),
    )
    clock.at(november(24, 8))
    table = catalog.create_table(
        "lab.readings",
        schema,
        location=f"file://{LOCATION}/lab/readings",
        partition_spec=PartitionSpec(PartitionField(2, 1000, DayTransform(), "read_day")),
        # For PyIceberg this is the manifests' and manifest lists' own.
        properties={"write.avro.compression-codec": "zstd"},
    )

    def measured(day):
        return pyarrow.table(
            {
                "sensor": [f"s{number % 4}" for number in range(48)],
                "read_at": pyarrow.array(
                    [november(day) + timedelta(minutes=30 * n) for n in range(48)], pyarrow.timestamp("us")
                ),
                "value": [day + number / 10 for number in range(48)],
            }
        )

    for day in (24, 25, 26):
        clock.at(november(day + 1, 0, 5))
        table.append(measured(day))
    clock.at(november(27, 9))
    table.delete("sensor = 's3'")
    clock.at(november(28, 0, 5))
    table.append(measured(27))


def tidy(warehouse):
    """Leaves only what belongs to the tables: Hadoop's local file system adds checksum files of its own."""
    for path in warehouse.rglob(".*.crc"):
        path.unlink()
    for path in sorted(warehouse.rglob("*"), reverse=True):
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()


def main():
    global spark
    # Before Spark starts: one JVM at a time.
    legacy()
    readings()
    spark = session()
    for namespace in ("sales", "streaming", "lab"):
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS warehouse.{namespace}")
    for write in (
        orders,
        customers,
        returns,
        prices,
        shipments,
        stores,
        clicks,
        inventory,
        payments,
        experiments,
        empty,
        codecs,
        formats,
    ):
        write()
        print("wrote", write.__name__, flush=True)
    spark.stop()
    warehouse = pathlib.Path(LOCATION)
    tidy(warehouse)
    clock.rewrite(warehouse)


if __name__ == "__main__":
    main()
