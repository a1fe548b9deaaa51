"""Asks Spark what it knows of each table and writes one JSON file a table. make.sh calls it.

The queries read Iceberg's own metadata tables. What no metadata table tells comes from the metadata file, under its own key.
"""

import gzip
import json
import pathlib
import re
import shutil
import sys

from spark import LOCATION, session

MIB_128 = 134217728


def newest_metadata(table: pathlib.Path) -> pathlib.Path:
    """v12.metadata.json, v12.gz.metadata.json or 00012-<uuid>.metadata.json: the highest number."""
    return max((table / "metadata").glob("*.metadata.json"), key=lambda path: int(re.match(r"v?(\d+)", path.name)[1]))


def load(metadata: pathlib.Path) -> dict:
    content = metadata.read_bytes()
    return json.loads(gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content)


def scanned_files(spark, table):
    """The live data files of a scan, in the columns of `files` that the queries use; partition values as text."""
    rows = []
    planned = table.newScan().planFiles()
    tasks = planned.iterator()
    while tasks.hasNext():
        task = tasks.next()
        file, spec = task.file(), task.spec()
        if not task.deletes().isEmpty():
            raise ValueError("a v1 table has no delete files")
        values = dict(part.split("=", 1) for part in spec.partitionToPath(file.partition()).split("/"))
        rows.append(
            (
                0,
                file.location(),
                file.format().name(),
                file.specId(),
                values,
                file.recordCount(),
                file.fileSizeInBytes(),
            )
        )
    planned.close()
    fields = ", ".join(f"`{name}`: STRING" for name in values)
    return spark.createDataFrame(
        rows,
        "content INT, file_path STRING, file_format STRING, spec_id INT, "
        f"partition STRUCT<{fields}>, record_count BIGINT, file_size_in_bytes BIGINT",
    ).selectExpr("*", "cast(NULL AS BIGINT) AS content_size_in_bytes")


def scanned_manifests(spark, table):
    manifests = table.currentSnapshot().allManifests(table.io())
    return spark.createDataFrame([(m.content().id(), m.length()) for m in manifests], "content INT, length BIGINT")


class Asker:
    def __init__(self, spark, table, lists_manifests):
        self.spark = spark
        self.names = {"table": table, "files": f"{table}.files", "manifests": f"{table}.manifests"}
        if not lists_manifests:
            # Spark's metadata tables refuse manifests whose file counts no manifest list tells. Its scans do not.
            scanned = spark.sparkContext._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(
                spark._jsparkSession, table
            )
            self.names |= {"files": "scanned_files", "manifests": "scanned_manifests"}
            scanned_files(spark, scanned).createOrReplaceTempView("scanned_files")
            scanned_manifests(spark, scanned).createOrReplaceTempView("scanned_manifests")

    def rows(self, query):
        return [row.asDict(recursive=True) for row in self.spark.sql(query.format(**self.names)).collect()]

    def row(self, query):
        (row,) = self.rows(query)
        return row

    def counts(self, query):
        return {row["name"]: row["number"] for row in self.rows(query)}

    def partitions(self):
        """Each partition as the engine names it: a struct of the fields of all specs, null where a spec lacks a field."""
        count = "count(*) AS files, sum(file_size_in_bytes) AS bytes"
        schema = self.spark.table(self.names["files"]).schema
        if "partition" not in schema.names:
            return self.rows(
                f"SELECT spec_id, map() AS partition, {count} FROM {{files}} WHERE content = 0 GROUP BY spec_id"
            )
        fields = schema["partition"].dataType.names
        texts = ", ".join(f"'{field}', cast(partition.`{field}` AS STRING)" for field in fields)
        found = self.rows(
            f"SELECT spec_id, map({texts}) AS partition, files, bytes FROM (SELECT spec_id, partition, {count} "
            "FROM {files} WHERE content = 0 GROUP BY spec_id, partition)"
        )
        return sorted(found, key=lambda row: (row["spec_id"], json.dumps(row["partition"], sort_keys=True)))

    def last_compaction(self):
        """The newest snapshot on main that replaced data files, and the appends on main since."""
        return self.row(
            """
            WITH main AS (
              SELECT * FROM {table}.snapshots
              WHERE snapshot_id IN (SELECT snapshot_id FROM {table}.history WHERE is_current_ancestor)
            ), last AS (
              SELECT max(committed_at) AS committed_at FROM main
              WHERE operation = 'replace' AND cast(summary['deleted-data-files'] AS BIGINT) > 0
            )
            SELECT (SELECT unix_millis(committed_at) FROM last) AS committed_at_ms,
              CASE WHEN (SELECT committed_at FROM last) IS NOT NULL THEN
                (SELECT count(*) FROM main WHERE operation = 'append' AND committed_at > (SELECT committed_at FROM last))
              END AS appends_since
            """
        )


def answer(ask: Asker, raw: dict) -> dict:
    deletes = (
        "SELECT count(*) AS files, coalesce(sum({size}), 0) AS bytes, coalesce(sum(record_count), 0) AS records "
        "FROM {{files}} WHERE content = {content} AND file_format {format} 'PUFFIN'"
    )
    partitions = ask.partitions()
    return {
        "from_metadata_file": {
            "format_version": raw["format-version"],
            "location": raw["location"],
            "partition_specs": len(raw["partition-specs"]),
            "schemas": len(raw["schemas"]),
            "table_uuid": raw["table-uuid"],
        },
        "rows": ask.row("SELECT count(*) AS n FROM {table}")["n"],
        "data_files": ask.row(
            "SELECT count(*) AS files, coalesce(sum(file_size_in_bytes), 0) AS bytes, "
            "avg(file_size_in_bytes) AS average_bytes, "
            "min(file_size_in_bytes) AS smallest_bytes, max(file_size_in_bytes) AS largest_bytes, "
            f"coalesce(sum(CASE WHEN file_size_in_bytes < {MIB_128} THEN 1 ELSE 0 END), 0) AS files_below_128_mib, "
            "coalesce(sum(record_count), 0) AS records FROM {files} WHERE content = 0"
        ),
        "data_files_by_format": ask.counts(
            "SELECT lower(file_format) AS name, count(*) AS number FROM {files} WHERE content = 0 GROUP BY 1"
        ),
        "partitions": partitions,
        "partitions_distinct": len(partitions),
        "position_delete_files": ask.row(deletes.format(size="file_size_in_bytes", content=1, format="<>")),
        # A vector is a part of a Puffin file: its own size is content_size_in_bytes.
        "deletion_vectors": ask.row(deletes.format(size="content_size_in_bytes", content=1, format="=")),
        "deletion_vector_puffin_files": ask.row(
            "SELECT count(DISTINCT file_path) AS n FROM {files} WHERE content = 1 AND file_format = 'PUFFIN'"
        )["n"],
        "equality_delete_files": ask.row(deletes.format(size="file_size_in_bytes", content=2, format="<>")),
        "manifests": {
            name: ask.row(
                "SELECT count(*) AS files, coalesce(sum(length), 0) AS bytes FROM {manifests} WHERE content = "
                + str(content)
            )
            for name, content in (("data", 0), ("deletes", 1))
        },
        "snapshots": ask.row(
            "SELECT count(*) AS count, min(unix_millis(committed_at)) AS oldest_committed_at_ms FROM {table}.snapshots"
        )
        | {
            "by_operation": ask.counts(
                "SELECT operation AS name, count(*) AS number FROM {table}.snapshots GROUP BY 1"
            ),
            "current_committed_at_ms": ask.row(
                "SELECT max(unix_millis(committed_at)) AS at FROM {table}.snapshots "
                "WHERE snapshot_id IN (SELECT snapshot_id FROM {table}.refs WHERE name = 'main')"
            )["at"],
        },
        "refs": ask.counts("SELECT lower(type) AS name, count(*) AS number FROM {table}.refs GROUP BY 1"),
        "history_entries": ask.row("SELECT count(*) AS n FROM {table}.history")["n"],
        "metadata_log_entries": ask.row("SELECT count(*) AS n FROM {table}.metadata_log_entries")["n"],
        "last_compaction": ask.last_compaction(),
    }


def main(output: pathlib.Path) -> None:
    spark = session()
    package = spark.sparkContext._jvm.org.apache.iceberg.IcebergBuild
    versions = {"iceberg": package.version(), "spark": spark.version}
    for metadata_folder in sorted(pathlib.Path(LOCATION).glob("*/*/metadata")):
        table = metadata_folder.parent
        name = f"{table.parent.name}.{table.name}"
        metadata = newest_metadata(table)
        if not metadata.name.startswith("v"):
            # Java's Hadoop catalog lists this table but loads only v<number>.metadata.json: give it that name too.
            shutil.copy(metadata, metadata_folder / "v1.metadata.json")
        raw = load(metadata)
        lists_manifests = not any("manifests" in snapshot for snapshot in raw.get("snapshots", []))
        answers = {
            "engine": versions,
            "files_and_manifests_from": "metadata tables" if lists_manifests else "table scan",
            "metadata_file": metadata.name,
            "table": name,
        } | answer(Asker(spark, f"warehouse.{name}", lists_manifests), raw)
        (output / f"{name}.json").write_text(json.dumps(answers, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
    spark.stop()


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
