package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// scans is a configuration of a catalog whose tables are scanned, all or these in
// the namespace sales. A table is first scanned within a twenty-fourth of the
// interval.
func (s *s3Server) scans(lake pyCatalog, interval time.Duration, tables ...string) string {
	entries := []string{"{name: '**'}"}
	for i, table := range tables {
		entries = append(entries[:i], "{name: sales."+table+"}")
	}
	return fmt.Sprintf(`
orphan_scan: {enabled: true, interval: %s}
catalogs:
  - {name: %s, type: sql, uri: '%s', tables: [%s], properties: %s}
`, interval, lake["name"], lake["uri"], strings.Join(entries, ", "), s.yaml(s3Secret))
}

// scanned waits for good scans of tables in the namespace sales that begin from
// now on, and returns the metrics then.
func (x *exporter) scanned(catalog string, tables ...string) metrics {
	x.t.Helper()
	return x.scannedSince(time.Now(), catalog, tables...)
}

func (x *exporter) scannedSince(since time.Time, catalog string, tables ...string) metrics {
	x.t.Helper()
	return x.until(func(m metrics) error {
		for _, table := range tables {
			of := m.table(catalog, "sales", table)
			last := of["iceberg_table_last_orphan_scan_timestamp_seconds"]
			if last < float64(since.UnixMilli())/1000 || of["iceberg_table_orphan_scan_success"] != 1 {
				return fmt.Errorf("%s.sales.%s was last scanned at %f", catalog, table, last)
			}
		}
		return nil
	})
}

// until waits for metrics that something is true of.
func (x *exporter) until(check func(metrics) error) metrics {
	x.t.Helper()
	var m metrics
	eventually(x.t, 40*time.Second, func() error {
		m = x.scrape()
		return check(m)
	})
	return m
}

// told returns the lines of the log that tell something of a table in the
// namespace sales.
func (x *exporter) told(catalog, table, what string) []string {
	var found []string
	for line := range strings.Lines(x.log.String()) {
		if strings.Contains(line, "catalog="+catalog+" table=sales."+table+" ") && strings.Contains(line, what) {
			found = append(found, line)
		}
	}
	return found
}

// Everything under the locations of tables is told apart, however they spell
// their locations.
func TestStorage(t *testing.T) {
	t.Parallel()
	server := startS3(t)
	directory := scratch(t)
	lake, old := server.catalog(directory, "lake", "s3"), server.catalog(directory, "old", "s3a")
	server.at(longAgo, func() {
		// An old metadata.json drops out of the log, and stays.
		properties := map[string]string{"write.metadata.previous-versions-max": "2"}
		lake.write(t, "sales.orders", 2, arguments{"partitioned": true, "properties": properties})
		lake.do(t, "overwrite", "sales.orders", nil)
		// What expiry leaves behind is unreferenced from then on.
		lake.write(t, "sales.expired", 2, nil)
		lake.do(t, "overwrite", "sales.expired", nil)
		lake.do(t, "expire", "sales.expired", nil)
	})
	lake.do(t, "append", "sales.orders", nil)
	for _, table := range []struct {
		pyCatalog
		name    string
		options arguments
	}{
		{lake, "expirable", arguments{"properties": map[string]string{"history.expire.max-snapshot-age-ms": "1"}}},
		{lake, "kept", arguments{"properties": map[string]string{"gc.enabled": "false"}}},
		{lake, "empty", nil},
		{lake, "unscanned", nil},
		{old, "orders", nil},
		{old, "spelled", nil},
		{lake, "spelled", nil},
	} {
		table.do(t, "create", "sales."+table.name, table.options)
		if table.name != "empty" {
			table.do(t, "append", "sales."+table.name, arguments{"times": 2})
			table.do(t, "overwrite", "sales."+table.name, nil)
		}
	}
	for _, planted := range []struct {
		key   string
		size  int64
		age   time.Duration
		state string
	}{
		{"data/category=a/00000-0-lost.parquet", 1000, longAgo, "orphan"},
		{"data/two words+100%.parquet", 201, longAgo, "orphan"},
		{"data//double.parquet", 302, 3*day + time.Hour, "orphan"},
		{"metadata/lost-m0.avro", 403, longAgo, "orphan"},
		{"at-the-top", 504, longAgo, "orphan"},
		{"nothing.parquet", 0, longAgo, "orphan"},
		{"data/category=a/00000-0-young.parquet", 2000, 0, "recent"},
		{"metadata/young-m0.avro", 2001, 3*day - time.Hour, "recent"},
		{"data/_SUCCESS", 1, longAgo, "hidden"},
		{"_tmp/data/00000-0-a.parquet", 2, longAgo, "hidden"},
		{"data/.staging/young.parquet", 3, 0, "hidden"},
		{"metadata/version-hint.text", 4, longAgo, "metadata"},
		{"data/", 0, longAgo, ""},
	} {
		for _, table := range []string{"lake/sales/orders", "lake/sales/kept", "old/sales/orders", "old/sales/spelled", "lake/sales/spelled"} {
			server.plant(t, table+"/"+planted.key, planted.size, planted.age, planted.state)
		}
	}
	// Beside a table is not below it.
	server.plant(t, "lake/sales/orders.lost", 7, longAgo, "")
	server.plant(t, "lake/sales/orders_backup/data/lost.parquet", 7, longAgo, "")

	_, location := lake.metadata(t, "sales.spelled")
	_, hadoopLocation := old.metadata(t, "sales.spelled")
	properties := "\n    properties: " + server.yaml(s3Secret)
	began := time.Now()
	x := start(t, `
orphan_scan: {enabled: true, interval: 2s}
catalogs:
  - name: lake
    type: sql
    uri: '`+lake["uri"]+`'
    exclude: [sales.spelled]
    tables: [{name: sales.unscanned, orphan_scan: {enabled: false}}, {name: "**"}]`+properties+`
  - name: old
    type: sql
    uri: '`+old["uri"]+`'
    exclude: [sales.spelled]`+properties+`
  - name: slash
    type: metadata`+properties+`
    tables: [{name: sales.spelled, location: '`+strings.Replace(location, "s3:", "s3a:", 1)+`/'}]
  - name: plain
    type: metadata`+properties+`
    tables: [{name: sales.spelled, location: '`+strings.Replace(hadoopLocation, "s3a:", "s3:", 1)+`'}]
`, s3Secret)
	x.scannedSince(began, "old", "orders")
	x.scannedSince(began, "slash", "spelled")
	x.scannedSince(began, "plain", "spelled")
	m := x.scannedSince(began, "lake", "orders", "expired", "expirable", "kept", "empty")

	for _, table := range []string{"orders", "expired", "kept", "empty"} {
		m.equals(t, "lake", "sales", table, server.storage(t, lake, table))
	}
	expirable := server.storage(t, lake, "expirable")
	expirable["iceberg_table_expirable_bytes"] = expirable[`iceberg_table_storage_bytes{state="historical"}`]
	m.equals(t, "lake", "sales", "expirable", expirable)
	m.equals(t, "old", "sales", "orders", server.storage(t, old, "orders"))
	m.equals(t, "slash", "sales", "spelled", server.storage(t, lake, "spelled"))
	m.equals(t, "plain", "sales", "spelled", server.storage(t, old, "spelled"))

	of := m.table("lake", "sales", "expired")
	if of[`iceberg_table_storage_files{state="orphan"}`] == 0 || of[`iceberg_table_storage_files{state="historical"}`] != 0 {
		t.Errorf("what expiry left behind is no orphan: %v", of)
	}
	if m.table("lake", "sales", "orders")[`iceberg_table_storage_files{state="orphan"}`] < 8 {
		t.Error("the metadata files that the log has dropped are no orphans")
	}
	if bytes, ok := m.table("lake", "sales", "kept")["iceberg_table_expirable_bytes"]; ok {
		t.Errorf("expire_snapshots refuses where gc.enabled is false, and would release %v bytes", bytes)
	}
	if period := m.table("lake", "sales", "orders")["iceberg_table_orphan_scan_interval_seconds"]; period != 2 {
		t.Errorf("the interval is %v", period)
	}
	for s := range m.table("lake", "sales", "unscanned") {
		if strings.HasPrefix(s, "iceberg_table_orphan_") || strings.HasPrefix(s, "iceberg_table_storage_") {
			t.Errorf("a table that is not scanned has %s", s)
		}
	}
	x.get("/config", 200)
	x.get("/targets", 200)
}
