"""Makes tables, asks the exporter's code and the engine's procedures, and compares. run.sh calls cases.py and orphans.py,
which call this.
"""

import json
import os
import pathlib
import subprocess
import sys
import time
import traceback
import zipfile

from py4j.protocol import Py4JJavaError
from spark import LOCATION, session

PREDICT = os.environ["PREDICT"]
MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR

spark = None
recorded = []
# The files of the tables that the recorded answers are about, by their names below the warehouse.
files = {}


def start():
    global spark
    spark = session()
    # Failures are among the cases.
    spark.sparkContext.setLogLevel("OFF")
    spark.sql("CREATE NAMESPACE warehouse.interop")


def java():
    return spark.sparkContext._jvm


class Table:
    """A table in the state of a case."""

    def __init__(self, name, by="", version=2, **properties):
        self.name = f"warehouse.interop.{name}"
        self.case = name
        self.directory = pathlib.Path(LOCATION) / "interop" / name
        partitioned = f"PARTITIONED BY ({by})" if by else ""
        spark.sql(
            f"CREATE TABLE {self.name} (id BIGINT, day INT, region STRING, payload STRING) USING iceberg {partitioned} "
            f"TBLPROPERTIES ('format-version'='{version}', 'write.parquet.compression-codec'='uncompressed')"
        )
        self.set(**properties)

    def sql(self, statement):
        """Runs a statement, in which @ stands for the table."""
        return spark.sql(statement.replace("@", self.name)).collect()

    def set(self, **properties):
        """Sets properties: `_` stands for a dot, `__` for a hyphen."""
        for key, value in properties.items():
            key = key.replace("__", "-").replace("_", ".")
            spark.sql(f"ALTER TABLE {self.name} SET TBLPROPERTIES ('{key}'='{value}')")

    def target(self, size):
        self.set(write_target__file__size__bytes=int(size))

    def java(self):
        spark.sql(f"REFRESH TABLE {self.name}")
        return java().org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, self.name)

    def commit(self):
        return java().Commit(self.java())

    def append(self, *counts, rows=40, bytes=1000, region=None):
        """One commit of data files: of `counts`, the first is how many there are on day 1, and so on. Returns them."""
        commit = self.commit()
        made = [
            commit.data(day, region, rows, bytes) for day, count in enumerate(counts, start=1) for _ in range(count)
        ]
        commit.to("main")
        return made

    def named(self, *counts, branch="main"):
        """Like append, of files that do not exist."""
        commit = self.commit()
        for day, count in enumerate(counts, start=1):
            commit.named(day, "eu", count)
        commit.to(branch)

    def size(self, content=0):
        """The size of the table's data or delete files, which must be the same."""
        (size,) = {
            row[0] for row in self.sql(f"SELECT file_size_in_bytes FROM @.files WHERE content = {content}")
        }
        return size

    def metadata_file(self):
        version = (self.directory / "metadata/version-hint.text").read_text().strip()
        return self.directory / "metadata" / f"v{version}.metadata.json"

    def metadata(self):
        return json.loads(self.metadata_file().read_text())

    def ages(self, *ages):
        """Makes the snapshots this old, in milliseconds, in the order of their commits."""
        metadata, path = self.metadata(), self.metadata_file()
        now = time.time_ns() // 1_000_000
        snapshots = sorted(metadata["snapshots"], key=lambda snapshot: snapshot["sequence-number"])
        for snapshot, age in zip(snapshots, ages, strict=True):
            snapshot["timestamp-ms"] = now - age
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
        path.write_text(json.dumps(metadata))
        spark.sql(f"REFRESH TABLE {self.name}")

    def call(self, procedure):
        (row,) = spark.sql(f"CALL warehouse.system.{procedure}(table => '{self.name}')").collect()
        return row.asDict()

    def check(self, procedure, planned=False):
        """Predicts, runs, compares and records one procedure.

        Where files are spread over partitions by a shuffle, no metadata tells how many are written: the prediction is then
        `planned`, which is the number that the engine's own planner expects.
        """
        state = self.contents(with_manifests=procedure != "expire_snapshots")
        now = time.time_ns() // 1_000_000
        predicted = json.loads(subprocess.check_output([PREDICT, self.directory]))[procedure]
        try:
            answer = {"fails": False} | globals()[procedure](self, planned)
        except Exception as error:
            # Not every failure is the procedure's own.
            if not predicted["fails"]:
                raise
            answer = predicted
            print(f"    {reason(error)[:116]}")
        answer = {key: answer[key] for key in predicted}
        verdict = "ok" if answer == predicted else "DIFFERENT"
        told = ", ".join(f"{key} {value if not isinstance(value, list) else len(value)}" for key, value in answer.items() if value)
        print(f"{verdict:9} {self.case:26} {procedure:29} {told or 'nothing'}", flush=True)
        if answer != predicted:
            print(f"    predicted {predicted}\n    engine    {answer}", flush=True)
        metadata_file, contents = state
        files.update(contents)
        recorded.append(
            {"case": self.case, "procedure": procedure, "metadata": metadata_file, "now_ms": now, "engine": answer, "same": verdict == "ok"}
        )

    def contents(self, with_manifests):
        """The current metadata, and what it leads to, by their names below the warehouse."""
        metadata = self.metadata()
        current = [s for s in metadata["snapshots"] if s["snapshot-id"] == metadata.get("current-snapshot-id")]
        paths = [self.metadata_file()]
        if with_manifests and current:
            table = self.java()
            manifests = table.currentSnapshot().allManifests(table.io())
            paths += [current[0]["manifest-list"], *(manifest.path() for manifest in manifests)]
        contents = {below_warehouse(path): local(path).read_bytes() for path in paths}
        return next(iter(contents)), contents


def local(path):
    """The path of a file that metadata names."""
    return pathlib.Path("/" + str(path).removeprefix("file:").lstrip("/"))


def below_warehouse(path):
    """The name of a file in the record."""
    return str(local(path).relative_to(pathlib.Path(LOCATION) / "interop"))


def reason(error):
    """The first line of what the engine says of a failure."""
    message = error.java_exception.toString() if isinstance(error, Py4JJavaError) else str(error)
    return message.strip().splitlines()[0]


def rewrite_data_files(table, planned):
    groups, expected = plan(java().org.apache.iceberg.actions.BinPackRewriteFilePlanner, table)
    answer = table.call("rewrite_data_files") | {"file_groups": groups}
    if planned:
        answer["added_data_files_count"] = expected
    return answer


def rewrite_position_delete_files(table, _):
    groups, _ = plan(java().org.apache.iceberg.actions.BinPackRewritePositionDeletePlanner, table)
    answer = table.call("rewrite_position_delete_files")
    # The procedure may have its own reasons not to run the plan.
    return answer | {"file_groups": groups if answer["rewritten_delete_files_count"] else 0}


def plan(planner, table):
    """How many groups the engine's planner makes, and how many files it expects to be written for them."""
    loaded = table.java()
    if loaded.currentSnapshot() is None:
        return 0, 0
    planner = planner(loaded)
    planner.init({})
    made = planner.plan()
    groups = list(java().com.google.common.collect.Lists.newArrayList(made.groups().iterator()))
    return made.totalGroupCount(), sum(group.expectedOutputFiles() for group in groups)


def rewrite_manifests(table, _):
    query = "SELECT content, path FROM @.manifests"
    before = set(table.sql(query))
    total = table.call("rewrite_manifests")
    after = set(table.sql(query))
    answer = {}
    for content, name in ((0, "data"), (1, "delete")):
        answer[f"rewritten_{name}_manifests"] = sum(row.content == content for row in before - after)
        answer[f"added_{name}_manifests"] = sum(row.content == content for row in after - before)
    assert total["rewritten_manifests_count"] == answer["rewritten_data_manifests"] + answer["rewritten_delete_manifests"]
    assert total["added_manifests_count"] == answer["added_data_manifests"] + answer["added_delete_manifests"]
    return answer


def expire_snapshots(table, _):
    before = table.metadata()
    table.call("expire_snapshots")
    after = table.metadata()
    left = {snapshot["snapshot-id"] for snapshot in after["snapshots"]}
    expired = sorted(snapshot["snapshot-id"] for snapshot in before["snapshots"] if snapshot["snapshot-id"] not in left)
    removed = sorted(before["refs"].keys() - after["refs"].keys())
    return {"expired_snapshots": expired or None, "removed_refs": removed or None}


def run(cases, answers, tables):
    """Runs the cases that the command line names, else all, and ends the program.

    If all were run and none was different, their answers and tables are recorded in two files.
    """
    directory, *wanted = sys.argv[1:]
    start()
    broken = 0
    for case in cases:
        if wanted and case.__name__ not in wanted:
            continue
        try:
            case()
        except Exception:
            broken += 1
            print(f"BROKEN    {case.__name__}", flush=True)
            traceback.print_exc()
    differences = sum(not case.pop("same") for case in recorded)
    print(f"{len(recorded)} cases, {differences} differences")
    if not (wanted or broken or differences):
        record(pathlib.Path(directory) / answers, pathlib.Path(directory) / tables)
    spark.stop()
    sys.exit(1 if differences or broken else 0)


def record(answers, tables):
    versions = {"iceberg": java().org.apache.iceberg.IcebergBuild.version(), "spark": spark.version}
    lines = ",\n".join(json.dumps(case) for case in recorded)
    answers.parent.mkdir(exist_ok=True)
    answers.write_text(f'{{"versions": {json.dumps(versions)}, "cases": [\n{lines}\n]}}\n')
    with zipfile.ZipFile(tables, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name), files[name], zipfile.ZIP_DEFLATED)
