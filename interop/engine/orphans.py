"""The cases of remove_orphan_files: each makes a table, plants files under its location, and compares. run.sh calls it."""

import json
import os
import pathlib
import re
import subprocess
import time
from datetime import datetime, timezone
from random import Random

import harness
from harness import DAY, HOUR, LOCATION, MINUTE

SCAN = os.environ["SCAN"]
RANDOM_TABLES = int(os.environ.get("RANDOM_TABLES", 15))

# What is not told to be younger is this old.
OLD = 10 * DAY
# The procedure's default.
OLDER_THAN = 3 * DAY


class Table(harness.Table):
    """A table, and what else lies under its location."""

    def __init__(self, name, by="", version=2, **properties):
        super().__init__(name, by=by, version=version, **properties)
        # The ages of the files that were planted.
        self.planted = {}

    def plant(self, *names, age=OLD, size=100):
        """Makes files that no commit knows, by their names below the location."""
        for name in names:
            path = self.directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "xb") as file:
                file.truncate(size)
            self.planted[name] = age

    def link(self, name, target):
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)

    def data_files(self):
        """The names of the current data files below the location."""
        files = self.sql("SELECT file_path FROM @.files WHERE content = 0 ORDER BY 1")
        return [self.below(row[0]) for row in files]

    def below(self, path):
        return str(harness.local(path).relative_to(self.directory))

    def expire(self, *snapshots):
        """Expires snapshots as an engine does that dies before it deletes their files."""
        for snapshot in snapshots:
            self.java().expireSnapshots().expireSnapshotId(snapshot).cleanExpiredFiles(False).commit()

    def ids(self):
        ordered = sorted(self.metadata()["snapshots"], key=lambda snapshot: snapshot["sequence-number"])
        return [snapshot["snapshot-id"] for snapshot in ordered]

    def edit(self, change):
        """Changes the metadata file itself, in a way that engines write or have written."""
        metadata, path = self.metadata(), self.metadata_file()
        change(metadata)
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
        path.write_text(json.dumps(metadata))
        harness.spark.sql(f"REFRESH TABLE {self.name}")

    def check(self, case="", older_than=None, exporter=None, tree=None):
        """Lists, asks, runs, compares and records.

        `older_than` is a moment in milliseconds; without it the procedure has its own limit. `exporter` is what the
        exporter shall answer where that is not what the engine does. `tree` is the table's metadata where it can no
        longer be read.
        """
        now = time.time_ns() // 1_000_000 if older_than is None else older_than + OLDER_THAN
        files, links = self.listed(now)
        metadata_file, contents = tree or self.metadata_tree()
        told = self.scan(metadata_file, now)
        try:
            answer = {"orphans": self.remove_orphan_files(older_than)}
        except Exception as error:
            answer = {"error": harness.reason(error)}
        case = f"{self.case}{case}"
        same = agree(told, exporter or answer)
        result = answer.get("error") or f"{len(answer['orphans'])} of {len(files)} files"
        print(f"{'ok' if same else 'DIFFERENT':9} {case:34} {result[:110]}", flush=True)
        if not same:
            print(f"    exporter {told}\n    engine   {answer}", flush=True)
        for name, content in contents.items():
            assert harness.files.get(name, content) == content, f"{name} has changed: make another table"
        harness.files.update(contents)
        harness.recorded.append(
            {"case": case, "metadata": metadata_file, "files": files}
            | ({"links": links} if links else {})
            | {"engine": answer}
            | ({"exporter": exporter} if exporter else {})
            | {"same": same}
        )

    def remove_orphan_files(self, older_than):
        limit = ""
        if older_than is not None:
            moment = datetime.fromtimestamp(older_than // 1000, timezone.utc)
            limit = f", older_than => TIMESTAMP '{moment:%Y-%m-%d %H:%M:%S}.{older_than % 1000:03d}'"
        rows = harness.spark.sql(
            f"CALL warehouse.system.remove_orphan_files(table => '{self.name}', dry_run => true{limit})"
        ).collect()
        return sorted(row[0].removeprefix(f"file:{self.directory}/") for row in rows)

    def scan(self, metadata_file, now):
        asked = subprocess.run(
            [SCAN, "-now", str(now), f"{LOCATION}/interop/{metadata_file}"], capture_output=True, text=True
        )
        return {"error": asked.stderr.strip()} if asked.returncode else {"orphans": json.loads(asked.stdout)}

    def listed(self, now):
        """Sets the times of the files, and returns all of them with their sizes and ages, and all links.

        Hadoop's own checksums are taken away: they double the listing, and are hidden as other names are.
        """
        files, links = {}, {}
        for folder, folders, names in os.walk(self.directory):
            for name in sorted([*folders, *names]):
                path = pathlib.Path(folder, name)
                below = str(path.relative_to(self.directory))
                if path.is_symlink():
                    links[below] = os.readlink(path)
                elif path.is_file():
                    if re.fullmatch(r"\..*\.crc", name) and below not in self.planted:
                        path.unlink()
                        continue
                    age = self.planted.get(below, OLD)
                    os.utime(path, ns=2 * (round((now - age) * 1_000_000),))
                    files[below] = [path.stat().st_size, age / 1000 if age % 1000 else age // 1000]
        return dict(sorted(files.items())), links

    def metadata_tree(self):
        """The current metadata file, and all manifest lists and manifests of all snapshots."""
        table = self.java()
        paths = [self.metadata_file()]
        snapshots = harness.java().com.google.common.collect.Lists.newArrayList(table.snapshots())
        for snapshot in snapshots:
            paths += [snapshot.manifestListLocation()] if snapshot.manifestListLocation() else []
            paths += [manifest.path() for manifest in snapshot.allManifests(table.io())]
        paths = dict.fromkeys(map(os.path.normpath, map(harness.local, paths)))
        contents = {harness.below_warehouse(path): pathlib.Path(path).read_bytes() for path in paths}
        return next(iter(contents)), contents


def agree(told, expected):
    return told == expected or "error" in told and "error" in expected


def history(name, commits=2, **settings):
    """A table with a data file of each of some commits."""
    table = Table(name, **settings)
    for _ in range(commits):
        table.append(1)
    return table


def nothing_planted():
    history("nothing_planted").check()


def old_and_young():
    table = history("old_and_young")
    for where in ("data", "metadata"):
        for name, age in (
            ("now", 0),
            ("1h", HOUR),
            ("2d23h", 3 * DAY - HOUR),
            ("3d1h", 3 * DAY + HOUR),
            ("400d", 400 * DAY),
            ("future", -DAY),
        ):
            table.plant(f"{where}/{name}.parquet", age=age)
    table.check()


def at_the_limit():
    """A file must be older than the limit, by the millisecond."""
    table = history("at_the_limit", commits=1)
    table.plant("data/older", age=OLDER_THAN + 1)
    table.plant("data/equal", age=OLDER_THAN)
    table.plant("data/younger", age=OLDER_THAN - 1)
    table.check(older_than=1_700_000_000_123)


def snapshots_kept():
    table = Table("snapshots_kept", by="day")
    table.append(2, 1)
    table.sql("DELETE FROM @ WHERE day = 1")
    table.append(1)
    table.check()


def snapshots_expired_and_files_left():
    table = Table("snapshots_expired", by="day")
    table.append(2, 1)
    table.append(1)
    table.sql("DELETE FROM @ WHERE day = 1")
    table.append(1)
    table.check("_before")
    table.expire(*table.ids()[:2])
    table.check()


def file_deleted_in_the_only_snapshot():
    """The manifest still names the file, as deleted."""
    table = Table("deleted_in_the_only_snapshot", by="day")
    table.append(1, 1)
    table.sql("DELETE FROM @ WHERE day = 1")
    table.expire(table.ids()[0])
    table.check()


def all_deleted():
    table = history("all_deleted", commits=1)
    table.sql("DELETE FROM @")
    table.expire(table.ids()[0])
    table.check()


def no_snapshot():
    table = Table("no_snapshot")
    table.plant("data/a.parquet", "metadata/b.avro", "c")
    table.plant("data/young.parquet", age=HOUR)
    table.check()


def partial_writes():
    table = history("partial_writes")
    table.commit().data(1, None, 40, 1000)
    table.plant("data/empty.parquet", "metadata/empty.avro", size=0)
    table.check()


def hidden_names():
    table = history("hidden_names", by="day")
    table.plant(
        "data/_SUCCESS",
        "data/.part.crc",
        "data/.part.txt",
        "data/_temporary/x/part",
        "data/day=1/_tmp",
        "data/day=1/.hidden/y",
        "data/day=1/visible/.y",
        "_delta_log/0.json",
        ".hidden/y",
        "metadata/.v1",
        "metadata/_v1",
        # Only the beginning of a name counts.
        "data/day=1/a_b",
        "data/day=1/a.b",
        "data/day=1/b_/c.",
        "data/day=_x/y",
    )
    table.check()


def location_of_a_hidden_name():
    """Names above the location and its own do not count."""
    table = history("_location")
    table.plant("data/a", "data/_b", "c")
    table.check()


def partitioned(name, *fields, drop=(), version=2):
    """A table whose partition fields, of the column day, are called like this."""
    table = Table(name, version=version)
    for field in fields:
        table.sql(f"ALTER TABLE @ ADD PARTITION FIELD day AS `{field}`")
        if field in drop:
            table.append(1)
            table.sql(f"ALTER TABLE @ DROP PARTITION FIELD `{field}`")
    table.append(1)
    return table


# Names around that of a partition field `_p`.
AROUND = (
    "data/_p=1/orphan",
    "data/_p=1/a/orphan",
    "data/_p=1/_hidden",
    "data/_p=1/.hidden",
    "data/_p=/orphan",
    "data/a/_p=2/orphan",
    "data/_p=foo",
    "_p=1/orphan",
    "metadata/_p=x",
    "data/_p/hidden",
    "data/_pq=1/hidden",
    "data/_P=1/hidden",
    "data/__p=1/hidden",
    "data/._p=1/hidden",
    "data/_other=1/_p=1/hidden",
    "data/_p=1/_other=1/hidden",
    "data/.p=1/hidden",
)


def hidden_partition_fields():
    table = partitioned("field_underscore", "_p")
    table.plant(*AROUND)
    table.check()
    table = partitioned("field_dot", ".p")
    table.plant("data/.p=1/orphan", "data/.p=foo", "data/_p=1/hidden", "data/.p/hidden", "data/.q=1/hidden")
    table.check()
    # Hadoop hides its checksums on local disks, and there alone.
    table = partitioned("field_dot_crc", ".p")
    table.plant("data/.p=1.crc")
    table.check(exporter={"orphans": ["data/.p=1.crc"]})


def plain_partition_field():
    table = partitioned("field_plain", "p")
    table.plant(*AROUND, "data/p=1/orphan", "data/_p=foo2")
    table.check()


def hidden_partition_column():
    table = Table("column_underscore")
    table.sql("DROP TABLE @")
    table.sql("CREATE TABLE @ (id BIGINT, `_p` STRING) USING iceberg PARTITIONED BY (`_p`)")
    table.sql("INSERT INTO @ VALUES (1, 'a'), (2, NULL)")
    table.sql("DELETE FROM @ WHERE id = 1")
    table.expire(table.ids()[0])
    table.plant("data/_p=b/orphan", "data/_q=b/hidden")
    table.check()


def hidden_partition_field_of_a_transform():
    table = Table("field_of_a_transform")
    table.sql("ALTER TABLE @ ADD PARTITION FIELD bucket(4, id) AS `_id_bucket`")
    table.append(1)
    table.plant("data/_id_bucket=3/orphan", "data/_id=3/hidden", "data/_id_bucket/hidden")
    table.check()


def hidden_partition_field_of_an_old_spec():
    for version in (1, 2):
        table = partitioned(f"field_of_an_old_spec_v{version}", "_p", drop=("_p",), version=version)
        table.plant("data/_p=9/orphan", "data/_q=9/hidden")
        table.check()


def hidden_partition_field_to_encode():
    """Directories are of encoded names, and not known for those of the field."""
    table = partitioned("field_to_encode", "_a b")
    table.plant("data/_a+b=1/hidden", "data/_a b=1/orphan", "data/_a%20b=1/hidden")
    table.check()


def many_directories():
    """More than the driver lists by itself, wider and deeper."""
    table = partitioned("many_directories", "_p")
    for number in range(12):
        table.plant(f"data/_p={number}/x/y/z/orphan", f"data/_hidden={number}/x", f"data/{number}/.a/b")
    table.plant("/".join(["deep"] + [str(number) for number in range(30)] + ["orphan"]))
    table.check()


def odd_names():
    names = (
        "a b",
        "a%20b",
        "a+b",
        "a%2Fb",
        "%",
        "a:b",
        "a?b",
        "a#b",
        "a*b",
        "a{b}",
        "a[b]",
        "a\\b",
        "a'b\"c",
        "a=b&c",
        "trailing ",
        " leading",
        "tab\tbed",
        "line\nbreak",
        "ü",
        "u\u0308",
        "日本",
        "😀",
        "~",
        "a;b",
        "a@b",
        "a,b",
        "...",
    )
    table = history("odd_names", commits=1)
    table.plant(*(f"data/{name}" for name in names), *(f"data/in/{name}/file" for name in names))
    table.check("_planted")
    # The same names, but in use.
    table = Table("odd_names_in_use")
    commit = table.commit()
    for name in names:
        table.plant(f"data/{name}")
        commit.at(f"file:{table.directory}/data/{name}", 1, None)
    commit.to("main")
    table.plant("data/another")
    table.check()


def encoded_partitions():
    """Partition values are encoded in paths. The decoded twin is another file."""
    table = Table("encoded_partitions", by="region")
    commit = table.commit()
    for region in ("a b", "a+b", "a/b", "a%20b", "ü", "日本", "", None, ".", "a=b"):
        commit.data(1, region, 1, 10)
    commit.to("main")
    for name in table.data_files():
        folder, file = os.path.split(name)
        folder = folder.replace("+", " ").replace("%20", " ").replace("%C3%BC", "ü").replace("%3D", "=")
        if folder != os.path.split(name)[0]:
            table.plant(f"{folder}/{file}")
    table.plant("data/region=a%20b/orphan", "data/region=a+b/orphan", "data/region=%C3%BC/orphan")
    table.check()


def encoded_names_in_the_metadata():
    """Nothing is decoded: neither of these is the other."""
    table = Table("encoded_names")
    commit = table.commit()
    for recorded, stored in (("a%20b", "a b"), ("c d", "c%20d"), ("e+f", "e f"), ("%C3%BC", "ü"), ("g%2Bh", "g+h")):
        commit.at(f"file:{table.directory}/data/{recorded}", 1, None)
        table.plant(f"data/{stored}")
    commit.to("main")
    table.check()


def spellings(directory):
    """Ways to name the same file."""
    above, name = os.path.split(directory)
    return (
        f"file:{directory}/",
        f"file://{directory}/",
        f"{directory}/",
        f"FILE:{directory}/",
        f"File://{directory}/",
        f"file:{directory}//",
        f"file:{above}//{name}/",
        f"file://{directory}/./",
        f"file:{directory}/other/../",
        f"{above}/./{name}///",
        f"file:{above}/other/../{name}/",
        f"file:///{directory}/",
    )


def openable(directory):
    """Those of the spellings that Hadoop's file systems are found by."""
    return [spelled for spelled in spellings(directory) if spelled.startswith(("file:", "/"))]


def make_openable(table):
    # The spellings lead through these directories.
    for name in ("other", "../other"):
        (table.directory / name).mkdir(exist_ok=True)


def spellings_of_data_files():
    table = Table("spellings_of_data_files")
    commit = table.commit()
    for number, spelled in enumerate(spellings(str(table.directory))):
        table.plant(f"data/{number}.parquet")
        commit.at(f"{spelled}data/{number}.parquet", 1, None)
        # After the location as well.
        table.plant(f"data/x/{number}.parquet")
        commit.at(f"{spelled}data//x/./{number}.parquet", 1, None)
    commit.to("main")
    table.plant("data/orphan.parquet")
    table.check()


def spellings_of_manifests():
    table = Table("spellings_of_manifests")
    make_openable(table)
    for number, spelled in enumerate(openable(str(table.directory))):
        commit = table.commit()
        commit.named(1, None, 1)
        commit.toManifest(f"{spelled}metadata/{number}-m0.avro")
    table.expire(*table.ids()[:-1])
    table.plant("metadata/orphan-m0.avro")
    table.check()


def spellings_of_metadata():
    for number in range(len(openable("/a/b"))):
        table = history(f"spellings_of_metadata_{number}", commits=1)
        make_openable(table)
        table.plant("metadata/a.stats", "metadata/b.stats", "metadata/c.stats", "metadata/v0.metadata.json")
        spelled = openable(str(table.directory))[number]

        def spell(metadata, table=table, spelled=spelled):
            snapshot = metadata["snapshots"][0]
            snapshot["manifest-list"] = spelled + table.below(snapshot["manifest-list"])
            for entry in metadata["metadata-log"]:
                entry["metadata-file"] = spelled + table.below(entry["metadata-file"])
            metadata["metadata-log"].insert(0, {"timestamp-ms": 1, "metadata-file": f"{spelled}metadata/v0.metadata.json"})
            statistics = {"snapshot-id": snapshot["snapshot-id"], "file-size-in-bytes": 100}
            metadata["statistics"] = [
                statistics
                | {"statistics-path": f"{spelled}metadata/a.stats", "file-footer-size-in-bytes": 10, "blob-metadata": []}
            ]
            metadata["partition-statistics"] = [statistics | {"statistics-path": f"{spelled}metadata/b.stats"}]

        table.edit(spell)
        table.check()


def table_directory(name):
    return pathlib.Path(LOCATION) / "interop" / name


def spellings_of_the_location():
    for name, before, after in (
        ("slash", "file:", "/"),
        ("slashes", "file://", "//"),
        ("plain", "", ""),
        ("plain_slash", "", "/"),
        ("many", "file:///", "///"),
        ("dot", "file:", "/."),
        ("upper", "file:", "/../location_upper"),
    ):
        table = history(f"location_{name}", commits=1)
        table.plant("data/orphan", "orphan", "metadata/orphan", "_hidden/x")
        location = f"{before}{table.directory}{after}"
        table.edit(lambda metadata, location=location: metadata.update(location=location))
        table.check()


def location_of_a_host():
    """Hadoop takes the host for a mistake; it can only be this one."""
    table = history("location_of_a_host", commits=1)
    table.plant("data/orphan")
    table.edit(lambda metadata: metadata.update(location=f"file://host{table.directory}"))
    table.check(exporter={"orphans": ["data/orphan"]})


def other_stores():
    """The metadata names files at the paths of files that are listed, but of another scheme or authority."""
    for name, prefix in (
        ("s3", "s3://bucket"),
        ("s3a", "s3a://bucket"),
        ("hdfs", "hdfs://host:8020"),
        ("hdfs_alone", "hdfs:"),
        ("host", "file://localhost"),
    ):
        table = history(f"other_store_{name}", commits=1)
        table.plant("data/orphan", "data/mistaken")
        commit = table.commit()
        commit.at(f"{prefix}{table.directory}/data/mistaken", 1, None)
        commit.to("main")
        table.check()


def other_stores_elsewhere():
    """Nothing is mistaken that would not be an orphan: what is not there, too young, or hidden."""
    location = table_directory("other_store_")
    for name, spelled in (
        ("missing", f"{location}missing/data/missing"),
        ("young", f"{location}young/data/young"),
        ("hidden", f"{location}hidden/data/_hidden"),
        ("key", "/data/orphan"),
    ):
        table = history(f"other_store_{name}", commits=1)
        table.plant("data/orphan", "data/_hidden")
        table.plant("data/young", age=HOUR)
        commit = table.commit()
        commit.at(f"s3://bucket{spelled}", 1, None)
        commit.to("main")
        table.check()


def two_spellings_of_one_file():
    """One names the listed file, the other one of another store."""
    table = history("two_spellings", commits=1)
    table.plant("data/both", "data/orphan")
    commit = table.commit()
    commit.at(f"{table.directory}/data/both", 1, None)
    commit.at(f"s3://bucket{table.directory}/data/both", 1, None)
    commit.to("main")
    table.check()


def metadata_log():
    """Metadata files that the log has forgotten are orphans."""
    table = history("metadata_log", commits=5, write_metadata_previous__versions__max=2)
    table.expire(*table.ids()[:-1])
    table.check()


def metadata_that_is_not_current():
    """Nothing leads from the current metadata to what comes after it, or what another writer tried."""
    table = history("metadata_not_current", commits=1)
    table.plant(
        "metadata/v1.gz.metadata.json",
        "metadata/v9.metadata.json",
        "metadata/00003-aa.metadata.json",
        "metadata/snap-1-1-a.avro",
        "metadata/a-m0.avro",
    )
    table.check()


def zipped_metadata():
    table = history("zipped_metadata", commits=2, write_metadata_compression__codec="gzip")
    table.metadata_file = lambda: max((table.directory / "metadata").glob("v*.gz.metadata.json"))
    table.plant("metadata/v2.metadata.json")
    table.check()


def version_hints():
    table = history("version_hints", commits=1)
    table.plant("version-hint.text", "data/version-hint.text", "metadata/old/version-hint.text", "metadata/version-hint.text.b")
    table.check()


def statistics():
    table = Table("statistics", by="day")
    table.append(1, 1)
    table.sql(f"CALL warehouse.system.compute_table_stats('{table.name}')")
    table.sql(f"CALL warehouse.system.compute_partition_stats('{table.name}')")
    table.check()
    # One replaces the other, of the same snapshot.
    table.sql(f"CALL warehouse.system.compute_table_stats(table => '{table.name}', columns => array('id'))")
    table.check("_replaced")
    # Those of an expired snapshot are forgotten with it.
    table.append(1)
    table.sql(f"CALL warehouse.system.compute_table_stats('{table.name}')")
    table.sql(f"CALL warehouse.system.compute_partition_stats('{table.name}')")
    table.expire(table.ids()[0])
    table.check("_expired")


def data_elsewhere():
    """Files outside of the location are not listed, whatever refers to them."""
    other = table_directory("data_elsewhere_too")
    table = Table("data_elsewhere", write_data_path=f"file:{other}/x")
    table.append(1)
    (other / "x/planted").write_text("planted")
    table.sql("ALTER TABLE @ UNSET TBLPROPERTIES ('write.data.path')")
    table.append(1)
    # Beside the location, of a name that starts with its own.
    commit = table.commit()
    commit.at(f"file:{table.directory}-2/data/a.parquet", 1, None)
    commit.to("main")
    table.plant("data/orphan")
    table.check()


def data_path_inside():
    table = Table("data_path_inside", write_data_path=f"file:{table_directory('data_path_inside')}/_files/x")
    table.append(1)
    table.plant("_files/x/hidden", "files/orphan")
    table.check()


def added_files():
    table = Table("added_files")
    frame = harness.spark.sql("SELECT 1L AS id, 1 AS day, 'eu' AS region, 'a' AS payload")
    for place in (table_directory("added_files_source"), table.directory / "source"):
        frame.write.parquet(f"file:{place}")
        table.sql(
            f"CALL warehouse.system.add_files(table => '{table.name}', source_table => '`parquet`.`file:{place}`', "
            "check_duplicate_files => false)"
        )
    table.plant("source/part-9.parquet")
    table.check()


def object_store_layout():
    table = history("object_store_layout", write_object__storage_enabled="true", by="day")
    table.plant("data/0101/1010/0101/orphan")
    table.check()


def no_garbage_collection():
    table = history("no_garbage_collection")
    table.plant("data/orphan")
    table.check("_yet")
    table.set(gc_enabled="false")
    # The exporter tells what is there, though the engine does not touch it.
    table.check(exporter={"orphans": ["data/orphan"]})


def branch_and_tag():
    table = Table("branch_and_tag", by="day")
    table.append(1, 1)
    table.sql("ALTER TABLE @ CREATE TAG old")
    table.append(1)
    table.sql("ALTER TABLE @ CREATE BRANCH audit")
    commit = table.commit()
    commit.data(3, None, 40, 1000)
    commit.to("audit")
    table.sql("DELETE FROM @ WHERE day IN (1, 2)")
    _, second, *_ = table.ids()
    table.check("_all")
    table.sql("ALTER TABLE @ DROP BRANCH audit")
    table.expire(second)
    table.check()


def staged_and_rolled_back():
    """Snapshots that no ref leads to hold their files, too."""
    table = Table("staged_and_rolled_back")
    table.append(1)
    back = table.ids()[0]
    table.append(1)
    table.sql(f"CALL warehouse.system.rollback_to_snapshot('{table.name}', {back})")
    commit = table.commit()
    commit.data(1, None, 40, 1000)
    commit.stage()
    table.check()
    table.expire(*(snapshot for snapshot in table.ids() if snapshot != back))
    table.check("_expired")


def deletes(name, version, make):
    """Delete files in use, then removed, then of no snapshot."""

    def case():
        table = Table(f"{name}_deletes", by="day", version=version)
        data = table.append(2, 1, rows=100)
        commit = table.commit()
        made = make(commit, data)
        commit.to("main")
        table.check("_live")
        delta = table.java().newRowDelta()
        for file in made[:1]:
            delta.removeDeletes(file)
        delta.commit()
        table.check("_removed")
        table.expire(*table.ids()[:-1])
        table.check("_expired")

    case.__name__ = f"{name}_deletes"
    return case


def rewritten_position_deletes():
    table = Table("rewritten_deletes", by="day")
    data = table.append(2, rows=100)
    for _ in range(5):
        commit = table.commit()
        commit.positions(data, 10)
        commit.to("main")
    table.sql(f"CALL warehouse.system.rewrite_position_delete_files('{table.name}')")
    table.expire(*table.ids()[:-1])
    table.check()


def compacted():
    table = Table("compacted", by="day")
    table.append(6, 1)
    table.sql(f"CALL warehouse.system.rewrite_data_files('{table.name}')")
    table.append(1)
    table.sql(f"CALL warehouse.system.rewrite_manifests('{table.name}')")
    table.check("_kept")
    table.expire(*table.ids()[:-1])
    table.check()


def format_v1():
    table = Table("format_v1", by="day", version=1)
    table.append(1, 1)
    table.append(1)
    # The columns of v1 manifests have no sequence numbers to be in order by.
    first = table.metadata()["snapshots"][0]["snapshot-id"]
    table.sql("DELETE FROM @ WHERE day = 1")
    table.expire(first)
    table.plant("data/orphan", "metadata/orphan")
    table.check()


def manifests_without_a_list():
    """Snapshots of old v1 tables name their manifests themselves."""
    table = Table("manifests_without_a_list", version=1)
    table.append(1)

    def inline(metadata):
        snapshots = harness.java().com.google.common.collect.Lists.newArrayList(table.java().snapshots())
        for snapshot, loaded in zip(metadata["snapshots"], snapshots):
            snapshot["manifests"] = [manifest.path() for manifest in loaded.allManifests(table.java().io())]
            del snapshot["manifest-list"]

    lists = [table.below(snapshot["manifest-list"]) for snapshot in table.metadata()["snapshots"]]
    table.edit(inline)
    table.plant("data/orphan")
    # The procedure cannot read them: it fails in planning a query.
    table.check(exporter={"orphans": ["data/orphan", *lists]})


def gone_manifest():
    """Without all manifests of all snapshots nothing can be said."""
    for kind in ("manifest", "list"):
        table = history(f"gone_{kind}")
        table.plant("data/orphan")
        metadata_file, contents = table.metadata_tree()
        # Of the older snapshot.
        first = table.java().snapshot(table.ids()[0])
        gone = first.manifestListLocation() if kind == "list" else first.allManifests(table.java().io())[0].path()
        harness.local(gone).unlink()
        del contents[harness.below_warehouse(gone)]
        table.check(tree=(metadata_file, contents))


def links():
    table = history("links", commits=1)
    table.plant("_away/file", "_away/folder/a", "_away/folder/_b", "_away/folder/deep/c")
    table.plant("_away/young", age=HOUR)
    table.link("data/to_file", "../_away/file")
    table.link("data/to_young", "../_away/young")
    table.link("data/to_folder", "../_away/folder")
    table.link("data/to_nothing", "../_away/nothing")
    table.link("data/_to_file", "../_away/file")
    table.link("data/to_link", "to_file")
    (live,) = table.data_files()
    table.link("data/to_live", os.path.basename(live))
    table.check()


def link_in_use():
    """A file of the table is there through a link."""
    table = history("link_in_use", commits=1)
    (live,) = table.data_files()
    (table.directory / "_away").mkdir()
    (table.directory / live).rename(table.directory / "_away/live")
    table.link(live, "../_away/live")
    table.check()


def link_loop():
    """The engine follows it until the file system refuses, and takes all that it finds, live or not, for orphans."""
    table = history("link_loop", commits=1)
    table.plant("data/x/orphan")
    table.link("data/x/up", "..")
    table.check(exporter={"error": "a link leads back"})


def link_to_itself():
    table = history("link_to_itself", commits=1)
    table.plant("data/orphan")
    table.link("data/self", "self")
    table.check()


def files_and_directories():
    table = history("files_and_directories", commits=2)
    first, second = table.data_files()
    table.plant("file", "other/file", "data/folder.parquet/file", f"data/folder/{os.path.basename(first)}", size=1)
    # A directory where a file should be.
    (table.directory / second).unlink()
    table.plant(f"{second}/file")
    table.check()


def random_tables():
    for seed in range(RANDOM_TABLES):
        random = Random(seed)
        version = random.choice((1, 2, 2, 2, 3, 3))
        table = Table(f"random_{seed}", by=random.choice(("", "day", "day, region")), version=version)
        live = []

        def append():
            commit = table.commit()
            for _ in range(random.randint(1, 3)):
                live.append(commit.data(random.choice((None, 1, 2)), random.choice(("eu", "a b", None)), 20, 50))
            commit.to("main")

        def abandon():
            table.commit().data(1, "eu", 1, 10)

        def delete_rows():
            if not live or version == 1:
                return append()
            commit = table.commit()
            # Engines have one vector of a file.
            file = live.pop()
            (commit.vectors if version == 3 else commit.positions)([file], random.randint(1, 19))
            if random.random() < 0.3:
                commit.equalities(1, "eu", 5, 50)
            commit.to("main")

        def delete_files():
            table.sql(f"DELETE FROM @ WHERE day {random.choice(('= 1', '= 2', 'IS NULL'))}")
            live.clear()

        def overwrite():
            table.sql("INSERT OVERWRITE @ VALUES (1, 1, 'eu', 'x')")
            live.clear()

        def ref():
            kind = random.choice(("BRANCH", "TAG"))
            table.sql(f"ALTER TABLE @ CREATE {kind} ref{random.randrange(10**6)}")

        def evolve():
            # No two fields are of one transform.
            width = len(fields)
            field = f"{random.choice(('_f', '.f', 'f'))}{width}"
            table.sql(f"ALTER TABLE @ ADD PARTITION FIELD truncate({width}, region) AS `{field}`")
            fields.append(field)
            append()

        def statistics():
            table.sql(f"CALL warehouse.system.compute_table_stats('{table.name}')")

        def rewrite():
            table.sql(f"CALL warehouse.system.rewrite_manifests('{table.name}')")

        def expire():
            known = table.metadata()
            kept = {ref["snapshot-id"] for ref in known["refs"].values()}
            gone = [s["snapshot-id"] for s in known["snapshots"] if s["snapshot-id"] not in kept and random.random() < 0.6]
            if gone:
                table.expire(*gone)

        fields = ["_f", "day"]
        append()
        steps = (append, abandon, delete_rows, delete_files, overwrite, ref, evolve, statistics, rewrite, expire, expire)
        for step in random.choices(steps, k=random.randint(3, 7)):
            step()
        for number in range(random.randint(3, 12)):
            folders = ["data", "metadata", "_tmp", ".x", "a b", "x%20", "deep/er"] + [f"{field}=1" for field in fields]
            path = "/".join(random.choice(folders) for _ in range(random.randint(0, 3)))
            name = random.choice(("part-{}.parquet", "_part-{}", ".part-{}", "{}-m0.avro", "_f=part-{}"))
            age = random.choice((OLD, OLD, OLD, 3 * DAY + MINUTE, 3 * DAY - 5 * MINUTE, 0))
            table.plant(os.path.join(path, name.format(number)), age=age, size=random.choice((0, 1, 4096)))
        if random.random() < 0.3:
            table.set(write_metadata_previous__versions__max=1)
        table.check()


CASES = [
    nothing_planted,
    old_and_young,
    at_the_limit,
    snapshots_kept,
    snapshots_expired_and_files_left,
    file_deleted_in_the_only_snapshot,
    all_deleted,
    no_snapshot,
    partial_writes,
    hidden_names,
    location_of_a_hidden_name,
    hidden_partition_fields,
    plain_partition_field,
    hidden_partition_column,
    hidden_partition_field_of_a_transform,
    hidden_partition_field_of_an_old_spec,
    hidden_partition_field_to_encode,
    many_directories,
    odd_names,
    encoded_partitions,
    encoded_names_in_the_metadata,
    spellings_of_data_files,
    spellings_of_manifests,
    spellings_of_metadata,
    spellings_of_the_location,
    location_of_a_host,
    other_stores,
    other_stores_elsewhere,
    two_spellings_of_one_file,
    metadata_log,
    metadata_that_is_not_current,
    zipped_metadata,
    version_hints,
    statistics,
    data_elsewhere,
    data_path_inside,
    added_files,
    object_store_layout,
    no_garbage_collection,
    branch_and_tag,
    staged_and_rolled_back,
    deletes("position", 2, lambda commit, data: [commit.positions(data[:2], 10), commit.positions(data[2:], 10)]),
    deletes("equality", 2, lambda commit, data: [commit.equalities(1, None, 10, 10), commit.equalities(2, None, 1, 10)]),
    deletes("vector", 3, lambda commit, data: commit.vectors(data, 10)),
    rewritten_position_deletes,
    compacted,
    format_v1,
    manifests_without_a_list,
    gone_manifest,
    links,
    link_in_use,
    link_loop,
    link_to_itself,
    files_and_directories,
    random_tables,
]

harness.run(CASES, "orphans.json", "orphans.zip")
