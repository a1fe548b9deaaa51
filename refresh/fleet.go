// Package refresh decides when tables are measured: when someone asks, once at a
// time however many ask, in parallel but not all at once, and in the background
// when the one who asked cannot wait. It keeps each table's last good figures.
package refresh

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"github.com/iceberg-exporter/iceberg_exporter/config"
	"github.com/iceberg-exporter/iceberg_exporter/fileio"
	"github.com/iceberg-exporter/iceberg_exporter/measure"
	"github.com/iceberg-exporter/iceberg_exporter/source"
)

// Key names a table among all that are configured.
type Key struct {
	Catalog string
	source.Identifier
}

// String returns catalog.namespace.table.
func (k Key) String() string { return k.Catalog + "." + k.Identifier.String() }

// Fleet is all the tables that a configuration names. It is safe for concurrent use.
type Fleet struct {
	measurer *measure.Measurer
	counter  *fileio.Counter
	logger   log.Logger
	now      func() time.Time

	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex
	catalogs []*catalog

	succeeded, failed atomic.Uint64
	inFlight          atomic.Int64
	results           *results
}

// Options are what a fleet works with.
type Options struct {
	Measurer *measure.Measurer
	// Counter counts what is read from storage.
	Counter *fileio.Counter
	Logger  log.Logger
	// Now is the clock.
	Now func() time.Time
}

// NewFleet returns a fleet of no tables.
func NewFleet(o Options) *Fleet {
	ctx, cancel := context.WithCancel(context.Background())
	return &Fleet{
		measurer: o.Measurer, counter: o.Counter, logger: o.Logger, now: o.Now, ctx: ctx, cancel: cancel,
		results: &results{logger: o.Logger, kept: map[string]result{}},
	}
}

// Now is the fleet's clock.
func (f *Fleet) Now() time.Time { return f.now() }

// Apply makes the fleet that of a configuration. Catalogs that have not changed
// keep their connections and their tables' figures.
func (f *Fleet) Apply(c *config.Config) {
	// Logging asks for the fleet's secrets, so nothing is logged under its lock.
	f.results.load(c.OrphanScan.StateFile)
	f.mu.Lock()
	defer f.mu.Unlock()
	var kept []*catalog
	for _, configured := range c.Catalogs {
		i := slices.IndexFunc(f.catalogs, func(have *catalog) bool {
			return reflect.DeepEqual(*have.client.Config(), configured) && have.scrape == c.Scrape
		})
		if i >= 0 {
			kept = append(kept, f.catalogs[i])
			continue
		}
		kept = append(kept, newCatalog(f, configured, c.Scrape))
	}
	for _, have := range f.catalogs {
		if !slices.Contains(kept, have) {
			f.retire(have)
		}
	}
	f.catalogs = kept
}

// retire closes a catalog without waiting for its calls under way.
func (f *Fleet) retire(c *catalog) {
	c.cancel()
	f.running.Go(func() {
		if err := c.client.Close(); err != nil {
			level.Debug(f.logger).Log("msg", "closing a catalog", "catalog", c.name, "err", err)
		}
	})
}

// Close ends all refreshes, waits for them as long as the context allows, and
// closes the catalogs.
func (f *Fleet) Close(ctx context.Context) error {
	f.cancel()
	f.mu.Lock()
	for _, c := range f.catalogs {
		f.retire(c)
	}
	f.catalogs = nil
	f.mu.Unlock()
	done := make(chan struct{})
	go func() { f.running.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *Fleet) current() []*catalog {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.catalogs)
}

// Refresh measures all tables and returns when it is done or the context ends,
// whichever is first. What is not done goes on, for the next who asks.
func (f *Fleet) Refresh(ctx context.Context) {
	var waiting sync.WaitGroup
	for _, c := range f.current() {
		waiting.Go(func() { c.refresh(ctx) })
	}
	waiting.Wait()
}

// RefreshTable measures one table like Refresh, and returns its state. It
// returns false for a name that the configuration does not cover.
func (f *Fleet) RefreshTable(ctx context.Context, name string) (Table, bool) {
	// Dots divide a name in more than one way: a table that is known is meant.
	var unknown *table
	for _, c := range f.current() {
		rest, ok := strings.CutPrefix(name, c.name+".")
		if !ok {
			continue
		}
		wait(ctx, c.discover())
		if t := c.known(rest); t != nil {
			wait(ctx, t.refresh())
			return t.state(f.now(), f.overlaps()), true
		}
		if unknown == nil && c.covers(rest) {
			// The catalog has no such table, as far as is known.
			unknown = newTable(c, source.ParseIdentifier(rest))
		}
	}
	if unknown == nil {
		return Table{}, false
	}
	return unknown.state(f.now(), nil), true
}

// Discover lists the catalogs whose listing is due, without measuring tables.
func (f *Fleet) Discover(ctx context.Context) {
	var waiting sync.WaitGroup
	for _, c := range f.current() {
		waiting.Go(func() { wait(ctx, c.discover()) })
	}
	waiting.Wait()
}

// Snapshot is the state of the fleet at one moment.
type Snapshot struct {
	Time     time.Time
	Catalogs []Catalog
	Tables   []Table
}

// Catalog is the state of a catalog.
type Catalog struct {
	Name string
	// Up is whether its last listing or lookup was answered.
	Up     bool
	Tables int
}

// Snapshot returns the state of all tables.
func (f *Fleet) Snapshot() Snapshot {
	s := Snapshot{Time: f.now()}
	shared := f.overlaps()
	for _, c := range f.current() {
		tables := c.list()
		s.Catalogs = append(s.Catalogs, Catalog{Name: c.name, Up: c.client.Answered(), Tables: len(tables)})
		for _, t := range tables {
			s.Tables = append(s.Tables, t.state(s.Time, shared))
		}
	}
	return s
}

// Stats are the fleet's own figures.
type Stats struct {
	Succeeded, Failed uint64
	InFlight          int64
}

// Stats returns how many refreshes there were.
func (f *Fleet) Stats() Stats {
	return Stats{Succeeded: f.succeeded.Load(), Failed: f.failed.Load(), InFlight: f.inFlight.Load()}
}

// Secrets are the secret texts that the catalogs use, to keep them out of logs.
func (f *Fleet) Secrets() []string {
	var secrets []string
	for _, c := range f.current() {
		secrets = append(secrets, c.client.Secrets()...)
	}
	return secrets
}

func wait(ctx context.Context, done <-chan struct{}) {
	select {
	case <-done:
	case <-ctx.Done():
	}
}
