package refresh_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-kit/log"
	"go.uber.org/goleak"

	"github.com/iceberg-exporter/iceberg_exporter/config"
	"github.com/iceberg-exporter/iceberg_exporter/fileio"
	"github.com/iceberg-exporter/iceberg_exporter/manifest"
	"github.com/iceberg-exporter/iceberg_exporter/measure"
	"github.com/iceberg-exporter/iceberg_exporter/refresh"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// Started by an SDK when it is linked in, and not ours to stop.
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

// clock is a clock that the test sets.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// fixture is a fleet over copies of the sample tables.
type fixture struct {
	*refresh.Fleet
	t        *testing.T
	clock    *clock
	measurer *measure.Measurer
	counter  *fileio.Counter
	log      *lines
}

type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), text)
}

func newFixture(t *testing.T, configuration string) *fixture {
	t.Helper()
	f := &fixture{
		t: t, clock: &clock{at: time.Unix(1_800_000_000, 0)}, counter: &fileio.Counter{}, log: &lines{},
		measurer: measure.NewMeasurer(manifest.NewCache(1 << 20)),
	}
	f.Fleet = refresh.NewFleet(refresh.Options{Measurer: f.measurer, Counter: f.counter, Logger: f.logger(), Now: f.clock.now})
	f.configure(configuration)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := f.Close(ctx); err != nil {
			t.Errorf("closing the fleet: %v", err)
		}
	})
	return f
}

// logger logs as the program does: every line asks for the secrets to keep out of
// it, so whoever logs must hold no lock that this needs.
func (f *fixture) logger() log.Logger {
	lines := log.NewLogfmtLogger(f.log)
	return log.LoggerFunc(func(keyvals ...any) error {
		if f.Fleet != nil {
			f.Secrets()
		}
		return lines.Log(keyvals...)
	})
}

func (f *fixture) configure(configuration string) {
	f.t.Helper()
	c, err := config.Parse("test", []byte(configuration))
	if err != nil {
		f.t.Fatal(err)
	}
	f.Apply(c)
}

// refresh asks for everything, and gives up after a time.
func (f *fixture) refresh(limit time.Duration) time.Duration {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	began := time.Now()
	f.Refresh(ctx)
	return time.Since(began)
}

// table returns a table's state.
func (f *fixture) table(name string) refresh.Table {
	f.t.Helper()
	for _, t := range f.Snapshot().Tables {
		if t.Key.String() == name {
			return t
		}
	}
	f.t.Fatalf("there is no table %s", name)
	return refresh.Table{}
}

func (f *fixture) names() string {
	var names []string
	for _, t := range f.Snapshot().Tables {
		names = append(names, t.Key.String())
	}
	return strings.Join(names, " ")
}

// warehouse copies sample tables to a directory of the test.
func warehouse(t *testing.T, tables ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, table := range tables {
		from := filepath.Join("..", "testdata", "warehouse", strings.ReplaceAll(table, ".", "/"), "metadata")
		to := filepath.Join(root, strings.ReplaceAll(table, ".", "/"), "metadata")
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func hadoop(root, more string) string {
	return fmt.Sprintf("{scrape: {table_timeout: 30s}, catalogs: [{name: c, type: hadoop, warehouse: %s, allow_moved_paths: true%s}]}", root, more)
}

const long = 30 * time.Second

func TestUnchangedTablesCostNothing(t *testing.T) {
	f := newFixture(t, hadoop(warehouse(t, "sales.orders", "lab.empty"), ""))
	f.refresh(long)
	first, manifests := f.table("c.sales.orders"), f.measurer.ManifestsRead()
	if !first.Up || first.Measurement.Layout.DataFiles == 0 || manifests == 0 {
		t.Fatalf("%+v, %d manifests read", first, manifests)
	}
	f.clock.forward(time.Minute)
	f.refresh(long)
	second := f.table("c.sales.orders")
	if second.Measurement != first.Measurement || f.measurer.ManifestsRead() != manifests {
		t.Error("an unchanged table was measured again")
	}
	if !second.LastSuccess.After(first.LastSuccess) {
		t.Error("the figures are as old as the first refresh")
	}
}

// TestManyScrapers: however many ask, a table is measured once.
func TestManyScrapers(t *testing.T) {
	f := newFixture(t, hadoop(warehouse(t, "streaming.clicks"), ""))
	var scrapers sync.WaitGroup
	for range 20 {
		scrapers.Go(func() { f.refresh(long) })
	}
	scrapers.Wait()
	if n, want := f.measurer.ManifestsRead(), uint64(f.table("c.streaming.clicks").Measurement.Layout.DataManifests.Count); n != want {
		t.Errorf("%d manifests were read of %d", n, want)
	}
}

// TestStaleness: while refreshes fail, the last good figures stand in for a
// time, and come back with the table.
func TestStaleness(t *testing.T) {
	root := warehouse(t, "sales.orders", "sales.prices")
	f := newFixture(t, hadoop(root, ", tables: [{name: sales.orders}, {name: sales.prices}]"))
	f.refresh(long)
	metadata := filepath.Join(root, "sales", "orders", "metadata")
	if err := os.Rename(metadata, metadata+".away"); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		after time.Duration
		stand bool
	}{{time.Minute, true}, {13 * time.Minute, true}, {2 * time.Minute, false}} {
		f.clock.forward(step.after)
		f.refresh(long)
		if s := f.table("c.sales.orders"); s.Up || (s.Measurement != nil) != step.stand {
			t.Errorf("after %s: up %v, figures %v", step.after, s.Up, s.Measurement != nil)
		}
		if s := f.table("c.sales.prices"); !s.Up || s.Measurement == nil {
			t.Error("the other table suffers too")
		}
	}
	if n := f.log.count("level=error"); n != 1 {
		t.Errorf("the failure was told %d times: %s", n, f.log.b.String())
	}
	if err := os.Rename(metadata+".away", metadata); err != nil {
		t.Fatal(err)
	}
	f.refresh(long)
	if s := f.table("c.sales.orders"); !s.Up || s.Measurement == nil {
		t.Error("the table does not come back")
	}
	if f.log.count("works again") != 1 {
		t.Error("that it works again was not told")
	}
}

// TestOldFiguresAreNotBelieved: figures that nobody refreshed for too long do
// not come back as new ones.
func TestOldFiguresAreNotBelieved(t *testing.T) {
	f := newFixture(t, hadoop(warehouse(t, "sales.orders"), ""))
	f.refresh(long)
	f.clock.forward(time.Hour)
	if s := f.table("c.sales.orders"); s.Up || s.Measurement != nil {
		t.Error("figures of an hour ago are published")
	}
	manifests := f.measurer.ManifestsRead()
	f.refresh(long)
	if s := f.table("c.sales.orders"); !s.Up || s.Measurement == nil || f.measurer.ManifestsRead() != manifests {
		t.Error("the table was not refreshed for nothing")
	}
}

func TestOneBadTableHarmsNoOther(t *testing.T) {
	root := warehouse(t, "sales.orders", "sales.prices", "lab.codecs", "sales.returns")
	damage := func(pattern string, do func(file string) error) {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			if err := do(file); err != nil {
				t.Fatal(err)
			}
		}
	}
	damage("sales/orders/metadata/*-m*.avro", os.Remove)
	damage("sales/prices/metadata/snap-*.avro", func(file string) error { return os.Truncate(file, 300) })
	damage("lab/codecs/metadata/v*.metadata.json", func(file string) error { return os.WriteFile(file, []byte(`{"format-version": 9}`), 0o600) })
	f := newFixture(t, hadoop(root, ", tables: [{name: '**'}, {name: no.such}]"))
	f.refresh(long)
	for name, want := range map[string]struct {
		up  bool
		err string
	}{
		"c.sales.orders":  {false, "no such file"},
		"c.sales.prices":  {false, "cut short"},
		"c.lab.codecs":    {false, "format version 9"},
		"c.no.such":       {false, "no such table"},
		"c.sales.returns": {true, ""},
	} {
		if got := f.table(name); got.Up != want.up {
			t.Errorf("%s: up %v", name, got.Up)
		}
		if want.err != "" && (f.log.count(want.err) == 0 || f.log.count("table="+strings.TrimPrefix(name, "c.")) != 1) {
			t.Errorf("%s: the log does not tell once of %q: %s", name, want.err, f.log.b.String())
		}
	}
	if s := f.Stats(); s.Succeeded != 1 || s.Failed != 4 || s.InFlight != 0 {
		t.Errorf("%+v", s)
	}
}

// hanging is a REST catalog that answers for its configuration alone.
func hanging(t *testing.T) (address string) {
	t.Helper()
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/config") {
			fmt.Fprint(w, `{"defaults": {}, "overrides": {}}`)
			return
		}
		select {
		case <-over:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(over); server.Close() })
	return server.URL
}

// TestHangingCatalog: a catalog that hangs costs its own tables alone, and the
// answer is on time.
func TestHangingCatalog(t *testing.T) {
	var stuck []string
	for i := range 50 {
		stuck = append(stuck, fmt.Sprintf("{name: n.t%d}", i))
	}
	f := newFixture(t, fmt.Sprintf(`{scrape: {table_timeout: 1500ms, concurrency: 2}, catalogs: [
		{name: stuck, type: rest, uri: '%s', tables: [%s]},
		{name: globbed, type: rest, uri: '%s'},
		{name: c, type: hadoop, warehouse: %s, allow_moved_paths: true}]}`,
		hanging(t), strings.Join(stuck, ","), hanging(t), warehouse(t, "sales.orders", "sales.prices")))
	if took := f.refresh(time.Second); took > 5*time.Second {
		t.Errorf("the answer took %s", took)
	}
	if !f.table("c.sales.orders").Up || !f.table("c.sales.prices").Up {
		t.Error("the tables of the other catalog are not there")
	}
	for _, c := range f.Snapshot().Catalogs {
		if c.Up != (c.Name == "c") {
			t.Errorf("catalog %s: up %v", c.Name, c.Up)
		}
	}
	deadline := time.Now().Add(long)
	for f.log.count("table_timeout") == 0 && time.Now().Before(deadline) {
		time.Sleep(50 * time.Millisecond)
	}
	if f.log.count("table_timeout") == 0 {
		t.Error("that a refresh ran out of time was not told")
	}
}

func TestDiscovery(t *testing.T) {
	root := warehouse(t, "sales.orders", "sales.prices", "lab.empty")
	f := newFixture(t, hadoop(root, ", exclude: ['lab.*'], discovery_interval: 5m"))
	f.refresh(long)
	if got := f.names(); got != "c.sales.orders c.sales.prices" {
		t.Fatal(got)
	}
	if err := os.Rename(filepath.Join(root, "sales", "orders"), filepath.Join(root, "sales", "renamed")); err != nil {
		t.Fatal(err)
	}
	// A glob's table that is gone has the catalog listed again at once.
	f.clock.forward(time.Minute)
	f.refresh(long)
	f.refresh(long)
	if got := f.names(); got != "c.sales.prices c.sales.renamed" {
		t.Errorf("after the renaming: %s", got)
	}
	if err := os.CopyFS(filepath.Join(root, "sales", "new"), os.DirFS(filepath.Join(root, "sales", "prices"))); err != nil {
		t.Fatal(err)
	}
	f.refresh(long)
	if got := f.names(); got != "c.sales.prices c.sales.renamed" {
		t.Errorf("before the interval is over: %s", got)
	}
	f.clock.forward(5 * time.Minute)
	f.refresh(long)
	if got := f.names(); got != "c.sales.new c.sales.prices c.sales.renamed" {
		t.Errorf("after the interval: %s", got)
	}
	if !f.table("c.sales.new").Up {
		t.Error("a table that was just found is not measured")
	}
}

// TestListingFails: a failed listing takes no table away.
func TestListingFails(t *testing.T) {
	root := warehouse(t, "sales.orders")
	f := newFixture(t, hadoop(root, ""))
	f.refresh(long)
	if err := os.Rename(root, root+".away"); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(root + ".away")
	f.clock.forward(6 * time.Minute)
	f.refresh(long)
	if s := f.table("c.sales.orders"); s.Up || s.Measurement == nil {
		t.Errorf("up %v, figures %v", s.Up, s.Measurement != nil)
	}
}

// TestReload: what a new configuration does not touch keeps its figures.
func TestReload(t *testing.T) {
	a, b := warehouse(t, "sales.orders"), warehouse(t, "sales.prices")
	both := func(threshold string) string {
		return fmt.Sprintf(`{catalogs: [
			{name: a, type: hadoop, warehouse: %s, allow_moved_paths: true},
			{name: b, type: hadoop, warehouse: %s, allow_moved_paths: true, tables: [{name: '**', small_file_threshold: %s}]}]}`, a, b, threshold)
	}
	f := newFixture(t, both("1MiB"))
	f.refresh(long)
	before, manifests := f.table("a.sales.orders").Measurement, f.measurer.ManifestsRead()
	if f.table("b.sales.prices").Measurement.Layout.SmallDataFiles == 0 {
		t.Fatal("no small files")
	}
	f.configure(both("1"))
	if f.table("a.sales.orders").Measurement != before {
		t.Error("an untouched catalog lost its figures")
	}
	f.refresh(long)
	if n := f.table("b.sales.prices").Measurement.Layout.SmallDataFiles; n != 0 {
		t.Errorf("%d small files by the new threshold", n)
	}
	if f.measurer.ManifestsRead() != manifests {
		t.Error("manifests were read again")
	}
	f.configure(fmt.Sprintf("{catalogs: [{name: a, type: hadoop, warehouse: %s, allow_moved_paths: true}]}", a))
	if got := f.names(); got != "a.sales.orders" {
		t.Errorf("after a catalog was removed: %s", got)
	}
}

func TestRefreshTable(t *testing.T) {
	f := newFixture(t, hadoop(warehouse(t, "sales.orders", "sales.prices"), ", tables: [{name: 'sales.*'}]"))
	table, covered := f.RefreshTable(t.Context(), "c.sales.orders")
	if !covered || !table.Up || table.Measurement == nil {
		t.Errorf("covered %v, %+v", covered, table)
	}
	if s := f.table("c.sales.prices"); s.Refreshed {
		t.Error("another table was refreshed too")
	}
	if table, covered := f.RefreshTable(t.Context(), "c.sales.missing"); !covered || table.Up || table.Measurement != nil {
		t.Errorf("a missing table: covered %v, %+v", covered, table)
	}
	for _, name := range []string{"", "c", "c.", "c.sales", "c.lab.empty", "d.sales.orders", "c.sales.orders.x", "../../etc/passwd", "c.sales/../../x.y"} {
		if _, covered := f.RefreshTable(t.Context(), name); covered {
			t.Errorf("%q is covered", name)
		}
	}
}

// TestDotsInNames: a level or a table with a dot in its name is found again
// where it was listed, by /probe too.
func TestDotsInNames(t *testing.T) {
	root := warehouse(t, "sales.orders")
	from := filepath.Join(root, "sales", "orders")
	for _, to := range []string{"n.s/t", "ns/t.dot"} {
		if err := os.CopyFS(filepath.Join(root, to), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	f := newFixture(t, fmt.Sprintf(`{catalogs: [
		{name: c, type: hadoop, warehouse: %[1]s, allow_moved_paths: true},
		{name: c.ns, type: hadoop, warehouse: %[1]s, allow_moved_paths: true, tables: [{name: 'sales.*'}]}]}`, root))
	f.refresh(long)
	for _, name := range []string{"c.n.s.t", "c.ns.t.dot", "c.sales.orders", "c.ns.sales.orders"} {
		if !f.table(name).Up {
			t.Errorf("%s is down: %s", name, f.log.b.String())
		}
		if table, covered := f.RefreshTable(t.Context(), name); !covered || !table.Up || table.Key.String() != name {
			t.Errorf("probing %s: covered %v, %+v", name, covered, table.Key)
		}
	}
}

// TestMovedTablesAreApart: two tables that were copied from one place have their
// own figures, whatever their lists call their files.
func TestMovedTablesAreApart(t *testing.T) {
	root := warehouse(t, "sales.orders")
	from, to := filepath.Join(root, "sales", "orders"), filepath.Join(root, "sales", "broken")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	manifests, err := filepath.Glob(filepath.Join(to, "metadata", "*-m*.avro"))
	if err != nil || len(manifests) == 0 {
		t.Fatal("no manifests", err)
	}
	for _, file := range manifests {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	f := newFixture(t, hadoop(root, ""))
	f.refresh(long)
	f.refresh(long)
	if !f.table("c.sales.orders").Up || f.table("c.sales.broken").Up {
		t.Errorf("up: %v and %v", f.table("c.sales.orders").Up, f.table("c.sales.broken").Up)
	}
	for _, c := range f.Snapshot().Catalogs {
		if !c.Up {
			t.Error("one table's files say that the catalog is down")
		}
	}
}

// TestVersionHints: a hint that is damaged or stale does no harm.
func TestVersionHints(t *testing.T) {
	for _, hint := range []string{"", "x", "999999", "-1", "../../etc/passwd", strings.Repeat("9", 4000), "a\x00b", "v1.metadata.json.bak"} {
		root := warehouse(t, "sales.orders")
		file := filepath.Join(root, "sales", "orders", "metadata", "version-hint.text")
		if err := os.WriteFile(file, []byte(hint), 0o600); err != nil {
			t.Fatal(err)
		}
		f := newFixture(t, hadoop(root, ""))
		f.refresh(long)
		if !f.table("c.sales.orders").Up {
			t.Errorf("with the hint %.20q: %s", hint, f.log.b.String())
		}
	}
}
