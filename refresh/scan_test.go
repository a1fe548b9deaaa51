package refresh_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iceberg-exporter/iceberg_exporter/config"
	"github.com/iceberg-exporter/iceberg_exporter/fileio"
	"github.com/iceberg-exporter/iceberg_exporter/manifest"
	"github.com/iceberg-exporter/iceberg_exporter/measure"
	"github.com/iceberg-exporter/iceberg_exporter/refresh"
	"github.com/iceberg-exporter/iceberg_exporter/storage"
)

// startScans runs the scans of a configuration in a bubble of fake time.
func startScans(t *testing.T, configuration string) *fixture {
	t.Helper()
	f := &fixture{t: t, counter: &fileio.Counter{}, log: &lines{}, measurer: measure.NewMeasurer(manifest.NewCache(1 << 20))}
	f.Fleet = refresh.NewFleet(refresh.Options{
		Measurer: f.measurer, Counter: f.counter, Now: time.Now, Logger: f.logger(),
	})
	f.configure(configuration)
	f.StartScans()
	return f
}

func (f *fixture) stop() {
	if err := f.Close(context.Background()); err != nil {
		f.t.Error(err)
	}
}

// pass lets time go by, and everything that is then due be done.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// plant puts a file there that nothing refers to, from long before the bubble's time.
func plant(t *testing.T, file string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("12345"), 0o644); err != nil {
		t.Fatal(err)
	}
	before := time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(file, before, before); err != nil {
		t.Fatal(err)
	}
}

func orphans(s refresh.Scan) int64 {
	if s.Result == nil {
		return -1
	}
	return s.Result.Figures.Usage[storage.Orphan].Files
}

func scanning(root, more string) string {
	return fmt.Sprintf("{orphan_scan: {enabled: true%s}, catalogs: [{name: c, type: hadoop, warehouse: %s, allow_moved_paths: true}]}", more, root)
}

func TestScansOnSchedule(t *testing.T) {
	root := warehouse(t, "sales.orders", "sales.prices", "lab.empty")
	synctest.Test(t, func(t *testing.T) {
		f := startScans(t, scanning(root, ""))
		defer f.stop()
		pass(10 * time.Minute)
		first := map[string]time.Time{}
		for _, s := range f.Snapshot().Tables {
			if !s.Scan.Done || !s.Scan.Succeeded || orphans(s.Scan) != 0 {
				t.Errorf("%s after ten minutes: %+v", s.Key, s.Scan)
				continue
			}
			first[s.Key.String()] = s.Scan.Result.Time
		}
		plant(t, filepath.Join(root, "sales", "orders", "x"))
		pass(23 * time.Hour)
		if got := f.table("c.sales.orders").Scan; !got.Result.Time.Equal(first["c.sales.orders"]) {
			t.Errorf("scanned before it was due: %+v", got)
		}
		pass(time.Hour)
		for name, before := range first {
			if gone := f.table(name).Scan.Result.Time.Sub(before); gone < 24*time.Hour || gone > 24*time.Hour+2*time.Second {
				t.Errorf("%s was scanned again after %v", name, gone)
			}
		}
		if n := orphans(f.table("c.sales.orders").Scan); n != 1 {
			t.Errorf("%d orphans", n)
		}
	})
}

// TestScansOnlyWhatAsks: scanning is off by default.
func TestScansOnlyWhatAsks(t *testing.T) {
	root := warehouse(t, "sales.orders", "sales.prices")
	synctest.Test(t, func(t *testing.T) {
		f := startScans(t, hadoop(root, ", tables: [{name: sales.orders, orphan_scan: {enabled: true, interval: 1h}}, {name: '**'}]"))
		defer f.stop()
		pass(time.Hour)
		if !f.table("c.sales.orders").Scan.Done || f.table("c.sales.prices").Scan.Done {
			t.Error("not the table that asks was scanned")
		}
	})
}

// TestScanFailsAndComesBack: a scan that fails keeps the last figures, is told of
// once, and is tried again before the next is due.
func TestScanFailsAndComesBack(t *testing.T) {
	root := warehouse(t, "sales.orders")
	synctest.Test(t, func(t *testing.T) {
		f := startScans(t, scanning(root, ""))
		defer f.stop()
		plant(t, filepath.Join(root, "sales", "orders", "x"))
		pass(10 * time.Minute)
		// What leads back to where it is cannot be listed.
		circle := filepath.Join(root, "sales", "orders", "circle")
		if err := os.Symlink(".", circle); err != nil {
			t.Fatal(err)
		}
		pass(30 * time.Hour)
		f.refresh(time.Minute)
		s := f.table("c.sales.orders")
		if s.Scan.Succeeded || orphans(s.Scan) != 1 || !s.Up {
			t.Errorf("while scans fail: %+v", s)
		}
		if n := f.log.count("scanning the table's storage failed"); n != 1 {
			t.Errorf("told %d times:\n%s", n, f.log.b.String())
		}
		if err := os.Remove(circle); err != nil {
			t.Fatal(err)
		}
		plant(t, filepath.Join(root, "sales", "orders", "y"))
		pass(2 * time.Hour)
		if s = f.table("c.sales.orders"); !s.Scan.Succeeded || orphans(s.Scan) != 2 || f.log.count("works again") != 1 {
			t.Errorf("after that: %+v", s.Scan)
		}
	})
}

func TestSharedLocations(t *testing.T) {
	root := warehouse(t, "sales.orders", "sales.prices", "lab.empty")
	// A table in the directory of another.
	if err := os.Rename(filepath.Join(root, "lab", "empty"), filepath.Join(root, "sales", "orders", "inner")); err != nil {
		t.Fatal(err)
	}
	other := warehouse(t, "sales.orders")
	synctest.Test(t, func(t *testing.T) {
		f := startScans(t, fmt.Sprintf(`
orphan_scan: {enabled: true}
catalogs:
  - {name: c, type: hadoop, warehouse: %s, allow_moved_paths: true}
  - {name: d, type: metadata, allow_moved_paths: true, tables: [{name: x.inner, location: %s}, {name: x.other, location: %s}, {name: x.same, location: %s}]}
`, root, root+"/sales/orders/inner", other+"/sales/orders", "file://"+other+"/sales/orders/"))
		defer f.stop()
		pass(10 * time.Minute)
		for name, want := range map[string]string{
			"c.sales.orders": "d.x.inner", "d.x.inner": "c.sales.orders", "c.sales.prices": "", "d.x.other": "d.x.same", "d.x.same": "d.x.other",
		} {
			got := ""
			s := f.table(name).Scan
			if s.SharedWith != nil {
				got = s.SharedWith.String()
			}
			if got != want || !s.Succeeded {
				t.Errorf("%s shares its location with %q, want %q: %+v", name, got, want, s)
			}
			if alone, _ := f.RefreshTable(t.Context(), name); (alone.Scan.SharedWith == nil) != (want == "") {
				t.Errorf("%s alone: %+v", name, alone.Scan)
			}
		}
		if n := f.log.count("location is shared"); n != 4 {
			t.Errorf("told %d times", n)
		}
	})
}

func TestStateFile(t *testing.T) {
	root := warehouse(t, "sales.orders")
	file := filepath.Join(t.TempDir(), "scans.json")
	plant(t, filepath.Join(root, "sales", "orders", "x"))
	synctest.Test(t, func(t *testing.T) {
		f := startScans(t, scanning(root, ", state_file: "+file))
		pass(10 * time.Minute)
		before := f.table("c.sales.orders").Scan
		f.stop()
		if n := orphans(before); n != 1 {
			t.Fatalf("%d orphans", n)
		}

		f = startScans(t, scanning(root, ", state_file: "+file))
		f.refresh(time.Minute)
		if got := f.table("c.sales.orders").Scan; !got.Succeeded || orphans(got) != 1 || got.Duration != before.Duration {
			t.Errorf("after a restart: %+v", got)
		}
		pass(time.Hour)
		if got := f.table("c.sales.orders").Scan; !got.Result.Time.Equal(before.Result.Time) {
			t.Error("scanned again because of a restart")
		}
		pass(24 * time.Hour)
		if got := f.table("c.sales.orders").Scan; !got.Result.Time.After(before.Result.Time) {
			t.Error("not scanned again")
		}
		f.stop()

		for _, damaged := range []string{"{", "null", `{"version": 2}`, `{"version": 1, "results": {"c.sales.orders": {}}}`, "", "\x00"} {
			if err := os.WriteFile(file, []byte(damaged), 0o600); err != nil {
				t.Fatal(err)
			}
			f = startScans(t, scanning(root, ", state_file: "+file))
			pass(10 * time.Minute)
			if got := f.table("c.sales.orders").Scan; orphans(got) != 1 {
				t.Errorf("after %q: %+v", damaged, got)
			}
			if n := f.log.count("ignoring the state file"); n != 1 && !strings.Contains(damaged, `"version": 1`) {
				t.Errorf("%q: told %d times", damaged, n)
			}
			f.stop()
		}
		left, err := os.ReadDir(filepath.Dir(file))
		if err != nil || len(left) != 1 {
			t.Errorf("%v, %v beside the state file", left, err)
		}
	})
}

// TestUnreadableNeighbour: a table that cannot be measured still has its location.
func TestUnreadableNeighbour(t *testing.T) {
	root := warehouse(t, "sales.orders", "lab.empty", "sales.prices")
	inner := filepath.Join(root, "sales", "orders", "inner")
	if err := os.Rename(filepath.Join(root, "sales", "prices"), inner); err != nil {
		t.Fatal(err)
	}
	lists, err := filepath.Glob(filepath.Join(inner, "metadata", "snap-*.avro"))
	if err != nil || len(lists) == 0 {
		t.Fatal(lists, err)
	}
	for _, list := range lists {
		if err := os.Remove(list); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		f := startScans(t, fmt.Sprintf(`
orphan_scan: {enabled: true}
catalogs:
  - {name: c, type: hadoop, warehouse: %s, allow_moved_paths: true}
  - {name: d, type: metadata, allow_moved_paths: true, tables: [{name: x.inner, location: %s, orphan_scan: {enabled: false}}]}
`, root, inner))
		defer f.stop()
		pass(10 * time.Minute)
		if s := f.table("c.sales.orders").Scan; s.SharedWith == nil || !s.Succeeded {
			t.Errorf("%+v", s)
		}
		if s := f.table("c.lab.empty").Scan; s.SharedWith != nil {
			t.Errorf("%+v", s)
		}
	})
}

// TestStateOfTomorrow: what a wrong clock wrote stops no scans.
func TestStateOfTomorrow(t *testing.T) {
	root := warehouse(t, "sales.orders")
	file := filepath.Join(t.TempDir(), "scans.json")
	synctest.Test(t, func(t *testing.T) {
		f := startScans(t, scanning(root, ", state_file: "+file))
		pass(10 * time.Minute)
		f.stop()
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		ahead := strings.ReplaceAll(string(content), "2000-01-01T", "2020-01-01T")
		if err := os.WriteFile(file, []byte(ahead), 0o600); err != nil || ahead == string(content) {
			t.Fatal(err, ahead)
		}
		f = startScans(t, scanning(root, ", state_file: "+file))
		defer f.stop()
		pass(10 * time.Minute)
		if s := f.table("c.sales.orders").Scan; !s.Done || s.Result.Time.Year() != 2000 {
			t.Errorf("%+v", s)
		}
	})
}

// TestReloadKeepsScans: a changed configuration scans no table anew.
func TestReloadKeepsScans(t *testing.T) {
	root := warehouse(t, "sales.orders")
	synctest.Test(t, func(t *testing.T) {
		f := startScans(t, scanning(root, ""))
		defer f.stop()
		pass(10 * time.Minute)
		before := f.table("c.sales.orders").Scan.Result
		c, err := config.Parse("test", []byte(scanning(root, ", older_than: 4d")))
		if err != nil {
			t.Fatal(err)
		}
		f.Apply(c)
		f.refresh(time.Minute)
		pass(10 * time.Minute)
		if got := f.table("c.sales.orders").Scan.Result; got != before {
			t.Errorf("%+v, want %+v", got, before)
		}
	})
}
