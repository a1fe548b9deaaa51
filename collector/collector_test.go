package collector_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/iceberg-exporter/iceberg_exporter/collector"
	"github.com/iceberg-exporter/iceberg_exporter/config"
	"github.com/iceberg-exporter/iceberg_exporter/layout"
	"github.com/iceberg-exporter/iceberg_exporter/measure"
	"github.com/iceberg-exporter/iceberg_exporter/metadata"
	"github.com/iceberg-exporter/iceberg_exporter/refresh"
	"github.com/iceberg-exporter/iceberg_exporter/source"
	"github.com/iceberg-exporter/iceberg_exporter/storage"
)

var now = time.Unix(2_000_000, 0)

func settings(t *testing.T) config.Settings {
	t.Helper()
	c, err := config.Parse("test", []byte(`{thresholds: {snapshots: null}, orphan_scan: {enabled: true}}`))
	if err != nil {
		t.Fatal(err)
	}
	return c.Settings
}

// measured is a table with a figure for everything.
func measured(t *testing.T, key refresh.Key) refresh.Table {
	t.Helper()
	m, err := metadata.Parse(strings.NewReader(`{"format-version": 2, "location": "s3://user:pw@b/t?sig=x", "current-snapshot-id": 2,
		"refs": {"old": {"snapshot-id": 1, "type": "tag"}},
		"snapshots": [{"snapshot-id": 1, "timestamp-ms": 1000000000, "summary": {"operation": "replace", "deleted-data-files": "1"}},
			{"snapshot-id": 3, "parent-snapshot-id": 1, "timestamp-ms": 1500000000, "summary": {"operation": "replace", "entries-processed": "2"}},
			{"snapshot-id": 2, "parent-snapshot-id": 3, "timestamp-ms": 1999999000, "summary": {"operation": "append", "added-data-files": "2", "added-files-size": "20"}}]}`), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	size, none := int64(77), int64(0)
	return refresh.Table{
		Scan: refresh.Scan{Done: true, Succeeded: true, Duration: time.Second, Result: &measure.Scan{Time: now, Figures: &storage.Figures{
			Usage: map[storage.State]storage.Usage{
				storage.Live: {Files: 2, Bytes: 10}, storage.Historical: {Files: 1, Bytes: 4}, storage.Metadata: {Files: 9, Bytes: 46},
				storage.Recent: {Files: 1, Bytes: 5}, storage.Hidden: {Files: 3, Bytes: 15}, storage.Orphan: {Files: 4, Bytes: 20},
			}, Missing: &none, ExpirableBytes: &none,
		}}},
		Key: key, Settings: settings(t), Up: true, Refreshed: true, Duration: time.Second, LastSuccess: now,
		Measurement: &measure.Measurement{
			MetadataBytes: &size, Snapshots: m, Info: layout.MeasureInfo(m), History: layout.MeasureHistory(m),
			Layout: &layout.Layout{
				DataFiles: 2, DataBytes: 10, MinBytes: 4, MaxBytes: 6, SmallDataFiles: 1, Partitions: 1, SizeBuckets: [10]int64{2},
				WorstPartitions: []layout.Partition{{Name: "p=1", DataFiles: 2, DataBytes: 10}},
			},
		},
	}
}

func key(catalog, namespace, table string) refresh.Key {
	return refresh.Key{Catalog: catalog, Identifier: source.Identifier{Namespace: namespace, Name: table}}
}

func tables(all ...refresh.Table) *collector.Tables {
	return collector.NewTables(func() refresh.Snapshot {
		return refresh.Snapshot{Time: now, Tables: all, Catalogs: []refresh.Catalog{{Name: "c", Up: true, Tables: len(all)}}}
	})
}

// TestDescribed: a pedantic registry takes everything that is collected, and
// Prometheus' linter has nothing to say.
func TestDescribed(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(
		tables(measured(t, key("c", "n", "t")), refresh.Table{Key: key("c", "n", "down")}),
		collector.NewExporter(func() collector.ExporterStats { return collector.ExporterStats{} }))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	gathered := map[string]bool{}
	for _, f := range families {
		gathered[f.GetName()] = true
	}
	for _, m := range tables().Metrics() {
		if !gathered[m.Name] {
			t.Errorf("%s is never collected", m.Name)
		}
	}
	problems, err := testutil.GatherAndLint(registry)
	if err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}

// TestAwkwardNames: names that are no UTF-8, or that read alike, cannot break a
// scrape; the same name in two catalogs is two tables.
func TestAwkwardNames(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(tables(
		measured(t, key("c", "n\xff", "t\xfe")), measured(t, key("c", "n\xfe", "t\xff")),
		measured(t, key("c", "n", "t")), measured(t, key("c", "n", "t")), measured(t, key("d", "n", "t"))))
	if _, err := registry.Gather(); err != nil {
		t.Fatal(err)
	}
	if n := testutil.CollectAndCount(tables(measured(t, key("c", "n", "t")), measured(t, key("d", "n", "t"))), "iceberg_table_data_files"); n != 2 {
		t.Errorf("%d series for two tables", n)
	}
}

// TestAbsent: what is not known has no series.
func TestAbsent(t *testing.T) {
	empty := measured(t, key("c", "n", "t"))
	m, err := metadata.Parse(strings.NewReader(`{"format-version": 2}`), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	empty.Measurement = &measure.Measurement{Snapshots: m, Info: layout.MeasureInfo(m), History: layout.MeasureHistory(m), Layout: &layout.Layout{}}
	absent := []string{
		"iceberg_table_data_file_average_bytes", "iceberg_table_data_file_min_bytes", "iceberg_table_data_file_max_bytes", "iceberg_table_small_data_file_ratio",
		"iceberg_table_current_snapshot_timestamp_seconds", "iceberg_table_snapshot_age_seconds", "iceberg_table_oldest_snapshot_timestamp_seconds",
		"iceberg_table_oldest_ref_snapshot_timestamp_seconds", "iceberg_table_last_compaction_timestamp_seconds", "iceberg_table_last_manifest_rewrite_timestamp_seconds",
		"iceberg_table_metadata_bytes", "iceberg_table_partition_data_files", "iceberg_table_snapshot_operations",
	}
	if n := testutil.CollectAndCount(tables(empty), absent...); n != 0 {
		t.Errorf("%d series of what an empty table does not have", n)
	}
	if n := testutil.CollectAndCount(tables(empty), "iceberg_table_delete_files", "iceberg_table_data_files", "iceberg_table_snapshots"); n != 5 {
		t.Errorf("%d series of what it has none of, want 5", n)
	}
	down := refresh.Table{Key: key("c", "n", "t"), Settings: settings(t)}
	down.Settings.OrphanScan.Enabled = false
	if err := testutil.CollectAndCompare(tables(down), strings.NewReader(`
# HELP iceberg_catalog_tables Tables of the catalog that the configuration matches.
# TYPE iceberg_catalog_tables gauge
iceberg_catalog_tables{catalog="c"} 1
# HELP iceberg_catalog_up Whether the catalog answered when it was last listed or asked for a table (1) or not (0).
# TYPE iceberg_catalog_up gauge
iceberg_catalog_up{catalog="c"} 1
# HELP iceberg_table_up Whether the last refresh of the table succeeded (1) or not (0). Always present for a configured table.
# TYPE iceberg_table_up gauge
iceberg_table_up{catalog="c",namespace="n",table="t"} 0
`)); err != nil {
		t.Error(err)
	}
}

func TestValues(t *testing.T) {
	c := tables(measured(t, key("c", "n", "t")))
	if err := testutil.CollectAndCompare(c, strings.NewReader(`
# HELP iceberg_table_data_file_size_bytes Distribution of the sizes of the live data files.
# TYPE iceberg_table_data_file_size_bytes histogram
iceberg_table_data_file_size_bytes_bucket{catalog="c",namespace="n",table="t",le="1.048576e+06"} 2
iceberg_table_data_file_size_bytes_bucket{catalog="c",namespace="n",table="t",le="4.194304e+06"} 2
iceberg_table_data_file_size_bytes_bucket{catalog="c",namespace="n",table="t",le="8.388608e+06"} 2
iceberg_table_data_file_size_bytes_bucket{catalog="c",namespace="n",table="t",le="1.6777216e+07"} 2
iceberg_table_data_file_size_bytes_bucket{catalog="c",namespace="n",table="t",le="3.3554432e+07"} 2
iceberg_table_data_file_size_bytes_bucket{catalog="c",namespace="n",table="t",le="6.7108864e+07"} 2
iceberg_table_data_file_size_bytes_bucket{catalog="c",namespace="n",table="t",le="1.34217728e+08"} 2
iceberg_table_data_file_size_bytes_bucket{catalog="c",namespace="n",table="t",le="2.68435456e+08"} 2
iceberg_table_data_file_size_bytes_bucket{catalog="c",namespace="n",table="t",le="5.36870912e+08"} 2
iceberg_table_data_file_size_bytes_bucket{catalog="c",namespace="n",table="t",le="1.073741824e+09"} 2
iceberg_table_data_file_size_bytes_bucket{catalog="c",namespace="n",table="t",le="+Inf"} 2
iceberg_table_data_file_size_bytes_sum{catalog="c",namespace="n",table="t"} 10
iceberg_table_data_file_size_bytes_count{catalog="c",namespace="n",table="t"} 2
# HELP iceberg_table_info What the table is: always 1.
# TYPE iceberg_table_info gauge
iceberg_table_info{catalog="c",format_version="2",location="s3://user:<secret>@b/t?<secret>",namespace="n",partitioned="false",table="t",uuid=""} 1
# HELP iceberg_table_recent_added_bytes Bytes that the recent commits added, by their summaries. Absent where a summary does not say.
# TYPE iceberg_table_recent_added_bytes gauge
iceberg_table_recent_added_bytes{catalog="c",namespace="n",table="t"} 20
# HELP iceberg_table_snapshot_age_seconds How long ago the current snapshot was committed. Absent without one.
# TYPE iceberg_table_snapshot_age_seconds gauge
iceberg_table_snapshot_age_seconds{catalog="c",namespace="n",table="t"} 1
# HELP iceberg_table_threshold The configured limit that alert rules compare with. A limit that is switched off has no series.
# TYPE iceberg_table_threshold gauge
iceberg_table_threshold{catalog="c",namespace="n",table="t",threshold="average_file_size_bytes"} 1.34217728e+08
iceberg_table_threshold{catalog="c",namespace="n",table="t",threshold="compaction_age_seconds"} 86400
iceberg_table_threshold{catalog="c",namespace="n",table="t",threshold="data_files"} 10000
iceberg_table_threshold{catalog="c",namespace="n",table="t",threshold="delete_file_ratio"} 0.3
iceberg_table_threshold{catalog="c",namespace="n",table="t",threshold="manifests"} 500
iceberg_table_threshold{catalog="c",namespace="n",table="t",threshold="metadata_bytes"} 5.24288e+07
iceberg_table_threshold{catalog="c",namespace="n",table="t",threshold="orphan_ratio"} 0.25
iceberg_table_threshold{catalog="c",namespace="n",table="t",threshold="small_file_ratio"} 0.5
`), "iceberg_table_data_file_size_bytes", "iceberg_table_info", "iceberg_table_recent_added_bytes", "iceberg_table_snapshot_age_seconds", "iceberg_table_threshold"); err != nil {
		t.Error(err)
	}
}

// TestStorage: figures of orphans are there only where they are known.
func TestStorage(t *testing.T) {
	orphans := []string{"iceberg_table_orphan_files", "iceberg_table_orphan_bytes", "iceberg_table_orphan_ratio"}
	status := []string{"iceberg_table_orphan_scan_success", "iceberg_table_orphan_scan_duration_seconds", "iceberg_table_orphan_scan_interval_seconds"}
	whole := measured(t, key("c", "n", "t"))
	if err := testutil.CollectAndCompare(tables(whole), strings.NewReader(`
# HELP iceberg_table_orphan_ratio Orphan bytes over all bytes under the table's location.
# TYPE iceberg_table_orphan_ratio gauge
iceberg_table_orphan_ratio{catalog="c",namespace="n",table="t"} 0.2
`), "iceberg_table_orphan_ratio"); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		change                  func(*refresh.Table)
		orphans, states, status int
	}{
		"whole":               {func(*refresh.Table) {}, 3, 6, 3},
		"table is down":       {func(t *refresh.Table) { t.Measurement, t.Up = nil, false }, 3, 6, 3},
		"last scan failed":    {func(t *refresh.Table) { t.Scan.Succeeded = false }, 3, 6, 3},
		"location is shared":  {func(t *refresh.Table) { t.Scan.SharedWith = &t.Key }, 0, 3, 3},
		"engine would refuse": {func(t *refresh.Table) { t.Scan.Result.Figures.Refusal = "no" }, 0, 3, 3},
		"nothing is there":    {func(t *refresh.Table) { t.Scan.Result.Figures.Usage = nil }, 2, 6, 3},
		"first scan failed":   {func(t *refresh.Table) { t.Scan.Result, t.Scan.Succeeded = nil, false }, 0, 0, 3},
		"no scan yet":         {func(t *refresh.Table) { t.Scan = refresh.Scan{} }, 0, 0, 1},
		"scanning is off":     {func(t *refresh.Table) { t.Settings.OrphanScan.Enabled = false }, 0, 0, 0},
	} {
		changed := measured(t, key("c", "n", "t"))
		c.change(&changed)
		for _, count := range []struct {
			want    int
			metrics []string
		}{{c.orphans, orphans}, {c.states, []string{"iceberg_table_storage_bytes"}}, {c.states, []string{"iceberg_table_storage_files"}}, {c.status, status}} {
			if n := testutil.CollectAndCount(tables(changed), count.metrics...); n != count.want {
				t.Errorf("%s: %d series of %v, want %d", name, n, count.metrics, count.want)
			}
		}
	}
}
