#!/usr/bin/env python3
"""The end-to-end run: real tables, exporters, Prometheus, Alertmanager and receivers, and alerts that come and go.

Run it by e2e/run.sh. Only time is compressed, see durations.py; the limits are the exporter's configuration.
Two exporters read the same tables throughout, so that no rule may depend on there being one.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

import pyarrow as pa
from pyiceberg.catalog import load_catalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import BinaryType, LongType, NestedField

import durations
from stack import REPOSITORY, Alertmanager, Exporter, Failure, Prometheus, Receiver, say, until

MOST_SECONDS = 240
RUNBOOKS = "https://github.com/iceberg-exporter/iceberg_exporter/blob/main/"
PAGES = 16
CLICKS = {"catalog": "lakehouse", "namespace": "web", "table": "clicks"}
PRICES = {"catalog": "sample", "namespace": "sales", "table": "prices"}

EXPORTER = """
recent_window: 1h
partitions_top: 3
catalogs:
  - name: sample
    type: hadoop
    warehouse: {directory}/warehouse
    allow_moved_paths: true
    tables: [{{name: sales.prices}}, {{name: "**"}}]
  - name: lakehouse
    type: sql
    uri: sqlite:///{directory}/lakehouse.db
    tables:
      - name: web.clicks
        small_file_threshold: 8KiB
        thresholds:
          data_files: 200
          average_file_size_bytes: 24KiB
          small_file_ratio: 0.5
          manifests: 20
          snapshots: 20
          compaction_age_seconds: 60s
          snapshot_age_seconds: 1h
"""

# What is wrong with a table that a stream filled with small files, and what the descriptions must tell.
WRONG = {
    "IcebergLayoutDrift": "The table has {files} data files",
    "IcebergAverageFileSizeLow": "The table has {files} data files",
    "IcebergDataFilesHigh": "lakehouse.web.clicks has {files} data files; the limit is 200.",
    "IcebergSmallFileRatioHigh": "of the {files} data files of lakehouse.web.clicks",
    "IcebergNewFilesSmall": "The newest {files} data files of lakehouse.web.clicks",
    "IcebergCompactionOverdue": "Retained history shows {snapshots} appends since.",
    "IcebergSnapshotsHigh": "lakehouse.web.clicks retains {snapshots} snapshots; the limit is 20.",
    "IcebergManifestsHigh": "lists {manifests} manifests; the limit is 20.",
}


class Clicks:
    """A table of PyIceberg's that a stream appends to."""

    def __init__(self, directory):
        database = directory / "lakehouse.db"
        self.catalog = load_catalog("lakehouse", type="sql", uri=f"sqlite:///{database}", warehouse=f"file://{directory}/lakehouse")
        self.catalog.create_namespace("web")
        schema = Schema(NestedField(1, "page", LongType()), NestedField(2, "click", BinaryType()))
        by_page = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "page"))
        self.catalog.create_table("web.clicks", schema, partition_spec=by_page)

    def append(self, pages, size):
        """Appends a data file for each page, with a click of this size."""
        self.catalog.load_table("web.clicks").append(pa.table({
            "page": pa.array(pages, pa.int64()),
            "click": pa.array([os.urandom(size) for _ in pages], pa.binary()),
        }))

    def figures(self):
        table = self.catalog.load_table("web.clicks")
        return {
            "files": table.inspect.files().num_rows,
            "snapshots": table.inspect.snapshots().num_rows,
            "manifests": table.inspect.manifests().num_rows,
            "rows": table.scan().count(),
            "operation": table.current_snapshot().summary.operation.value,
        }


class Run:
    def __init__(self, directory, exporter, maintain):
        self.directory, self.maintain = directory, maintain
        shutil.copytree(REPOSITORY / "testdata/warehouse", directory / "warehouse")
        self.clicks = Clicks(directory)
        for _ in range(5):
            self.clicks.append(range(PAGES), 40000)
        config = directory / "iceberg_exporter.yml"
        config.write_text(EXPORTER.format(directory=directory))
        self.receiver = Receiver()
        self.exporters = [Exporter(directory, name, exporter, config) for name in ("exporter-a", "exporter-b")]
        self.alertmanager = Alertmanager(directory, self.receiver)
        self.prometheus = Prometheus(directory, self.exporters, self.alertmanager)
        self.programs = [*self.exporters, self.alertmanager, self.prometheus]

    def start(self):
        for program in self.programs:
            program.start()
            say(f"{program.name} is at {program.url}")

    def stop(self):
        for program in reversed(self.programs):
            program.stop()
        self.receiver.stop()

    def story(self):
        self.table_down()
        self.healthy()
        self.layout_rots()
        self.dashboards()
        self.table_is_maintained()
        self.exporters_down()
        self.nothing_failed()

    def table_down(self):
        say("A table's metadata is gone.")
        metadata = self.directory / "warehouse/sales/prices/metadata"
        down = {"alertname": "IcebergTableDown", **PRICES}
        until("the exporters read sample.sales.prices", lambda: self.prometheus.query('min(iceberg_table_up{table="prices"}) == 1'))
        metadata.rename(metadata.with_name("gone"))
        self.webhook_gets("firing", severity="warning", **down)
        self.pager_gets("trigger", **down)
        until("the critical alert inhibits the warning", lambda: self.alertmanager.inhibited(severity="warning", **down))
        metadata.with_name("gone").rename(metadata)
        self.pager_gets("resolve", **down)

    def healthy(self):
        day = durations.seconds("1d")
        say(f"Wait until Prometheus has a history of a day, which is {day} seconds.")
        until(
            "there is a history",
            lambda: self.prometheus.query(f'table:iceberg_table_data_file_average_bytes:max{{table="clicks"}} offset {day}s'),
            patience=day + 30,
        )
        # A table is due for compaction one day, however well it is.
        names = {alert["labels"]["alertname"] for alert in self.prometheus.alerts(**CLICKS)} - {"IcebergCompactionOverdue"}
        expect(not names, f"no alert is about a healthy table, but there are {names}")

    def layout_rots(self):
        say("A stream appends small files.")
        for batch in range(30):
            self.clicks.append([page % PAGES for page in range(5 * batch, 5 * batch + 5)], 500)
        figures = self.clicks.figures()
        say(f"PyIceberg says: {figures}")
        for name, told in WRONG.items():
            alert = self.webhook_gets("firing", alertname=name, severity="warning", **CLICKS)
            labels = {"alertname": name, "severity": "warning", **CLICKS}
            if name == "IcebergLayoutDrift":
                labels["window"] = "1d"
            expect(alert["labels"] == labels, f"the labels are {labels}")
            told = told.format(**figures)
            expect(told in alert["annotations"]["description"], f"the description tells: {told}")
            self.was_pending_first(labels)

    def was_pending_first(self, labels):
        pending, firing = (self.prometheus.history(state, **labels) for state in ("pending", "firing"))
        expect(pending and firing and max(pending) < min(firing), f"{labels} was pending, then firing")
        waited, told = min(firing) - min(pending), self.prometheus.waits(**labels)
        expect(told <= waited < told + 10, f"{labels} was pending for {told} seconds, as the rule says, and it was for {waited:.1f}")

    def dashboards(self):
        check = REPOSITORY / "dashboards/check-queries"
        if not check.exists():
            say("There are no dashboards to check.")
            return
        say("Run the queries of the dashboards, now that there is something to see.")
        if subprocess.run([sys.executable, check, self.prometheus.url], check=False).returncode != 0:
            raise Failure("queries of the dashboards fail")

    def table_is_maintained(self):
        before = self.clicks.figures()
        firing = {alert["labels"]["alertname"] for alert in self.prometheus.alerts(**CLICKS) if alert["state"] == "firing"}
        expect(firing == set(WRONG), f"{sorted(WRONG)} are firing, and it is {sorted(firing)}")
        expect(self.to_compact() == before["files"], "compaction would rewrite all files")
        say("Compact the table, then expire its snapshots.")
        command = [self.maintain, f"--database={self.directory}/lakehouse.db", "--catalog=lakehouse", "--table=web.clicks"]
        print(subprocess.run(command, check=True, stderr=subprocess.PIPE, text=True).stderr, end="")
        after = self.clicks.figures()
        say(f"PyIceberg says: {after}")
        expect(after["operation"] == "replace" and after["rows"] == before["rows"], "compaction changed no rows")
        for name in WRONG:
            self.webhook_gets("resolved", alertname=name, **CLICKS)
        until("no alert is about the table", lambda: not self.prometheus.alerts(**CLICKS))
        expect(self.to_compact() == 0, "compaction would rewrite nothing")

    def to_compact(self):
        found = self.prometheus.query('table:iceberg_table_compaction_candidate_files:max{catalog="lakehouse",table="clicks"}')
        return float(found[0]["value"][1])

    def exporters_down(self):
        a, b = self.exporters
        down = {"alertname": "IcebergExporterDown", "job": "iceberg"}
        say("One of two exporters is down.")
        instance = f"127.0.0.1:{b.port}"
        b.stop()
        self.webhook_gets("firing", severity="warning", instance=instance, **down)
        expect(not self.receiver.page("trigger", **down), "nobody is paged for that")
        say("Both are down.")
        a.stop()
        for catalog in ("lakehouse", "sample"):
            self.pager_gets("trigger", catalog=catalog, **down)
        until("the critical alert inhibits the warning", lambda: self.alertmanager.inhibited(severity="warning", **down))
        a.start()
        b.start()
        for catalog in ("lakehouse", "sample"):
            self.pager_gets("resolve", catalog=catalog, **down)
        self.webhook_gets("resolved", severity="warning", instance=instance, **down)

    def nothing_failed(self):
        expect(self.prometheus.metric("prometheus_rule_evaluations_total") > 1000, "rules were evaluated")
        expect(self.prometheus.metric("prometheus_rule_evaluation_failures_total") == 0, "no rule failed")
        expect(self.prometheus.metric("prometheus_notifications_errors_total") == 0, "Alertmanager took all alerts")
        expect(self.alertmanager.metric("alertmanager_notifications_failed_total") == 0, "the receivers took all notifications")
        expect(not self.receiver.refused, f"every notification has its credentials, but not {self.receiver.refused}")

    def webhook_gets(self, status, **labels):
        alert = until(f"the webhook gets {labels}, {status}", lambda: self.receiver.alert(status, **labels))
        show_alert(alert)
        url = alert["annotations"]["runbook_url"]
        expect(url == f"{RUNBOOKS}docs/runbooks/{labels['alertname']}.md", "the runbook is the alert's")
        expect((REPOSITORY / url.removeprefix(RUNBOOKS)).is_file(), f"the runbook exists: {url}")
        expect(alert["annotations"]["summary"] and alert["annotations"]["description"], "the alert says what is wrong")
        return alert

    def pager_gets(self, action, **labels):
        page = until(f"the pager gets {labels}, {action}", lambda: self.receiver.page(action, **labels))
        payload, runbook = page["payload"], page["links"][0]["href"]
        say(f"pager: {action.upper()} {payload['severity']}: {payload['summary']} {shown(labels)}")
        expect(payload["severity"] == "critical", "what pages is critical")
        expect(runbook == f"{RUNBOOKS}docs/runbooks/{labels['alertname']}.md", "the page links to the runbook")


def expect(condition, what):
    if not condition:
        raise Failure(f"not so: {what}")


def shown(labels):
    return "{" + ", ".join(f"{name}={value}" for name, value in sorted(labels.items())) + "}"


def show_alert(alert):
    say(f"webhook: {alert['status'].upper()} {shown(alert['labels'])}")
    if alert["status"] == "firing":
        for text in alert["annotations"]["summary"], alert["annotations"]["description"], alert["annotations"]["runbook_url"]:
            print("         ", text, flush=True)


def interrupt(number, _):
    raise Failure(f"not over within {MOST_SECONDS} seconds" if number == signal.SIGALRM else "it was interrupted")


def main(exporter, maintain):
    signal.signal(signal.SIGALRM, interrupt)
    signal.signal(signal.SIGTERM, interrupt)
    signal.alarm(MOST_SECONDS)
    with tempfile.TemporaryDirectory(prefix="iceberg-e2e-") as name:
        run = Run(pathlib.Path(name), exporter, maintain)
        try:
            run.start()
            run.story()
        except Failure as failure:
            for program in run.programs:
                if program.log.exists():
                    print(f"--- {program.name} said last:\n{program.log.read_text()[-2000:]}")
            say(f"FAILED: {failure}")
            return 1
        finally:
            signal.alarm(0)
            run.stop()
    say("All alerts came and went as they should.")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
