"""The cases: each makes a table and checks procedures on it. run.sh calls it."""

import math
import os
from random import Random

import harness
from harness import DAY, HOUR, MINUTE, Table

DATA, DELETES, MANIFESTS, SNAPSHOTS = (
    "rewrite_data_files",
    "rewrite_position_delete_files",
    "rewrite_manifests",
    "expire_snapshots",
)

RANDOM_TABLES = int(os.environ.get("RANDOM_TABLES", 8))


def no_snapshot():
    table = Table("no_snapshot")
    for procedure in (DATA, DELETES, MANIFESTS, SNAPSHOTS):
        table.check(procedure)


# rewrite_data_files


def file_at_the_minimum():
    table = Table("file_at_the_minimum")
    table.append(5)
    size = table.size()
    target = next(t for t in range(math.ceil(size / 0.75) + 2, 0, -1) if int(t * 0.75) == size)
    table.target(target)
    table.check(DATA)
    table.target(target + 1)
    table.check(DATA)


def file_at_the_maximum():
    table = Table("file_at_the_maximum")
    table.append(1)
    size = table.size()
    target = next(t for t in range(int(size / 1.8) - 2, size) if int(t * 1.8) >= size)
    table.target(target)
    table.check(DATA)
    table.target(target - 1)
    table.check(DATA)


def oversized_with_row_groups():
    table = Table(
        "oversized_with_row_groups",
        write_parquet_row__group__size__bytes=20_000,
        write_parquet_row__group__check__min__record__count=5,
        write_parquet_row__group__check__max__record__count=5,
        write_parquet_page__size__bytes=2_000,
        write_parquet_page__row__limit=5,
    )
    table.append(2, rows=160)
    table.target(table.size() / 2.6)
    table.check(DATA)


def small_files_of_partitions():
    table = Table("small_files_of_partitions", by="day")
    table.append(1, 4, 5, 6)
    table.check(DATA)


def small_files():
    for count in (1, 4, 5, 6):
        table = Table(f"small_files_{count}")
        table.append(count)
        table.check(DATA)


def small_files_of_many_commits():
    table = Table("small_files_of_many_commits", by="day")
    for _ in range(6):
        table.append(1, 2)
    table.target(table.size() * 20)
    table.check(DATA)


def two_files_that_make_the_target():
    table = Table("two_files_make_the_target")
    table.append(2)
    size = table.size()
    table.target(2 * size)
    table.check(DATA)
    table.target(2 * size - 1)
    table.check(DATA)


def packing():
    for ratio in (0.3, 0.105, 0.13, 0.26, 0.5):
        table = Table(f"packing_{str(ratio).replace('.', '_')}")
        table.append(10)
        table.target(table.size() / ratio)
        table.check(DATA)


def packing_of_different_sizes():
    table = Table("packing_of_different_sizes")
    commit = table.commit()
    for rows in (70, 10, 60, 20, 50, 30, 5, 40, 65, 15):
        commit.data(1, "eu", rows, 1000)
    commit.to("main")
    table.target(100_000)
    table.check(DATA)


def packing_with_a_lookback():
    table = Table("packing_with_a_lookback", read_split_planning__lookback=1)
    commit = table.commit()
    for rows in (70, 70, 30, 30, 70, 30):
        commit.data(1, "eu", rows, 1000)
    commit.to("main")
    table.target(110_000)
    table.check(DATA)


def null_partition():
    table = Table("null_partition", by="day")
    commit = table.commit()
    for day in (None, None, None, None, None, 1, 1, 1, 1):
        commit.data(day, "eu", 40, 1000)
    commit.to("main")
    table.check(DATA)


def spec_added():
    """Files of the unpartitioned spec share the group of null days."""
    for name, nulls in (("alone", 0), ("joins_nulls", 2)):
        table = Table(f"spec_added_{name}")
        table.append(3)
        table.sql("ALTER TABLE @ ADD PARTITION FIELD day")
        commit = table.commit()
        for day in [None] * nulls + [7, 7, 7]:
            commit.data(day, "eu", 40, 1000)
        commit.to("main")
        table.check(DATA, planned=True)


def spec_added_five_old_files():
    table = Table("spec_added_five_old_files")
    commit = table.commit()
    for day in (1, 2, 3, 4, 5):
        commit.data(day, "eu", 40, 1000)
    commit.to("main")
    table.sql("ALTER TABLE @ ADD PARTITION FIELD day")
    table.append(3, 5)
    table.check(DATA, planned=True)


def spec_dropped():
    table = Table("spec_dropped", by="day")
    table.append(2, 1)
    table.sql("ALTER TABLE @ DROP PARTITION FIELD day")
    table.append(2)
    table.check(DATA)


def spec_dropped_large_files():
    table = Table("spec_dropped_large_files", by="day")
    table.append(4, 4)
    table.sql("ALTER TABLE @ DROP PARTITION FIELD day")
    table.append(2)
    table.target(table.size() / 0.45)
    table.check(DATA)


def three_specs():
    table = Table("three_specs", by="day")
    table.append(2, 2)
    table.sql("ALTER TABLE @ ADD PARTITION FIELD region")
    table.append(5, 1, region="eu")
    table.append(1, region="us")
    table.sql("ALTER TABLE @ DROP PARTITION FIELD day")
    table.append(5, region="eu")
    table.append(2, region="us")
    table.check(DATA, planned=True)


def v1_spec_dropped():
    """In v1 a dropped field stays in the spec, void."""
    table = Table("v1_spec_dropped", by="day", version=1)
    table.append(2, 1)
    table.sql("ALTER TABLE @ DROP PARTITION FIELD day")
    table.append(2)
    table.check(DATA)


def deletes(kind, version):
    """A well-sized file of 100 rows with deletes of so many per cent, alone in its partition."""

    def case():
        for percent in (29, 30, 31, 100):
            table = Table(f"{kind}_deletes_{percent}", by="day", version=version)
            made = table.append(1, 1, rows=100)
            table.target(table.size())
            commit = table.commit()
            getattr(commit, kind)(made[:1], percent)
            commit.to("main")
            table.check(DATA)

    case.__name__ = f"{kind}_deletes"
    return case


def deletes_add_up():
    table = Table("deletes_add_up", by="day")
    made = table.append(1, 1, rows=100)
    table.target(table.size())
    for file, rows in ((0, 15), (1, 14), (0, 15), (1, 15)):
        commit = table.commit()
        commit.positions([made[file]], rows)
        commit.to("main")
    table.check(DATA)


def deletes_of_a_partition():
    """Half of the rows are deleted, but no delete file is known to be of one data file."""
    table = Table("deletes_of_a_partition", by="day")
    made = table.append(2, rows=100)
    table.target(table.size())
    commit = table.commit()
    commit.positions(made, 50)
    commit.to("main")
    table.check(DATA)


def deletes_of_a_partition_of_small_files():
    """Tasks read the deletes besides: they hold fewer files."""
    table = Table("deletes_fill_tasks", by="day")
    made = table.append(6, rows=100, bytes=100)
    table.target(table.size() * 10)
    commit = table.commit()
    commit.positions(made, 99)
    commit.to("main")
    table.check(DATA)


def a_group_with_a_deleted_file():
    table = Table("a_group_with_a_deleted_file", by="day", version=3)
    made = table.append(1, 1, rows=100)
    table.append(2, 2, rows=10)
    table.target(80_000)
    commit = table.commit()
    commit.vectors(made[:1], 40)
    commit.vectors(made[1:], 20)
    commit.to("main")
    table.check(DATA)


def equality_deletes():
    table = Table("equality_deletes", by="day")
    table.append(1, 4, rows=100)
    table.target(table.size())
    commit = table.commit()
    commit.equalities(1, "eu", 60, 1000)
    commit.to("main")
    table.check(DATA)


def equality_deletes_fill_tasks():
    for name, by in (("of_partition", "day"), ("global", "")):
        table = Table(f"equality_deletes_{name}", by=by)
        table.append(6, rows=40)
        table.target(table.size() * 10)
        commit = table.commit()
        commit.equalities(1, "eu", 20, 1000)
        commit.to("main")
        commit = table.commit()
        commit.data(1, "eu", 40, 1000)
        commit.equalities(1, "eu", 30, 1000)
        commit.equalities(1, "eu", 30, 1000)
        commit.to("main")
        table.check(DATA)


def other_branches():
    table = Table("other_branches")
    table.append(3)
    table.sql("ALTER TABLE @ CREATE BRANCH audit")
    commit = table.commit()
    for _ in range(3):
        commit.data(1, "eu", 40, 1000)
    commit.to("audit")
    table.check(DATA)


def formats():
    for name in ("avro", "orc"):
        table = Table(f"format_{name}", write_format_default=name, write_avro_compression__codec="uncompressed")
        table.append(5)
        table.check(DATA)


def oversized_avro():
    table = Table("oversized_avro", write_format_default="avro", write_avro_compression__codec="uncompressed")
    table.append(1, rows=400)
    table.target(table.size() / 2.5)
    table.check(DATA)


def sorted_table():
    table = Table("sorted_table", by="day")
    table.sql("ALTER TABLE @ WRITE ORDERED BY id")
    table.append(6)
    table.check(DATA)


def wrong_properties():
    table = Table("wrong_properties", write_target__file__size__bytes="512 MB")
    table.append(5)
    table.check(DATA)
    table.target(1)
    table.check(DATA)
    table.set(write_target__file__size__bytes=1_000_000, read_split_planning__lookback=0)
    table.check(DATA)


def spark_merge_on_read():
    for version, granularity in ((2, "partition"), (2, "file"), (3, "file")):
        table = Table(
            f"spark_deletes_v{version}_{granularity}",
            by="day",
            version=version,
            write_delete_mode="merge-on-read",
            write_delete_granularity=granularity,
        )
        for _ in range(3):
            table.append(2, 1, rows=100, bytes=200)
        table.target(table.size())
        for remainder in (0, 1, 2, 3):
            table.sql(f"DELETE FROM @ WHERE id % 12 = {remainder}")
        table.check(DELETES)
        table.check(DATA)
        table.check(MANIFESTS)
        table.check(DELETES)


# rewrite_position_delete_files


def add_position_deletes(table, made, *counts, rows=20):
    """Delete files of a partition's first two data files: `counts` of them on day 1, and so on."""
    commit = table.commit()
    for day, count in enumerate(counts):
        for _ in range(count):
            commit.positions(made[2 * day : 2 * day + 2], rows)
    commit.to("main")


def small_delete_files():
    table = Table("small_delete_files", by="day")
    made = table.append(2, 2, 2, 2)
    add_position_deletes(table, made, 1, 4, 5, 6)
    table.check(DELETES)


def delete_files_at_the_bounds():
    table = Table("delete_files_at_the_bounds")
    made = table.append(2)
    add_position_deletes(table, made, 5)
    size = table.size(1)
    target = next(t for t in range(math.ceil(size / 0.75) + 2, 0, -1) if int(t * 0.75) == size)
    table.set(write_delete_target__file__size__bytes=target)
    table.check(DELETES)
    table.set(write_delete_target__file__size__bytes=target + 1)
    table.check(DELETES)


def oversized_delete_file():
    table = Table("oversized_delete_file")
    made = table.append(2)
    add_position_deletes(table, made, 1)
    size = table.size(1)
    target = next(t for t in range(int(size / 1.8) - 2, size) if int(t * 1.8) >= size)
    table.set(write_delete_target__file__size__bytes=target)
    table.check(DELETES)
    table.set(write_delete_target__file__size__bytes=target - 1)
    table.check(DELETES)


def two_delete_files_that_make_the_target():
    table = Table("two_delete_files")
    made = table.append(2)
    add_position_deletes(table, made, 2)
    size = table.size(1)
    table.set(write_delete_target__file__size__bytes=2 * size)
    table.check(DELETES)
    table.set(write_delete_target__file__size__bytes=2 * size - 1)
    table.check(DELETES)


def delete_files_of_two_specs():
    """The same partition values in two specs are one partition, which cannot be written."""
    for name, counts in (("apart", (2, 5)), ("together", (3, 5))):
        table = Table(f"delete_files_{name}", by="day")
        made = table.append(2, 2)
        add_position_deletes(table, made, 2, 2)
        table.sql("ALTER TABLE @ ADD PARTITION FIELD region")
        commit = table.commit()
        made = [commit.data(day, region, 40, 1000) for day, region in ((1, None), (1, None), (2, "eu"), (2, "eu"))]
        commit.to("main")
        add_position_deletes(table, made, *counts)
        table.check(DELETES)


def equality_delete_files():
    table = Table("equality_delete_files")
    made = table.append(2)
    commit = table.commit()
    for _ in range(6):
        commit.equalities(1, "eu", 5, 100)
    commit.positions(made, 1)
    commit.to("main")
    table.check(DELETES)


def vectors_only():
    table = Table("vectors_only", version=3)
    made = table.append(6)
    commit = table.commit()
    commit.vectors(made, 3)
    commit.to("main")
    table.check(DELETES)


def upgraded_to_v3():
    for name, files in (("vectors_and_few_files", 1), ("vectors_and_files", 5)):
        table = Table(f"upgraded_{name}", by="day")
        made = table.append(6, 2)
        commit = table.commit()
        for _ in range(files):
            commit.positions(made[:2], 3)
        commit.positions(made[6:], 3)
        commit.to("main")
        table.set(format__version=3)
        commit = table.commit()
        commit.vectors(made[2:6], 3)
        commit.to("main")
        table.check(DELETES)


def dropped_partition_column():
    """The partition values of a column that is gone are all one, which cannot be written."""
    for name, counts in (("few", (2, 2)), ("many", (2, 3))):
        table = Table(f"dropped_column_{name}", by="day")
        made = table.append(2, 2)
        add_position_deletes(table, made, *counts)
        table.sql("ALTER TABLE @ DROP PARTITION FIELD day")
        table.sql("ALTER TABLE @ DROP COLUMN day")
        table.check(DELETES)


# rewrite_manifests


def lengths(table, content=0):
    return [row[0] for row in table.sql(f"SELECT length FROM @.manifests WHERE content = {content}")]


def manifest_target(table, size):
    table.set(commit_manifest_target__size__bytes=int(size))


def few_manifests():
    for count in (1, 2, 30):
        table = Table(f"manifests_{count}", by="day")
        for _ in range(count):
            table.named(1, 2)
        table.check(MANIFESTS)


def one_large_manifest():
    table = Table("one_large_manifest", by="day")
    table.named(20, 20, 20, 20)
    (length,) = lengths(table)
    manifest_target(table, length)
    table.check(MANIFESTS)
    manifest_target(table, length - 1)
    table.check(MANIFESTS)


def manifests_around_the_target():
    for divisor, more in ((1, 0), (1, -1), (2, 0), (2, -1), (3, 0)):
        table = Table(f"manifests_at_{divisor}{'_less' if more else ''}", by="day")
        for _ in range(6):
            table.named(*[10] * 12)
        total = sum(lengths(table))
        manifest_target(table, total // divisor + (total % divisor > 0) + more)
        table.check(MANIFESTS)


def manifests_of_large_partitions():
    for name, counts in (
        ("one", [100]),
        ("first", [80, 5, 5, 5, 5]),
        ("last", [5, 5, 5, 5, 80]),
        ("middle", [5, 5, 80, 5, 5]),
        ("two", [50, 50]),
    ):
        table = Table(f"large_partition_{name}", by="day")
        for _ in range(2):
            table.named(*counts)
        manifest_target(table, sum(lengths(table)) / 3.5)
        table.check(MANIFESTS)


def manifests_of_an_unpartitioned_table():
    table = Table("manifests_unpartitioned")
    for _ in range(4):
        table.named(60)
    manifest_target(table, sum(lengths(table)) / 3.5)
    table.check(MANIFESTS)


def manifests_that_roll():
    """A partition is never divided between tasks, but a task goes on to another manifest."""
    table = Table("manifests_that_roll", by="day")
    for count in (400, 800, 1200):
        table.named(count)
    manifest_target(table, sum(lengths(table)) / 6)
    table.check(MANIFESTS)


def manifests_by_strings():
    table = Table("manifests_by_strings", by="region, day")
    for _ in range(3):
        commit = table.commit()
        for region, count in (("b", 60), ("a", 4), (None, 5), ("ä", 6), ("B", 3), ("", 8)):
            commit.named(1, region, count)
        commit.to("main")
    manifest_target(table, sum(lengths(table)) / 2.5)
    table.check(MANIFESTS)


def manifests_of_other_specs():
    table = Table("manifests_of_other_specs")
    for _ in range(3):
        table.named(5)
    table.sql("ALTER TABLE @ ADD PARTITION FIELD day")
    table.named(5)
    table.check(MANIFESTS)
    table.named(5)
    table.check(MANIFESTS)


def manifests_of_deletes():
    table = Table("manifests_of_deletes", by="day")
    made = table.append(2, 2)
    for _ in range(3):
        add_position_deletes(table, made, 1, 1)
    table.check(MANIFESTS)


def manifests_without_files():
    """What a commit removes stays in its manifest, as a note."""
    table = Table("manifests_without_files", by="day")
    for _ in range(3):
        table.named(3, 3)
    table.sql("DELETE FROM @ WHERE day = 1")
    table.check(MANIFESTS)
    table.sql("DELETE FROM @ WHERE day = 2")
    table.check(MANIFESTS)


def wrong_manifest_target():
    table = Table("wrong_manifest_target")
    table.named(3)
    table.named(3)
    table.set(commit_manifest_target__size__bytes="8 MB")
    table.check(MANIFESTS)


# expire_snapshots


def history(name, *ages, **properties):
    """A table with a snapshot for each age."""
    table = Table(name, **properties)
    for _ in ages:
        table.named(1)
    return table


def snapshots_around_the_cut_off():
    ages = [9 * DAY, 6 * DAY, 5 * DAY + MINUTE, 5 * DAY - MINUTE, DAY, 0]
    table = history("snapshots_around_the_cut_off", *ages)
    table.ages(*ages)
    table.check(SNAPSHOTS)
    table.check(SNAPSHOTS)


def many_snapshots():
    ages = [hour * HOUR for hour in range(160, 100, -1)]
    table = history("many_snapshots", *ages, write_metadata_previous__versions__max=1)
    table.ages(*ages)
    table.check(SNAPSHOTS)


def retention_of_the_table():
    ages = [9 * DAY, 8 * DAY, 7 * DAY, 3 * HOUR, 2 * HOUR, 0]
    table = history("retention_of_the_table", *ages, history_expire_max__snapshot__age__ms=HOUR)
    table.ages(*ages)
    table.set(history_expire_min__snapshots__to__keep=5)
    table.check(SNAPSHOTS)
    table.set(history_expire_min__snapshots__to__keep=2)
    table.check(SNAPSHOTS)


def ages_out_of_order():
    ages = [DAY, 6 * DAY, 2 * DAY, 0]
    table = history("ages_out_of_order", *ages)
    table.ages(*ages)
    table.check(SNAPSHOTS)


def ids(table):
    ordered = sorted(table.metadata()["snapshots"], key=lambda snapshot: snapshot["sequence-number"])
    return [snapshot["snapshot-id"] for snapshot in ordered]


def tags():
    ages = [9 * DAY, 8 * DAY, 7 * DAY, 6 * DAY, 0]
    table = history("tags", *ages)
    first, second, third, *_ = ids(table)
    table.sql(f"ALTER TABLE @ CREATE TAG kept AS OF VERSION {first}")
    table.sql(f"ALTER TABLE @ CREATE TAG young AS OF VERSION {second} RETAIN 9 DAYS")
    table.sql(f"ALTER TABLE @ CREATE TAG old AS OF VERSION {third} RETAIN 6 DAYS")
    table.ages(*ages)
    table.check(SNAPSHOTS)


def branches():
    """Branches with settings of their own: one of a time, one of a number, one that is removed."""
    table = Table("branches")
    for _ in range(3):
        table.named(1)
    table.sql("ALTER TABLE @ CREATE BRANCH timed RETAIN 30 DAYS WITH SNAPSHOT RETENTION 1 SNAPSHOTS 8 DAYS")
    table.sql("ALTER TABLE @ CREATE BRANCH counted WITH SNAPSHOT RETENTION 2 SNAPSHOTS")
    table.sql("ALTER TABLE @ CREATE BRANCH removed RETAIN 6 DAYS")
    for branch in ("timed", "counted", "removed"):
        for _ in range(3):
            table.named(1, branch=branch)
    table.named(1)
    table.ages(
        *(12 * DAY, 11 * DAY, 10 * DAY),
        *(9 * DAY, 7 * DAY, 6 * DAY),
        *(9 * DAY, 8 * DAY, 7 * DAY),
        *(8 * DAY, 4 * DAY, 6 * DAY + HOUR),
        0,
    )
    table.check(SNAPSHOTS)


def ages_of_refs():
    ages = [4 * DAY, 3 * DAY, 2 * DAY, 0]
    table = history("ages_of_refs", *ages, history_expire_max__ref__age__ms=3 * DAY - HOUR)
    first, second, third, _ = ids(table)
    table.sql(f"ALTER TABLE @ CREATE TAG old AS OF VERSION {second}")
    table.sql(f"ALTER TABLE @ CREATE TAG young AS OF VERSION {third}")
    table.sql(f"ALTER TABLE @ CREATE BRANCH older AS OF VERSION {first} RETAIN 5 DAYS")
    table.ages(*ages)
    table.check(SNAPSHOTS)


def snapshots_that_no_ref_leads_to():
    table = Table("unreferenced_snapshots")
    for _ in range(2):
        table.named(1)
    back = ids(table)[1]
    for _ in range(3):
        table.named(1)
    table.sql(f"CALL warehouse.system.rollback_to_snapshot('{table.name}', {back})")
    table.named(1)
    table.ages(9 * DAY, 8 * DAY, 7 * DAY, 5 * DAY + MINUTE, 5 * DAY - MINUTE, 0)
    table.check(SNAPSHOTS)


def retention_of_main():
    ages = [4 * DAY, 3 * DAY, 2 * DAY, DAY, 0]
    table = history("retention_of_main", *ages)
    table.sql("ALTER TABLE @ REPLACE BRANCH main RETAIN 1 DAYS WITH SNAPSHOT RETENTION 2 SNAPSHOTS 36 HOURS")
    table.ages(*ages)
    table.check(SNAPSHOTS)


def no_garbage_collection():
    ages = [9 * DAY, 0]
    table = history("no_garbage_collection", *ages, gc_enabled="false")
    table.ages(*ages)
    table.check(SNAPSHOTS)


# Tables that nobody thought of


def random_data_files():
    for seed in range(RANDOM_TABLES):
        random = Random(seed)
        version = random.choice((2, 3))
        table = Table(f"random_data_files_{seed}", by=random.choice(("", "day", "day")), version=version)
        # One commit, hence one manifest: the engine reads several in no order that could be told.
        commit = table.commit()
        made = {}
        for _ in range(random.randint(1, 16)):
            day = random.choice((None, 1, 2))
            file = commit.data(day, "eu", random.randint(1, 100), 300)
            made.setdefault(day, []).append(file)
        commit.to("main")
        for _ in range(random.choice((0, 1, 3))):
            commit = table.commit()
            day = random.choice(list(made))
            kind = random.choice(("file", "file", "file", "partition", "equality"))
            if kind == "file" and made[day]:
                # Taken out: engines delete no row twice.
                file = made[day].pop()
                (commit.vectors if version == 3 else commit.positions)([file], random.randint(1, file.recordCount()))
            elif kind == "partition" and version == 2 and len(made[day]) > 1:
                commit.positions([made[day].pop(), made[day].pop()], 1)
            else:
                # They look like rows of the files, but match none: what they delete cannot be known.
                commit.equalities(day, "eu", random.randint(1, 100), 301)
            commit.to("main")
        table.target(random.randint(3_000, 120_000))
        table.check(DATA)


def random_manifests():
    for seed in range(RANDOM_TABLES):
        random = Random(seed)
        table = Table(f"random_manifests_{seed}", by="day")
        days = random.randint(1, 12)
        # Not so many that a manifest is full: how many then fit in the next one is an estimate.
        largest = random.choice((5, 20, 40))
        for _ in range(random.randint(1, 5)):
            table.named(*(random.randint(0, random.choice((5, largest))) for _ in range(days)), 1)
        manifest_target(table, sum(lengths(table)) / random.uniform(0.9, 6))
        table.check(MANIFESTS)


def random_snapshots():
    for seed in range(RANDOM_TABLES):
        random = Random(seed)
        properties = {}
        if random.random() < 0.5:
            properties["history_expire_max__snapshot__age__ms"] = random.randint(1, 8) * DAY + HOUR
        if random.random() < 0.5:
            properties["history_expire_min__snapshots__to__keep"] = random.randint(1, 5)
        if random.random() < 0.3:
            properties["history_expire_max__ref__age__ms"] = random.randint(1, 8) * DAY + HOUR
        table = Table(f"random_snapshots_{seed}", **properties)
        names = ["main"]
        commits = random.randint(1, 12)
        for number in range(commits):
            table.named(1, branch=random.choice(names))
            if random.random() < 0.5:
                kind = random.choice(("BRANCH", "TAG"))
                at = random.choice(ids(table))
                retain = f"RETAIN {random.randint(1, 8)} DAYS" if random.random() < 0.4 else ""
                keep = ""
                if kind == "BRANCH" and random.random() < 0.6:
                    keep = f"WITH SNAPSHOT RETENTION {random.randint(1, 3)} SNAPSHOTS"
                    keep += f" {random.randint(1, 8)} DAYS" if random.random() < 0.6 else ""
                table.sql(f"ALTER TABLE @ CREATE {kind} ref{number} AS OF VERSION {at} {retain} {keep}")
                names += [f"ref{number}"] if kind == "BRANCH" else []
        # Half an hour away from every limit, since time goes by.
        table.ages(*(random.randint(0, 9) * DAY + random.choice((HOUR, -HOUR)) // 2 + HOUR for _ in range(commits)))
        table.check(SNAPSHOTS)


CASES = [
    no_snapshot,
    file_at_the_minimum,
    file_at_the_maximum,
    oversized_with_row_groups,
    small_files_of_partitions,
    small_files,
    small_files_of_many_commits,
    two_files_that_make_the_target,
    packing,
    packing_of_different_sizes,
    packing_with_a_lookback,
    null_partition,
    spec_added,
    spec_added_five_old_files,
    spec_dropped,
    spec_dropped_large_files,
    three_specs,
    v1_spec_dropped,
    deletes("positions", 2),
    deletes("vectors", 3),
    deletes_add_up,
    deletes_of_a_partition,
    deletes_of_a_partition_of_small_files,
    a_group_with_a_deleted_file,
    equality_deletes,
    equality_deletes_fill_tasks,
    other_branches,
    formats,
    oversized_avro,
    sorted_table,
    wrong_properties,
    spark_merge_on_read,
    small_delete_files,
    delete_files_at_the_bounds,
    oversized_delete_file,
    two_delete_files_that_make_the_target,
    delete_files_of_two_specs,
    equality_delete_files,
    vectors_only,
    upgraded_to_v3,
    dropped_partition_column,
    few_manifests,
    one_large_manifest,
    manifests_around_the_target,
    manifests_of_large_partitions,
    manifests_of_an_unpartitioned_table,
    manifests_that_roll,
    manifests_by_strings,
    manifests_of_other_specs,
    manifests_of_deletes,
    manifests_without_files,
    wrong_manifest_target,
    snapshots_around_the_cut_off,
    many_snapshots,
    retention_of_the_table,
    ages_out_of_order,
    tags,
    branches,
    ages_of_refs,
    snapshots_that_no_ref_leads_to,
    retention_of_main,
    no_garbage_collection,
    random_data_files,
    random_manifests,
    random_snapshots,
]


harness.run(CASES, "cases.json", "tables.zip")
