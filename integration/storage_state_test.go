package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The results of scans outlive a restart.
func TestStorageStateFile(t *testing.T) {
	t.Parallel()
	server := startS3(t)
	lake := server.catalog(scratch(t), "lake", "s3")
	lake.write(t, "sales.orders", 2, nil)
	server.plant(t, "lake/sales/orders/data/lost.parquet", 100, longAgo, "orphan")
	file := filepath.Join(scratch(t), "scans.json")
	run := func(t *testing.T, interval time.Duration, file string) *exporter {
		t.Helper()
		server.take()
		settings := "enabled: true, state_file: '" + file + "', "
		return start(t, strings.Replace(server.scans(lake, interval), "enabled: true, ", settings, 1), s3Secret, s3Key)
	}
	read := func(t *testing.T) string {
		t.Helper()
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{string(s3Secret), s3Key} {
			if strings.Contains(string(content), text) {
				t.Errorf("the state file tells the secret %s", text)
			}
		}
		return string(content)
	}
	const last = "iceberg_table_last_orphan_scan_timestamp_seconds"
	var before metrics

	t.Run("first", func(t *testing.T) {
		x := run(t, 2*time.Second, file)
		before = x.scannedSince(time.Time{}, "lake", "orders")
		before.equals(t, "lake", "sales", "orders", server.storage(t, lake, "orders"))
	})
	content := read(t)
	want := server.storage(t, lake, "orders")
	server.plant(t, "lake/sales/orders/data/later.parquet", 1000, longAgo, "orphan")

	t.Run("again", func(t *testing.T) {
		x := run(t, time.Hour, file)
		m := x.scrape()
		m.equals(t, "lake", "sales", "orders", want)
		then, now := before.table("lake", "sales", "orders")[last], m.table("lake", "sales", "orders")[last]
		if now < then || now > float64(time.Now().UnixMilli())/1000 {
			t.Errorf("the last scan was at %v before the restart, and at %v after it", then, now)
		}
		for _, r := range server.take() {
			if isListing(r) {
				t.Errorf("there was a scan: %s", r.URL)
			}
		}
		if read(t) != content {
			t.Error("the state file was written over without a scan")
		}
	})
	t.Run("damaged", func(t *testing.T) {
		if err := os.WriteFile(file, []byte(content[:len(content)/2]), 0o644); err != nil {
			t.Fatal(err)
		}
		x := run(t, 2*time.Second, file)
		x.scannedSince(time.Time{}, "lake", "orders").equals(t, "lake", "sales", "orders", server.storage(t, lake, "orders"))
		if n := strings.Count(x.log.String(), "ignoring the state file"); n != 1 {
			t.Errorf("that the state file is damaged is told %d times", n)
		}
		if !json.Valid([]byte(read(t))) {
			t.Error("the state file is still damaged")
		}
		left, err := os.ReadDir(filepath.Dir(file))
		if err != nil || len(left) != 1 {
			t.Errorf("there are files left beside the state file: %v, %v", left, err)
		}
	})
	t.Run("not to be written", func(t *testing.T) {
		x := run(t, 2*time.Second, filepath.Join(filepath.Dir(file), "none", "scans.json"))
		x.scannedSince(time.Time{}, "lake", "orders").equals(t, "lake", "sales", "orders", server.storage(t, lake, "orders"))
		if !strings.Contains(x.log.String(), "writing the state file of orphan scans") {
			t.Error("the log does not tell that the state file cannot be written")
		}
	})
}
