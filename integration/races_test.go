package integration

import (
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A writer appends again and again while several clients scrape: all they get
// are figures of some snapshot, and each manifest is read once.
func TestAppendsWhileScraping(t *testing.T) {
	const appends, clients = 40, 4
	lake := sqliteCatalog(scratch(t), "lake")
	lake.write(t, "sales.orders", 1, nil)
	var first snapshot
	lake.ask(t, "current", "sales.orders", nil, &first)
	x := start(t, "catalogs: [{name: lake, type: sql, uri: '"+lake["uri"]+"', discovery_interval: 1s}]")

	var done atomic.Bool
	seen := make([][]metrics, clients)
	var scraping sync.WaitGroup
	for i := range clients {
		scraping.Go(func() {
			for !done.Load() {
				m, err := x.scrapeWithin(30 * time.Second)
				if err != nil {
					t.Error(err)
					return
				}
				seen[i] = append(seen[i], m)
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	var written []snapshot
	lake.ask(t, "append", "sales.orders", arguments{"times": appends, "rows": 3, "pause": 0.05}, &written)
	done.Store(true)
	scraping.Wait()

	by := map[float64]snapshot{}
	for _, s := range append(written, first) {
		by[s.Timestamp] = s
	}
	if len(by) != appends+1 {
		t.Fatalf("%d snapshots have %d times", appends+1, len(by))
	}
	distinct := map[float64]bool{}
	for _, scrapes := range seen {
		var latest float64
		for _, m := range scrapes {
			of := m.table("lake", "sales", "orders")
			at := of["iceberg_table_current_snapshot_timestamp_seconds"]
			want, known := by[at]
			switch {
			case of["iceberg_table_up"] != 1:
				t.Error("iceberg_table_up is not 1")
			case !known:
				t.Errorf("there is no snapshot of %v", at)
			case of["iceberg_table_data_files"] != want.DataFiles || of["iceberg_table_records"] != want.Records:
				t.Errorf("%v files and %v records are not those of the snapshot: %+v", of["iceberg_table_data_files"], of["iceberg_table_records"], want)
			case of[`iceberg_table_manifests{content="data"}`] != want.DataFiles:
				t.Errorf("%v manifests, each append writes one: %+v", of[`iceberg_table_manifests{content="data"}`], want)
			case at < latest:
				t.Errorf("the table went back from %v to %v", latest, at)
			}
			latest = at
			distinct[at] = true
		}
	}
	if len(distinct) < 5 {
		t.Errorf("the scrapes met %d snapshots only", len(distinct))
	}
	m := x.scrape()
	m.equals(t, "lake", "sales", "orders", lake.figures(t, "sales.orders"))
	if failures := m[`iceberg_exporter_refreshes_total{result="failure"}`]; failures != 0 {
		t.Errorf("%v refreshes failed", failures)
	}
	if read := m["iceberg_exporter_manifests_read_total"]; read != appends+1 {
		t.Errorf("%v manifests were read, %d written", read, appends+1)
	}
}

// What scrapes cost: nothing for an unchanged table, and for an append no more
// than it wrote.
func TestCostOfAppends(t *testing.T) {
	lake := sqliteCatalog(scratch(t), "lake")
	lake.write(t, "sales.orders", 20, nil)
	_, location := lake.metadata(t, "sales.orders")
	x := start(t, `
catalogs:
  - {name: sql, type: sql, uri: '`+lake["uri"]+`', properties: {sql.catalog_name: lake}}
  - {name: metadata, type: metadata, tables: [{name: sales.orders, location: '`+location+`'}]}
`)
	const read, manifests = "iceberg_exporter_storage_read_bytes_total", "iceberg_exporter_manifests_read_total"
	cold := x.scrape()
	if cold[manifests] != 40 {
		t.Errorf("%v manifests were read, 2 catalogs have 20 each", cold[manifests])
	}
	warm := x.scrape()
	for _, counter := range []string{read, manifests} {
		if warm[counter] != cold[counter] {
			t.Errorf("an unchanged table raised %s by %v", counter, warm[counter]-cold[counter])
		}
	}
	misses := warm["iceberg_exporter_manifest_cache_misses_total"]
	if misses != 40 {
		t.Errorf("the cache missed %v times, want 40", misses)
	}
	lake.do(t, "append", "sales.orders", nil)
	after := x.scrape()
	want := lake.figures(t, "sales.orders")
	for _, name := range []string{"sql", "metadata"} {
		after.equals(t, name, "sales", "orders", want)
	}
	if n := after[manifests] - warm[manifests]; n != 2 {
		t.Errorf("an append cost %v manifests, 2 catalogs read 1 each", n)
	}
	list := listSize(t, lake)
	manifest := want[`iceberg_table_manifest_bytes{content="data"}`] - figure(warm, "sql", `iceberg_table_manifest_bytes{content="data"}`)
	if n := after[read] - warm[read]; n != 2*(want["iceberg_table_metadata_bytes"]+list+manifest) {
		t.Errorf("an append cost %v bytes, 2 catalogs read the metadata of %v, a list of %v and a manifest of %v",
			n, want["iceberg_table_metadata_bytes"], list, manifest)
	}
}

// figure is one of sales.orders.
func figure(m metrics, catalog, name string) float64 {
	return m.table(catalog, "sales", "orders")[name]
}

// listSize is the size of the current manifest list of sales.orders.
func listSize(t *testing.T, lake pyCatalog) float64 {
	t.Helper()
	var current snapshot
	lake.ask(t, "current", "sales.orders", nil, &current)
	info, err := os.Stat(strings.TrimPrefix(current.ManifestList, "file://"))
	if err != nil {
		t.Fatal(err)
	}
	return float64(info.Size())
}
