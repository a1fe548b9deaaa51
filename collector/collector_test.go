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
)

var now = time.Unix(2_000_000, 0)

func settings(t *testing.T) config.Settings {
	t.Helper()
	c, err := config.Parse("test", []byte(`{thresholds: {snapshots: null}}`))
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
	size := int64(77)
	return refresh.Table{
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
