#!/usr/bin/env python3
"""Makes nine days of history for the pictures of the dashboards.

    story.py EXPORTER DIRECTORY

A small fleet of Iceberg tables lives through nine days, an hour a step. Its commits are real ones, by Iceberg's
Java API; only the data files that they name were never written, as the exporter does not read them. After each
hour the exporter reads the tables, with the clock of their metadata moved so that the hour is now, and what it
says is kept with the hour's time. DIRECTORY then has
    warehouse/, exporter.yml    the tables as they are now, and the exporter's configuration for them
    history.om                  the history, for `promtool tsdb create-blocks-from openmetrics`
In the end it goes on writing to the tables, so that an exporter can be watched at work.
It needs pyspark for its Java libraries, and ICEBERG_JAR, an iceberg-spark-runtime.
"""

import glob
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time
import urllib.request

import pyspark
from py4j.java_gateway import JavaGateway

MiB = 1 << 20
HOUR = 3600
HOURS = 9 * 24
ADDRESS = "127.0.0.1:10172"
CONFIGURATION = """\
partitions_top: 10
catalogs:
  - name: lakehouse
    type: hadoop
    warehouse: {warehouse}
    tables:
      - name: finance.ledger
        thresholds: {{snapshots: 400}}
      - name: marketing.campaigns
        thresholds: {{snapshot_age_seconds: 1d}}
      - name: "*.*"
"""

random.seed(1)


def each(iterable):
    """Walks through a Java Iterable."""
    iterator = iterable.iterator()
    while iterator.hasNext():
        yield iterator.next()


class Iceberg:
    """Iceberg's Java API."""

    def __init__(self):
        jars = pathlib.Path(pyspark.__file__).parent / "jars"
        self.gateway = JavaGateway.launch_gateway(
            jarpath=glob.glob(str(jars / "py4j-*.jar"))[0],
            classpath=os.environ["ICEBERG_JAR"] + ":" + str(jars / "*"),
            die_on_exit=True,
        )
        self.api = self.gateway.jvm.org.apache.iceberg
        self.tables = self.api.hadoop.HadoopTables(self.gateway.jvm.org.apache.hadoop.conf.Configuration())

    def create(self, location, partitioned, properties):
        types = self.api.types.Types
        fields = [types.NestedField.optional(1, "id", types.LongType.get()), types.NestedField.optional(2, "day", types.StringType.get())]
        columns = self.gateway.new_array(self.gateway.jvm.org.apache.iceberg.types.Types.NestedField, 2)
        columns[0], columns[1] = fields
        schema = self.api.Schema(columns)
        builder = self.api.PartitionSpec.builderFor(schema)
        spec = (builder.identity("day") if partitioned else builder).build()
        settings = self.gateway.jvm.java.util.HashMap()
        for key, value in {"format-version": "2", **properties}.items():
            settings.put(key, value)
        return self.tables.create(schema, spec, settings, location)


class Table:
    """A table of the story. Its snapshots have the story's time, by their ids."""

    def __init__(self, iceberg, warehouse, name, partitioned=False, properties={}):
        self.iceberg = iceberg
        self.name = name
        self.location = str(warehouse / name.replace(".", "/"))
        self.partitioned = partitioned
        self.table = iceberg.create(self.location, partitioned, properties)
        self.version = 0
        self.times = {}
        self.now = 0
        self.files = 0

    def describe(self, builder, size):
        self.files += 1
        day = time.strftime("%Y-%m-%d", time.gmtime(self.now))
        builder = builder.withPath(f"{self.location}/data/{self.files}.parquet").withFormat("parquet")
        builder = builder.withFileSizeInBytes(size).withRecordCount(max(1, size // 120))
        if self.partitioned:
            builder = builder.withPartitionPath(f"day={day}")
        return builder.build()

    def data(self, count, low, high):
        return [self.describe(self.iceberg.api.DataFiles.builder(self.table.spec()), int(random.uniform(low, high) * MiB)) for _ in range(count)]

    def deletes(self, count, equality):
        files = []
        for _ in range(count):
            builder = self.iceberg.api.FileMetadata.deleteFileBuilder(self.table.spec())
            if equality:
                ids = self.iceberg.gateway.new_array(self.iceberg.gateway.jvm.int, 1)
                ids[0] = 1
                builder = builder.ofEqualityDeletes(ids)
            else:
                builder = builder.ofPositionDeletes()
            files.append(self.describe(builder, int(random.uniform(0.1, 0.4) * MiB)))
        return files

    def commit(self, update):
        update.commit()
        self.times[self.table.currentSnapshot().snapshotId()] = self.now

    def append(self, files):
        update = self.table.newFastAppend()
        for file in files:
            update.appendFile(file)
        self.commit(update)

    def upsert(self, data, deletes):
        update = self.table.newRowDelta()
        for file in data:
            update.addRows(file)
        for file in deletes:
            update.addDeletes(file)
        self.commit(update)

    def compact(self, smaller_than=384):
        """Rewrites the small files of each partition, and applies the deletes."""
        small, deletes = {}, {}
        for task in each(self.table.newScan().planFiles()):
            file = task.file()
            for delete in each(task.deletes()):
                deletes[delete.location()] = delete
            if file.fileSizeInBytes() < smaller_than * MiB:
                small.setdefault(str(file.partition()), []).append(file)
        if not small and not deletes:
            return
        update = self.table.newRewrite().validateFromSnapshot(self.table.currentSnapshot().snapshotId())
        for files in small.values():
            whole, rest = divmod(sum(file.fileSizeInBytes() for file in files), 512 * MiB)
            for size in [512 * MiB] * whole + [rest] * (rest > 0):
                builder = self.iceberg.api.DataFiles.builder(self.table.spec())
                if self.partitioned:
                    builder = builder.withPartition(files[0].partition())
                self.files += 1
                update.addFile(
                    builder.withPath(f"{self.location}/data/{self.files}.parquet").withFormat("parquet").withFileSizeInBytes(size).withRecordCount(max(1, size // 121)).build()
                )
            for file in files:
                update.deleteFile(file)
        for delete in deletes.values():
            update.deleteFile(delete)
        self.commit(update)

    def rewrite_manifests(self):
        self.commit(self.table.rewriteManifests())

    def expire(self, days):
        update = self.table.expireSnapshots().cleanExpiredFiles(False)
        current = self.table.currentSnapshot().snapshotId()
        old = [snapshot.snapshotId() for snapshot in each(self.table.snapshots())]
        for snapshot in old:
            if self.times[snapshot] < self.now - days * 24 * HOUR and snapshot != current:
                update.expireSnapshotId(snapshot)
        update.commit()

    def publish(self, warehouse, shift):
        """Writes the metadata for the exporter, in the story's time moved by shift."""
        self.version += 1
        source = pathlib.Path(self.location, "metadata")
        newest = max(source.glob("v*.metadata.json"), key=lambda path: int(path.name[1:].split(".")[0]))
        metadata = json.loads(newest.read_text())
        moved = {snapshot: int((moment + shift) * 1000) for snapshot, moment in self.times.items()}
        for snapshot in metadata.get("snapshots", []):
            snapshot["timestamp-ms"] = moved[snapshot["snapshot-id"]]
        for entry in metadata.get("snapshot-log", []):
            entry["timestamp-ms"] = moved[entry["snapshot-id"]]
        for i, entry in enumerate(metadata.get("metadata-log", [])):
            entry["timestamp-ms"] = int((self.now + shift) * 1000) - 1000 * (len(metadata["metadata-log"]) - i)
        metadata["last-updated-ms"] = int((self.now + shift) * 1000)
        target = warehouse / self.name.replace(".", "/")
        metadata["location"] = str(target)
        target = target / "metadata"
        target.mkdir(parents=True, exist_ok=True)
        (target / f"v{self.version}.metadata.json").write_text(json.dumps(metadata))
        (target / "version-hint.text").write_text(str(self.version))
        (target / f"v{self.version - 1}.metadata.json").unlink(missing_ok=True)


def fleet(iceberg, warehouse):
    def table(name, **more):
        return Table(iceberg, warehouse, name, **more)

    return {
        "clicks": table("streaming.clicks", partitioned=True, properties={"write.distribution-mode": "none", "write.metadata.delete-after-commit.enabled": "true"}),
        "payments": table("streaming.payments", partitioned=True),
        "inventory": table("streaming.inventory"),
        "orders": table("sales.orders", partitioned=True),
        "customers": table("sales.customers"),
        "returns": table("sales.returns"),
        "ledger": table("finance.ledger"),
        "campaigns": table("marketing.campaigns"),
    }


def live(tables, hour):
    """What happens in an hour."""
    night = hour % 24 == 2
    if hour == 0:
        tables["clicks"].append(tables["clicks"].data(320, 400, 600))
        tables["payments"].append(tables["payments"].data(150, 420, 560))
        tables["inventory"].append(tables["inventory"].data(180, 60, 400))
        tables["orders"].append(tables["orders"].data(240, 460, 540))
        tables["customers"].append(tables["customers"].data(60, 300, 520))
        tables["returns"].append(tables["returns"].data(30, 1, 8))
        tables["ledger"].append(tables["ledger"].data(90, 128, 512))
        tables["campaigns"].append(tables["campaigns"].data(6, 20, 90))
        return

    # Compacted every twelve hours, until somebody switches that off on the sixth day.
    clicks = tables["clicks"]
    clicks.append(clicks.data(55 + 25 * (8 <= hour % 24 <= 20), 1.5, 14))
    if hour % 12 == 0 and hour < 140:
        clicks.compact()
    if hour % 48 == 30:
        clicks.rewrite_manifests()

    payments = tables["payments"]
    payments.append(payments.data(4, 40, 160))
    if night:
        payments.compact()
        payments.rewrite_manifests()

    # Flink's upserts: equality deletes, which nobody applies.
    inventory = tables["inventory"]
    inventory.upsert(inventory.data(3, 30, 90), inventory.deletes(3, equality=True))

    if hour % 6 == 3:
        tables["orders"].append(tables["orders"].data(4, 440, 520))

    customers = tables["customers"]
    customers.upsert([], customers.deletes(4, equality=False))
    if night:
        customers.compact()

    if hour % 12 == 5:
        tables["returns"].append(tables["returns"].data(1, 1, 8))

    # Nobody expires the snapshots of this one.
    for _ in range(3):
        tables["ledger"].append(tables["ledger"].data(1, 128, 256))

    if hour % 24 == 9 and hour < HOURS - 72:
        tables["campaigns"].append(tables["campaigns"].data(1, 20, 90))

    if night:
        for name in ("clicks", "payments", "inventory", "orders", "customers", "returns"):
            tables[name].expire(5)


def scrape(moment, shift):
    """What the exporter says, at the story's time."""
    with urllib.request.urlopen(f"http://{ADDRESS}/metrics", timeout=60) as response:
        for line in response.read().decode().splitlines():
            match = re.fullmatch(r"(iceberg_(?:table|catalog)\w+)\{(.*)\} (\S+)", line)
            if match:
                name, labels, value = match.groups()
                if name.endswith("_timestamp_seconds"):
                    value = repr(float(value) - shift)
                yield f'{name}{{job="iceberg",instance="exporter:10072",{labels}}} {value} {moment}'


def main(exporter, directory):
    directory = pathlib.Path(directory).resolve()
    shutil.rmtree(directory, ignore_errors=True)
    shown = directory / "warehouse"
    shown.mkdir(parents=True)
    configuration = directory / "exporter.yml"
    configuration.write_text(CONFIGURATION.format(warehouse=shown))
    tables = fleet(Iceberg(), directory / "written")
    end = int(time.time()) // HOUR * HOUR
    process = None
    try:
        with open(directory / "history.om", "w") as history:
            for hour in range(HOURS + 1):
                moment = end - (HOURS - hour) * HOUR
                for table in tables.values():
                    table.now = moment - random.randrange(60, 1800)
                live(tables, hour)
                shift = time.time() - moment if hour < HOURS else 0
                for table in tables.values():
                    table.publish(shown, shift)
                if process is None:
                    process = subprocess.Popen([exporter, f"--config.file={configuration}", f"--web.listen-address={ADDRESS}"], stderr=subprocess.DEVNULL)
                    time.sleep(5)
                history.writelines(line + "\n" for line in scrape(moment, shift))
                print(f"\rhour {hour} of {HOURS}", end="", flush=True)
            history.write("# EOF\n")
    finally:
        if process:
            process.terminate()
            process.wait()
    print("\nThe history is written. Tables are written to until this is interrupted.", flush=True)
    while True:
        time.sleep(random.uniform(2, 15))
        table = tables[random.choice(["clicks", "payments", "inventory", "ledger"])]
        table.now = time.time()
        table.append(table.data(1, 2, 10))
        table.publish(shown, 0)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
