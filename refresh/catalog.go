package refresh

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-kit/log"

	"github.com/iceberg-exporter/iceberg_exporter/config"
	"github.com/iceberg-exporter/iceberg_exporter/measure"
	"github.com/iceberg-exporter/iceberg_exporter/source"
)

// catalog is a catalog and its tables. Every catalog has slots of its own, so
// that one that hangs holds up none but its own tables.
type catalog struct {
	fleet  *Fleet
	name   string
	client *source.Client
	scrape config.Scrape
	source *measure.Catalog
	// slots bounds the tables that are measured at once.
	slots chan struct{}
	// scanSlots likewise bounds scans.
	scanSlots chan struct{}
	ctx       context.Context
	// cancel ends what the catalog has under way.
	cancel context.CancelFunc
	report *reporter

	mu     sync.Mutex
	tables map[source.Identifier]*table
	// listing is closed when the listing under way is done; nil without one.
	listing chan struct{}
	listed  time.Time
}

func newCatalog(f *Fleet, configured config.Catalog, scrape config.Scrape) *catalog {
	client := source.NewClient(configured, source.Limits{MetadataBytes: int64(scrape.MaxMetadataSize)}, f.counter)
	ctx, cancel := context.WithCancel(f.ctx)
	return &catalog{
		fleet: f, name: configured.Name, client: client, scrape: scrape,
		source: measure.NewCatalog(client, scrape.Concurrency),
		slots:  make(chan struct{}, scrape.Concurrency), scanSlots: make(chan struct{}, scanSlots),
		ctx: ctx, cancel: cancel,
		report: &reporter{logger: log.With(f.logger, "catalog", configured.Name)},
		tables: map[source.Identifier]*table{},
	}
}

// list returns the tables in the order of their names.
func (c *catalog) list() []*table {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedFunc(maps.Values(c.tables), func(a, b *table) int {
		return cmp.Or(strings.Compare(a.key.Namespace, b.key.Namespace), strings.Compare(a.key.Name, b.key.Name))
	})
}

// refresh measures the catalog's tables: those that are known at once, those
// that a listing finds as soon as it is done.
func (c *catalog) refresh(ctx context.Context) {
	listing := c.discover()
	refreshes := map[*table]<-chan struct{}{}
	start := func() {
		for _, t := range c.list() {
			if refreshes[t] == nil {
				refreshes[t] = t.refresh()
			}
		}
	}
	start()
	wait(ctx, listing)
	start()
	for _, done := range refreshes {
		wait(ctx, done)
	}
}

// known returns the table of this name, or nil.
func (c *catalog) known(name string) *table {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.tables[source.ParseIdentifier(name)]; t != nil {
		return t
	}
	for id, t := range c.tables {
		if id.String() == name {
			return t
		}
	}
	return nil
}

// covers reports whether the configuration covers a table of this name.
func (c *catalog) covers(name string) bool {
	_, covered := c.client.Config().Match(name)
	return covered && strings.Contains(name, ".")
}

// discover starts a listing where one is due, and returns what is closed when
// there is none under way.
func (c *catalog) discover() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listing != nil {
		return c.listing
	}
	done := make(chan struct{})
	if !c.listed.IsZero() && c.fleet.now().Sub(c.listed) < time.Duration(c.client.Config().DiscoveryInterval) {
		close(done)
		return done
	}
	c.listing = done
	c.fleet.running.Go(func() { c.runListing(done) })
	return done
}

// missed makes the next listing due: a table that a listing found is gone.
func (c *catalog) missed(t *table) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tables[t.key.Identifier] == t {
		c.listed = time.Time{}
	}
}

func (c *catalog) runListing(done chan struct{}) {
	ctx, cancel := context.WithTimeout(c.ctx, time.Duration(c.scrape.TableTimeout))
	defer cancel()
	var ids []source.Identifier
	err := measure.Guard(func() (err error) {
		ids, err = c.client.List(ctx)
		return err
	})
	if c.ctx.Err() == nil {
		c.report.outcome("listing the catalog", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(done)
	c.listing = nil
	if err == nil {
		c.listed = c.fleet.now()
	}
	c.adopt(ids, err == nil)
}

// adopt makes tables of what a listing found. A listing that failed can still
// add tables, those that the configuration names; only a whole one removes any.
func (c *catalog) adopt(ids []source.Identifier, whole bool) {
	found := map[source.Identifier]bool{}
	for _, id := range ids {
		found[id] = true
		if c.tables[id] == nil {
			c.tables[id] = newTable(c, id)
		}
	}
	if whole {
		maps.DeleteFunc(c.tables, func(id source.Identifier, _ *table) bool { return !found[id] })
	}
}
