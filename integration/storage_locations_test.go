package integration

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Files of another table in a table's location look like orphans, so there are
// no figures of orphans, until there is one table only.
func TestStorageSharedLocations(t *testing.T) {
	t.Parallel()
	server := startS3(t)
	lake := server.catalog(scratch(t), "lake", "s3")
	shared := []string{"one", "two", "outer", "inner"}
	for table, location := range map[string]string{
		"one": "place", "two": "place", "outer": "outer", "inner": "outer/data/inner", "alone": "outer2",
	} {
		lake.write(t, "sales."+table, 1, arguments{"location": "s3://lake/shared/" + location})
		lake.do(t, "overwrite", "sales."+table, nil)
	}
	for _, place := range []string{"place", "outer", "outer/data/inner", "outer2"} {
		server.plant(t, "shared/"+place+"/data/lost.parquet", 100, longAgo, "orphan")
	}
	x := start(t, strings.Replace(server.scans(lake, 2*time.Second), "tables:", "discovery_interval: 1s, tables:", 1), s3Secret)
	x.scannedSince(time.Time{}, "lake", append(shared, "alone")...)
	m := x.scanned("lake", append(shared, "alone")...) // Once more: it is told once.
	for _, table := range shared {
		want := server.storage(t, lake, table)
		of := m.table("lake", "sales", table)
		for _, s := range []string{
			`iceberg_table_storage_files{state="recent"}`, `iceberg_table_storage_bytes{state="recent"}`,
			`iceberg_table_storage_files{state="orphan"}`, `iceberg_table_storage_bytes{state="orphan"}`,
			`iceberg_table_storage_files{state="hidden"}`, `iceberg_table_storage_bytes{state="hidden"}`,
			"iceberg_table_orphan_files", "iceberg_table_orphan_bytes", "iceberg_table_orphan_ratio",
		} {
			if value, ok := of[s]; ok {
				t.Errorf("%s shares its location and has %s %v", table, s, value)
			}
			delete(want, s)
		}
		m.equals(t, "lake", "sales", table, want)
		if told := x.told("lake", table, "shared with another table"); len(told) != 1 || !strings.Contains(told[0], "hint=") {
			t.Errorf("that %s shares its location is to be told once: %v", table, told)
		}
	}
	m.equals(t, "lake", "sales", "alone", server.storage(t, lake, "alone"))

	lake.do(t, "drop", "sales.two", nil)
	lake.do(t, "drop", "sales.outer", nil)
	m = x.until(func(m metrics) error {
		for _, table := range []string{"one", "inner"} {
			if _, ok := m.table("lake", "sales", table)["iceberg_table_orphan_files"]; !ok {
				return errors.New(table + " shares its location no longer and has no figures of orphans")
			}
		}
		return nil
	})
	for _, table := range []string{"one", "inner"} {
		m.equals(t, "lake", "sales", table, server.storage(t, lake, table))
	}
}

// A live file that is deleted behind the table's back is missing. Data that lies
// elsewhere is not.
func TestStorageMissingFiles(t *testing.T) {
	t.Parallel()
	server := startS3(t)
	lake := server.catalog(scratch(t), "lake", "s3")
	lake.write(t, "sales.damaged", 3, nil)
	lake.write(t, "sales.elsewhere", 2, arguments{"properties": map[string]string{"write.data.path": "s3://lake/elsewhere"}})
	live := lake.references(t, "sales.damaged")["live"]
	server.remove(t, live[0])
	if err := server.backend.CreateBucket("whole"); err != nil {
		t.Fatal(err)
	}
	lake.write(t, "sales.bucket", 1, arguments{"location": "s3://whole"})

	x := start(t, server.scans(lake, 2*time.Second), s3Secret)
	m := x.scannedSince(time.Time{}, "lake", "damaged", "elsewhere")
	damaged, elsewhere := server.storage(t, lake, "damaged"), server.storage(t, lake, "elsewhere")
	if damaged["iceberg_table_missing_files"] != 1 || elsewhere[`iceberg_table_storage_files{state="live"}`] != 0 {
		t.Errorf("the tables are not what they are to be: %v %v", damaged, elsewhere)
	}
	m.equals(t, "lake", "sales", "damaged", damaged)
	m.equals(t, "lake", "sales", "elsewhere", elsewhere)

	// What lies under the root of a bucket could be anybody's.
	m = x.until(func(m metrics) error {
		of := m.table("lake", "sales", "bucket")
		if success, ok := of["iceberg_table_orphan_scan_success"]; !ok || success != 0 || of["iceberg_table_up"] != 1 {
			return fmt.Errorf("a table that is a whole bucket has %v", of)
		}
		return nil
	})
	if files, ok := m.table("lake", "sales", "bucket")["iceberg_table_orphan_files"]; ok {
		t.Errorf("a table that is a whole bucket has %v orphans", files)
	}
	if told := x.told("lake", "bucket", "is a whole bucket"); len(told) == 0 || !strings.Contains(told[0], "s3://whole") {
		t.Errorf("the log does not help: %s", told)
	}

	server.remove(t, live...)
	m = x.scanned("lake", "damaged")
	m.equals(t, "lake", "sales", "damaged", server.storage(t, lake, "damaged"))
}
